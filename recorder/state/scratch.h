/* Buffers for composing something that is then copied into the trace. A call takes one for a moment, so there are only
 * as many as calls at one time, and threads need none of their own. All functions are [signal-safe]. */
#ifndef GREC_SCRATCH_H
#define GREC_SCRATCH_H

#include "shared.h"

/* The size of a buffer: a walked stack takes the most. */
enum { SCRATCH_BYTES = 24 * 1024 };

/* Returns a buffer with any contents, aligned for any type. If all are taken, maps one; returns NULL if there is no
 * memory. Give it back in the same call, or let a new thread do so as it begins. */
void *scratch_take(void) GREC_SHARED(scratch_take);
void scratch_give(void *buffer) GREC_SHARED(scratch_give);

/* Call this in a forked child: the threads that have taken the other buffers do not exist there. */
void scratch_enter_child(void);

#endif
