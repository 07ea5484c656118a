/* The events of a perf recording, what is counted of each, and what becomes of each. */
#pragma once

#include "libconvert/profile/profile.h"
#include "perf_record.h"
#include "perf_roles.h"
#include "readers/filter.h"

enum { PERF_TICK_LENGTHS = 4 };

struct perf_event {
    struct text name;      /* as printed, for instance "cpu-clock:ppp"; empty for lines without an event */
    struct text told_name; /* the name that tells what it is: the event's, or the one that its description had before */
    enum perf_event_unit unit;
    string_id measure; /* what it measures: see perf_role_measure; a row of the names */
    string_id track;   /* what its track is called: a row of the names, set by perf_events_treat. Equal ones share it */
    enum event_treatment choice;    /* what the options say */
    enum event_treatment treatment; /* set by perf_events_treat */
    bool is_name_made_up;           /* until perf_events_set_name */
    bool is_tracepoint;
    bool is_occurrence;   /* see perf_role_is_occurrence; a tracepoint is one */
    bool is_switch;       /* see perf_role_is_switch */
    bool counts_switches; /* see perf_role_counts_switches */
    bool is_off_cpu_time; /* see perf_role_is_off_cpu_time; no tracepoint */
    bool keeps_addresses; /* see perf_role_has_address; no tracepoint */
    uint64_t tracepoint_id;
    bool has_addresses;  /* some sample has the address of data */
    bool has_payloads;   /* samples tell more than their time and place */
    double frequency_hz; /* 0: unknown, or samples have a fixed period */
    bool has_period;
    uint64_t sample_count; /* number of samples with a stack */
    uint64_t period_sum;
    struct ledger_tally bare; /* samples without a stack that are kept until it is known what becomes of them */
    uint64_t bare_period_sum;
    uint64_t period_min;
    uint64_t period_max;
    struct position first;
    /* Samples of a clock, taken on the same processor as the one before. */
    struct column last_times_ns; /* int64_t, by processor; TIME_NONE: none yet */
    uint64_t gap_count;          /* number of gaps in which the processor may have worked all the time */
    uint64_t fitting_gap_count;  /* number of gaps that are not much longer than the period */
    uint64_t tick_gap_counts[PERF_TICK_LENGTHS]; /* numbers of longer gaps that are whole ticks of a kernel, for each
                                                    length of ticks */
};

struct perf_events {
    struct strings names;
    struct filter *filter; /* borrowed; NULL: everything is kept */
    struct column rows;    /* struct perf_event */
    bool
        has_waits; /* the time in which threads do not run makes samples: sched_switch, which tells of it, makes none */
    bool are_waits_alone;  /* samples are wanted of that time alone */
    uint32_t off_cpu_time; /* the event whose samples tell of that time in place of switches; ID_NONE: none does */
    uint32_t main; /* the event with most samples, among those that make the profile's; ID_NONE: no event has samples */
};

/* filter: NULL keeps everything; borrowed. */
void perf_events_init(struct perf_events *events, struct filter *filter, struct failure *failure);
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

/* Returns whether the samples of the event are left out, as is certain before all of the recording has been read. */
static inline bool perf_event_is_dropped(const struct perf_event *event) {
    return event->choice == EVENT_DROPPED && !event->is_name_made_up;
}

/* Returns whether samples of the event can be of use without a stack. */
static inline bool perf_events_use_bare(const struct perf_events *events, const struct perf_event *event) {
    bool may_be_chosen = events->filter && event->is_name_made_up;
    return event->is_occurrence || event->choice == EVENT_MARKERS || event->choice == EVENT_COUNTER || may_be_chosen;
}

/* Returns whether samples of the event become markers. Call it after perf_events_treat. */
static inline bool perf_event_marks(const struct perf_event *event, bool is_bare) {
    if (event->treatment == EVENT_DROPPED || event->treatment == EVENT_COUNTER) return false;
    return event->treatment == EVENT_MARKERS || (is_bare && event->is_occurrence);
}

/* Returns whether an event was counted, in contrast to those that occur: it shows where threads ran. */
bool perf_events_have_counted(const struct perf_events *events);

/* Decides what becomes of each event. What the options say comes first. The profile's samples are those of a clock or
 * of cycles; otherwise those of the event with the most stacks: one that is counted before an occurrence, a tracepoint
 * last. All events of one measure are one. Of the others, those that occur become markers, and those that are counted
 * become tracks. */
void perf_events_treat(struct perf_events *events);

/* Returns whether several of the events that make the profile's samples measure the same, so that periods count it
 * more than once. */
bool perf_events_overlap(const struct perf_events *events);

/* Returns the names of the events with that treatment, and with samples, as a text of the profile. EVENT_DEFAULT: of
 * all events. */
struct text perf_events_names(const struct perf_events *events, enum event_treatment treatment,
                              struct profile *profile);

/* Enters the samples and periods of all events in the ledger by event name, and tells the profile of the events. */
void perf_events_enter(const struct perf_events *events, struct profile *profile);
