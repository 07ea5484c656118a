/* Decompression and archives. All of it but gzip goes through libarchive; this is its sole user for reading.
 *
 * An archive takes off one wrapping (a compression or a container). What comes out may be wrapped again: the caller
 * puts another one on top. */
#ifndef GECKO_INPUT_ARCHIVE_H
#define GECKO_INPUT_ARCHIVE_H

#include "input_source.h"
#include "libconvert/failure.h"
#include "libconvert/text.h"

struct input_archive;

/* So many bytes are enough for input_archive_recognises. */
enum { INPUT_ARCHIVE_START_BYTES = 512 };

/* True when bytes that begin like this are compressed or an archive, by their magic. */
bool input_archive_recognises(struct text start);

/* `start` is what the source begins with, recognised. NULL when it is no good (latched). `name` is for messages; it
 * is borrowed until close, like the source's context. */
struct input_archive *input_archive_open(struct text start, const struct input_source *source, const char *name,
                                         struct failure *failure);
void input_archive_close(struct input_archive *archive); /* NULL is fine */

/* The next bytes of the trace; empty at its end or after a failure (latched). Valid until the next call. At the end
 * of the member the rest of the archive is looked through: a second file in it is a failure. */
struct text input_archive_next(struct input_archive *archive);

/* "xz", "tar > app.txt": see input_wrapping. Borrowed. */
struct text input_archive_wrapping(const struct input_archive *archive);

#endif
