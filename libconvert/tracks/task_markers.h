/* Markers that show when a thread or a process ran. */
#pragma once

#include "libconvert/profile/profile.h"
#include "libconvert/profile/time_range.h"

struct task_markers {
    struct profile *profile;  /* borrowed */
    struct time_range within; /* all events; markers are cut to it */
    bool has_commands;        /* the command line of some process is shown */
};

/* The profile must not be finished. Running out of memory is latched in its failure by all functions. */
void task_markers_init(struct task_markers *markers, struct profile *profile);

/* Add a marker to the thread `to` for a thread or a process that ran in that range, and has the track of `to`. What is
 * outside of the profile's events, or was left out by a filter, is cut off. */
void task_markers_add_thread(const struct task_markers *markers, struct thread *to, const struct thread *thread,
                             struct time_range range);
void task_markers_add_process(const struct task_markers *markers, struct thread *to, const struct process *process,
                              struct time_range range);

/* Adds a marker for each process whose start and parent are known to the main thread of the parent. A process that has
 * not ended lasts until the last event. Does nothing if times are made up. Call it before profile_merge_crowds.
 * needs_content: parents that have nothing else to show get none, so that they do not come back after a filter. */
void task_markers_add_children(const struct task_markers *markers, bool needs_content);

#define SHARED_TRACKS_CAUSE "--merge-threads no: threads share a track in the profile, "

/* Returns how many threads and processes share tracks in a profile that was read, according to its markers. */
uint64_t task_markers_count_members(struct profile *profile);

/* Removes the markers of threads and processes that share a track, which no recording has, from a profile that was
 * read. The facts about a recording and about its profile are then the same. */
void task_markers_drop_members(struct profile *profile);
