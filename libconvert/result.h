/* Fills the result of a conversion. */
#pragma once

#include "input_loader.h"
#include "libconvert/merge/merge.h"

/* What the result describes. All pointers are borrowed. */
struct result_sources {
    const struct profile *profile;
    const struct input_loader *loaders; /* one for each input */
    size_t loader_count;                /* 0: nothing was read, since the conversion failed before */
    const struct merge *merge;          /* the merge of several inputs; zeroed: there is only one */
    bool looks_up;                      /* files were asked for the names of functions */
};

/* Sets counts, sums, entries, inputs and what describes the first input. Returns false if memory ran out. */
bool result_fill(struct gecko_convert_result *result, const struct result_sources *sources);
