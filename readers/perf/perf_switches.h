/* What records and samples of switches say about the times in which threads do not run. */
#pragma once

#include "perf_recording.h"

/* Returns the tid of the thread of a sample that has no tid: the one that a switch names itself, else the one that runs
 * on the processor since the previous switch; PID_UNKNOWN if neither is known. `event` is the sample's, or NULL. */
int64_t perf_switches_tid(struct perf_recording *recording, struct perf_event *event, const struct perf_record *record);

/* Uses a PERF_SWITCH record of the task. */
void perf_switches_use_record(struct perf_recording *recording, struct perf_task *task,
                              const struct perf_record *record);

/* Uses what a sample tells before filters, which may leave it out. Returns the task that leaves its processor there;
 * *wait then has all but the stack. NULL: none does. */
struct perf_task *perf_switches_begin(struct perf_recording *recording, const struct perf_occurrence *occurrence,
                                      const struct perf_record *record, struct perf_wait *wait);

/* The task has left its processor. The wait's stack is that of the last sample in the series, unless that is NULL. */
void perf_switches_finish(struct perf_recording *recording, struct perf_task *task, struct perf_wait *wait,
                          struct perf_series *series, struct position position);
