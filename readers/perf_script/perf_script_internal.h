/* The state of one reading of perf script text. It is shared by perf_script.c (lines), perf_samples.c (samples and
 * their stacks) and perf_records.c (PERF_RECORD_…). */
#ifndef GECKO_PERF_SCRIPT_INTERNAL_H
#define GECKO_PERF_SCRIPT_INTERNAL_H

#include "libconvert/profile/stack_path.h"
#include "perf_ahead.h"
#include "perf_nodes.h"
#include "perf_stack.h"
#include "readers/input/scan.h"
#include "readers/perf/perf_recording.h"

/* What is counted for the ledger while reading. perf_script.c has the table of their fates and causes. */
enum perf_tally {
    /* lines */
    TALLY_BLANK,
    TALLY_HEADER,
    TALLY_EVENT,
    TALLY_FRAME,
    TALLY_SOURCE,
    TALLY_RECORD,
    TALLY_MESSAGE,
    TALLY_BRANCH_STACK,
    TALLY_TRACE_ERROR,
    TALLY_STRAY_FRAME,
    TALLY_NO_FRAME,
    TALLY_MALFORMED,
    TALLY_CUT_LINE,
    /* samples */
    TALLY_NO_STACK,
    TALLY_JUMP,
    TALLY_NO_TIME,
    TALLY_LOST_BY_PERF,
    TALLY_NO_USER_STACK,
    TALLY_UNUSED_USER_STACK,
    /* values */
    TALLY_CPU,
    TALLY_SKIPPED_FIELD,
    TALLY_NO_PERIOD,
    TALLY_FIELD,
    TALLY_TRACEPOINT_FIELDS,
    TALLY_DEEP_FRAME,
    TALLY_COUNT
};

/* The sample whose stack is being read. */
struct open_sample {
    bool is_open;
    bool is_deferred_stack;   /* user frames of earlier samples, not a sample itself */
    uint64_t deferred_cookie; /* cookie of the samples that the deferred stack belongs to */
    struct perf_task *task;
    uint32_t event;
    int64_t time_ns;
    int32_t processor; /* -1: unknown */
    bool has_period;
    uint64_t period;
    struct position position;
    char *rest; /* copy of what follows the event; the line itself is gone when the sample is closed */
    size_t rest_bytes_count;
    size_t rest_capacity;
};

struct perf_script {
    struct profile *profile;  /* borrowed */
    struct perf_ahead *ahead; /* owned */
    struct scan scan;
    struct perf_recording recording;
    struct perf_event_memo event_memo;
    struct perf_stack stack;
    struct perf_nodes nodes;
    struct stack_path path; /* path of the last stack that was not lexed */
    struct open_sample sample;
    struct strings record_names; /* names of records that are not used */
    int64_t last_time_ns;        /* time of the last line that has one; 0 until there is one */
    bool has_tab_frames;  /* frame lines begin with a tab, as perf writes them; other lines in a stack are not frames */
    bool has_bare_frames; /* some frame lines have no indentation, so their source lines have none either */
    struct ledger_tally tallies[TALLY_COUNT];
};

static inline void perf_tally_at(struct perf_script *script, enum perf_tally tally, uint64_t count,
                                 struct position position) {
    ledger_tally_add(&script->tallies[tally], count, position);
}

/* Counts for the line that is being read. */
static inline void perf_tally(struct perf_script *script, enum perf_tally tally, uint64_t count) {
    perf_tally_at(script, tally, count, script->scan.position);
}

/* ---- perf_samples.c. ---- */

/* Opens the sample of an event line. Closes the previous sample. */
void perf_samples_open(struct perf_script *script, const struct perf_event_line *line);

/* Closes the open sample, if any. It becomes a sample, a marker or an entry in the ledger. */
void perf_samples_close(struct perf_script *script);

/* Reads the sample that begins after the line that was read last. Leaves some or all of its frame lines to be read one
 * by one if they are unusual. */
void perf_samples_read_lexed(struct perf_script *script, const struct perf_lexed_sample *lexed);

/* Closes the last sample and counts the samples that still wait for a user stack. Call it when the input ends. */
void perf_samples_finish(struct perf_script *script);
void perf_samples_fini(struct perf_script *script);

/* ---- perf_records.c. ---- */

/* Returns the text from "PERF_RECORD_" on if the event line is a record, otherwise an empty text. `line` is the whole
 * line. */
struct text perf_record_of(const struct perf_event_line *event_line, struct text line);

/* Uses the record, or counts it as lost. */
void perf_records_read(struct perf_script *script, const struct perf_event_line *event_line, struct text record);

#endif
