/* What recording cost: one row for each round of a process's sampler. */
#ifndef GECKO_OVERHEADS_H
#define GECKO_OVERHEADS_H

#include "libconvert/base/ids.h"

struct overhead {
    process_id process;
    union {
        int64_t time_ns; /* the end of the round; see profile.h on times */
        int64_t time_ticks;
    };
    int64_t locking_ns;
    int64_t counters_ns;
    int64_t threads_ns;
};

static inline int64_t overhead_sum_ns(const struct overhead *overhead) {
    return overhead->locking_ns + overhead->counters_ns + overhead->threads_ns;
}

#endif
