/* A copy of a thread's labels with all that they point to. The program may pop the labels, and free or unload what they
 * point to, before the sampler writes them. */
#ifndef GREC_LABEL_COPY_H
#define GREC_LABEL_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/gecko_recorder.h"

enum { LABEL_COPY_BYTES = 16 * 1024 };

struct label_copy {
    struct grec_label_stack labels; /* their pointers point into `kept` */
    uint32_t left_out_count;        /* labels that could not be read, or did not fit */
    uint32_t kept_bytes_count;
    bool is_whole; /* nothing of the label that is being copied is missing */
    _Alignas(8) char kept[LABEL_COPY_BYTES];
};

/* How memory is read. `copy` returns how many bytes from the address on it could copy. A NULL reader means that the
 * labels are the calling thread's own, and do not change meanwhile. */
struct label_reader {
    size_t (*copy)(void *context, void *to, uint64_t address, size_t bytes_count);
    void *context;
};

/* Copies the labels of a thread. With a reader, `labels` itself is read through the reader too, except its depth.
 * [signal-safe] */
void label_copy_take(struct label_copy *copy, const struct grec_label_stack *labels, const struct label_reader *reader);

#endif
