#include "jit_records.h"

#include <string.h>

#include "libconvert/base/cursor.h"
#include "readers/input/scan.h"

/* ---- Perf maps. ---- */

static bool read_line(struct text line, struct jit_record *record) {
    *record = (struct jit_record){.time_ns = INT64_MIN};
    cursor_take(&line, TEXT("0x"));
    if (!cursor_take_number(&line, 16, &record->address) || !cursor_take(&line, TEXT(" "))) return false;
    cursor_take(&line, TEXT("0x"));
    if (!cursor_take_number(&line, 16, &record->size_bytes) || !cursor_take(&line, TEXT(" "))) return false;
    record->name = text_trim(line);
    return record->name.bytes_count && record->size_bytes;
}

uint64_t jit_read_perf_map(struct input *input, jit_visitor *visit, void *context) {
    struct scan scan;
    struct text line;
    uint64_t damaged_count = 0;
    scan_init(&scan, input);
    while (scan_line(&scan, &line)) {
        struct jit_record record;
        if (read_line(line, &record))
            visit(context, &record);
        else
            damaged_count += text_trim(line).bytes_count > 0;
    }
    return damaged_count;
}

/* ---- Jitdumps. ---- */

enum {
    JITDUMP_MAGIC = 0x4a695444,
    JITDUMP_VERSION = 1,
    JITDUMP_HAS_ARCH_TIMES = 1, /* A flag: times are not those of CLOCK_MONOTONIC. */
    JITDUMP_HEADER_BYTES = 40,
    RECORD_HEAD_BYTES = 16, /* The head has the kind, the size and the time of the record. */
    RECORD_LOAD = 0,
    RECORD_MOVE = 1,
    RECORD_UNWINDING = 4, /* The record has the call frame information of the next code that is loaded. */
    UNWINDING_AT = 40,
    LOAD_NAME_AT = 56,
    MOVE_BYTES = 64,
    NAME_BYTES_MAX = 16384,
    EH_FRAME_BYTES_MAX = 65536 /* One function needs far less. A record with more counts as damaged. */
};

/* A jitdump that is being read. */
struct dump {
    struct input *input; /* borrowed */
    jit_visitor *visit;
    void *context;
    bool has_times;
    uint64_t damaged_count;
    size_t eh_frame_bytes_count;
    char eh_frame[EH_FRAME_BYTES_MAX];
};

static uint32_t u32_at(struct text bytes, size_t at) {
    uint32_t value;
    memcpy(&value, bytes.bytes + at, sizeof value);
    return value;
}

static uint64_t u64_at(struct text bytes, size_t at) {
    uint64_t value;
    memcpy(&value, bytes.bytes + at, sizeof value);
    return value;
}

/* Returns the next bytes, at most bytes_count, without consuming them. */
static struct text peek(struct input *input, size_t bytes_count) {
    return text_slice(input_peek(input, bytes_count), 0, bytes_count);
}

static bool read_load(struct text bytes, struct jit_record *record) {
    if (bytes.bytes_count <= LOAD_NAME_AT) return false;
    struct text name = text_from(bytes, LOAD_NAME_AT);
    record->address = u64_at(bytes, 32);
    record->size_bytes = u64_at(bytes, 40);
    record->name = text_slice(name, 0, text_find(name, '\0'));
    return record->size_bytes && record->name.bytes_count;
}

static bool read_move(struct text bytes, struct jit_record *record) {
    if (bytes.bytes_count < MOVE_BYTES) return false;
    record->moved_from = u64_at(bytes, 32);
    record->address = u64_at(bytes, 40);
    record->size_bytes = u64_at(bytes, 48);
    return record->size_bytes > 0;
}

/* Keeps the call frame information of the next code. After it, the record has a table to search it by. */
static bool keep_unwinding(struct dump *dump, struct text bytes) {
    dump->eh_frame_bytes_count = 0;
    if (bytes.bytes_count < UNWINDING_AT) return false;
    uint64_t bytes_count = u64_at(bytes, 16), table_bytes_count = u64_at(bytes, 24);
    if (table_bytes_count > bytes_count || bytes_count > bytes.bytes_count - UNWINDING_AT) return false;
    if (bytes_count - table_bytes_count > sizeof dump->eh_frame) return false;
    dump->eh_frame_bytes_count = (size_t)(bytes_count - table_bytes_count);
    memcpy(dump->eh_frame, bytes.bytes + UNWINDING_AT, dump->eh_frame_bytes_count);
    return true;
}

/* Reads a record. Returns false if it is damaged. */
static bool read_record(struct dump *dump, uint32_t kind, struct text bytes) {
    uint64_t time_ns = u64_at(bytes, 8);
    struct jit_record record = {.time_ns = INT64_MIN};
    if (dump->has_times) record.time_ns = time_ns <= INT64_MAX ? (int64_t)time_ns : INT64_MAX;
    if (kind == RECORD_UNWINDING) return keep_unwinding(dump, bytes);
    if (kind != RECORD_LOAD && kind != RECORD_MOVE) return true;
    if (kind == RECORD_LOAD) {
        record.eh_frame = (struct text){dump->eh_frame, dump->eh_frame_bytes_count};
        dump->eh_frame_bytes_count = 0;
    }
    bool is_good = kind == RECORD_LOAD ? read_load(bytes, &record) : read_move(bytes, &record);
    if (is_good) dump->visit(dump->context, &record);
    return is_good;
}

/* Reads the next record. Returns false at the end, or if what follows cannot be read. */
static bool read_next(struct dump *dump) {
    struct text bytes = peek(dump->input, RECORD_HEAD_BYTES);
    if (!bytes.bytes_count) return false;
    uint32_t record_bytes = bytes.bytes_count < RECORD_HEAD_BYTES ? 0 : u32_at(bytes, 4);
    if (record_bytes < RECORD_HEAD_BYTES) {
        dump->damaged_count++;
        return false;
    }
    uint32_t kind = u32_at(bytes, 0);
    size_t wanted_bytes =
        kind == RECORD_UNWINDING ? UNWINDING_AT + 2 * EH_FRAME_BYTES_MAX : LOAD_NAME_AT + NAME_BYTES_MAX;
    bool is_good =
        read_record(dump, kind, peek(dump->input, wanted_bytes < record_bytes ? wanted_bytes : record_bytes));
    /* A process that is killed may leave part of a record. */
    bool is_whole = input_skip(dump->input, record_bytes);
    dump->damaged_count += !is_good || !is_whole;
    return is_whole;
}

uint64_t jit_read_dump(struct input *input, int64_t pid, int64_t inner_pid, jit_visitor *visit, void *context) {
    struct text header = peek(input, JITDUMP_HEADER_BYTES);
    if (header.bytes_count < JITDUMP_HEADER_BYTES || u32_at(header, 0) != JITDUMP_MAGIC ||
        u32_at(header, 4) != JITDUMP_VERSION)
        return 1;
    int64_t written_pid = u32_at(header, 20);
    if (written_pid != pid && written_pid != inner_pid) return 1;
    uint32_t header_bytes = u32_at(header, 8);
    bool has_times = !(u64_at(header, 32) & JITDUMP_HAS_ARCH_TIMES);
    if (header_bytes < JITDUMP_HEADER_BYTES || !input_skip(input, header_bytes)) return 1;
    struct dump dump = {.input = input, .visit = visit, .context = context, .has_times = has_times};
    while (read_next(&dump)) continue;
    return dump.damaged_count;
}
