/* Bytes of one trace, wherever they come from: a mapped file, a pipe, a compressed stream, the one member of an
 * archive. Readers look ahead (peek) and move on (consume); they never seek back.
 *
 * What is consumed is given back to the system: a gigabyte of input costs megabytes of memory. */
#ifndef GECKO_INPUT_H
#define GECKO_INPUT_H

#include <stddef.h>
#include <sys/types.h>

#include "input_source.h"
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

/* The same, but takes off compressions alone: what comes out may be an archive (input_is_archive), for its members to
 * be gone through (input_members.h). */
struct input *input_open_outer(const char *path, struct failure *failure);

/* The next bytes, empty at the end and after a failure (latched). Valid until the next call. */
typedef struct text input_next_block(void *context);

/* Bytes from anywhere. `name` and `context` are borrowed until the input is closed. NULL when memory ran out
 * (latched). */
struct input *input_from_blocks(const char *name, input_next_block *next_block, void *context, struct failure *failure);

/* Takes compressions off, as input_open_outer does. Owns the input from then on and returns what is on top of it;
 * NULL, and all of it closed, after a failure (latched). */
struct input *input_uncompress(struct input *input);

/* An archive begins at the current place: the start, or it is none. */
bool input_is_archive(struct input *input);

void input_close(struct input *input); /* NULL is fine */

/* The bytes at the current place: at least `want_bytes` of them unless the trace ends before, at most what is at
 * hand. Valid until the next call with this input. Empty at the end, and after a failure (latched). */
struct text input_peek(struct input *input, size_t want_bytes);

/* Moves on by at most what the last peek returned. */
void input_consume(struct input *input, size_t bytes_count);

/* Bytes of the (uncompressed) trace consumed so far. */
uint64_t input_offset(const struct input *input);

/* Reports from now on how far the source is read: as a part where its size is known, and in bytes
 * (progress_tell_source) where it begins, and whenever some come from a pipe. */
void input_watch(struct input *input, struct progress progress);

/* How far the source is read, for progress: bytes of the file (compressed or not) of the file's size. The total is
 * 0 when it is not known (a pipe). */
void input_source_progress(const struct input *input, uint64_t *done_bytes, uint64_t *total_bytes);

/* What messages call it: the path, or "standard input". Borrowed. */
const char *input_name(const struct input *input);

/* What has been lent of an input to those that take it apart. */
struct input_loan {
    struct input *from; /* borrowed */
    size_t lent_bytes;
};

/* The input as what something else reads from: only that consumes it from now on. Both must stay where they are. */
struct input_source input_lend(struct input *from, struct input_loan *loan);

/* Sets *owner to the owner of the file that the bytes come from. Returns false when they come from a pipe or from memory. */
bool input_owner(const struct input *input, uid_t *owner);

/* "gzip", "tar > app.txt"…: what the trace was wrapped in; empty when in nothing. Borrowed. */
struct text input_wrapping(const struct input *input);

#endif
