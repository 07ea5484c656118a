/* Unpacks records that perf compressed ("perf record -z"). All COMPRESSED records together contain one zstd stream, and
 * each contains the next part of it. An unpacked record may begin in one part and end in the next. */
#pragma once

#include "libconvert/base/failure.h"
#include "libconvert/base/text.h"

struct data_unpacker {
    struct failure *failure; /* borrowed */
    struct ZSTD_DCtx_s *stream;
    char *bytes; /* unpacked but not yet consumed */
    size_t bytes_count;
    size_t capacity_bytes;
};

void data_unpacker_init(struct data_unpacker *unpacker, struct failure *failure);
void data_unpacker_fini(struct data_unpacker *unpacker);

/* Unpacks the start of *packed, some hundred kilobytes at most, and appends it to the bytes that are not yet consumed.
 * Removes the bytes it has read from *packed; call it until *packed is empty. Returns false if the bytes are damaged or
 * memory ran out (latched). */
bool data_unpacker_add(struct data_unpacker *unpacker, struct text *packed);

/* Returns the unpacked bytes, which are valid until the next call. */
static inline struct text data_unpacker_peek(const struct data_unpacker *unpacker) {
    return (struct text){unpacker->bytes, unpacker->bytes_count};
}

void data_unpacker_consume(struct data_unpacker *unpacker, size_t bytes_count);
