/* What a sample weighs: its weight and its processor time, and to which stacks they belong. */
#pragma once

#include "profile.h"

/* The innermost frame of a thread that was preempted: it is not idle, but does not run. */
#define PREEMPTED_FRAME TEXT("(preempted)")

/* The only frame of a thread that has used its processor time by then, but not necessarily just before. */
#define BETWEEN_SAMPLES_FRAME TEXT("(between samples)")

struct weighed_sample {
    double weight; /* as profile_weight_of */
    /* Processor time since the thread's sample before, in milliseconds or cycles. The front-end does not know it for
     * the first sample, so it is 0 there. */
    double cpu_since_last;
    double cpu;       /* processor time of `working`, in the same unit */
    stack_id stack;   /* has the weight; none: the sample has no stack */
    stack_id working; /* has the processor time; none: no function does; not `stack` if the thread does not run */
};

/* What is known about a profile and a thread for weighing: which stacks use no processor time, which weights are times.
 * */
struct weighing {
    const struct profile *profile; /* borrowed */
    bool *idle_stacks;             /* owned: see profile_idle_stacks */
    bool has_preempted;            /* some function is PREEMPTED_FRAME */
    bool has_times;                /* weights of some threads are the time in which they ran, or did not run */
    const struct samples *timed;   /* borrowed; those of the thread, if its weights are; else NULL */
};

void weighing_init(struct weighing *weighing, const struct profile *profile);
void weighing_fini(struct weighing *weighing);

/* Returns whether a thread whose innermost frame is that of the stack waits or is preempted. */
bool weighing_is_resting(const struct weighing *weighing, stack_id stack);

/* Call this before the samples of a thread are weighed, unless their processor time does not matter. Where a recording
 * of waits and one of the recorder are one profile, the recorder's samples each stand for an interval. */
void weighing_enter(struct weighing *weighing, const struct samples *samples);

/* A thread that waits or is preempted uses no processor time: what it used before belongs to the functions in which it
 * stopped. If weights are times, the time in which threads ran is divided among their samples by weight already: a wait
 * of an unknown stack would give the time of work without a sample to the functions that all stacks begin with. */
struct weighed_sample weighing_weigh(const struct weighing *weighing, const struct samples *samples, uint32_t row);

/* Returns the unit of processor times, "ms" or "cycles"; an empty text if they are not known. */
struct text profile_cpu_unit(const struct profile *profile);
