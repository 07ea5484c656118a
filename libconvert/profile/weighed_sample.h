/* What a sample weighs: its weight and its processor time, and to which stacks they belong. */
#ifndef GECKO_WEIGHED_SAMPLE_H
#define GECKO_WEIGHED_SAMPLE_H

#include "profile.h"

/* The innermost frame of a thread that had to make room for another one: it is not idle, but does not run. */
#define PREEMPTED_FRAME TEXT("(preempted)")

struct weighed_sample {
    double weight; /* as profile_weight_of */
    /* Processor time since the thread's sample before, in milliseconds or cycles. The front-end does not know it for
     * the first sample, so it is 0 there. */
    double cpu;
    stack_id stack;   /* has the weight; none: the sample has no stack */
    stack_id working; /* has the processor time; none: no function does */
    bool is_idle;
};

/* `idle_stacks` is what profile_idle_stacks returned. A thread that waits or is preempted uses no processor time: what
 * it used before belongs to the functions in which it stopped. */
struct weighed_sample profile_weigh_sample(const struct profile *profile, const struct samples *samples, uint32_t row,
                                           const bool *idle_stacks);

/* Returns the unit of processor times, "ms" or "cycles"; an empty text if they are not known. */
struct text profile_cpu_unit(const struct profile *profile);

#endif
