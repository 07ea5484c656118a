/* Finds the libraries whose functions have no names in the profile, and why. */
#ifndef GECKO_MISSING_NAMES_H
#define GECKO_MISSING_NAMES_H

#include "libconvert/profile/profile.h"

/* A library with samples whose innermost frame has no name. */
struct missing_name {
    struct text library; /* borrowed from the profile, or static */
    uint64_t sample_count;
    const char *reason; /* static */
};

struct missing_names {
    struct column rows;    /* struct missing_name, those with the most samples first */
    uint64_t sample_count; /* samples with a stack */
};

/* Reads the finished profile. `looks_up`: files were asked for names. Running out of memory is latched in the profile's
 * failure. Call missing_names_fini in any case. */
void missing_names_init(struct missing_names *missing, const struct profile *profile, bool looks_up);
void missing_names_fini(struct missing_names *missing);

#endif
