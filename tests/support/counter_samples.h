/* Adds samples to counters. */
#pragma once

#include "libconvert/profile/counter.h"

static inline void counter_add_sample(struct counter *counter, int64_t time_ns, int64_t change, uint32_t number) {
    struct counter_sample *sample = column_push(&counter->samples);
    if (sample) *sample = (struct counter_sample){.time_ns = time_ns, .change = change, .number = number};
}
