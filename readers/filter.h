/* The part of a trace that becomes the profile, as the options say, and counts of what is left out. */
#ifndef GECKO_FILTER_H
#define GECKO_FILTER_H

#include "libconvert/profile/profile.h"
#include "libconvert/profile/time_range.h"

enum { FILTER_KIND_COUNT = GECKO_CONVERT_FILTER_CPU + 1, FILTER_NONE = FILTER_KIND_COUNT };

/* What is kept, or left out: something in a thread. */
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
    unsigned kinds;          /* a bit for each kind that was given */
    bool has_percent;        /* of the time */
    bool is_started;         /* times are those of the trace's clock, no longer from the first sample */
    struct time_range range; /* of the samples, if the trace tells it before them */
    struct ledger_tally tallies[FILTER_KIND_COUNT][GECKO_CONVERT_UNIT_COUNT];
    uint64_t marker_counts[FILTER_KIND_COUNT]; /* markers of what is counted elsewhere, such as switches */
};

/* Parses the filters. Values that are not valid are latched as FAILURE_USAGE. Borrows the values. */
void filter_init(struct filter *filter, const struct gecko_convert_filter *filters, size_t count,
                 struct failure *failure);
void filter_fini(struct filter *filter);

/* Returns whether filters of the kind were given. */
static inline bool filter_has(const struct filter *filter, enum gecko_convert_filter_kind kind) {
    return filter->kinds >> kind & 1;
}

/* Returns the name of the option of that kind: "exclude-comm". Static. */
const char *filter_name(unsigned kind);

/* Tells the time of the first sample. Latches FAILURE_USAGE if times are in percent and the range is not known. */
void filter_start(struct filter *filter, int64_t first_ns, struct failure *failure);

/* Returns the thread as filters see it; the caller adds the processor and the times. */
struct filter_subject filter_subject_of(const struct profile *profile, thread_id thread);

/* Returns the kind of the first filter that leaves the subject out; FILTER_NONE if it is kept. */
unsigned filter_judge(const struct filter *filter, const struct filter_subject *subject);

static inline void filter_count(struct filter *filter, unsigned kind, enum gecko_convert_unit unit, uint64_t count,
                                struct position position) {
    ledger_tally_add(&filter->tallies[kind][unit], count, position);
}

/* Returns whether a marker is kept; counts one that is not. An interval that reaches out of the given times is cut, so
 * that a long wait does not stretch the profile. A NULL filter keeps everything. */
bool filter_keeps_marker(struct filter *filter, const struct profile *profile, thread_id thread, int64_t *start_ns,
                         int64_t *end_ns);

/* Makes the ends of threads and processes after the given times unknown: they would stretch the profile. */
void filter_forget_ends(const struct filter *filter, struct profile *profile);

/* Enters in the ledger what was counted. */
void filter_enter(const struct filter *filter, struct ledger *ledger);

#endif
