/* Bytes of one trace, wherever they come from: a mapped file, a pipe, a compressed stream, the one member of an
 * archive. Readers look ahead (peek) and move on (consume); they never seek back.
 *
 * What is consumed is given back to the system: a gigabyte of input costs megabytes of memory. */
#ifndef GECKO_INPUT_H
#define GECKO_INPUT_H

#include <stddef.h>

#include "libconvert/failure.h"
#include "libconvert/progress.h"
#include "libconvert/text.h"

struct input;

/* Opens `path` ("-": standard input). gzip, xz, zstd, bzip2, lz4… and archives (tar, zip, 7z…) are recognised by
 * content. An archive must hold one regular file (empty ones and folders aside). NULL when it cannot be opened:
 * failure is latched with the file's name in its message (FAILURE_IO: cannot be read; FAILURE_INPUT: an archive of
 * several files, a corrupt one…). */
struct input *input_open(const char *path, struct failure *failure);

/* Bytes from memory, borrowed: for tests. With max_window_bytes > 0, peeks return no more than that unless more is
 * wanted, so that every boundary can be tried. */
struct input *input_from_memory(struct text bytes, size_t max_window_bytes, struct failure *failure);

void input_close(struct input *input); /* NULL is fine */

/* The bytes at the current place: at least `want_bytes` of them unless the trace ends before, at most what is at
 * hand. Valid until the next call with this input. Empty at the end, and after a failure (latched). */
struct text input_peek(struct input *input, size_t want_bytes);

/* Moves on by at most what the last peek returned. */
void input_consume(struct input *input, size_t bytes_count);

/* Bytes of the (uncompressed) trace consumed so far. */
uint64_t input_offset(const struct input *input);

/* How far the source is read, for progress: bytes of the file (compressed or not) of the file's size. The total is
 * 0 when it is not known (a pipe). */
void input_source_progress(const struct input *input, uint64_t *done_bytes, uint64_t *total_bytes);

/* What messages call it: the path, or "standard input". Borrowed. */
const char *input_name(const struct input *input);

/* "gzip", "tar > app.txt"…: what the trace was wrapped in; empty when in nothing. Borrowed. */
struct text input_wrapping(const struct input *input);

#endif
