/* Buffers for composing something that is then copied into the trace. A call takes one for a moment, so there are only
 * as many as calls at one time, and threads need none of their own. All functions are [signal-safe].
 *
 * In a forked child, the buffers that threads of its parent had taken stay taken. If the child took them back, it could
 * take one of its own: a signal handler that interrupts pthread_create may fork, record and return. */
#pragma once

#include "shared.h"

/* The size of a buffer: a walked stack takes the most. */
enum { SCRATCH_BYTES = 24 * 1024 };

/* Returns a buffer with any contents, aligned for any type. If all are taken, maps one; returns NULL if there is no
 * memory. Give it back in the same call, or let a new thread do so as it begins; giving back NULL has no effect. */
void *scratch_take(void) GREC_SHARED(scratch_take);
void scratch_give(void *buffer) GREC_SHARED(scratch_give);
