/* Bytes that grow at their end. */
#pragma once

#include "memory.h"
#include "text.h"

/* Zero but for `failure` is an empty buffer. */
struct byte_buffer {
    struct failure *failure; /* borrowed */
    char *bytes;             /* owned: see byte_buffer_fini */
    size_t bytes_count;
    size_t capacity_bytes;
};

static inline void byte_buffer_fini(struct byte_buffer *buffer) {
    memory_free(buffer->bytes);
    *buffer = (struct byte_buffer){.failure = buffer->failure};
}

/* Appends the text. If memory runs out (latched), returns false, and the buffer stays as it is. */
static inline bool byte_buffer_append(struct byte_buffer *buffer, struct text text) {
    size_t bytes_count = buffer->bytes_count + text.bytes_count;
    if (!memory_reserve(buffer->failure, &buffer->bytes, &buffer->capacity_bytes, bytes_count, 1)) return false;
    if (text.bytes_count) memcpy(buffer->bytes + buffer->bytes_count, text.bytes, text.bytes_count);
    buffer->bytes_count = bytes_count;
    return true;
}

/* Returns the bytes, which are valid until the next call. */
static inline struct text byte_buffer_text(const struct byte_buffer *buffer) {
    return (struct text){buffer->bytes, buffer->bytes_count};
}
