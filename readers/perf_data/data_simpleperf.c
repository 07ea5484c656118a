/* Reads the sections that only Android's simpleperf writes: what events are called, and the functions that were
 * sampled, as it found them on the device. Layout: simpleperf/record_file.proto and record_file_writer.cpp of Android's
 * platform/system/extras. */
#include "data_parser.h"
#include "libconvert/base/cursor.h"
#include "libconvert/base/value_table.h"

/* ---- Functions. ---- */

/* The kinds of files that matter. Addresses in programs, libraries and modules are those of ELF. Others are offsets in
 * the file, or those of the recording. */
enum file_kind { FILE_MODULE = 1, FILE_ELF = 2, FILE_BYTE_CODE = 3 };

struct symbol_file {
    struct text path;
    uint64_t kind;
    uint64_t first_address; /* address of the first segment with code */
    uint64_t first_offset;  /* in the file, of that segment; for a module, in memory */
};

static void emit_function(struct data_parser *parser, const struct symbol_file *file, uint64_t address, uint64_t size,
                          struct text name) {
    bool is_elf = file->kind == FILE_ELF || file->kind == FILE_MODULE;
    uint64_t start = is_elf ? address - file->first_address + file->first_offset : address;
    /* Frames of byte code are looked up as all callers are, one byte before, but are where the interpreter is. */
    if (file->kind == FILE_BYTE_CODE) start--;
    if (name.bytes_count)
        perf_emit(parser->sink, &(struct perf_record){.type = PERF_FUNCTION,
                                                      .time_ns = TIME_NONE,
                                                      .name = name,
                                                      .text = file->path,
                                                      .mapping = {.start = start, .size_bytes = size}});
}

/* A field of a message in the encoding of protocol buffers. */
struct field {
    uint64_t number; /* 0: there are no more */
    uint64_t value;
    struct text bytes;
};

static uint64_t take_varint(struct perf_cursor *cursor) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        struct text byte = perf_cursor_bytes(cursor, 1);
        if (!byte.bytes_count) return 0;
        value |= (uint64_t)(byte.bytes[0] & 0x7f) << shift;
        if (!(byte.bytes[0] & 0x80)) return value;
    }
    cursor->is_bad = true;
    return 0;
}

static struct field take_field(struct perf_cursor *message) {
    enum { TYPE_VARINT = 0, TYPE_BYTES = 2 };
    struct field field = {0};
    if (!message->left.bytes_count) return field;
    uint64_t key = take_varint(message);
    field.number = key >> 3;
    if ((key & 7) == TYPE_VARINT)
        field.value = take_varint(message);
    else if ((key & 7) == TYPE_BYTES)
        field.bytes = perf_cursor_bytes(message, take_varint(message));
    else
        message->is_bad = true;
    return message->is_bad ? (struct field){0} : field;
}

/* Returns the value of the message's first field. */
static uint64_t only_value(struct text bytes) {
    struct perf_cursor message = perf_cursor_of(bytes);
    return take_field(&message).value;
}

static bool take_message_function(struct data_parser *parser, const struct symbol_file *file, struct text bytes) {
    struct perf_cursor message = perf_cursor_of(bytes);
    uint64_t address = 0, size = 0;
    struct text name = {0};
    for (struct field field; (field = take_field(&message)).number;) {
        if (field.number == 1) address = field.value;
        if (field.number == 2) size = field.value;
        if (field.number == 3) name = field.bytes;
    }
    emit_function(parser, file, address, size, name);
    return !message.is_bad;
}

static bool read_message(struct data_parser *parser, struct text bytes) {
    enum { PATH = 1, KIND, FIRST_ADDRESS, FUNCTION, DEX, ELF, MODULE };
    struct perf_cursor message = perf_cursor_of(bytes);
    struct symbol_file file = {0};
    for (struct field field; (field = take_field(&message)).number;) {
        if (field.number == PATH) file.path = field.bytes;
        if (field.number == KIND) file.kind = field.value;
        if (field.number == FIRST_ADDRESS) file.first_address = field.value;
        if (field.number == ELF || field.number == MODULE) file.first_offset = only_value(field.bytes);
    }
    bool is_good = !message.is_bad;
    message = perf_cursor_of(bytes);
    for (struct field field; is_good && (field = take_field(&message)).number;)
        if (field.number == FUNCTION) is_good = take_message_function(parser, &file, field.bytes);
    return is_good;
}

/* Skips the functions, or emits them. */
static void take_functions(struct data_parser *parser, const struct symbol_file *file, uint32_t count,
                           struct perf_cursor *cursor) {
    for (; count && !cursor->is_bad; count--) {
        uint64_t address = perf_cursor_u64(cursor);
        uint32_t size = perf_cursor_u32(cursor);
        struct text name = perf_cursor_take_name(cursor);
        if (file && !cursor->is_bad) emit_function(parser, file, address, size, name);
    }
}

/* Reads what older versions write. The first offset is the last field, and the oldest versions have none. */
static bool read_struct(struct data_parser *parser, struct text bytes) {
    struct perf_cursor cursor = perf_cursor_of(bytes);
    struct symbol_file file = {.path = perf_cursor_take_name(&cursor)};
    file.kind = perf_cursor_u32(&cursor);
    file.first_address = perf_cursor_u64(&cursor);
    uint32_t count = perf_cursor_u32(&cursor);
    struct perf_cursor functions = cursor;
    take_functions(parser, NULL, count, &cursor);
    bool has_offset = (file.kind == FILE_ELF || file.kind == FILE_MODULE) && cursor.left.bytes_count;
    if (has_offset) file.first_offset = perf_cursor_u64(&cursor);
    if (cursor.is_bad) return false;
    take_functions(parser, &file, count, &functions);
    return true;
}

/* Reads the files of a section. Each has its size before it. */
static bool read_files(struct data_parser *parser, struct text section,
                       bool read(struct data_parser *parser, struct text bytes)) {
    struct perf_cursor cursor = perf_cursor_of(section);
    bool is_good = true;
    while (cursor.left.bytes_count && !failure_is_set(parser->failure)) {
        struct text file = perf_cursor_bytes(&cursor, perf_cursor_u32(&cursor));
        is_good &= !cursor.is_bad && read(parser, file);
    }
    return is_good;
}

bool data_simpleperf_read_structs(struct data_parser *parser, struct text section) {
    return read_files(parser, section, read_struct);
}

bool data_simpleperf_read_messages(struct data_parser *parser, struct text section) {
    return read_files(parser, section, read_message);
}

/* ---- Properties. ---- */

struct event_key {
    uint64_t type;
    uint64_t config;
};

/* Takes an event from a line, such as "sched:sched_switch,2,91": its name, type and configuration. */
static bool parse_event(struct text line, struct text *name, struct event_key *key) {
    *name = text_slice(line, 0, text_find(line, ','));
    line = text_from(line, name->bytes_count);
    return cursor_take(&line, TEXT(",")) && cursor_take_number(&line, 10, &key->type) &&
           cursor_take(&line, TEXT(",")) && cursor_take_number(&line, 10, &key->config);
}

static bool name_events(struct data_parser *parser, struct text lines) {
    struct value_table rows; /* uint32_t for each struct event_key */
    struct event_key key;
    struct text name;
    bool is_good = true;
    value_table_init(&rows, sizeof key, sizeof(uint32_t), parser->failure);
    for (uint32_t i = 0; i < parser->attrs.rows.count; i++) {
        const struct data_attr *attr = data_attrs_at(&parser->attrs, i);
        value_table_intern(&rows, &(struct event_key){attr->type, attr->config}, &i);
    }
    while (lines.bytes_count) {
        struct text line = text_slice(lines, 0, text_find(lines, '\n'));
        lines = text_from(lines, line.bytes_count + 1);
        bool is_event = parse_event(line, &name, &key);
        const uint32_t *row = is_event ? value_table_find(&rows, &key) : NULL;
        if (row) data_records_name_event(parser, data_attrs_at(&parser->attrs, *row), name);
        is_good &= is_event;
    }
    value_table_fini(&rows);
    return is_good;
}

bool data_simpleperf_read_properties(struct data_parser *parser, struct text section) {
    struct perf_cursor cursor = perf_cursor_of(section);
    bool is_good = true;
    while (cursor.left.bytes_count) {
        struct text key = perf_cursor_take_name(&cursor), value = perf_cursor_take_name(&cursor);
        if (cursor.is_bad) return false;
        if (text_equal(key, TEXT("event_type_info")))
            is_good &= name_events(parser, value);
        else
            perf_emit(parser->sink,
                      &(struct perf_record){.type = PERF_HEADER, .time_ns = TIME_NONE, .name = key, .text = value});
    }
    return is_good;
}
