/* A range of times, from the first event to the last one. */
#pragma once

#include <stdint.h>

#include "profile.h"

struct time_range {
    int64_t first_ns;
    int64_t last_ns; /* if it precedes first_ns, there is no event */
};

#define TIME_RANGE_EMPTY ((struct time_range){INT64_MAX, INT64_MIN})

static inline void time_range_extend(struct time_range *range, int64_t first_ns, int64_t last_ns) {
    if (first_ns < range->first_ns) range->first_ns = first_ns;
    if (last_ns > range->last_ns) range->last_ns = last_ns;
}

static inline void time_range_add(struct time_range *range, int64_t time_ns) {
    time_range_extend(range, time_ns, time_ns);
}

static inline bool time_range_is_empty(const struct time_range *range) { return range->first_ns > range->last_ns; }

/* Returns the range of the thread's samples, markers and allocations. */
struct time_range thread_events(const struct thread *thread);

/* Returns the range of all samples, markers, allocations and samples of counters. */
struct time_range profile_events(const struct profile *profile);

/* Returns the end of the range that viewers show: the profile's end, or an interval after the last event if that is
 * later, since the client leaves out what is at the end of the range. */
int64_t profile_shown_end(const struct profile *profile);
