/* Reads any bytes as a recorder trace. Also reads them with all hashes corrected; otherwise nothing after a hash would
 * ever be tried. */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "checked_conversion.h"
#include "recorder/trace_format.h"

/* Sizes that are small enough for a few thousand bytes to make several chunks. */
enum { CHUNKS_OFFSET = TRACE_HEADER_BYTES, CHUNK_BYTES = TRACE_CHUNK_BYTES_MIN };

static void repair_header(struct trace_header *header) {
    memcpy(header->magic, TRACE_MAGIC, TRACE_MAGIC_BYTES);
    header->version = TRACE_VERSION;
    header->header_bytes = TRACE_HEADER_BYTES;
    header->chunks_offset = CHUNKS_OFFSET;
    header->chunk_bytes = CHUNK_BYTES;
    header->clock %= TRACE_CLOCK_CNTVCT + 1;
    header->ticks_per_second = 1000000 + header->ticks_per_second % 100000000;
    header->start_monotonic_ns >>= 2;
    header->start_realtime_ns >>= 2;
    header->start_ticks >>= 2;
    header->hash = XXH3_64bits(header, offsetof(struct trace_header, hash));
}

static void repair_definitions(char *chunk, const struct trace_chunk_header *header, size_t bytes_count) {
    uint64_t id = header->first_definition;
    for (size_t at = header->first_block; at + 8 <= bytes_count; id++) {
        uint32_t word;
        memcpy(&word, chunk + at, sizeof word);
        size_t body_bytes = word & ~TRACE_DEFINITION_PUBLISHED;
        if (!word || body_bytes > bytes_count - at - 8) return;
        uint32_t checksum = (uint32_t)(XXH3_64bits(chunk + at + 8, body_bytes) + id);
        memcpy(chunk + at + 4, &checksum, sizeof checksum);
        at += 8 + (body_bytes + 3) / 4 * 4;
    }
}

static void repair_chunk(char *chunk, size_t bytes_count) {
    struct trace_chunk_header header;
    memcpy(&header, chunk, sizeof header);
    header.state %= TRACE_CHUNK_SEALED + 1;
    header.magic = TRACE_CHUNK_MAGIC;
    header.version = TRACE_VERSION;
    header.kind = header.kind % 2 ? TRACE_CHUNK_EVENTS : TRACE_CHUNK_DEFINITIONS;
    header.first_block = TRACE_CHUNK_HEADER_BYTES;
    header.first_definition %= 64;
    uint32_t end = TRACE_CHUNK_HEADER_BYTES + (uint32_t)header.commit % (CHUNK_BYTES - TRACE_CHUNK_HEADER_BYTES + 1);
    header.commit = header.commit >> 32 << 32 | end;
    memcpy(chunk, &header, sizeof header);
    if (header.kind == TRACE_CHUNK_DEFINITIONS) repair_definitions(chunk, &header, bytes_count);
    if (end > bytes_count) return;
    size_t from = offsetof(struct trace_chunk_header, magic);
    header.hash = XXH3_64bits(chunk + from, end - from);
    memcpy(chunk, &header, sizeof header);
}

/* Returns a copy with valid chunks at the offsets where chunks belong. Returns NULL if the input is shorter than a
 * header. */
static char *repair(const uint8_t *bytes, size_t bytes_count) {
    if (bytes_count < TRACE_HEADER_BYTES) return NULL;
    char *copy = malloc(bytes_count);
    if (!copy) abort();
    memcpy(copy, bytes, bytes_count);
    struct trace_header header;
    memcpy(&header, copy, sizeof header);
    repair_header(&header);
    memcpy(copy, &header, sizeof header);
    for (size_t at = CHUNKS_OFFSET; at < bytes_count; at += CHUNK_BYTES) {
        size_t left_bytes = bytes_count - at;
        size_t chunk_bytes = left_bytes < CHUNK_BYTES ? left_bytes : CHUNK_BYTES;
        if (chunk_bytes >= sizeof(struct trace_chunk_header)) repair_chunk(copy + at, chunk_bytes);
    }
    return copy;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t bytes_count) {
    fuzz_text(&reader_trace, (struct text){(const char *)bytes, bytes_count});
    char *repaired = repair(bytes, bytes_count);
    if (repaired) fuzz_text(&reader_trace, (struct text){repaired, bytes_count});
    free(repaired);
    return 0;
}
