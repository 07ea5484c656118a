/* xz streams and the older .lzma format, through liblzma. libarchive (3.6) crashes when it runs out of memory at their
 * start, and ignores whatever follows the end of .lzma data. */
#ifndef GECKO_INPUT_LZMA_H
#define GECKO_INPUT_LZMA_H

#include "input_source.h"
#include "libconvert/failure.h"
#include "libconvert/text.h"

enum input_lzma_format { INPUT_LZMA_XZ, INPUT_LZMA_ALONE };

struct input_lzma;

/* Returns NULL when memory ran out (latched). `name` is for messages; it is borrowed until close, like the context of
 * the source. */
struct input_lzma *input_lzma_open(const struct input_source *source, enum input_lzma_format format, const char *name,
                                   struct failure *failure);
void input_lzma_close(struct input_lzma *lzma); /* NULL is fine */

/* Returns the next bytes, valid until the next call; none at the end and after a failure (latched). xz streams may
 * follow one another, with padding between them. Anything else after the end is a failure. */
struct text input_lzma_next(struct input_lzma *lzma);

#endif
