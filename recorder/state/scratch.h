/* Buffers for composing something that is then copied into the trace. A call takes one for a moment, so there are only
 * as many as calls at one time, and threads need none of their own. All functions are [signal-safe]. */
#ifndef GREC_SCRATCH_H
#define GREC_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

#include "shared.h"

enum { SCRATCH_COUNT = 16 };

struct scratch {
    unsigned char *buffers; /* SCRATCH_COUNT of them */
    size_t buffer_bytes;
    uint32_t are_taken[SCRATCH_COUNT];
};

/* Defines buffers of bytes_count bytes each, aligned for any type. */
#define SCRATCH_DEFINE(name, bytes_count)                                         \
    static _Alignas(16) unsigned char name##_buffers[SCRATCH_COUNT][bytes_count]; \
    _Static_assert(sizeof *name##_buffers % 16 == 0, "all buffers are aligned");  \
    static struct scratch name = {.buffers = *name##_buffers, .buffer_bytes = sizeof *name##_buffers}

/* Returns a buffer with any contents. If all are taken, maps one; returns NULL if there is no memory. Give it back in
 * the same call, or let a new thread do so as it begins. */
void *scratch_take(struct scratch *scratch) GREC_SHARED(scratch_take);
void scratch_give(struct scratch *scratch, void *buffer) GREC_SHARED(scratch_give);

/* Call this in a forked child: the threads that have taken the other buffers do not exist there. */
void scratch_enter_child(struct scratch *scratch) GREC_SHARED(scratch_enter_child);

#endif
