/* Gives stacks of addresses their meaning: walks copied stacks, and finds out which code is at addresses. */
#ifndef GECKO_DATA_ADDRESSES_H
#define GECKO_DATA_ADDRESSES_H

#include "data_code.h"
#include "data_stacks.h"
#include "data_unwind.h"
#include "readers/perf/perf_recording.h"

struct data_addresses {
    struct perf_recording *recording; /* borrowed */
    struct data_code code;
    struct data_unwind unwind;
    struct data_stacks stacks;
    struct arena texts;
    bool has_threads; /* may start threads */
};

/* Initializes the addresses of a recording that is read from the input, and makes them the recording's code. */
void data_addresses_init(struct data_addresses *addresses, struct perf_recording *recording, const struct input *input,
                         const struct reader_options *options);
void data_addresses_fini(struct data_addresses *addresses);

#endif
