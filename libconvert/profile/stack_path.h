/* Remembers the stack that was added last, from its root, for traces that store only the frames in which the next stack
 * differs. */
#pragma once

#include "profile.h"

struct stack_path {
    struct stack_path_step *steps; /* the root first */
    uint32_t count;
    size_t capacity;
};

void stack_path_fini(struct stack_path *path);

/* Returns the stack whose first frames are the first kept_count of the stack that was added last, followed by these
 * frames. That stack must have at least kept_count frames. */
stack_id stack_path_go_on(struct stack_path *path, struct profile *profile, uint32_t kept_count, const frame_id *frames,
                          uint32_t count);

/* Returns the innermost of the first `count` frames of the stack that was added last; none if `count` is 0. */
frame_id stack_path_frame(const struct stack_path *path, uint32_t count);
