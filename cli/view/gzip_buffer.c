#include "gzip_buffer.h"

#include <string.h>

#include "libconvert/base/memory.h"
#include "libconvert/base/processors.h"

enum {
    FIRST_CAPACITY_BYTES = 1 << 20,
    LEVEL = 1 /* the bytes go to a browser on this machine, so time matters more than size */
};

/* The C library moves large blocks by remapping them, so growing does not copy the bytes. */
static bool make_room(struct gzip_buffer *buffer, size_t bytes_count) {
    if (buffer->capacity_bytes - buffer->bytes_count >= bytes_count) return true;
    size_t capacity_bytes = buffer->bytes_count + bytes_count;
    capacity_bytes += capacity_bytes / 2 + FIRST_CAPACITY_BYTES;
    char *grown = memory_resize(buffer->failure, buffer->bytes, capacity_bytes);
    if (!grown) return false;
    buffer->bytes = grown;
    buffer->capacity_bytes = capacity_bytes;
    return true;
}

/* A gzip_output. */
static void keep(void *context, struct text bytes) {
    struct gzip_buffer *buffer = context;
    if (!make_room(buffer, bytes.bytes_count)) return;
    memcpy(buffer->bytes + buffer->bytes_count, bytes.bytes, bytes.bytes_count);
    buffer->bytes_count += bytes.bytes_count;
}

void gzip_buffer_init(struct gzip_buffer *buffer, struct failure *failure) {
    *buffer = (struct gzip_buffer){.failure = failure};
    buffer->writer = gzip_writer_create(LEVEL, processors_available(), keep, buffer, failure);
}

static void end_writer(struct gzip_buffer *buffer) {
    gzip_writer_destroy(buffer->writer);
    buffer->writer = NULL;
}

void gzip_buffer_fini(struct gzip_buffer *buffer) {
    end_writer(buffer);
    memory_free(buffer->bytes);
    *buffer = (struct gzip_buffer){.failure = buffer->failure};
}

void gzip_buffer_append(struct gzip_buffer *buffer, struct text bytes) {
    if (buffer->writer) gzip_writer_append(buffer->writer, bytes);
}

void gzip_buffer_finish(struct gzip_buffer *buffer) {
    if (buffer->writer) gzip_writer_finish(buffer->writer);
    end_writer(buffer);
    if (failure_is_set(buffer->failure)) return;
    char *exact = memory_resize(buffer->failure, buffer->bytes, buffer->bytes_count);
    if (!exact) return;
    buffer->bytes = exact;
    buffer->capacity_bytes = buffer->bytes_count;
}
