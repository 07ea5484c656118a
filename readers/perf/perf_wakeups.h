/* Threads that wake others: a flow leads from the tracepoint to the thread that was woken. */
#pragma once

#include "perf_layout.h"
#include "perf_recording.h"

/* What is known of an event. */
struct perf_wakeup_role {
    bool is_wakeup;
    uint16_t schema; /* schema of the waking threads' markers; MARKER_SCHEMA_NONE: none yet */
};

struct perf_wakeups {
    struct perf_recording *recording; /* borrowed */
    struct perf_wakeup_role *roles;   /* one for each event */
    uint16_t woken_schema;
    union marker_value *values; /* values of the last marker */
};

/* Running out of memory is latched. */
void perf_wakeups_init(struct perf_wakeups *wakeups, struct perf_recording *recording);
void perf_wakeups_fini(struct perf_wakeups *wakeups);

/* If the event reports wakeups, returns the schema of the waking thread's marker, and sets *values, which are those of
 * the payload, to those of the marker: the same, and the flow. They are valid until the next call. If the recording has
 * something of the woken thread, adds a marker to it. Returns MARKER_SCHEMA_NONE for other events. */
uint16_t perf_wakeups_link(struct perf_wakeups *wakeups, const struct perf_series *series, const struct sample *sample,
                           const struct perf_payload *payload, const struct perf_layout *layout,
                           const union marker_value **values);
