/* Samples whose user stacks come later: perf takes the user part of a stack when the thread returns to user code, once
 * for all samples of that system call or interrupt. A cookie joins them. */
#ifndef GECKO_PERF_DEFERRED_H
#define GECKO_PERF_DEFERRED_H

#include "perf_tasks.h"

/* A sample that waits for its user stack. Its stack in `series` is that of the kernel until then. */
struct perf_deferred {
    struct perf_deferred *next; /* next in the same task */
    uint64_t cookie;
    struct perf_series *series;
    uint32_t sample; /* row in series->samples */
    bool is_empty;   /* the sample has no kernel stack; the one in `series` stands in for the user stack */
    struct position position;
};

/* Makes the last sample of the series wait. Returns false if too many samples wait already or memory ran out
 * (latched). */
bool perf_deferred_add(struct perf_tasks *tasks, struct perf_task *task, struct perf_series *series, uint64_t cookie,
                       bool is_empty, struct position position);

/* Returns the waiting samples of the task, oldest first, which wait no more. The caller frees each with memory_free. */
struct perf_deferred *perf_deferred_take(struct perf_tasks *tasks, struct perf_task *task);

static inline stack_id *perf_deferred_stack(const struct perf_deferred *deferred) {
    return &samples_at(&deferred->series->samples, deferred->sample)->stack;
}

/* Frees the waiting samples of all tasks. */
void perf_deferred_free(struct perf_tasks *tasks);

#endif
