/* A copy of a thread's labels with all that they point to. The program may pop the labels, and free or unload what they
 * point to, before the sampler writes them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/unwind/stack_walk.h"
#include "recorder/write/labels.h"

struct label_copy {
    uint32_t count;
    uint32_t left_out_count; /* labels that could not be read, or did not fit */
    struct label_view *labels;
    size_t bytes_count; /* how much of the caller's memory the labels and all that they point to take */
};

/* Returns the part of the stack that has been walked, from sp on. is_alternate: it is an alternate signal stack.
 * [signal-safe] */
struct stack_part label_part(const struct grec_label_stack *labels, uint64_t sp, const struct walked_frame *walked,
                             size_t walked_count, bool is_alternate);

/* Copies the labels of that part of the thread's stack to `memory`, which must be aligned for pointers. Labels that do
 * not fit are left out. reader NULL: the labels are the calling thread's own, and do not change meanwhile.
 * [signal-safe] */
void label_copy_take(struct label_copy *copy, void *memory, size_t memory_bytes, const struct grec_label_stack *labels,
                     struct stack_part part, const struct label_reader *reader);
