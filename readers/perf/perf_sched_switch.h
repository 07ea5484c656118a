/* Payloads of the tracepoint sched:sched_switch: which thread leaves a processor, in which state, and which one follows
 * it. */
#pragma once

#include "perf_tracing.h"

struct perf_sched_switch {
    int64_t from_tid;
    int64_t to_tid;
    char state; /* state of the thread that leaves, as ps shows it: 'S', 'D', 'R'…; 0: unknown */
};

/* Parses a payload that perf script has printed. Returns false if it is none of this tracepoint. */
bool perf_sched_switch_parse(struct text payload, struct perf_sched_switch *out);

/* Decodes a payload by the format of the tracepoint with that id or, if that is unknown, as Linux lays it out. Returns
 * false if it is too short, or lacks a field. */
bool perf_sched_switch_decode(struct perf_tracing *tracing, uint64_t id, struct text payload,
                              struct perf_sched_switch *out);
