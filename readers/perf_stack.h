/* The stack of the sample that is being read: frame lines in, innermost first; frames of the profile out, root first.
 */
#ifndef GECKO_PERF_STACK_H
#define GECKO_PERF_STACK_H

#include "perf_symbols.h"

/* The kernel's own limit (kernel.perf_event_max_stack) is far below. */
enum { PERF_STACK_FRAMES_MAX = 65535 };

struct perf_stack {
    struct perf_symbols symbols;
    struct perf_maps maps;
    struct profile *profile;       /* borrowed */
    bool callers_are_adjusted;     /* user frames come from an unwinder that points into the call already */
    struct perf_stack_line *lines; /* innermost first */
    uint32_t count;
    uint32_t capacity;
    frame_id *frames; /* root first; made by perf_stack_take */
    uint32_t frames_capacity;
    uint64_t too_deep_count; /* frames of this sample beyond PERF_STACK_FRAMES_MAX */
};

void perf_stack_init(struct perf_stack *stack, struct profile *profile);
void perf_stack_fini(struct perf_stack *stack);

/* Adds the frame that the line names; false when it is no frame line. */
bool perf_stack_add_line(struct perf_stack *stack, struct text line);

/* How many frames of the sample were left out, since its stack is too deep; begins anew for the next sample. */
static inline uint64_t perf_stack_take_too_deep(struct perf_stack *stack) {
    uint64_t count = stack->too_deep_count;
    stack->too_deep_count = 0;
    return count;
}

/* The source line of the frame added last; false when there is no frame yet. */
bool perf_stack_add_source(struct perf_stack *stack, const struct perf_source_line *source);

/* The frames, root first, in *frames: valid until the next call. Empties the stack for the next sample. pid is whose
 * mappings make addresses relative. *cookie is that of a deferred user stack, 0 when there is none. */
uint32_t perf_stack_take(struct perf_stack *stack, int64_t pid, const frame_id **frames, uint64_t *cookie);

#endif
