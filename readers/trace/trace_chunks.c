/* The outer structure of a recorder trace: header, chunks, blocks and definitions. The content of blocks is read
 * elsewhere. */
#include <inttypes.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "trace_reader_internal.h"

enum { DEFINITION_HEAD_BYTES = 8, DEFINITION_ALIGNMENT = 4 };

/* The recorder's tables between header and chunks take a few bytes per chunk, so they are never longer than this. */
static const uint64_t CHUNKS_OFFSET_MAX = (uint64_t)1 << 32;

static uint64_t hash_of(const void *bytes, size_t bytes_count) { return XXH3_64bits(bytes, bytes_count); }

/* ---- Header. ---- */

struct header_check {
    bool is_good;
    const char *name;
    size_t offset;
    uint64_t value;
};

/* Checks values that can be impossible although the hash is right. */
static bool check_numbers(const struct trace_header *header, struct failure *failure) {
    uint32_t chunk_bytes = header->chunk_bytes;
    bool is_power_of_two = chunk_bytes && !(chunk_bytes & (chunk_bytes - 1));
    bool has_rate =
        header->ticks_per_second >= TRACE_CLOCK_RATE_MIN && header->ticks_per_second <= TRACE_CLOCK_RATE_MAX;
    const struct header_check checks[] = {
        {header->header_bytes >= TRACE_HEADER_BYTES_MIN && header->header_bytes <= header->chunks_offset,
         "size of the header", offsetof(struct trace_header, header_bytes), header->header_bytes},
        {header->chunks_offset >= TRACE_HEADER_BYTES && header->chunks_offset % TRACE_HEADER_BYTES == 0 &&
             header->chunks_offset <= CHUNKS_OFFSET_MAX,
         "offset of the chunks", offsetof(struct trace_header, chunks_offset), header->chunks_offset},
        {is_power_of_two && chunk_bytes >= TRACE_CHUNK_BYTES_MIN && chunk_bytes <= TRACE_CHUNK_BYTES_MAX,
         "size of a chunk", offsetof(struct trace_header, chunk_bytes), chunk_bytes},
        {header->clock <= TRACE_CLOCK_CNTVCT, "kind of clock", offsetof(struct trace_header, clock), header->clock},
        {has_rate, "rate of the clock", offsetof(struct trace_header, ticks_per_second), header->ticks_per_second},
        {header->start_monotonic_ns <= INT64_MAX / 2, "start on the monotonic clock",
         offsetof(struct trace_header, start_monotonic_ns), header->start_monotonic_ns},
        {header->start_realtime_ns <= INT64_MAX / 2, "start on the clock of the day",
         offsetof(struct trace_header, start_realtime_ns), header->start_realtime_ns},
        {header->clock != TRACE_CLOCK_MONOTONIC || header->start_ticks <= INT64_MAX / 2, "start in ticks",
         offsetof(struct trace_header, start_ticks), header->start_ticks},
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        if (checks[i].is_good) continue;
        failure_set_at(failure, FAILURE_INPUT, (struct position){.offset = checks[i].offset},
                       "the %s in the header of the trace is impossible: %" PRIu64, checks[i].name, checks[i].value);
        return false;
    }
    return true;
}

static bool check_header(const struct trace_header *header, struct text start, struct failure *failure) {
    struct text magic = {TRACE_MAGIC, TRACE_MAGIC_BYTES};
    if (!text_starts_with(start, magic)) {
        failure_set_at(
            failure, FAILURE_INPUT, (struct position){0},
            "this is not a trace of the recorder, which begins with other bytes; without --from it is read as "
            "what it looks like");
        return false;
    }
    if (start.bytes_count < TRACE_HEADER_BYTES) {
        failure_set_at(failure, FAILURE_INPUT, (struct position){.offset = start.bytes_count},
                       "the trace is cut off within its header: %zu of %d bytes are there", start.bytes_count,
                       (int)TRACE_HEADER_BYTES);
        return false;
    }
    if (header->version != TRACE_VERSION) {
        failure_set_at(failure, FAILURE_INPUT, (struct position){.offset = offsetof(struct trace_header, version)},
                       "the trace is of version %" PRIu32
                       ", and version %d is read here: convert it with the "
                       "gecko-convert that came with its recorder",
                       header->version, (int)TRACE_VERSION);
        return false;
    }
    if (header->hash != hash_of(header, offsetof(struct trace_header, hash))) {
        failure_set_at(failure, FAILURE_INPUT, (struct position){.offset = offsetof(struct trace_header, hash)},
                       "the header of the trace is damaged: its hash is wrong; copy the trace again from where it was "
                       "recorded");
        return false;
    }
    return check_numbers(header, failure);
}

bool trace_chunks_read_header(struct trace_reader *trace, struct input *input) {
    struct failure *failure = trace->profile->failure;
    struct text start = text_slice(input_peek(input, TRACE_HEADER_BYTES), 0, TRACE_HEADER_BYTES);
    if (failure_is_set(failure)) return false;
    size_t known_bytes = start.bytes_count < sizeof trace->header ? start.bytes_count : sizeof trace->header;
    if (known_bytes) memcpy(&trace->header, start.bytes, known_bytes);
    if (!check_header(&trace->header, start, failure)) return false;
    size_t told_bytes = trace->header.header_bytes;
    if (told_bytes < known_bytes) memset((char *)&trace->header + told_bytes, 0, known_bytes - told_bytes);
    input_skip(input, trace->header.chunks_offset);
    return true;
}

/* ---- Chunks. ---- */

/* A chunk, or its part before the end of the trace. */
struct chunk {
    struct trace_chunk_header header;
    struct text bytes;
    uint64_t offset;      /* in the trace */
    uint32_t end;         /* end of the last published block in the chunk; at least first_block */
    uint64_t block_count; /* number of blocks according to the header, at most what can fit */
};

/* Counts the bytes of an unusable chunk as skipped and its content as lost. */
static void skip_chunk(struct trace_reader *trace, const struct chunk *chunk, enum trace_cause cause,
                       uint64_t lost_count) {
    trace->counts.skipped_bytes += chunk->bytes.bytes_count;
    trace_ledger_account(&trace->ledger, cause, lost_count, chunk->offset);
}

static void skip_event_chunk(struct trace_reader *trace, const struct chunk *chunk, enum trace_cause cause,
                             uint64_t lost_count) {
    column_add(&trace->skipped, &(struct trace_skipped){chunk->header.pid, chunk->header.base_ns});
    skip_chunk(trace, chunk, cause, lost_count);
}

static bool is_header_good(const struct trace_reader *trace, const struct trace_chunk_header *header) {
    bool is_known = header->kind == TRACE_CHUNK_EVENTS || header->kind == TRACE_CHUNK_DEFINITIONS;
    return header->magic == TRACE_CHUNK_MAGIC && header->version == TRACE_VERSION && is_known &&
           (header->state == TRACE_CHUNK_LIVE || header->state == TRACE_CHUNK_SEALED) &&
           header->first_block >= TRACE_CHUNK_HEADER_BYTES && header->first_block <= trace->header.chunk_bytes;
}

/* False if the chunk ends before the last hashed byte, since its hash is unknown then. */
static bool has_wrong_hash(const struct chunk *chunk) {
    size_t from = offsetof(struct trace_chunk_header, magic);
    if (chunk->header.state != TRACE_CHUNK_SEALED || chunk->end > chunk->bytes.bytes_count) return false;
    return hash_of(chunk->bytes.bytes + from, chunk->end - from) != chunk->header.hash;
}

static void offer_points(struct trace_reader *trace, const struct trace_chunk_header *header, int64_t base_ticks) {
    int64_t end_ticks;
    trace_clock_offer(&trace->clock, base_ticks, header->base_ns);
    if (header->end_ticks && trace_clock_relative(&trace->clock, header->end_ticks, &end_ticks))
        trace_clock_offer(&trace->clock, end_ticks, header->end_ns);
}

static void read_event_chunk(struct trace_reader *trace, struct chunk *chunk) {
    enum { BLOCK_BYTES_MIN = 2 };
    const struct trace_chunk_header *header = &chunk->header;
    uint64_t published_end = header->commit & UINT32_MAX;
    /* In a live chunk, nothing may be published yet. */
    bool is_empty = !header->commit && header->state == TRACE_CHUNK_LIVE;
    if (is_empty) published_end = header->first_block;
    int64_t base_ticks;
    if (published_end < header->first_block || published_end > trace->header.chunk_bytes ||
        !trace_clock_relative(&trace->clock, header->base_ticks, &base_ticks)) {
        skip_event_chunk(trace, chunk, TRACE_LOST_CHUNK, 1);
        return;
    }
    chunk->end = (uint32_t)published_end;
    uint64_t possible_count = (chunk->end - header->first_block) / BLOCK_BYTES_MIN;
    uint64_t count = header->commit >> 32;
    chunk->block_count = count < possible_count ? count : possible_count;
    if (has_wrong_hash(chunk)) {
        trace->counts.wrong_hash_count++;
        skip_event_chunk(trace, chunk, TRACE_LOST_HASH, chunk->block_count ? chunk->block_count : 1);
        return;
    }
    trace->counts.chunk_count++;
    bool is_live = header->state == TRACE_CHUNK_LIVE;
    trace->counts.live_chunk_count += is_live;
    offer_points(trace, header, base_ticks);
    bool is_cut = chunk->end > chunk->bytes.bytes_count;
    struct trace_blocks blocks = {
        .context = {.is_live = is_live,
                    .counted = process_none(),
                    .now_ticks = base_ticks,
                    .base_ticks = base_ticks,
                    .base_ns = header->base_ns,
                    .pid_namespace = header->pid_namespace},
        .bytes = text_slice(chunk->bytes, header->first_block, chunk->end),
        .offset = chunk->offset + header->first_block,
        .block_count = chunk->block_count,
        .is_cut = is_cut,
    };
    trace_blocks_read(trace, blocks);
}

/* ---- Definitions. ---- */

static uint32_t word_at(struct text bytes, size_t at) {
    uint32_t word;
    memcpy(&word, bytes.bytes + at, sizeof word);
    return word;
}

/* The position of a definition in its chunk. */
struct definition_location {
    size_t at;
    uint64_t id;
};

static void read_definition(struct trace_reader *trace, const struct chunk *chunk, struct definition_location location,
                            uint32_t word) {
    uint32_t body_bytes = word & ~TRACE_DEFINITION_PUBLISHED;
    size_t body_at = location.at + DEFINITION_HEAD_BYTES;
    uint64_t offset = chunk->offset + location.at;
    if (!(word & TRACE_DEFINITION_PUBLISHED)) {
        trace_definitions_add_void(&trace->definitions, location.id);
        trace_ledger_account(&trace->ledger, TRACE_NOTE_DEFINITION_UNFINISHED, 1, offset);
        return;
    }
    struct text body = text_slice(chunk->bytes, body_at, body_at + body_bytes);
    uint32_t checksum = word_at(chunk->bytes, location.at + sizeof word);
    if (checksum == (uint32_t)(hash_of(body.bytes, body.bytes_count) + location.id)) {
        trace_definitions_add(&trace->definitions, location.id, body, offset);
        return;
    }
    trace_definitions_add_void(&trace->definitions, location.id);
    trace_ledger_account(&trace->ledger, TRACE_LOST_DEFINITION_DAMAGED, 1, offset);
}

/* Reads definitions. Each has a checksum of its own, so state and hash of the chunk do not matter. */
static void read_definitions_chunk(struct trace_reader *trace, const struct chunk *chunk) {
    const struct trace_chunk_header *header = &chunk->header;
    struct definition_location location = {header->first_block, header->first_definition};
    if (location.at % DEFINITION_ALIGNMENT || !location.id) {
        skip_chunk(trace, chunk, TRACE_LOST_CHUNK, 1);
        return;
    }
    trace->counts.chunk_count++;
    size_t end = chunk->bytes.bytes_count;
    bool is_cut = end < trace->header.chunk_bytes;
    while (location.at + DEFINITION_HEAD_BYTES <= end && !failure_is_set(trace->profile->failure)) {
        uint32_t word = word_at(chunk->bytes, location.at);
        if (!word || word == TRACE_DEFINITION_CHUNK_END) return;
        size_t body_bytes = word & ~TRACE_DEFINITION_PUBLISHED;
        size_t whole_bytes = DEFINITION_HEAD_BYTES +
                             (body_bytes + DEFINITION_ALIGNMENT - 1) / DEFINITION_ALIGNMENT * DEFINITION_ALIGNMENT;
        bool is_whole = DEFINITION_HEAD_BYTES + body_bytes <= end - location.at;
        if (!is_whole) {
            trace_ledger_account(&trace->ledger, is_cut ? TRACE_LOST_CUT : TRACE_LOST_DEFINITION_DAMAGED, 1,
                                 chunk->offset + location.at);
            return;
        }
        read_definition(trace, chunk, location, word);
        location.at += whole_bytes;
        location.id++;
    }
}

static void read_chunk(struct trace_reader *trace, struct chunk *chunk) {
    if (chunk->bytes.bytes_count < sizeof chunk->header) {
        trace->counts.skipped_bytes += chunk->bytes.bytes_count;
        return;
    }
    memcpy(&chunk->header, chunk->bytes.bytes, sizeof chunk->header);
    if (chunk->header.state == TRACE_CHUNK_FREE) {
        trace->counts.free_chunk_count++;
    } else if (!is_header_good(trace, &chunk->header)) {
        skip_chunk(trace, chunk, TRACE_LOST_CHUNK, 1);
    } else if (chunk->header.kind == TRACE_CHUNK_DEFINITIONS) {
        read_definitions_chunk(trace, chunk);
    } else {
        read_event_chunk(trace, chunk);
    }
}

void trace_chunks_read(struct trace_reader *trace, struct input *input) {
    uint32_t chunk_bytes = trace->header.chunk_bytes;
    for (uint64_t number = 0; !failure_is_set(trace->profile->failure); number++) {
        struct chunk chunk = {.offset = input_offset(input)};
        chunk.bytes = text_slice(input_peek(input, chunk_bytes), 0, chunk_bytes);
        if (!chunk.bytes.bytes_count) {
            uint64_t used_count = trace->header.chunk_count;
            bool is_cut = used_count > number && used_count <= UINT32_MAX; /* chunks have numbers of 32 bits */
            trace_ledger_account(&trace->ledger, TRACE_LOST_CUT_CHUNK, is_cut ? used_count - number : 0, chunk.offset);
            return;
        }
        if (chunk.bytes.bytes_count < chunk_bytes)
            trace_ledger_account(&trace->ledger, TRACE_NOTE_CUT, 1, chunk.offset + chunk.bytes.bytes_count);
        read_chunk(trace, &chunk);
        input_consume(input, chunk.bytes.bytes_count);
    }
}
