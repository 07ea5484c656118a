/* The steps of profile_merge_crowds, each in a file of its own. */
#pragma once

#include "crowds.h"
#include "libconvert/profile/time_range.h"

/* Which threads and processes share a track. All members are owned. */
struct crowd_heads {
    uint32_t *threads;   /* the thread that has the track of each thread: itself or another one */
    uint32_t *processes; /* the same of processes */
    /* Equal for processes of one name whose parents have one kind: the compilers of several makes below one make. */
    uint32_t *process_kinds;
    /* From the first to the last event of each thread and process; if it has none, its life. Empty: unknown. */
    struct time_range *thread_times;
    struct time_range *process_times;
};

/* ---- crowd_times.c. ---- */

/* Sets the times. If those of the profile are made up, all follow each other. */
void crowd_times_find(const struct profile *profile, struct crowd_heads *heads);

/* Return the time from the start to the end, as far as these are known, or else from the first to the last event.
 * Empty: unknown. */
struct time_range crowd_lifetime_of_thread(const struct profile *profile, const struct crowd_heads *heads,
                                           uint32_t row);
struct time_range crowd_lifetime_of_process(const struct profile *profile, const struct crowd_heads *heads,
                                            uint32_t row);

/* Returns when the thread ran, in order: a range for each sample, which ends with it and is as long as the processor
 * time before it. A thread that has other events, but no samples, ran from the first to the last one. The caller frees
 * the ranges; there are none if memory ran out (latched). */
struct time_range *crowd_turns_of_thread(const struct profile *profile, uint32_t row, uint32_t *count);

/* Returns in which time the members of a track together use no more processor time than one thread can: four intervals,
 * since samples do not tell exactly when a thread ran. */
int64_t crowd_period_ns(const struct profile *profile);

/* Sorts the samples of a track. Gives processor time that its members used at a time to the samples before, or else
 * after, so that the front-end cuts off none of it; the sum stays. `moves_waits`: first, each sample of a thread that
 * waits moves to the end of the time in which another one ran. */
void crowd_level_cpu(struct samples *samples, bool moves_waits, struct failure *failure);

/* ---- crowd_moves.c. ---- */

/* Moves the rows of all threads and processes to their heads. */
void crowd_moves_run(struct profile *profile, const struct crowd_heads *heads);
