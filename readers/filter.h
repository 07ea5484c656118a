/* The part of a trace that becomes the profile, as the options say, and counts of what is left out. */
#pragma once

#include "libconvert/profile/profile.h"
#include "libconvert/profile/time_range.h"

enum { FILTER_KIND_COUNT = GECKO_CONVERT_FILTER_EVENT + 1, FILTER_NONE = FILTER_KIND_COUNT };

/* The kinds that need processes and threads with names: a bit for each. */
enum {
    FILTER_KINDS_OF_TASKS = 1 << GECKO_CONVERT_FILTER_PID | 1 << GECKO_CONVERT_FILTER_TID |
                            1 << GECKO_CONVERT_FILTER_COMM | 1 << GECKO_CONVERT_FILTER_EXCLUDE_COMM
};

/* What becomes of the samples of an event. */
enum event_treatment {
    EVENT_DEFAULT, /* what the reader decides */
    EVENT_SAMPLES, /* the profile's samples */
    EVENT_TRACKS,  /* samples of threads of their own */
    EVENT_MARKERS, /* markers with stacks */
    EVENT_COUNTER, /* a rate over time */
    EVENT_DROPPED, /* nothing */
    EVENT_TREATMENT_COUNT
};

/* Something in a thread, which the filters keep or leave out. */
struct filter_subject {
    int64_t pid; /* PID_UNKNOWN: unknown */
    int64_t tid;
    struct text comm;  /* the name of the thread at the time */
    int32_t processor; /* -1: unknown, or it is not of one processor */
    int64_t start_ns;
    int64_t end_ns; /* start_ns for an instant */
};

struct filter {
    struct column terms;     /* struct filter_term */
    unsigned kinds;          /* a bit for each kind of which a filter was given */
    bool has_percent;        /* a time is in percent */
    bool follows_reading;    /* readers have entered as kept what the filters leave out */
    bool is_started;         /* `times` has the given times on the trace's clock */
    struct time_range range; /* the samples' range, if the trace tells it before them */
    struct column times; /* struct kept_time, in order and without overlaps; before is_started, only those of markers */
    struct ledger_tally tallies[FILTER_KIND_COUNT][GECKO_CONVERT_UNIT_COUNT];
    uint64_t marker_counts[FILTER_KIND_COUNT]; /* markers of something that is counted elsewhere, such as switches */
};

/* Parses the filters. Values that are not valid are latched as FAILURE_USAGE. Borrows the values. */
void filter_init(struct filter *filter, const struct gecko_convert_filter *filters, size_t count,
                 struct failure *failure);
void filter_fini(struct filter *filter);

enum { FILTER_KINDS_OF_TIMES = 1 << GECKO_CONVERT_FILTER_TIME };

/* Drops the filters of other kinds than these bits. */
void filter_select(struct filter *filter, unsigned wanted);

/* Returns whether filters of the kind were given. */
static inline bool filter_has(const struct filter *filter, enum gecko_convert_filter_kind kind) {
    return filter->kinds >> kind & 1;
}

/* Returns whether the filter may leave out whole tasks: it has filters of another kind than events. */
static inline bool filter_leaves_tasks(const struct filter *filter) {
    return filter && filter->kinds & ~(1U << GECKO_CONVERT_FILTER_EVENT);
}

/* Returns the name of the option of that kind: "exclude-comm". Static. */
const char *filter_name(unsigned kind);

/* Returns whether a time names markers ("@NAME") and filter_find_ranges has not found their ranges yet. Until then, the
 * filter keeps nothing. */
bool filter_awaits_markers(const struct filter *filter);

/* Finds the ranges of the markers that times name. `profile` has the whole trace, with times on the trace's clock.
 * Latches FAILURE_USAGE if no marker has one of the names. */
void filter_find_ranges(struct filter *filter, const struct profile *profile);

/* Sets the time of the first sample. Latches FAILURE_USAGE if times are in percent and the range is not known. */
void filter_start(struct filter *filter, int64_t first_ns, struct failure *failure);

/* Returns the treatment of an event: that of the last filter of events that matches one of the event's names;
 * EVENT_DEFAULT if none does. */
enum event_treatment filter_treat(struct filter *filter, const struct text *names, size_t name_count);

/* Returns the value of --event for that treatment. Static. */
const char *event_treatment_name(enum event_treatment treatment);

/* How notes in the ledger about filters that match no event begin. The summary shows them. */
#define FILTER_UNUSED_CAUSE "--event: "

/* Notes the filters of events that have matched none. `events` lists the events of the recording. */
void filter_note_unused(const struct filter *filter, struct text events, struct ledger *ledger);

/* Returns the thread as filters see it; the caller adds the processor and the times. */
struct filter_subject filter_subject_of(const struct profile *profile, thread_id thread);

/* Returns the kind of the first filter that leaves the subject out; FILTER_NONE if it is kept. */
unsigned filter_judge(const struct filter *filter, const struct filter_subject *subject);

static inline void filter_count(struct filter *filter, unsigned kind, enum gecko_convert_unit unit, uint64_t count,
                                struct position position) {
    ledger_tally_add(&filter->tallies[kind][unit], count, position);
}

/* Returns whether a marker is kept; counts one that is not. Cuts an interval to the given times, so that a long wait
 * does not stretch the profile. A NULL filter keeps everything. */
bool filter_keeps_marker(struct filter *filter, const struct profile *profile, thread_id thread, int64_t *start_ns,
                         int64_t *end_ns);

/* Returns whether the thread is kept at that time, whatever the times that were given. Counts nothing. */
bool filter_keeps_thread(const struct filter *filter, const struct profile *profile, thread_id thread, int64_t time_ns);

/* Cuts an interval to the given times: what is left begins and ends in one of them, and is empty if it overlaps none. A
 * NULL filter keeps everything. */
void filter_cut(const struct filter *filter, int64_t *start_ns, int64_t *end_ns);

/* Returns how much of an interval is in the given times. A NULL filter keeps everything. */
int64_t filter_length_ns(const struct filter *filter, int64_t start_ns, int64_t end_ns);

/* Cuts the time of the recording to the given times, so that the profile has their range even if nothing happened at
 * their start or end. `end_ns` is when the recording ended if the profile does not tell. Makes the ends of threads and
 * processes after the given times unknown. */
void filter_cut_recording(const struct filter *filter, struct profile *profile, int64_t end_ns);

/* Removes from a profile in nanoseconds what the filter leaves out, and enters that in the ledger. Times count from the
 * first sample, or from the first event of any kind if there are no samples. */
void filter_profile(struct filter *filter, struct profile *profile);

/* Returns how many items of the unit were left out. */
uint64_t filter_left_out(const struct filter *filter, enum gecko_convert_unit unit);

/* Enters in the ledger what was counted. */
void filter_enter(const struct filter *filter, struct ledger *ledger);
