/* A stack of native frames with label frames between them, as in the trace. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/gecko_recorder.h"
#include "recorder/unwind/stack_walk.h"
#include "recorder/write/labels.h"

enum {
    NATIVE_FRAME_COUNT_MAX = 256,
    MERGED_FRAME_COUNT_MAX = NATIVE_FRAME_COUNT_MAX + GREC_LABEL_DEPTH_MAX + 1,
    MERGED_LABEL_BYTES_MAX = 4096,
    MERGED_INNERMOST_BYTES = 16, /* more than a label without a text takes */
};

/* Two frames are the same if their kinds and values are equal. */
struct merged_frame {
    uint64_t value;       /* the address of a native frame, the hash of a label frame */
    uint32_t kind;        /* enum trace_frame_kind */
    uint16_t bytes_at;    /* where the bytes that a label frame has in the trace begin, in the stack's bytes */
    uint16_t bytes_count; /* how many they are; 0: this is a native frame */
};

/* The outermost frame is the first. */
struct merged_stack {
    uint32_t frame_count;
    uint32_t bytes_count;
    bool is_truncated;
    struct merged_frame frames[MERGED_FRAME_COUNT_MAX];
    unsigned char bytes[MERGED_LABEL_BYTES_MAX + MERGED_INNERMOST_BYTES];
};

/* Merges walked frames, the innermost one first, with the labels of the same thread, the outermost one first. Labels
 * that do not fit are left out and counted, and frames of the recorder are left out. Call this in a recording call.
 * [signal-safe] */
void merged_stack_make(struct merged_stack *stack, const struct walked_frame *walked, size_t walked_count,
                       const struct label_view *labels, uint32_t label_count);

/* Makes a stack that is complete and has no frames. */
void merged_stack_make_empty(struct merged_stack *stack);

/* Adds an innermost frame. There is always room for one. */
void merged_stack_add_innermost(struct merged_stack *stack, struct grec_label *label);

/* Returns how many bytes merged_stack_write writes at most. */
uint32_t merged_stack_bytes_max(const struct merged_stack *stack);

/* Drops outermost frames until the stack takes at most bytes_max bytes. */
void merged_stack_fit(struct merged_stack *stack, uint32_t bytes_max);

/* Writes the frames from `first` on, and returns where they end. *running_address is the last address in the chunk.
 * If address_at is not NULL, *address_at becomes the position of the first address; unchanged if there is none. */
unsigned char *merged_stack_write(unsigned char *at, const struct merged_stack *stack, uint32_t first,
                                  uint64_t *running_address, unsigned char **address_at);

/* Returns the first address of the stack; 0: it has none. */
uint64_t merged_stack_first_address(const struct merged_stack *stack);

void merged_stack_copy(struct merged_stack *to, const struct merged_stack *stack);

/* Returns how many outermost frames are the same. */
uint32_t merged_stack_common(const struct merged_stack *a, const struct merged_stack *b);
