/* Samples whose user stacks come later: perf takes the user part of a stack when the thread returns to user code, once
 * for all samples of that system call or interrupt. A cookie joins them. */
#pragma once

#include "perf_record.h"
#include "perf_tasks.h"

/* Makes the last sample of the series wait. Returns false if too many samples wait already or memory ran out
 * (latched). */
bool perf_deferred_add(struct perf_tasks *tasks, struct perf_task *task, struct perf_series *series, uint64_t cookie,
                       bool is_empty, struct position position);

/* Ends the waiting of the task's samples. Those with the cookie of the user stack get the stack `outer`, and before it
 * what they have. The others are older: their user stack was lost. All stacks are rows of `stacks`. */
void perf_deferred_join(struct perf_tasks *tasks, struct perf_task *task, const struct perf_record *user_stack,
                        stack_id outer, struct stack_table *stacks, struct perf_tallies *tallies);

/* Counts the samples that wait for stacks that never came. */
void perf_deferred_count(const struct perf_tasks *tasks, struct perf_tallies *tallies);

/* Frees the waiting samples of all tasks. */
void perf_deferred_free(struct perf_tasks *tasks);
