/* Properties of a perf recording, such as its "hostname". They become the profile's metadata. */
#pragma once

#include "libconvert/profile/profile.h"

struct perf_header {
    bool is_own;                /* gecko-convert record wrote the recording */
    bool has_dwarf_stacks;      /* user stacks come from an unwinder, so return addresses already point into the call */
    bool is_of_some_processors; /* perf record -C: what happens on others is not recorded */
    double frequency_hz;        /* sampling frequency that text gives; 0 if unknown */
    struct text arguments;      /* those of the recorded program, each with a NUL after it. The profile's */
    struct text script;         /* file name of the script that the recorded shell runs; empty: none. The profile's */
};

/* Enters a property of the recording under the name that perf script prints ("hostname"). An empty key or value enters
 * nothing. */
void perf_header_enter(struct perf_header *header, struct profile *profile, struct text key, struct text value);
