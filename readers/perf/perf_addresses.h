/* Gives stacks of addresses their meaning: walks copied stacks, and finds out which code is at addresses. */
#pragma once

#include "perf_places.h"
#include "perf_recording.h"
#include "perf_unwind.h"

struct perf_addresses {
    struct perf_recording *recording; /* borrowed */
    struct perf_places code;
    struct perf_unwind unwind;
    struct perf_place *places; /* owned; of a sample with a copied stack, innermost first */
    size_t place_capacity;
    struct arena texts;
    bool has_threads; /* may start threads */
};

/* Initializes the addresses of a recording that is read from the input, and makes them the recording's code. */
void perf_addresses_init(struct perf_addresses *addresses, struct perf_recording *recording, const struct input *input,
                         const struct reader_options *options);
void perf_addresses_fini(struct perf_addresses *addresses);
