#include "debug_data.h"

#include <errno.h>
#include <libelf.h>
#include <lzma.h>
#include <stdlib.h>

/* What the highest level of xz needs, twice. */
static const uint64_t WORKING_BYTES_MAX = 192 << 20;

struct unpacked {
    uint8_t *bytes;
    size_t bytes_count;
    size_t capacity;
};

/* Returns false if memory ran out, or if the most bytes that are allowed are in use. */
static bool make_room(struct unpacked *unpacked, struct failure *failure) {
    enum { FIRST_BYTES = 64 << 10 };
    if (unpacked->bytes_count < unpacked->capacity) return true;
    if (unpacked->capacity == DEBUG_DATA_BYTES_MAX) return false;
    size_t capacity = unpacked->capacity ? unpacked->capacity * 2 : FIRST_BYTES;
    uint8_t *bytes = failure_check_memory(failure, realloc(unpacked->bytes, capacity));
    if (!bytes) return false;
    unpacked->bytes = bytes;
    unpacked->capacity = capacity;
    return true;
}

/* Returns LZMA_STREAM_END if everything was unpacked. */
static lzma_ret unpack_all(lzma_stream *stream, struct unpacked *unpacked, struct failure *failure) {
    lzma_ret result = LZMA_OK;
    while (result == LZMA_OK && make_room(unpacked, failure)) {
        stream->next_out = unpacked->bytes + unpacked->bytes_count;
        stream->avail_out = unpacked->capacity - unpacked->bytes_count;
        result = lzma_code(stream, LZMA_FINISH);
        unpacked->bytes_count = unpacked->capacity - stream->avail_out;
    }
    return result;
}

/* Returns false if the bytes are damaged or memory ran out (latched). */
static bool unpack(struct text packed, struct unpacked *unpacked, struct failure *failure) {
    lzma_stream stream = LZMA_STREAM_INIT;
    lzma_ret result = lzma_stream_decoder(&stream, WORKING_BYTES_MAX, LZMA_CONCATENATED);
    if (result == LZMA_OK) {
        stream.next_in = (const uint8_t *)packed.bytes;
        stream.avail_in = packed.bytes_count;
        result = unpack_all(&stream, unpacked, failure);
    }
    lzma_end(&stream);
    if (result == LZMA_MEM_ERROR) failure_set_memory(failure);
    return result == LZMA_STREAM_END;
}

void debug_data_open(struct debug_data *data, const struct debug_file *file, struct failure *failure) {
    *data = (struct debug_data){0};
    struct text packed = debug_file_section(file, ".gnu_debugdata");
    if (!packed.bytes_count) return;
    struct unpacked unpacked = {0};
    errno = 0;
    if (unpack(packed, &unpacked, failure) && unpacked.bytes_count)
        data->elf = elf_memory((char *)unpacked.bytes, unpacked.bytes_count);
    if (errno == ENOMEM) failure_set_memory(failure);
    data->bytes = (char *)unpacked.bytes;
    if (!data->elf || failure_is_set(failure)) debug_data_close(data);
}

void debug_data_close(struct debug_data *data) {
    if (data->elf) elf_end(data->elf);
    free(data->bytes);
    *data = (struct debug_data){0};
}
