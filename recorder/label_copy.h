/* The labels of a thread with all that they point to, copied: the program may pop them, and free or unload what they
 * point to, before the sampler has written them. */
#ifndef GREC_LABEL_COPY_H
#define GREC_LABEL_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gecko_recorder.h"

enum { LABEL_COPY_BYTES = 16 * 1024 };

struct label_copy {
    struct grec_label_stack labels; /* whose pointers lead into `kept` */
    uint32_t left_out_count;        /* labels of which something was not there, or did not fit */
    uint32_t kept_bytes_count;
    bool is_whole; /* of the label under way: nothing of it is missing */
    _Alignas(8) char kept[LABEL_COPY_BYTES];
};

/* How memory is read: returns how many bytes from the address on could be copied. NULL in place of a reader: the labels
 * are the calling thread's own, and stay where they are meanwhile. */
struct label_reader {
    size_t (*copy)(void *context, void *to, uint64_t address, size_t bytes_count);
    void *context;
};

/* Copies the labels of a thread. With a reader `labels` itself is read through it, but for its depth. [signal-safe] */
void label_copy_take(struct label_copy *copy, const struct grec_label_stack *labels,
                     const struct label_reader *reader);

#endif
