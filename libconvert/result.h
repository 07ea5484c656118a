/* Fills the result of a conversion. */
#ifndef GECKO_RESULT_H
#define GECKO_RESULT_H

#include "libconvert/merge/merge.h"
#include "libconvert/profile/profile.h"

/* What the result describes. All pointers are borrowed. */
struct result_sources {
    const struct profile *profile;
    struct text wrapping;
    const struct merge *merge;                /* of several inputs; zeroed: there is only one */
    const struct gecko_convert_input *inputs; /* one for each of several inputs; without texts */
    const struct text *wrappings;             /* one for each of several inputs */
};

/* Sets counts, sums, entries, inputs and wrapping. Returns false if memory ran out. */
bool result_fill(struct gecko_convert_result *result, const struct result_sources *sources);

#endif
