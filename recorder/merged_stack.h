/* A stack of native frames with the label frames between them, as the trace has it. */
#ifndef GREC_MERGED_STACK_H
#define GREC_MERGED_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gecko_recorder.h"
#include "stack_walk.h"

enum {
    NATIVE_FRAME_COUNT_MAX = 256,
    MERGED_FRAME_COUNT_MAX = NATIVE_FRAME_COUNT_MAX + GREC_LABEL_DEPTH_MAX + 1,
    MERGED_LABEL_BYTES_MAX = 4096,
    MERGED_INNERMOST_BYTES = 16, /* a label without a text takes less */
};

/* Two are the same if kind and value are. */
struct merged_frame {
    uint64_t value;       /* a native frame's address, a label frame's hash */
    uint32_t kind;        /* enum trace_frame_kind */
    uint16_t bytes_at;    /* of a label frame: what the trace has, in the stack's bytes */
    uint16_t bytes_count; /* 0: a native frame */
};

/* The outermost frame is the first. */
struct merged_stack {
    uint32_t frame_count;
    uint32_t bytes_count;
    bool is_truncated;
    struct merged_frame frames[MERGED_FRAME_COUNT_MAX];
    unsigned char bytes[MERGED_LABEL_BYTES_MAX + MERGED_INNERMOST_BYTES];
};

/* From walked frames, the innermost one first, and the labels of the same thread. depth: of the recording call. Label
 * frames that do not fit are left out. [signal-safe] */
void merged_stack_make(struct merged_stack *stack, const struct walked_frame *walked, size_t walked_count,
                       const struct grec_label_stack *labels, uint32_t depth);

/* Without a frame, whole. */
void merged_stack_make_empty(struct merged_stack *stack);

/* One frame more, once, for which there is always room. */
void merged_stack_add_innermost(struct merged_stack *stack, struct grec_label *label, uint32_t depth);

/* What merged_stack_write takes at most. */
uint32_t merged_stack_bytes_max(const struct merged_stack *stack);

/* Drops outermost frames until it takes so many bytes. */
void merged_stack_fit(struct merged_stack *stack, uint32_t bytes_max);

/* Writes the frames from `first` on; *running_address is the chunk's. Returns the place behind, and in *address_at
 * (NULL: nobody wants to know) that of the first address; it stays as it is where there is none. */
unsigned char *merged_stack_write(unsigned char *at, const struct merged_stack *stack, uint32_t first,
                                  uint64_t *running_address, unsigned char **address_at);

/* The first address of the stack; 0: there is none. */
uint64_t merged_stack_first_address(const struct merged_stack *stack);

void merged_stack_copy(struct merged_stack *to, const struct merged_stack *stack);

/* How many outermost frames are the same. */
uint32_t merged_stack_common(const struct merged_stack *a, const struct merged_stack *b);

#endif
