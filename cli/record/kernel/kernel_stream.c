#include "kernel_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1024 * 1024, RECORD_HEAD_BYTES = 8, SIZE_AT = 6, NAME_BYTES_MAX = 4096, ALIGNMENT = 8 };

void kernel_stream_init(struct kernel_stream *stream, int fd, struct failure *failure) {
    static const struct {
        char magic[8];
        uint64_t size_bytes;
    } header = {{'P', 'E', 'R', 'F', 'I', 'L', 'E', '2'}, sizeof header};
    *stream = (struct kernel_stream){.fd = fd, .failure = failure, .bytes = malloc(BUFFER_BYTES)};
    if (!stream->bytes) failure_set_memory(failure);
    kernel_stream_raw(stream, &header, sizeof header);
}

void kernel_stream_fini(struct kernel_stream *stream) { free(stream->bytes); }

void kernel_stream_flush(struct kernel_stream *stream) {
    size_t written_bytes = 0;
    while (written_bytes < stream->bytes_count && !failure_is_set(stream->failure)) {
        ssize_t result = write(stream->fd, stream->bytes + written_bytes, stream->bytes_count - written_bytes);
        if (result > 0)
            written_bytes += (size_t)result;
        else if (errno != EINTR)
            failure_set(stream->failure, FAILURE_IO, "cannot write the recording: %s", strerror(errno));
    }
    stream->bytes_count = 0;
}

char *kernel_stream_reserve(struct kernel_stream *stream) {
    if (stream->bytes_count > BUFFER_BYTES - STREAM_RECORD_BYTES_MAX - 1) kernel_stream_flush(stream);
    return stream->bytes + stream->bytes_count;
}

void kernel_stream_keep(struct kernel_stream *stream, size_t bytes_count) {
    stream->bytes_count += bytes_count;
    stream->total_bytes += bytes_count;
}

void kernel_stream_bytes(struct kernel_stream *stream, const void *bytes, size_t bytes_count) {
    if (!stream->bytes) return;
    memcpy(stream->bytes + stream->bytes_count, bytes, bytes_count);
    kernel_stream_keep(stream, bytes_count);
}

void kernel_stream_raw(struct kernel_stream *stream, const void *bytes, size_t bytes_count) {
    for (size_t at = 0; at < bytes_count && stream->bytes;) {
        size_t part_bytes = bytes_count - at < STREAM_RECORD_BYTES_MAX ? bytes_count - at : STREAM_RECORD_BYTES_MAX;
        kernel_stream_reserve(stream);
        kernel_stream_bytes(stream, (const char *)bytes + at, part_bytes);
        at += part_bytes;
    }
}

void kernel_stream_begin(struct kernel_stream *stream, uint32_t type, uint16_t misc) {
    uint16_t rest[2] = {misc, 0};
    kernel_stream_reserve(stream);
    stream->record_at = stream->bytes_count;
    kernel_stream_u32(stream, type);
    kernel_stream_bytes(stream, rest, sizeof rest);
}

void kernel_stream_u32(struct kernel_stream *stream, uint32_t value) {
    kernel_stream_bytes(stream, &value, sizeof value);
}

void kernel_stream_u64(struct kernel_stream *stream, uint64_t value) {
    kernel_stream_bytes(stream, &value, sizeof value);
}

static size_t padded_size(size_t bytes_count) { return (bytes_count + ALIGNMENT) / ALIGNMENT * ALIGNMENT; }

static size_t length_of(const char *name) { return strnlen(name, NAME_BYTES_MAX - 1); }

void kernel_stream_name(struct kernel_stream *stream, const char *name) {
    static const char zeros[ALIGNMENT];
    size_t bytes_count = length_of(name);
    kernel_stream_bytes(stream, name, bytes_count);
    kernel_stream_bytes(stream, zeros, padded_size(bytes_count) - bytes_count);
}

void kernel_stream_string(struct kernel_stream *stream, const char *string) {
    kernel_stream_u32(stream, (uint32_t)padded_size(length_of(string)));
    kernel_stream_name(stream, string);
}

void kernel_stream_end(struct kernel_stream *stream) {
    static const char zeros[ALIGNMENT];
    size_t rest_bytes = (stream->bytes_count - stream->record_at) % ALIGNMENT;
    if (rest_bytes) kernel_stream_bytes(stream, zeros, ALIGNMENT - rest_bytes);
    kernel_stream_end_short(stream);
}

void kernel_stream_end_short(struct kernel_stream *stream) {
    uint16_t size_bytes = (uint16_t)(stream->bytes_count - stream->record_at);
    if (stream->bytes) memcpy(stream->bytes + stream->record_at + SIZE_AT, &size_bytes, sizeof size_bytes);
}

void kernel_stream_end_undated(struct kernel_stream *stream) {
    for (int i = 0; i < 4; i++) kernel_stream_u64(stream, 0);
    kernel_stream_end(stream);
}
