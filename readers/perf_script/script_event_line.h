/* Event lines of perf script: "comm pid/tid [cpu] time: period event: …".
 *
 * Layout: Linux tools/perf/builtin-script.c, perf_sample__fprintf_start and process_event. The comm may hold blanks,
 * digits, colons and brackets, so the line is anchored on its time and read to the left from there. */
#pragma once

#include <stdint.h>

#include "libconvert/base/text.h"

struct script_event_line {
    struct text comm; /* empty if the line has none or the thread has none */
    int64_t pid;      /* PID_UNKNOWN if the line has only the tid */
    int64_t tid;
    uint32_t machine;       /* the number after "VM:" if the thread is a guest's; 0 for the host */
    int32_t cpu;            /* -1 if the line has none */
    bool has_skipped_field; /* flags (-F misc), the time of day (-F tod), a guest's processor (-F vcpu) */
    bool has_time;
    int64_t time_ns; /* TIME_NONE: the line is a sum of waits, and has a time that is none */
    bool has_period;
    uint64_t period;
    struct text event; /* as printed, without the colon that ends it; empty if the line has none */
    struct text rest;  /* what follows the event, trimmed: a frame, a tracepoint's payload, other fields */
};

/* Returns false if the line is not an event line. The texts in *out point into `line`. */
bool script_event_line_parse(struct text line, struct script_event_line *out);

/* The parts of earlier lines before and after their times. A thread repeats the first part, and most recordings repeat
 * the second one on every line. */
struct script_event_memo {
    struct script_event_part {
        uint32_t bytes_count; /* 0: none yet */
        char bytes[92];
        struct script_event_line line; /* what the part means; its texts point into `bytes` */
    } starts[64], rest;
};

/* Parses an event line as script_event_line_parse does, but only what differs from earlier lines. The memo must be
 * zeroed at first. */
bool script_event_line_parse_again(struct script_event_memo *memo, struct text line, struct script_event_line *out);
