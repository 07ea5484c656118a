#include "kernel_stream.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

enum { NAME_BYTES_MAX = 4096, ALIGNMENT = 8 };

void kernel_stream_init(struct kernel_stream *stream, int fd, struct failure *failure) {
    *stream = (struct kernel_stream){.fd = fd, .failure = failure, .bytes = malloc(STREAM_BUFFER_BYTES)};
    if (!stream->bytes) failure_set_memory(failure);
}

void kernel_stream_fini(struct kernel_stream *stream) {
    ZSTD_freeCCtx(stream->compressor);
    free(stream->bytes);
}

/* ---- Writing. ---- */

static void write_all(struct kernel_stream *stream, const char *bytes, size_t bytes_count) {
    size_t written_bytes = 0;
    while (written_bytes < bytes_count && !failure_is_set(stream->failure)) {
        ssize_t result = write(stream->fd, bytes + written_bytes, bytes_count - written_bytes);
        if (result > 0)
            written_bytes += (size_t)result;
        else if (errno != EINTR)
            failure_set(stream->failure, FAILURE_IO, "cannot write the recording: %s", strerror(errno));
    }
    stream->written_bytes += written_bytes;
}

static void write_compressed(struct kernel_stream *stream) {
    struct {
        struct perf_event_header header;
        char bytes[STREAM_RECORD_BYTES_MAX - sizeof(struct perf_event_header)];
    } record = {.header.type = RECORD_COMPRESSED};
    ZSTD_inBuffer in = {stream->bytes, stream->bytes_count, 0};
    size_t rest_bytes = 1;
    while (rest_bytes && !failure_is_set(stream->failure)) {
        ZSTD_outBuffer out = {record.bytes, sizeof record.bytes, 0};
        rest_bytes = ZSTD_compressStream2(stream->compressor, &out, &in, ZSTD_e_flush);
        if (ZSTD_isError(rest_bytes))
            failure_set(stream->failure, FAILURE_MEMORY, "cannot compress the recording: %s",
                        ZSTD_getErrorName(rest_bytes));
        record.header.size = (uint16_t)(sizeof record.header + out.pos);
        write_all(stream, (const char *)&record, record.header.size);
    }
}

/* Writes nothing if the buffer is empty: perf cannot read an empty compressed record. */
void kernel_stream_flush(struct kernel_stream *stream) {
    if (!stream->bytes_count) return;
    if (stream->compressor)
        write_compressed(stream);
    else
        write_all(stream, stream->bytes, stream->bytes_count);
    stream->bytes_count = 0;
}

void kernel_stream_compress(struct kernel_stream *stream) {
    kernel_stream_flush(stream);
    stream->compressor = ZSTD_createCCtx();
    if (stream->compressor)
        ZSTD_CCtx_setParameter(stream->compressor, ZSTD_c_compressionLevel, STREAM_COMPRESSION_LEVEL);
    else
        failure_set_memory(stream->failure);
}

/* ---- Appending. ---- */

char *kernel_stream_reserve(struct kernel_stream *stream) {
    if (stream->bytes_count > STREAM_BUFFER_BYTES - STREAM_RECORD_BYTES_MAX - 1) kernel_stream_flush(stream);
    return stream->bytes + stream->bytes_count;
}

void kernel_stream_commit(struct kernel_stream *stream, size_t bytes_count) { stream->bytes_count += bytes_count; }

void kernel_stream_bytes(struct kernel_stream *stream, const void *bytes, size_t bytes_count) {
    if (!stream->bytes) return;
    memcpy(stream->bytes + stream->bytes_count, bytes, bytes_count);
    kernel_stream_commit(stream, bytes_count);
}

void kernel_stream_raw(struct kernel_stream *stream, const void *bytes, size_t bytes_count) {
    for (size_t at = 0; at < bytes_count && stream->bytes;) {
        size_t part_bytes = bytes_count - at < STREAM_RECORD_BYTES_MAX ? bytes_count - at : STREAM_RECORD_BYTES_MAX;
        kernel_stream_reserve(stream);
        kernel_stream_bytes(stream, (const char *)bytes + at, part_bytes);
        at += part_bytes;
    }
}

void kernel_stream_copy(struct kernel_stream *stream, int fd) {
    char bytes[16 * 1024];
    ssize_t read_bytes = 1;
    for (off_t at = 0; read_bytes > 0; at += read_bytes) {
        read_bytes = pread(fd, bytes, sizeof bytes, at);
        if (read_bytes > 0) kernel_stream_raw(stream, bytes, (size_t)read_bytes);
    }
    if (read_bytes < 0) failure_set(stream->failure, FAILURE_IO, "cannot read what was recorded: %s", strerror(errno));
}

void kernel_stream_begin(struct kernel_stream *stream, uint32_t type, uint16_t misc) {
    struct perf_event_header header = {.type = type, .misc = misc};
    kernel_stream_reserve(stream);
    stream->record_at = stream->bytes_count;
    kernel_stream_bytes(stream, &header, sizeof header);
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
    uint16_t size_bytes = (uint16_t)(stream->bytes_count - stream->record_at);
    size_t size_at = stream->record_at + offsetof(struct perf_event_header, size);
    if (stream->bytes) memcpy(stream->bytes + size_at, &size_bytes, sizeof size_bytes);
}

void kernel_stream_end_dated(struct kernel_stream *stream, uint64_t time_ns) {
    const uint64_t fields[] = {UINT64_MAX, time_ns, 0, 0};
    _Static_assert(sizeof fields == STREAM_TRAILER_BYTES, "the size of a trailer");
    kernel_stream_bytes(stream, fields, sizeof fields);
    kernel_stream_end(stream);
}
