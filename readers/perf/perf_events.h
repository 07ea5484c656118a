/* The events of a perf recording, what is counted of each, and what becomes of each. */
#ifndef GECKO_PERF_EVENTS_H
#define GECKO_PERF_EVENTS_H

#include "libconvert/profile/profile.h"
#include "perf_record.h"
#include "perf_roles.h"

/* What becomes of an event's samples. */
enum perf_treatment {
    PERF_SAMPLES, /* the profile's samples */
    PERF_MARKERS, /* markers with stacks */
};

struct perf_event {
    struct text name; /* as printed, for instance "cpu-clock:ppp"; empty for lines without an event */
    enum perf_event_unit unit;
    string_id measure; /* what it measures: see perf_role_measure; a row of the names */
    enum perf_treatment treatment;
    bool is_tracepoint;
    bool is_occurrence; /* see perf_role_is_occurrence; a tracepoint is one */
    uint64_t tracepoint_id;
    bool has_period;
    uint64_t sample_count; /* number of samples with a stack */
    uint64_t period_sum;
    uint64_t period_min;
    uint64_t period_max;
    struct position first;
    /* Samples of a clock, taken on the same processor as the one before. */
    struct column last_times_ns; /* int64_t, by processor; TIME_NONE: none yet */
    uint64_t gap_count;          /* number of gaps in which the processor may have worked all the time */
    uint64_t fitting_gap_count;  /* number of gaps that are not much longer than the period */
};

struct perf_events {
    struct strings names;
    struct column rows; /* struct perf_event */
    uint32_t main; /* of those that make the profile's samples, the one that has most; ID_NONE: no event has samples */
};

void perf_events_init(struct perf_events *events, struct failure *failure);
void perf_events_fini(struct perf_events *events);

/* Adds an event. Returns its row; ID_NONE if memory ran out (latched). */
uint32_t perf_events_add(struct perf_events *events, struct text name, const struct perf_event_description *description,
                         struct position position);

/* Names the event in that row. An empty name changes nothing. */
void perf_events_set_name(struct perf_events *events, uint32_t row, struct text name);

static inline struct perf_event *perf_events_at(const struct perf_events *events, uint32_t row) {
    return column_at(&events->rows, row);
}

/* Counts the time since the event's last sample on that processor. A processor of -1 is not known: before_ns is then
 * the time of the last sample in the same thread (TIME_NONE: there was none). */
void perf_event_count_gap(struct perf_event *event, int32_t processor, int64_t before_ns, int64_t time_ns,
                          uint64_t period);

/* Returns whether the period of a clock's samples can be the time between them. Where a timer cannot be as fast as was
 * asked for, the kernel still gives the period that was asked for, and samples are much further apart. */
bool perf_event_period_fits(const struct perf_event *event);

/* Decides what becomes of each event. The profile's samples are those of a clock or of cycles; otherwise those of the
 * event with the most stacks: one that is counted before an occurrence, a tracepoint last. All events of one measure
 * are one. The others become markers. */
void perf_events_treat(struct perf_events *events);

/* Returns whether several of the events that make the profile's samples measure the same, so that periods count it
 * more than once. */
bool perf_events_overlap(const struct perf_events *events);

/* Returns the names of the events that make the profile's samples, as a text of the profile. */
struct text perf_events_main_names(const struct perf_events *events, struct profile *profile);

/* Enters the samples and periods of all events in the ledger by event name. */
void perf_events_enter(const struct perf_events *events, struct profile *profile);

#endif
