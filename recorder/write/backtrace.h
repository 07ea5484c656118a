/* A stack in the caller's memory (struct grec_backtrace) that a marker can show later. Its addresses are differences,
 * so only the first one is written again. */
#ifndef GREC_BACKTRACE_H
#define GREC_BACKTRACE_H

#include <stdint.h>

#include "recorder/gecko_recorder.h"
#include "recorder/state/leb128.h"

struct backtrace;
struct writer;

/* Returns the stack if it was taken in this recording, in any thread; else NULL. [signal-safe] */
const struct backtrace *backtrace_find(const struct grec_backtrace *memory);

/* Returns how many bytes backtrace_announce and backtrace_write write at most, together. */
uint32_t backtrace_bytes_max(const struct backtrace *backtrace);

/* Writes the entry that must come before a block with the stack. [signal-safe] */
void backtrace_announce(const struct backtrace *backtrace, struct writer *writer);

/* What a marker needs in addition to the stack and its first address. */
enum { BACKTRACE_ORIGIN_BYTES_MAX = 5 * LEB128_BYTES_MAX };

/* Writes the stack into an entry with the current time, and when and where it was taken. Returns where it ends.
 * [signal-safe] */
unsigned char *backtrace_write(unsigned char *at, const struct backtrace *backtrace, struct writer *writer);

#endif
