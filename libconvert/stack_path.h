/* The stack that was added last, from its root: the next one that shares its first frames walks only the rest.
 * Keep one for each thread, whose neighbouring samples are alike. */
#ifndef GECKO_STACK_PATH_H
#define GECKO_STACK_PATH_H

#include "profile.h"

struct stack_path {
    struct stack_path_step *steps; /* root first */
    uint32_t count;
    uint32_t capacity;
};

void stack_path_fini(struct stack_path *path);

/* The stack of these frames, root first; none for no frames, and when memory ran out (latched). */
stack_id stack_path_add(struct stack_path *path, struct profile *profile, const frame_id *frames, uint32_t count);

/* The same for a stack whose first frames are the first `kept_count` of the one that was added last, which has as many.
 */
stack_id stack_path_go_on(struct stack_path *path, struct profile *profile, uint32_t kept_count, const frame_id *frames,
                          uint32_t count);

#endif
