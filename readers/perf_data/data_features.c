/* Reads the sections of the header, which are at the end of a file and in records of a stream. Layout: Linux
 * tools/perf/Documentation/perf.data-file-format.txt and tools/perf/util/header.c. */
#include <inttypes.h>
#include <stdio.h>

#include "data_parser.h"

/* Reads one kind of section. Returns false if it is malformed. */
typedef bool feature_reader(struct data_parser *parser, struct text section);

static void enter(struct data_parser *parser, struct text key, struct text value) {
    perf_emit(parser->sink,
              &(struct perf_record){.type = PERF_HEADER, .time_ns = TIME_NONE, .name = key, .text = text_trim(value)});
}

/* Takes a length and a string of that many bytes, padded with NULs. */
static struct text take_string(struct perf_cursor *cursor) {
    struct text padded = perf_cursor_bytes(cursor, perf_cursor_u32(cursor));
    return text_slice(padded, 0, text_find(padded, '\0'));
}

static bool read_string(struct data_parser *parser, struct text section, struct text key) {
    struct perf_cursor cursor = perf_cursor_of(section);
    struct text value = take_string(&cursor);
    if (!cursor.is_bad) enter(parser, key, value);
    return !cursor.is_bad;
}

static void enter_number(struct data_parser *parser, struct text key, const char *format, uint64_t number) {
    char value[40];
    snprintf(value, sizeof value, format, number);
    enter(parser, key, text_of(value));
}

static bool read_cpu_count(struct data_parser *parser, struct text section) {
    struct perf_cursor cursor = perf_cursor_of(section);
    uint32_t available_count = perf_cursor_u32(&cursor), online_count = perf_cursor_u32(&cursor);
    if (cursor.is_bad) return false;
    enter_number(parser, TEXT("nrcpus online"), "%" PRIu64, online_count);
    enter_number(parser, TEXT("nrcpus avail"), "%" PRIu64, available_count);
    return true;
}

static bool read_memory(struct data_parser *parser, struct text section) {
    struct perf_cursor cursor = perf_cursor_of(section);
    uint64_t kilobytes = perf_cursor_u64(&cursor);
    if (!cursor.is_bad) enter_number(parser, TEXT("total memory"), "%" PRIu64 " kB", kilobytes);
    return !cursor.is_bad;
}

enum { COMMAND_LINE_BYTES_MAX = 64 * 1024 };

static bool read_command_line(struct data_parser *parser, struct text section) {
    char line[COMMAND_LINE_BYTES_MAX];
    size_t bytes_count = 0;
    struct perf_cursor cursor = perf_cursor_of(section);
    for (uint32_t left = perf_cursor_u32(&cursor); left && !cursor.is_bad; left--) {
        struct text word = take_string(&cursor);
        if (bytes_count + word.bytes_count + 1 > sizeof line) break;
        if (word.bytes_count) memcpy(line + bytes_count, word.bytes, word.bytes_count);
        bytes_count += word.bytes_count;
        line[bytes_count++] = '\0';
    }
    if (!cursor.is_bad) enter(parser, TEXT("cmdline"), (struct text){line, bytes_count});
    return !cursor.is_bad;
}

/* ---- Events. ---- */

/* Names the event that has these ids. Without ids, names the event at the same place in the list. */
static void name_event(struct data_parser *parser, struct text name, struct text ids, uint32_t place) {
    const struct data_attr *attr = NULL;
    if (ids.bytes_count)
        attr = data_attrs_find(&parser->attrs, perf_word_at(ids, 0));
    else if (place < parser->attrs.rows.count)
        attr = data_attrs_at(&parser->attrs, place);
    if (attr) data_records_name_event(parser, attr, name);
}

static bool read_events(struct data_parser *parser, struct text section) {
    struct perf_cursor cursor = perf_cursor_of(section);
    uint32_t count = perf_cursor_u32(&cursor), attr_bytes = perf_cursor_u32(&cursor);
    for (uint32_t i = 0; i < count && !cursor.is_bad; i++) {
        perf_cursor_bytes(&cursor, attr_bytes);
        uint32_t id_count = perf_cursor_u32(&cursor);
        struct text name = take_string(&cursor), ids = perf_cursor_words(&cursor, id_count);
        if (!cursor.is_bad) name_event(parser, name, ids, i);
    }
    return !cursor.is_bad;
}

/* ---- Build ids. ---- */

enum { BUILD_ID_BYTES = 20, HAS_SIZE = 1 << 15 };

void data_features_read_build_id(struct data_parser *parser, struct text record) {
    struct perf_cursor cursor = perf_cursor_of(record);
    perf_cursor_u32(&cursor);
    uint16_t misc = perf_cursor_u16(&cursor);
    perf_cursor_u16(&cursor);
    perf_cursor_u32(&cursor);
    struct text id = perf_cursor_bytes(&cursor, BUILD_ID_BYTES);
    struct text size = perf_cursor_bytes(&cursor, 4);
    struct text name = perf_cursor_name(&cursor);
    if (cursor.is_bad || !name.bytes_count) return;
    size_t id_bytes = misc & HAS_SIZE ? (unsigned char)size.bytes[0] : BUILD_ID_BYTES;
    char hex[2 * BUILD_ID_BYTES + 1];
    perf_emit(parser->sink, &(struct perf_record){.type = PERF_BUILD_ID,
                                                  .time_ns = TIME_NONE,
                                                  .name = name,
                                                  .text = text_hex(text_slice(id, 0, id_bytes), hex)});
}

static bool read_build_ids(struct data_parser *parser, struct text section) {
    while (section.bytes_count >= RECORD_HEAD_BYTES) {
        uint16_t size_bytes;
        memcpy(&size_bytes, section.bytes + 6, sizeof size_bytes);
        size_bytes = le16toh(size_bytes);
        if (size_bytes < RECORD_HEAD_BYTES || size_bytes > section.bytes_count) return false;
        data_features_read_build_id(parser, text_slice(section, 0, size_bytes));
        section = text_from(section, size_bytes);
    }
    return true;
}

/* ---- Clocks. ---- */

/* Reads one moment on two clocks: the wall clock and the recording's clock. */
static bool read_clock(struct data_parser *parser, struct text section) {
    struct perf_cursor cursor = perf_cursor_of(section);
    perf_cursor_u32(&cursor);
    perf_cursor_u32(&cursor);
    uint64_t wall_ns = perf_cursor_u64(&cursor), clock_ns = perf_cursor_u64(&cursor);
    if (cursor.is_bad) return false;
    if (wall_ns <= INT64_MAX && clock_ns <= wall_ns)
        perf_emit(parser->sink,
                  &(struct perf_record){.type = PERF_CLOCK, .time_ns = TIME_NONE, .clock = {wall_ns, clock_ns}});
    return true;
}

static bool read_sample_times(struct data_parser *parser, struct text section) {
    struct perf_cursor cursor = perf_cursor_of(section);
    uint64_t first_ns = perf_cursor_u64(&cursor), last_ns = perf_cursor_u64(&cursor);
    if (cursor.is_bad) return false;
    if (first_ns && first_ns <= last_ns && last_ns <= INT64_MAX)
        perf_emit(parser->sink,
                  &(struct perf_record){
                      .type = PERF_TIMES, .time_ns = TIME_NONE, .times = {(int64_t)first_ns, (int64_t)last_ns}});
    return true;
}

/* ---- All sections. ---- */

static const struct {
    unsigned bit; /* enum feature */
    struct text key;
} strings[] = {
    {FEATURE_HOSTNAME, TEXT("hostname")},       {FEATURE_OS_RELEASE, TEXT("os release")},
    {FEATURE_VERSION, TEXT("perf version")},    {FEATURE_ARCH, TEXT("arch")},
    {FEATURE_CPU_DESCRIPTION, TEXT("cpudesc")}, {FEATURE_CPU_ID, TEXT("cpuid")},
};

static const struct {
    unsigned bit; /* enum feature */
    feature_reader *read;
} feature_readers[] = {
    {FEATURE_BUILD_ID, read_build_ids},
    {FEATURE_CPU_COUNT, read_cpu_count},
    {FEATURE_MEMORY, read_memory},
    {FEATURE_COMMAND_LINE, read_command_line},
    {FEATURE_EVENTS, read_events},
    {FEATURE_SAMPLE_TIMES, read_sample_times},
    {FEATURE_CLOCK, read_clock},
    {FEATURE_FILE, data_simpleperf_read_structs},
    {FEATURE_FILE2, data_simpleperf_read_messages},
    {FEATURE_PROPERTIES, data_simpleperf_read_properties},
};

static bool read_feature(struct data_parser *parser, uint64_t bit, struct text section) {
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        if (strings[i].bit == bit) return read_string(parser, section, strings[i].key);
    for (size_t i = 0; i < sizeof feature_readers / sizeof *feature_readers; i++)
        if (feature_readers[i].bit == bit) return feature_readers[i].read(parser, section);
    return true;
}

void data_features_read(struct data_parser *parser, uint64_t bit, struct text section, uint64_t offset) {
    if (bit == FEATURE_TRACING_DATA)
        perf_emit(parser->sink,
                  &(struct perf_record){
                      .type = PERF_FORMATS, .time_ns = TIME_NONE, .position = data_position(offset), .text = section});
    if (!read_feature(parser, bit, section)) data_tally(parser, TALLY_BAD_FEATURE, 1, offset);
}
