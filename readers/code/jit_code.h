/* The code that processes generated, as described by the files that they wrote: perf maps and jitdumps. These files are
 * on the machine that made the recording, or below the sysroot.
 *
 * A process may generate code where it had other code before, and a jitdump has the time of each. A perf map has no
 * times: its last line for an address applies. */
#pragma once

#include <sys/types.h>

#include "code_spaces.h"
#include "libconvert/base/arena.h"
#include "libconvert/base/strings.h"
#include "libconvert/base/value_table.h"
#include "readers/input/input.h"

/* Says which files are read. Texts are borrowed. */
struct jit_policy {
    const char *const
        *maps; /* "PID=FILE": perf maps that the user names, which are read whoever wrote them, and when */
    size_t map_count;
    const char *map_folder; /* where perf maps and Python's jitdumps are; NULL: /tmp; empty: there are none */
    const char *sysroot;    /* files below this folder are preferred; NULL: none */
    bool opens_files;       /* others than `maps` */
    bool has_owner;         /* files of `owner` are trusted, too */
    uid_t owner;            /* owner of the recording */
};

/* Why files or parts of them are ignored. */
enum jit_note {
    JIT_NOTE_OWNER,    /* file of a user who is not trusted */
    JIT_NOTE_KIND,     /* file that is not a regular one */
    JIT_NOTE_SIZE,     /* file of more than 1 GiB */
    JIT_NOTE_UNUSABLE, /* file that cannot be read, or has no code */
    JIT_NOTE_DAMAGED,  /* damaged part of a file */
    JIT_NOTE_COUNT
};

struct jit {
    struct failure *failure; /* borrowed */
    struct jit_policy policy;
    struct strings paths;
    struct arena texts;
    struct code_spaces spaces;      /* library ids are rows of `codes` plus 1 */
    struct column codes;            /* struct jit_code */
    struct column files;            /* struct jit_file */
    struct row_table offers;        /* struct offer: jitdumps that were offered */
    struct row_table file_keys;     /* struct file_key, one per file */
    struct value_table processes;   /* struct known_process for each struct process_key */
    uint64_t notes[JIT_NOTE_COUNT]; /* how often each applies */
    int64_t next_time_ns;           /* no code that was read becomes valid before this time */
    uint64_t moment;                /* grows with what was valid up to the time of jit_advance */
};

/* A process of the recording, up to when it executes another program. */
struct jit_process {
    int64_t pid;
    uint64_t serial;          /* with the pid, identifies the process; that of its parent is lower */
    int64_t changed_first_ns; /* Unix times of the first and last change of a file that it can have made */
    int64_t changed_last_ns;
};

/* A function that a process generated. */
struct jit_code {
    struct text name;
    struct text file_name; /* the last component of the path of the file that has the name */
    uint64_t address;
    uint64_t size_bytes;
    int64_t time_ns;      /* on CLOCK_MONOTONIC, when the code was generated; INT64_MIN: unknown */
    struct text eh_frame; /* see struct jit_record */
};

void jit_init(struct jit *jit, const struct jit_policy *policy, struct failure *failure);
void jit_fini(struct jit *jit);

/* Returns whether the file's name is that of a jitdump, "jit-123.dump". A process maps it only so that recorders find
 * it. */
bool jit_is_dump(struct text path);

/* Remembers the file for the process if it is a jitdump. Call this for each file that the process has mapped. */
void jit_offer(struct jit *jit, const struct jit_process *process, struct text path);

/* Sets the times of the process, for later look-ups of its code. */
void jit_describe(struct jit *jit, const struct jit_process *process);

/* Tells that the parent has forked the process, which therefore runs code that the parent has generated. */
void jit_fork(struct jit *jit, const struct jit_process *process, const struct jit_process *parent);

/* Returns whether files that may be read describe code of the process, its own or what it has from its parents. */
bool jit_has_files(struct jit *jit, const struct jit_process *process);

/* Returns the number of the function at the address at a time on CLOCK_MONOTONIC; 0 if none is known. What the process
 * has generated itself takes precedence over what it has from its parents. Reads the files before the first such
 * look-up. INT64_MAX stands for the end of the recording. */
uint64_t jit_find(struct jit *jit, const struct jit_process *process, uint64_t address, int64_t time_ns);

/* Declares that later look-ups are not about times before this one, for callers that keep results: they hold as long as
 * jit->moment. */
void jit_advance(struct jit *jit, int64_t time_ns);

static inline const struct jit_code *jit_code_at(const struct jit *jit, uint64_t number) {
    return column_at(&jit->codes, number - 1);
}
