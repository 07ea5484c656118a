/* The stack of the sample that is being read. Frame lines go in, innermost first; frames of the profile come out, root
 * first. */
#ifndef GECKO_PERF_STACK_H
#define GECKO_PERF_STACK_H

#include "perf_symbols.h"

/* Bounds memory. The kernel's own limit (kernel.perf_event_max_stack) is far lower. */
enum { PERF_STACK_FRAMES_MAX = 65535 };

struct perf_stack {
    struct perf_symbols symbols;
    struct perf_maps maps;
    struct column libs;            /* struct perf_stack_lib, by row of symbols.libraries */
    struct profile *profile;       /* borrowed */
    bool callers_are_adjusted;     /* user frames come from an unwinder, so they already point into the call */
    struct perf_stack_line *lines; /* innermost first */
    uint32_t count;
    uint32_t capacity;
    bool has_cookie;  /* a line is the cookie of a deferred user stack */
    frame_id *frames; /* root first; filled by perf_stack_take */
    uint32_t frames_capacity;
    uint64_t too_deep_count; /* frames of this sample beyond PERF_STACK_FRAMES_MAX */
};

void perf_stack_init(struct perf_stack *stack, struct profile *profile);
void perf_stack_fini(struct perf_stack *stack);

/* Adds the frame of a frame line. Returns false if the line is not a frame line. */
bool perf_stack_add_line(struct perf_stack *stack, struct text line);

/* Adds the frames of a line that perf_symbols_of_number has looked up. */
void perf_stack_add_symbol(struct perf_stack *stack, uint32_t row);

/* Returns how many frames of the sample were dropped because its stack is too deep. Resets the count for the next
 * sample. */
static inline uint64_t perf_stack_take_too_deep(struct perf_stack *stack) {
    uint64_t count = stack->too_deep_count;
    stack->too_deep_count = 0;
    return count;
}

/* Returns whether the last added line is inlined into the next one; false if there is none, as when memory ran out. */
bool perf_stack_last_is_inlined(const struct perf_stack *stack);

/* Sets the source line of the last added frame. Returns false if there is no frame yet. */
bool perf_stack_add_source(struct perf_stack *stack, const struct perf_source_line *source);

/* Returns the number of frames and points *frames to them, root first; they are valid until the next call. Empties the
 * stack for the next sample. Addresses become relative by the mappings of `pid`. *cookie becomes the cookie of a
 * deferred user stack, or 0. */
uint32_t perf_stack_take(struct perf_stack *stack, int64_t pid, const frame_id **frames, uint64_t *cookie);

#endif
