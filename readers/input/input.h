/* The bytes of one trace, from a file, a pipe, memory, a compressed stream or the only file in an archive. Readers peek
 * at bytes and consume them; they never go back.
 *
 * Memory of consumed bytes is released, so a gigabyte of input takes only megabytes of memory. */
#pragma once

#include <limits.h>
#include <stddef.h>
#include <sys/types.h>

#include "input_source.h"
#include "libconvert/base/failure.h"
#include "libconvert/base/progress.h"
#include "libconvert/base/text.h"

struct input;
struct input_wrapper;

/* Opens `path` ("-" is standard input). A folder must be a recording of perf in several files (input_folder.h): then
 * the input is its file `data`, and input_open_part opens the others. gzip, xz, zstd, bzip2, lz4 and other compressions
 * and archives (tar, zip, 7z and others) are recognised by content and unwrapped. An archive must hold one regular file
 * besides folders and empty files.
 * Returns NULL after a failure, which is latched with the file's name in its message (FAILURE_IO if it cannot be read;
 * FAILURE_INPUT for instance for an archive of several files or a damaged one). */
struct input *input_open(const char *path, struct failure *failure);

/* Opens `path` as input_open does, but unwraps only compressions. The result may be an archive (input_is_archive) whose
 * members can be read (input_members.h). */
struct input *input_open_outer(const char *path, struct failure *failure);

/* Opens bytes in memory, which are borrowed. For tests: with max_window_bytes > 0, a peek returns at most that many
 * bytes unless more are wanted, so that every boundary can be tried. */
struct input *input_from_memory(struct text bytes, size_t max_window_bytes, struct failure *failure);

/* Returns the next bytes, valid until the next call; none at the end and after a failure (latched). */
typedef struct text input_next_block(void *context);

/* Opens the bytes that next_block returns. `name` and `context` are borrowed until the input is closed. Returns NULL if
 * memory ran out (latched). */
struct input *input_from_blocks(const char *name, input_next_block *next_block, void *context, struct failure *failure);

/* Unwraps compressions as input_open_outer does. Owns the input from now on and returns what it holds. Returns NULL
 * after a failure (latched); the input is closed then. */
struct input *input_uncompress(struct input *input);

/* Unwraps the input as input_open does, so an archive must hold one file. Owns the input from now on and returns what
 * it holds. Returns NULL after a failure (latched); the input is closed then. */
struct input *input_unwrap(struct input *input);

/* Returns what wraps the content from the current position on; NULL: nothing. Looks no further than it has to: a small
 * archive that was cut is still one. */
const struct input_wrapper *input_find_wrapper(struct input *input);

/* True if an archive begins at the current position, which must be the start of the input. */
bool input_is_archive(struct input *input);

void input_close(struct input *input); /* NULL is allowed */

/* Returns how many other files belong to the recording. Only recordings that are folders have any. */
size_t input_part_count(const struct input *input);

/* Opens the file data.N with that index among the files of the recording. Nothing is unwrapped. Failures are latched in
 * the latch of `input`, which must outlive the part. Returns NULL after a failure. */
struct input *input_open_part(struct input *input, size_t index);

/* Opens the copy of the kernel's list of symbols in the folder of the recording. Failures are latched in `failure`. Its
 * name is borrowed from `input`. Returns NULL if there is none, and after a failure. May be called from any thread. */
struct input *input_open_kernel_list(const struct input *input, struct failure *failure);

/* Returns the bytes at the current position: at least `want_bytes` unless the input ends before, and more if they are
 * available. Valid until the next call with this input. Empty at the end and after a failure (latched). */
struct text input_peek(struct input *input, size_t want_bytes);

/* Returns all bytes from the current position to the end if they are in memory, as those of a file are; otherwise none.
 * Consumes nothing. Valid until the input is closed. */
struct text input_at_hand(struct input *input);

/* Advances by bytes_count, but at most by what the last peek returned. */
void input_consume(struct input *input, size_t bytes_count);

/* Consumes that many bytes, which need not be available yet, or all that are left. Returns false if the input ends
 * before. */
bool input_skip(struct input *input, uint64_t bytes_count);

/* Makes another thread map the pages of a large file before they are read, until the input is closed. */
void input_make_ahead(struct input *input);

/* Keeps the memory of bytes from this offset on, although they are consumed: bytes of input_at_hand that are still to
 * be read. Replaces the offset of the previous call; UINT64_MAX keeps nothing. */
void input_hold(struct input *input, uint64_t offset);

/* Returns how many bytes of the (uncompressed) trace have been consumed, from parts too. */
uint64_t input_offset(const struct input *input);

/* Starts to report how far the lowest layer has been read: as a fraction if its size is known, otherwise in bytes
 * (progress_tell_source) for each block. Also reports the current number of bytes immediately. */
void input_watch(struct input *input, struct progress progress);

/* Sets *done_bytes to how many bytes of the file (compressed or not) have been read, and *total_bytes to its size, or
 * to 0 if that is unknown (a pipe). */
void input_source_progress(const struct input *input, uint64_t *done_bytes, uint64_t *total_bytes);

/* Returns what messages call the input: the path or "standard input". Borrowed. */
const char *input_name(const struct input *input);

/* Sets *owner to the owner of the file that is read. Returns false if the bytes are not from a regular file. */
bool input_owner(const struct input *input, uid_t *owner);

/* Opens the file that is read once more, for its locks. Returns -1 if the bytes are not those of a regular file, or if
 * its path is now that of another one. The caller closes the descriptor. */
int input_reopen(const struct input *input);

/* Returns what the trace was wrapped in, for instance "gzip" or "tar > app.txt"; empty if in nothing. Borrowed. */
struct text input_wrapping(const struct input *input);

/* Returns whether anything follows the first member of a gzip file: another member, or zeros. Ask it when the input has
 * been read to its end. */
bool input_has_more_members(const struct input *input);

/* Returns how many elements of arrays of numbers in JsonSlabs were infinite or no numbers, for which JSON has null. */
uint64_t input_nan_count(const struct input *input);
