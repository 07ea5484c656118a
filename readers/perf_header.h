/* The comments that perf script --header prints: "# hostname : vm". They become the profile's metadata. */
#ifndef GECKO_PERF_HEADER_H
#define GECKO_PERF_HEADER_H

#include "libconvert/profile.h"

struct perf_header {
    bool has_dwarf_stacks; /* the user's stacks come from an unwinder, whose callers point into the call already */
    double frequency_hz;   /* of the sampling; 0 unknown */
};

/* Reads one line that begins with '#'. Lines that are no "key : value" are passed over. */
void perf_header_read_line(struct perf_header *header, struct profile *profile, struct text line);

#endif
