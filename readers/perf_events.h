/* The events of a perf script file, and which of them makes the profile's samples. */
#ifndef GECKO_PERF_EVENTS_H
#define GECKO_PERF_EVENTS_H

#include "libconvert/profile.h"

/* What an event counts, as far as it matters for weights and CPU time. */
enum perf_event_unit { PERF_EVENT_OTHER, PERF_EVENT_CLOCK_NS, PERF_EVENT_CYCLES };

struct perf_event {
    struct text name; /* as printed: "cpu-clock:ppp"; empty where lines tell no event */
    enum perf_event_unit unit;
    bool is_tracepoint;
    bool has_period;
    uint64_t sample_count; /* event lines with a stack */
    uint64_t period_sum;
    uint64_t period_min;
    uint64_t period_max;
    struct position first;
};

/* Events beyond this many share the row behind them: a bound on what the ledger names. */
enum { PERF_EVENTS_MAX = 4096 };

struct perf_events {
    struct strings names;
    struct column rows; /* struct perf_event */
};

void perf_events_init(struct perf_events *events, struct failure *failure);
void perf_events_fini(struct perf_events *events);

/* Row of the event; ID_NONE when memory ran out (latched). */
uint32_t perf_events_intern(struct perf_events *events, struct text name, struct position position);

static inline struct perf_event *perf_events_at(const struct perf_events *events, uint32_t row) {
    return column_at(&events->rows, row);
}

/* The name without its modifiers: "cpu-clock" of "cpu-clock:ppp". A tracepoint keeps its colon. */
struct text perf_event_base_name(struct text name);

/* The event with the most stacks, tracepoints only where nothing else has any; ID_NONE when there are no samples. */
uint32_t perf_events_choose(const struct perf_events *events);

/* Enters the samples and periods of all events in the ledger: those of `chosen` are kept, others lost, by name. */
void perf_events_enter(const struct perf_events *events, uint32_t chosen, struct profile *profile);

#endif
