/* The parts of a finished profile that the Gecko format keeps per process. */
#pragma once

#include "libconvert/profile/profile.h"
#include "writer/json.h"

/* Returns whether the thread at that position of the profile's thread order is the first of its process. */
static inline bool gecko_is_first_of_process(const struct profile *profile, size_t position) {
    return position == 0 || !process_is_same(profile_ordered_thread(profile, position)->process,
                                             profile_ordered_thread(profile, position - 1)->process);
}

/* Returns whether the process has a main thread among the written threads. Main threads come first. */
static inline bool gecko_has_main_thread(const struct profile *profile, process_id process) {
    return profile_ordered_thread(profile, profile_place_of_process(profile, process))->is_main;
}

/* Writes "counters" of the process if the client would read any. */
void gecko_counters_write(struct json *json, const struct profile *profile, process_id process);

/* Writes "profilerOverhead" of the process if the client would read it. */
void gecko_overhead_write(struct json *json, const struct profile *profile, process_id process);
