#include "data_stream.h"

#include <zstd.h>

/* Size limit of what follows a record without being counted in its size. */
static const uint64_t FORMATS_BYTES_MAX = UINT64_C(256) << 20;

void data_stream_init(struct data_stream *stream, struct data_parser *parser, struct input *input, uint64_t start,
                      uint64_t end) {
    *stream = (struct data_stream){.parser = parser, .input = input, .start = start, .end = end};
    /* The files of a folder are closed before all of their records have been used. */
    if (!start) stream->lasting = input_at_hand(input);
    stream->unpacked.failure = parser->failure;
}

void data_stream_fini(struct data_stream *stream) {
    ZSTD_freeDStream(stream->zstd);
    byte_buffer_fini(&stream->unpacked);
}

/* Returns how many bytes after a record belong to it without being counted in its size. Early versions of simpleperf
 * have tracepoint formats inside of their record. */
static uint64_t bytes_after(const struct data_record *record) {
    if (record->type == RECORD_TRACING_DATA && record->payload.bytes_count >= 4) {
        uint32_t formats_bytes = perf_load_u32(record->payload.bytes);
        return record->payload.bytes_count - 4 >= formats_bytes ? 0 : formats_bytes;
    }
    if (record->type == RECORD_AUXTRACE && record->payload.bytes_count >= 8)
        return perf_load_u64(record->payload.bytes);
    return 0;
}

/* Reads the tracepoint formats that follow their record in a stream. Consumes nothing. */
static void read_formats(struct data_stream *stream, uint64_t bytes_count) {
    uint64_t offset = stream->start + input_offset(stream->input);
    bool is_sane = bytes_count <= FORMATS_BYTES_MAX;
    struct text bytes = is_sane ? input_peek(stream->input, (size_t)bytes_count) : (struct text){0};
    if (is_sane && bytes.bytes_count >= bytes_count)
        data_features_read(stream->parser, FEATURE_TRACING_DATA, text_slice(bytes, 0, (size_t)bytes_count), offset);
    else
        data_tally(stream->parser, TALLY_BAD_FEATURE, 1, offset);
}

/* Reads a record's header. Returns false if the bytes are not a valid header. */
static bool read_head(struct text bytes, uint64_t offset, struct data_record *record) {
    struct perf_cursor cursor = perf_cursor_of(text_slice(bytes, 0, RECORD_HEAD_BYTES));
    *record = (struct data_record){.type = perf_cursor_u32(&cursor), .offset = offset};
    record->misc = perf_cursor_u16(&cursor);
    size_t size_bytes = perf_cursor_u16(&cursor);
    if (cursor.is_bad || size_bytes < RECORD_HEAD_BYTES) return false;
    record->bytes = text_slice(bytes, 0, size_bytes);
    record->payload = text_from(record->bytes, RECORD_HEAD_BYTES);
    return true;
}

static size_t size_of_record(struct text head) {
    return (size_t)(unsigned char)head.bytes[6] | (size_t)(unsigned char)head.bytes[7] << 8;
}

static bool is_lasting(const struct data_stream *stream, struct text bytes) {
    uintptr_t at = (uintptr_t)bytes.bytes, start = (uintptr_t)stream->lasting.bytes;
    return at >= start && at - start < stream->lasting.bytes_count;
}

static void take(struct data_stream *stream, const struct data_record *record) {
    uint64_t time_ns = data_records_take(stream->parser, record);
    if (time_ns) stream->now_ns = time_ns;
}

/* ---- Compressed records ("perf record -z"). All together contain one zstd stream, and each the next part of it. An
 * unpacked record may begin in one part and end in the next. ---- */

/* Unpacks some hundred kilobytes at most. *is_full becomes whether zstd may hold more, even if it has read all. Returns
 * false if the bytes are damaged or memory ran out (latched). */
static bool unpack_some(struct data_stream *stream, ZSTD_inBuffer *in, bool *is_full) {
    enum { STEP_BYTES = 256 * 1024 };
    struct byte_buffer *to = &stream->unpacked;
    if (!stream->zstd) stream->zstd = ZSTD_createDStream();
    if (!stream->zstd) failure_set_memory(to->failure);
    if (!stream->zstd || !memory_reserve(to->failure, &to->bytes, &to->capacity_bytes, to->bytes_count + STEP_BYTES, 1))
        return false;
    size_t left_bytes = in->size - in->pos;
    ZSTD_outBuffer out = {to->bytes + to->bytes_count, STEP_BYTES, 0};
    bool is_good = !ZSTD_isError(ZSTD_decompressStream(stream->zstd, &out, in));
    to->bytes_count += out.pos;
    *is_full = out.pos == out.size;
    return is_good && (out.pos || in->size - in->pos < left_bytes || !left_bytes);
}

/* Takes all complete records from the unpacked bytes. Returns false at a damaged record. */
static bool take_unpacked(struct data_stream *stream, uint64_t offset) {
    struct text bytes = byte_buffer_text(&stream->unpacked);
    struct data_record record;
    bool is_good = true;
    while (bytes.bytes_count >= RECORD_HEAD_BYTES && bytes.bytes_count >= size_of_record(bytes)) {
        is_good = read_head(bytes, offset, &record);
        if (!is_good) break;
        take(stream, &record);
        bytes = text_from(bytes, record.bytes.bytes_count);
    }
    memmove(stream->unpacked.bytes, bytes.bytes, bytes.bytes_count);
    stream->unpacked.bytes_count = bytes.bytes_count;
    return is_good;
}

/* Unpacks a compressed record. After damage, nothing more can be unpacked, because each part continues the previous
 * one. */
static void unpack(struct data_stream *stream, const struct data_record *record) {
    struct text packed = record->payload;
    if (record->type == RECORD_COMPRESSED2) {
        struct perf_cursor cursor = perf_cursor_of(packed);
        packed = perf_cursor_bytes(&cursor, perf_cursor_u64(&cursor));
    }
    ZSTD_inBuffer in = {packed.bytes, packed.bytes_count, 0};
    bool is_good = !stream->is_unpacking_over, is_full = false;
    while (is_good && (in.pos < in.size || is_full) && !failure_is_set(stream->parser->failure))
        is_good = unpack_some(stream, &in, &is_full) && take_unpacked(stream, record->offset);
    if (is_good) return;
    stream->is_unpacking_over = true;
    data_tally(stream->parser, TALLY_BAD_COMPRESSION, 1, record->offset);
}

/* ---- Records. ---- */

/* Takes the end of a round, with which the bytes begin, and the next round. Returns whether the sizes of its records
 * add up. The last one may be cut off if the bytes are not all that there are. */
static bool add_up(struct text *bytes, bool is_all) {
    struct data_record record = {.bytes = text_slice(*bytes, 0, RECORD_HEAD_BYTES)};
    do {
        *bytes = text_from(*bytes, record.bytes.bytes_count);
        if (!bytes->bytes_count) return true;
        if (bytes->bytes_count < RECORD_HEAD_BYTES || size_of_record(*bytes) > bytes->bytes_count) return !is_all;
        if (!read_head(*bytes, 0, &record)) return false;
        uint64_t after_bytes = bytes_after(&record);
        if (after_bytes > bytes->bytes_count - record.bytes.bytes_count) return !is_all;
        *bytes = text_from(*bytes, (size_t)after_bytes);
    } while (record.type != RECORD_FINISHED_ROUND);
    return true;
}

/* Skips a damaged record, and all up to the end of a round after which the records of a whole round add up. Returns
 * false if it finds none. All searches in a recording together are bounded. */
static bool resume(struct data_stream *stream) {
    enum { SEARCH_BYTES_MAX = 64 * 1024 * 1024, SEARCHES_MAX = 16 };
    static const char round_end[RECORD_HEAD_BYTES] = {RECORD_FINISHED_ROUND, 0, 0, 0, 0, 0, RECORD_HEAD_BYTES, 0};
    uint64_t left_bytes = stream->end - input_offset(stream->input);
    bool is_all = left_bytes <= SEARCH_BYTES_MAX;
    size_t wanted_bytes = is_all ? (size_t)left_bytes : SEARCH_BYTES_MAX;
    struct text bytes = text_slice(input_peek(stream->input, wanted_bytes), 0, wanted_bytes);
    size_t searched_bytes = 1;
    while (stream->searched_bytes < (uint64_t)SEARCHES_MAX * SEARCH_BYTES_MAX) {
        struct text left = text_from(bytes, searched_bytes);
        const char *found = memmem(left.bytes, left.bytes_count, round_end, sizeof round_end);
        if (!found) return false;
        size_t skipped_bytes = (size_t)(found - bytes.bytes);
        struct text rest = left = text_from(bytes, skipped_bytes);
        bool is_good = add_up(&rest, is_all);
        stream->searched_bytes += skipped_bytes - searched_bytes + left.bytes_count - rest.bytes_count;
        searched_bytes = skipped_bytes + 1;
        if (!is_good) continue;
        data_tally(stream->parser, TALLY_SKIPPED_BYTES, skipped_bytes, stream->start + input_offset(stream->input));
        input_consume(stream->input, skipped_bytes);
        return true;
    }
    return false;
}

/* Reads the next record and what belongs to it. Skips damaged records. Returns false at the end, and if all that
 * follows is damaged. */
static bool read_record(struct data_stream *stream) {
    struct input *input = stream->input;
    if (input_offset(input) >= stream->end) return false;
    uint64_t offset = stream->start + input_offset(input);
    struct text bytes = input_peek(input, RECORD_HEAD_BYTES);
    if (!bytes.bytes_count) return false;
    if (text_starts_with(bytes, TEXT("PERFILE2"))) {
        data_tally(stream->parser, TALLY_NEXT_RECORDING, 1, offset);
        return false;
    }
    size_t size_bytes = bytes.bytes_count < RECORD_HEAD_BYTES ? 0 : size_of_record(bytes);
    if (bytes.bytes_count < size_bytes) bytes = input_peek(input, size_bytes);
    struct data_record record;
    bool is_inside = size_bytes <= stream->end - input_offset(input);
    bool is_whole = bytes.bytes_count >= size_bytes && bytes.bytes_count >= RECORD_HEAD_BYTES;
    if (!is_whole || !is_inside || !read_head(bytes, offset, &record)) {
        data_tally(stream->parser, is_whole || !is_inside ? TALLY_DAMAGED_RECORD : TALLY_CUT_OFF, 1, offset);
        return resume(stream);
    }
    record.is_lasting = is_lasting(stream, record.bytes);
    uint64_t after_bytes = bytes_after(&record);
    bool has_formats = record.type == RECORD_TRACING_DATA && after_bytes;
    take(stream, &record);
    if (record.type == RECORD_COMPRESSED || record.type == RECORD_COMPRESSED2) unpack(stream, &record);
    if (record.is_lasting) input_hold(input, data_order_oldest(&stream->parser->order));
    input_consume(input, size_bytes);
    if (has_formats) read_formats(stream, after_bytes);
    input_skip(input, after_bytes);
    return true;
}

void data_stream_read(struct data_stream *stream, uint64_t until_ns) {
    const struct failure *failure = stream->parser->failure;
    while (!stream->has_ended && stream->now_ns <= until_ns)
        stream->has_ended = failure_is_set(failure) || !read_record(stream);
}
