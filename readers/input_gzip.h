/* gzip streams, through zlib: of the libraries at hand it is the one that checks each member's CRC and length, so
 * that a damaged trace cannot pass for a good one. */
#ifndef GECKO_INPUT_GZIP_H
#define GECKO_INPUT_GZIP_H

#include "input_source.h"
#include "libconvert/failure.h"
#include "libconvert/text.h"

struct input_gzip;

/* NULL when memory ran out (latched). `name` is for messages; it is borrowed until close, like the source's
 * context. */
struct input_gzip *input_gzip_open(const struct input_source *source, const char *name, struct failure *failure);
void input_gzip_close(struct input_gzip *gzip); /* NULL is fine */

/* The next bytes; empty at the end of the last member or after a failure (latched). Valid until the next call. Zero
 * bytes after a member are padding; anything else that is not a member is a failure. */
struct text input_gzip_next(struct input_gzip *gzip);

#endif
