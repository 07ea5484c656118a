/* The files of a recording's folder (input_folder.h) that comes out of an archive. They are read side by side, but an
 * archive gives one after another. So they are copied to a temporary file, which has no name and vanishes with the last
 * descriptor. */
#ifndef GECKO_INPUT_SPOOL_H
#define GECKO_INPUT_SPOOL_H

#include "input_source.h"

struct input_spool;

/* `name` is for messages. It is borrowed until the spool is opened. Returns NULL after a failure (latched). */
struct input_spool *input_spool_create(const char *name, struct failure *failure);
void input_spool_destroy(struct input_spool *spool); /* NULL is allowed */

/* Copies a file whose input_folder_number is `number`, in place of an earlier one with that number. Copies no bytes of
 * a file that nothing reads. read() returns the next bytes of the file, as the read function of an input_source does.
 * Returns false if it cannot be copied (latched); failures of reading are the caller's. */
bool input_spool_add(struct input_spool *spool, uint32_t number, struct text (*read)(void *context), void *context,
                     struct failure *failure);

size_t input_spool_count(const struct input_spool *spool);

/* Returns how many of the files are data.N; 0 if there is no `data`. */
size_t input_spool_part_count(const struct input_spool *spool);

/* Returns whether the file `data` is there and begins as a recording does. */
bool input_spool_has_header(const struct input_spool *spool);

/* Returns the size of all data.N. */
uint64_t input_spool_parts_bytes(const struct input_spool *spool);

/* Makes *source read `data` or, if that is not there, the first of the others. `wrapping` is that of the source, and is
 * copied; `name` is borrowed until the source is closed. The source owns the spool. Returns false after a failure
 * (latched); the spool is destroyed then. */
bool input_spool_open(struct input_source *source, struct input_spool *spool, const char *wrapping, const char *name,
                      struct failure *failure);

/* Makes *source read the file with that index. The data.N are the first ones, in the order of N. */
bool input_spool_open_part(struct input_source *source, const struct input_spool *spool, size_t index, const char *name,
                           struct failure *failure);
uint32_t input_spool_number(const struct input_spool *spool, size_t index);

/* Makes *source read the kernel's list of symbols, as input_spool_open_part does for a data.N. Returns false also if it
 * is not there. */
bool input_spool_open_kernel_list(struct input_source *source, const struct input_spool *spool, const char *name,
                                  struct failure *failure);

#endif
