/* Markers that tell when a thread or a process ran. */
#ifndef GECKO_TASK_MARKERS_H
#define GECKO_TASK_MARKERS_H

#include "libconvert/profile/profile.h"
#include "libconvert/profile/time_range.h"

/* Add a marker to the thread `to` for another thread or a process that ran in that range, which must not be empty.
 * Running out of memory is latched. */
void task_markers_add_thread(struct profile *profile, struct thread *to, const struct thread *thread,
                             struct time_range range);
void task_markers_add_process(struct profile *profile, struct thread *to, const struct process *process,
                              struct time_range range);

#endif
