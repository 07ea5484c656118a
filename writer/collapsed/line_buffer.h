/* Bytes under construction: a name, or the start of a line. */
#ifndef GECKO_LINE_BUFFER_H
#define GECKO_LINE_BUFFER_H

#include "libconvert/base/memory.h"
#include "libconvert/base/text.h"

struct line_buffer {
    struct failure *failure; /* borrowed */
    char *bytes;             /* owned */
    size_t bytes_count;
    size_t capacity_bytes;
};

/* Appends the text. If memory runs out (latched), the buffer stays as it is. */
static inline void line_buffer_append(struct line_buffer *buffer, struct text text) {
    size_t bytes_count = buffer->bytes_count + text.bytes_count;
    if (bytes_count > buffer->capacity_bytes) {
        char *bytes = memory_resize(buffer->failure, buffer->bytes, 2 * bytes_count);
        if (!bytes) return;
        buffer->bytes = bytes;
        buffer->capacity_bytes = 2 * bytes_count;
    }
    if (text.bytes_count) memcpy(buffer->bytes + buffer->bytes_count, text.bytes, text.bytes_count);
    buffer->bytes_count = bytes_count;
}

static inline struct text line_buffer_text(const struct line_buffer *buffer) {
    return (struct text){buffer->bytes, buffer->bytes_count};
}

#endif
