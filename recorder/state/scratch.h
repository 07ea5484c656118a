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

/* Takes back all buffers. Call this where fork returns in the child, and only if it interrupted no recording call: no
 * thread has a buffer there. In a child that was made by clone, threads may have taken some by the time that the child
 * first records, so those that threads of its parent had stay taken. */
void scratch_reclaim(void);

#endif
