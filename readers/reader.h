/* The seam between input formats and profiles. */
#ifndef GECKO_READER_H
#define GECKO_READER_H

#include "input.h"
#include "libconvert/profile.h"

/* What a sample weighs. */
enum weight_choice { WEIGHT_BY_SAMPLES, WEIGHT_BY_PERIOD };

/* What the first frame of a collapsed stack is. */
enum root_choice {
    ROOT_FRAME, /* a frame like others: one thread holds all */
    ROOT_THREAD /* a comm, comm-pid or comm-pid/tid: a thread of its own */
};

struct reader_options {
    enum weight_choice weight;
    enum root_choice root;
    bool ignores_code_files;     /* perf maps and jitdumps, which a trace leads to, are not opened */
    const char *perf_map_folder; /* where processes of this machine leave perf-PID.map; NULL: /tmp. Borrowed */
};

/* How sure a reader is that the bytes are its own. */
enum probe_score { PROBE_NO = 0, PROBE_MAYBE = 1, PROBE_LIKELY = 2, PROBE_SURE = 3 };

enum { PROBE_BYTES = 64 * 1024 };

struct reader {
    const char *name;  /* as --from has it: "perf-script" */
    const char *title; /* as messages have it: "perf script text" */

    /* `start` is the first PROBE_BYTES of the trace, or all of it (is_whole). */
    enum probe_score (*probe)(struct text start, bool is_whole);

    /* Reads all of the input into the profile and enters every line in the ledger. Malformed parts are skipped and
     * counted; a failure (latched in profile->failure) is for what cannot be read at all. Does not call
     * profile_finish. */
    void (*run)(struct input *input, struct profile *profile, const struct reader_options *options);
};

extern const struct reader reader_native_trace;
extern const struct reader reader_perf_script;
extern const struct reader reader_collapsed;

/* All of them, NULL at the end. */
extern const struct reader *const readers[];

/* The reader of that name; NULL when there is none. */
const struct reader *reader_by_name(const char *name);

/* The reader whose format the input has, by content. NULL when there is none: the failure says what the input is,
 * where its format is known, and how to make it readable. Consumes nothing. */
const struct reader *reader_detect(struct input *input, struct failure *failure);

#endif
