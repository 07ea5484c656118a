/* Where the bytes under a compression or an archive come from: the layer below. */
#ifndef GECKO_INPUT_SOURCE_H
#define GECKO_INPUT_SOURCE_H

#include <stdint.h>

#include "libconvert/text.h"

struct input_source {
    void *context;

    /* Sets *bytes to the next run (valid until the next call; empty at the end). False when the source failed, which
     * it has latched. */
    bool (*read)(void *context, struct text *bytes);

    /* The next run is to begin at that byte, at most total_bytes. NULL when the source cannot go back: a pipe. */
    void (*seek)(void *context, uint64_t offset);
    uint64_t total_bytes; /* 0 without seek */
};

#endif
