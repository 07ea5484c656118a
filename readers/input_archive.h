/* Decompression and archives, through libarchive; its sole user for reading. */
#ifndef GECKO_INPUT_ARCHIVE_H
#define GECKO_INPUT_ARCHIVE_H

#include "libconvert/failure.h"
#include "libconvert/text.h"

struct input_archive;

/* Compressed bytes come from this callback: it sets *bytes (valid until the next call) and returns false when the
 * source failed (latched by it). An empty run of bytes is the end. */
typedef bool input_archive_source(void *context, struct text *bytes);

/* True when bytes that begin like this are compressed or an archive, by their magic. */
bool input_archive_recognises(struct text start);

/* NULL when it is no good (latched). `name` is for messages. */
struct input_archive *input_archive_open(input_archive_source *source, void *context, const char *name,
                                         struct failure *failure);
void input_archive_close(struct input_archive *archive);

/* The next bytes of the trace; empty at its end or after a failure (latched). Valid until the next call. At the end
 * of the member the rest of the archive is looked through: a second file in it is a failure. */
struct text input_archive_next(struct input_archive *archive);

/* See input_wrapping. */
struct text input_archive_wrapping(const struct input_archive *archive);

#endif
