/* Event lines of perf script: "comm pid/tid [cpu] time: period event: …".
 *
 * Layout: Linux tools/perf/builtin-script.c, perf_sample__fprintf_start and process_event. The comm may hold blanks,
 * digits, colons and brackets, so the line is anchored on its time and read to the left from there. */
#ifndef GECKO_PERF_EVENT_LINE_H
#define GECKO_PERF_EVENT_LINE_H

#include <stdint.h>

#include "libconvert/text.h"

struct perf_event_line {
    struct text comm; /* empty when the line tells none, or the thread has none */
    int64_t pid;      /* PID_UNKNOWN when the line tells only the tid */
    int64_t tid;
    uint32_t machine;       /* of a guest: the number behind "VM:"; 0: the host */
    int32_t cpu;            /* -1 when not told */
    bool has_skipped_field; /* flags (-F misc), the time of day (-F tod), a guest's processor (-F vcpu) */
    bool has_time;
    int64_t time_ns;
    bool has_period;
    uint64_t period;
    struct text event; /* as printed, without the colon that ends it; empty when the line tells none */
    struct text rest;  /* behind the event, trimmed: a frame, a tracepoint's payload, other fields */
};

/* False when the line is no event line. The texts lie in `line`. */
bool perf_event_line_parse(struct text line, struct perf_event_line *out);

#endif
