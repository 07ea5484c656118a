/* Writes the records of a perf.data stream: what `perf record -o -` writes. Layout: Linux
 * tools/perf/Documentation/perf.data-file-format.txt and tools/lib/perf/include/perf/event.h. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "libconvert/base/failure.h"
#include "readers/perf_data/data_numbers.h"

/* The size of a record is a u16. */
enum { STREAM_RECORD_BYTES_MAX = 65535 };

/* The trailer of records of the types that the kernel writes, too: pid and tid, time, processor, and id. */
enum { STREAM_TRAILER_BYTES = 32 };

/* At most this much is compressed at a time. */
enum { STREAM_BUFFER_BYTES = 1024 * 1024 };

/* Copied stacks are very similar, so a higher level makes them hardly smaller. */
enum { STREAM_COMPRESSION_LEVEL = 1 };

struct kernel_stream {
    int fd;                  /* borrowed */
    struct failure *failure; /* borrowed; after a failure nothing is written */
    char *bytes;             /* bytes that are not written yet */
    size_t bytes_count;
    size_t record_at;               /* where the record that is being appended begins */
    struct ZSTD_CCtx_s *compressor; /* NULL: the stream is not compressed yet */
    uint64_t written_bytes;
};

void kernel_stream_init(struct kernel_stream *stream, int fd, struct failure *failure);
void kernel_stream_fini(struct kernel_stream *stream);

/* Append a record part by part. All of it fits in STREAM_RECORD_BYTES_MAX. Numbers are in the machine's byte order. */
void kernel_stream_begin(struct kernel_stream *stream, uint32_t type, uint16_t misc);
void kernel_stream_u32(struct kernel_stream *stream, uint32_t value);
void kernel_stream_u64(struct kernel_stream *stream, uint64_t value);
void kernel_stream_bytes(struct kernel_stream *stream, const void *bytes, size_t bytes_count);
/* Appends the text, cut to 4095 bytes, and at least one NUL, up to a multiple of 8 bytes. */
void kernel_stream_name(struct kernel_stream *stream, const char *name);
/* Appends the length of the text with its NULs, and then both as kernel_stream_name does. */
void kernel_stream_string(struct kernel_stream *stream, const char *string);
/* Ends the record with zeros up to a multiple of 8 bytes. */
void kernel_stream_end(struct kernel_stream *stream);
/* Ends a record of a type that the kernel writes, too, with a trailer that has no thread and no event. A time of 0
 * means before the recording. */
void kernel_stream_end_dated(struct kernel_stream *stream, uint64_t time_ns);

/* Appends the bytes unchanged: a record of tracing data, which is not padded, and the data after it. */
void kernel_stream_raw(struct kernel_stream *stream, const void *bytes, size_t bytes_count);

/* Appends the whole file, which holds the records of another stream. */
void kernel_stream_copy(struct kernel_stream *stream, int fd);

/* Returns room for a record of the kernel. Copy the record there, then call kernel_stream_commit with its size. */
char *kernel_stream_reserve(struct kernel_stream *stream);
void kernel_stream_commit(struct kernel_stream *stream, size_t bytes_count);

/* Begins to compress: later records are inside compressed records, which together make up one zstd stream. Append the
 * feature that announces this first. */
void kernel_stream_compress(struct kernel_stream *stream);

void kernel_stream_flush(struct kernel_stream *stream);
