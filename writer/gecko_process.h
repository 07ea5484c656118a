/* Processes of a finished profile, as the Gecko format has them. */
#ifndef GECKO_PROCESS_H
#define GECKO_PROCESS_H

#include "json.h"
#include "libconvert/profile.h"

/* Whether the thread at that place of those to write is the first one of its process. */
static inline bool gecko_is_first_of_process(const struct profile *profile, size_t place) {
    return place == 0 || !process_is_same(profile_ordered_thread(profile, place)->process,
                                          profile_ordered_thread(profile, place - 1)->process);
}

/* Of a process that is written: main threads come first. */
static inline bool gecko_has_main_thread(const struct profile *profile, process_id process) {
    return profile_ordered_thread(profile, profile_place_of_process(profile, process))->is_main;
}

/* "counters" of the process, where there are any that the client would read. */
void gecko_counters_write(struct json *json, const struct profile *profile, process_id process);

/* "profilerOverhead" of the process, likewise. */
void gecko_overhead_write(struct json *json, const struct profile *profile, process_id process);

#endif
