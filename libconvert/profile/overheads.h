/* What recording cost: one row for each round of a process's sampler. */
#pragma once

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
