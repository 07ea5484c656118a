#include "data_unpacker.h"

#include <zstd.h>

#include "libconvert/base/memory.h"

enum { STEP_BYTES = 256 * 1024 };

void data_unpacker_init(struct data_unpacker *unpacker, struct failure *failure) {
    *unpacker = (struct data_unpacker){.failure = failure};
}

void data_unpacker_fini(struct data_unpacker *unpacker) {
    ZSTD_freeDStream(unpacker->stream);
    memory_free(unpacker->bytes);
    *unpacker = (struct data_unpacker){0};
}

static bool reserve(struct data_unpacker *unpacker) {
    if (!unpacker->stream) unpacker->stream = ZSTD_createDStream();
    if (!unpacker->stream) {
        failure_set_memory(unpacker->failure);
        return false;
    }
    return memory_reserve(unpacker->failure, &unpacker->bytes, &unpacker->capacity_bytes,
                          unpacker->bytes_count + STEP_BYTES, 1);
}

bool data_unpacker_add(struct data_unpacker *unpacker, struct text *packed) {
    ZSTD_inBuffer in = {packed->bytes, packed->bytes_count, 0};
    bool is_good = true, may_have_more = true;
    while (is_good && may_have_more) {
        if (!reserve(unpacker)) return false;
        ZSTD_outBuffer out = {unpacker->bytes + unpacker->bytes_count, STEP_BYTES, 0};
        is_good = !ZSTD_isError(ZSTD_decompressStream(unpacker->stream, &out, &in)) && (in.pos > 0 || out.pos > 0);
        unpacker->bytes_count += out.pos;
        /* If the output buffer is full, zstd may hold more output even though it has read all input. */
        may_have_more = out.pos == out.size && in.pos == in.size;
    }
    *packed = text_from(*packed, in.pos);
    return is_good;
}

void data_unpacker_consume(struct data_unpacker *unpacker, size_t bytes_count) {
    unpacker->bytes_count -= bytes_count;
    memmove(unpacker->bytes, unpacker->bytes + bytes_count, unpacker->bytes_count);
}
