/* A stack that is kept in the caller's memory, struct grec_backtrace, until a marker shows it. Its addresses are
 * written so that those behind the first need not be known again. */
#ifndef GREC_BACKTRACE_H
#define GREC_BACKTRACE_H

#include <stdint.h>

#include "gecko_recorder.h"
#include "leb128.h"

struct backtrace;
struct writer;

/* What was taken in this recording, in whatever thread; NULL: nothing was. [signal-safe] */
const struct backtrace *backtrace_find(const struct grec_backtrace *kept);

/* What backtrace_announce and backtrace_write take at most, together. */
uint32_t backtrace_bytes_max(const struct backtrace *backtrace);

/* Says in the chunk what must stand before a block with the stack. [signal-safe] */
void backtrace_announce(const struct backtrace *backtrace, struct writer *writer);

/* What a marker with the stack has room for beside the stack itself and its first address. */
enum { BACKTRACE_ORIGIN_BYTES_MAX = 5 * LEB128_BYTES_MAX };

/* Writes the stack into the writer's chunk, and when and where it was taken, for an entry of now; returns the place
 * behind. [signal-safe] */
unsigned char *backtrace_write(unsigned char *at, const struct backtrace *backtrace, struct writer *writer);

#endif
