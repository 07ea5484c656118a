/* The state of one reading of perf script text, shared by perf_script.c (lines), perf_samples.c (samples and their
 * stacks) and perf_records.c (PERF_RECORD_…). */
#ifndef GECKO_PERF_SCRIPT_INTERNAL_H
#define GECKO_PERF_SCRIPT_INTERNAL_H

#include "perf_event_line.h"
#include "perf_events.h"
#include "perf_header.h"
#include "perf_stack.h"
#include "perf_tasks.h"
#include "reader.h"
#include "scan.h"

/* What is counted while reading, for the ledger; perf_script.c has the table of fates and causes. */
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

struct tally {
    uint64_t count;
    struct position first;
};

/* The sample whose stack is being read. */
struct open_sample {
    bool is_open;
    bool is_deferred_stack;   /* the user's part of earlier samples, not a sample itself */
    uint64_t deferred_cookie; /* of those samples */
    struct perf_task *task;
    uint32_t event;
    int64_t time_ns;
    bool has_period;
    uint64_t period;
    struct position position;
    char *rest; /* what stands behind the event: a copy, for the line is gone when the frames are read */
    size_t rest_bytes_count;
    size_t rest_capacity;
};

/* A sample whose user stack is still to come. */
struct deferred_sample {
    struct deferred_sample *next; /* of the same task */
    uint64_t cookie;
    struct perf_series *series;
    struct position position; /* of its event line */
    uint32_t sample;          /* row in the series */
    uint32_t frame_count;
    frame_id frames[]; /* the kernel's, root first */
};

struct perf_script {
    struct profile *profile; /* borrowed */
    struct scan scan;
    struct perf_header header;
    struct perf_stack stack;
    struct perf_tasks tasks;
    struct perf_events events;
    struct open_sample sample;
    uint32_t deferred_count;
    struct strings record_names; /* of the records that are not used */
    int64_t last_time_ns;        /* of the last line with a time; 0 before it */
    bool has_times;              /* some line told a time */
    bool has_tab_frames;         /* frame lines begin with a tab, as perf writes them: others in a stack are fields */
    bool has_bare_frames;        /* some have no indentation: then the source lines behind them have none, either */
    uint16_t tracepoint_schema;  /* UINT16_MAX until there is a tracepoint */
    struct tally tallies[TALLY_COUNT];
};

static inline void perf_tally_at(struct perf_script *script, enum perf_tally tally, uint64_t count,
                                 struct position position) {
    if (!count) return;
    struct tally *row = &script->tallies[tally];
    if (!row->count || position.offset < row->first.offset) row->first = position;
    row->count += count;
}

/* Of the line that is being read. */
static inline void perf_tally(struct perf_script *script, enum perf_tally tally, uint64_t count) {
    perf_tally_at(script, tally, count, script->scan.position);
}

/* ---- perf_samples.c ---- */

/* Opens the sample of an event line, closing the one before. */
void perf_samples_open(struct perf_script *script, const struct perf_event_line *line);

/* Closes the open sample, if there is one: makes it a sample, a marker or an entry in the ledger. */
void perf_samples_close(struct perf_script *script);

/* What is left when the input ends. */
void perf_samples_finish(struct perf_script *script);
void perf_samples_fini(struct perf_script *script);

/* ---- perf_records.c ---- */

/* The text from "PERF_RECORD_" on, when the event line is a record; empty when it is none. `line` is the whole line. */
struct text perf_record_of(const struct perf_event_line *event_line, struct text line);

/* Uses the record, or counts it. */
void perf_records_read(struct perf_script *script, const struct perf_event_line *event_line, struct text record);

#endif
