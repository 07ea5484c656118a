/* The samples of perf, in whatever form they are read: each belongs to a task and an event, and one of the events makes
 * the profile's samples. */
#ifndef GECKO_PERF_RECORDING_H
#define GECKO_PERF_RECORDING_H

#include "perf_activity.h"
#include "perf_events.h"
#include "perf_header.h"
#include "perf_tasks.h"
#include "readers/reader.h"

struct perf_recording {
    struct profile *profile; /* borrowed */
    struct perf_header header;
    struct perf_tasks tasks;
    struct perf_events events;
    struct perf_activity activity;
    bool has_times;             /* some line or record had a time */
    bool has_stacks;            /* samples have stacks, not only an address */
    bool has_libraries;         /* it is known which addresses are in no library */
    uint16_t tracepoint_schema; /* UINT16_MAX until there is a tracepoint */
};

/* A sample without its stack. */
struct perf_occurrence {
    struct perf_task *task;
    uint32_t event; /* row in the recording's events */
    int64_t time_ns;
    int32_t processor; /* -1: unknown */
    bool has_period;
    uint64_t period;
    struct position position;
};

void perf_recording_init(struct perf_recording *recording, struct profile *profile);
void perf_recording_fini(struct perf_recording *recording);

/* Adds a sample. Returns its series, in which it is now the last sample, or NULL if memory ran out (latched). Sets
 * *is_jump if the sample is earlier than the previous one in its task. */
struct perf_series *perf_recording_add_sample(struct perf_recording *recording,
                                              const struct perf_occurrence *occurrence, stack_id stack, bool *is_jump);

/* Adds a tracepoint without a stack as a marker, with a schema and the values of its fields. */
void perf_recording_add_tracepoint(struct perf_recording *recording, const struct perf_occurrence *occurrence,
                                   uint16_t schema, const union marker_value *values);

/* Adds a tracepoint whose payload is only known as text. */
void perf_recording_add_tracepoint_text(struct perf_recording *recording, const struct perf_occurrence *occurrence,
                                        struct text fields);

/* Completes the profile: gives threads their samples of the event `chosen` (perf_events_choose; none for ID_NONE), sets
 * the metadata, and enters the samples of all events in the ledger. */
void perf_recording_finish(struct perf_recording *recording, uint32_t chosen, enum gecko_convert_weight weight);

#endif
