/* The parts of profile_finish that have files of their own. */
#pragma once

#include "profile.h"

/* Sorts the markers of the thread by their start. */
void profile_order_markers(struct thread *thread);

/* Replaces the threads that markers and allocations of all threads name: `numbers` has the new number of each. */
void profile_renumber_threads(struct profile *profile, const uint32_t *numbers);

/* Removes the counters for which is_kept returns false. */
void profile_filter_counters(struct profile *profile,
                             bool is_kept(struct profile *profile, const struct counter *counter));

/* Sorts the allocations of all threads by time, and moves deallocations to the threads that allocated. */
void profile_order_allocations(struct profile *profile);

/* Sets the profile's origin, start and end, and makes all times relative to the origin. Rows must be sorted by time,
 * and counters have samples. */
void profile_make_times_relative(struct profile *profile);

/* Returns the median time between consecutive samples of a thread that ran in between, over the first samples of the
 * profile. A sample with an earlier time than the previous one is left out. If the configured interval is known,
 * returns that unless enough samples are taken at another pace. Returns a default if there are no such times or memory
 * ran out (latched). */
int64_t profile_estimate_interval_ns(const struct profile *profile);

/* Orders rows that begin with their process id: counters, paused ranges, overheads and lines of logs. Those without a
 * process come last. */
int profile_compare_processes(const void *left, const void *right);

/* Finds the main threads, and names processes and threads that have no name. It may be called before profile_finish. */
void profile_name_tasks(struct profile *profile);

/* Calls profile_name_tasks, and sets the order of the threads to write. */
void profile_order_threads(struct profile *profile);
