/* A copy of a thread's labels with all that they point to. The program may pop the labels, and free or unload what they
 * point to, before the sampler writes them. */
#ifndef GREC_LABEL_COPY_H
#define GREC_LABEL_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/gecko_recorder.h"

struct label_copy {
    uint32_t count;
    uint32_t left_out_count; /* labels that could not be read, or did not fit */
    struct grec_label_frame *frames;
    size_t bytes_count; /* of the caller's memory that the frames and all that they point to take */
};

/* How memory is read. `copy` returns how many bytes from the address on it could copy. A NULL reader means that the
 * labels are the calling thread's own, and do not change meanwhile. */
struct label_reader {
    size_t (*copy)(void *context, void *to, uint64_t address, size_t bytes_count);
    void *context;
};

/* Copies the labels of a thread to `memory`, which must be aligned for pointers. Labels that do not fit are left out.
 * With a reader, `labels` itself is read through the reader too, except its depth. [signal-safe] */
void label_copy_take(struct label_copy *copy, void *memory, size_t memory_bytes, const struct grec_label_stack *labels,
                     const struct label_reader *reader);

#endif
