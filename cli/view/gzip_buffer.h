/* A gzip member that is built in memory. */
#ifndef GECKO_GZIP_BUFFER_H
#define GECKO_GZIP_BUFFER_H

#include <stddef.h>

#include "writer/gzip_writer.h"

struct gzip_buffer {
    struct failure *failure; /* borrowed */
    char *bytes;             /* owned */
    size_t bytes_count;
    size_t capacity_bytes;
    struct gzip_writer *writer; /* owned; NULL: the member is finished, or memory ran out */
};

/* Begins a member. The buffer must not move until it is finished. Running out of memory is latched in the failure; the
 * calls after that do nothing. */
void gzip_buffer_init(struct gzip_buffer *buffer, struct failure *failure);
void gzip_buffer_fini(struct gzip_buffer *buffer);

/* Compresses the bytes, and appends them to the member. */
void gzip_buffer_append(struct gzip_buffer *buffer, struct text bytes);

/* Ends the member. After that, `bytes` is complete and nothing can be appended. */
void gzip_buffer_finish(struct gzip_buffer *buffer);

#endif
