/* The interface between input formats and profiles. A reader parses one format. */
#pragma once

#include "libconvert/profile/profile.h"
#include "readers/input/input.h"

struct debug_folders;
struct filter;

struct reader_options {
    enum gecko_convert_weight weight;
    enum gecko_convert_off_cpu off_cpu; /* only readers of perf apply it */
    bool keeps_processors;              /* samples keep their processors; only readers of perf apply it */
    enum gecko_convert_root root;
    enum gecko_convert_weight_unit weight_unit;
    int64_t sample_interval_ns; /* 0: unknown */
    unsigned job_count;         /* most threads that read; 0 and 1: only the calling one */
    size_t block_bytes;         /* for tests: most bytes that a reader looks at ahead of its turn; 0: a good number */
    bool ignores_code_files;    /* do not open the perf maps and jitdumps that a trace refers to */

    /* Where to look for libraries besides their own paths. NULL: open no library and no file with the kernel's symbols.
     * Borrowed. */
    const struct debug_folders *debug_folders;

    struct filter
        *filter; /* the part that becomes the profile; has only filter_kinds of the reader; NULL: all; borrowed */

    const char *const *perf_maps; /* "PID=FILE": the process's perf map, wherever it ran; borrowed */
    size_t perf_map_count;
    const char *perf_map_folder; /* where processes of this machine write perf-PID.map and jit-PID.dump; NULL for /tmp;
                                    borrowed */
};

/* How certain a reader is that an input has its format. PROBE_IF_NAMED is enough only if the name of the input has one
 * of the reader's suffixes. */
enum probe_score { PROBE_NO, PROBE_IF_NAMED, PROBE_MAYBE, PROBE_LIKELY, PROBE_SURE };

enum { PROBE_BYTES = 64 * 1024 };

struct reader {
    const char *name;            /* value of --from, for instance "perf-script" */
    const char *alias;           /* a former name; NULL: none */
    const char *title;           /* used in messages, for instance "perf script text" */
    const char *const *suffixes; /* suffixes of file names of the format, terminated by NULL; NULL: none */
    const char *doubt;           /* describes an input that scores PROBE_IF_NAMED; used in a message */

    bool is_of_perf;       /* knows when threads did not run, and on which processors samples were taken */
    bool takes_perf_maps;  /* has addresses for which maps of generated code have names */
    unsigned filter_kinds; /* the filters it can apply: a bit for each enum gecko_convert_filter_kind */

    /* Scores an input by its start: its first PROBE_BYTES or, if is_whole, all of it. */
    enum probe_score (*probe)(struct text start, bool is_whole);

    /* Reads the whole input into the profile and enters every line in the ledger. Malformed parts are skipped and
     * counted. Latches a failure in profile->failure only if nothing can be read. Does not call profile_finish. */
    void (*run)(struct input *input, struct profile *profile, const struct reader_options *options);

    profile_name_func *name_func; /* for functions that are looked up after reading; NULL: names are just names */
};

/* All readers: READER(collapsed) stands for `reader_collapsed`. If several have the highest probe score, the first in
 * this list wins. */
#define READERS(READER) \
    READER(perf_data)   \
    READER(perf_script) \
    READER(collapsed)   \
    READER(trace)       \
    READER(profile)

#define DECLARE_READER(name) extern const struct reader reader_##name;
READERS(DECLARE_READER)

/* All readers in the same order, terminated by NULL. */
extern const struct reader *const readers[];

/* Returns the reader of that name, or NULL if there is none. */
const struct reader *reader_by_name(const char *name);

/* Returns the reader for the input's format, which it detects by content without consuming anything. If there is none,
 * returns NULL and latches a failure that says what the input is, if that is known, and how to make it readable. */
const struct reader *reader_detect(struct input *input, struct failure *failure);
