/* Names of code that processes generated at run time, from the files that they wrote: perf maps and jitdumps.
 *
 * A process may generate code where it had other code before, and a jitdump has the time of each. If the recording has
 * times of the same clock, samples get the name of the code that was there at their time: a jitdump is read when its
 * process maps it, and its code becomes valid as the recording's time goes on. All other files are read at the end, and
 * their last entry for an address counts. */
#ifndef GECKO_DATA_JIT_H
#define GECKO_DATA_JIT_H

#include <sys/types.h>

#include "data_names.h"
#include "libconvert/base/arena.h"
#include "libconvert/base/row_table.h"
#include "readers/code/code_mappings.h"

struct data_jit {
    struct failure *failure; /* borrowed */
    const char *map_folder;  /* the folder of perf maps. Borrowed */
    const char *sysroot;     /* files below this folder are preferred; NULL: none. Borrowed */
    bool opens_files;
    bool has_owner; /* the recording is a file, and `owner` is its owner */
    uid_t owner;
    struct arena texts;
    struct column names;        /* struct code_name */
    struct code_mappings codes; /* code ranges, whose library id is a row of `names` plus 1 */
    struct column dumps;        /* struct jitdump: jitdumps that recorded processes mapped */
    struct row_table pids;      /* int64_t: processes whose files have been read */
    struct column timed;        /* struct timed_code: code of the jitdumps that are read by time */
    struct column timed_dumps;  /* struct timed_dump */
    struct code_mappings valid; /* code that is there at the current time; library ids are rows of `timed` plus 1 */
    uint64_t valid_count;       /* entries of `valid` so far */
    int64_t next_time_ns;       /* no code becomes valid before this time */
    uint64_t code_count;
    uint64_t refused_count; /* files that were not read because neither this user nor the recording's owner owns them */
    uint64_t damaged_count; /* parts of files that could not be read */
};

/* Initializes the names. If `map_folder` is NULL, perf maps are looked for in /tmp. */
void data_jit_init(struct data_jit *jit, const char *map_folder, bool opens_files, struct failure *failure);
void data_jit_fini(struct data_jit *jit);

/* Remembers the file if its name is that of a jitdump. Call this for each file that the process has mapped. If the
 * recording has times of CLOCK_MONOTONIC (is_timed), as jitdumps have, the file is read now. */
void data_jit_offer(struct data_jit *jit, int64_t pid, struct text path, bool is_timed);

/* Makes the code valid that was generated up to the time. Times must not descend. */
void data_jit_advance(struct data_jit *jit, int64_t time_ns);

/* Returns the number of the generated code that is valid at the address now; 0 if none is known. */
uint64_t data_jit_code(const struct data_jit *jit, int64_t pid, uint64_t address);

/* Finds the function at an address of code that the process generated. `code_number` is what data_jit_code returned
 * when the address was sampled. If that is 0, the process's other files are searched; the first such call reads them.
 */
bool data_jit_find(struct data_jit *jit, int64_t pid, uint64_t address, uint64_t code_number, struct data_name *name);

#endif
