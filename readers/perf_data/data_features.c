/* Reads the sections of the header, which are at the end of a file and in records of a stream. Layout: Linux
 * tools/perf/Documentation/perf.data-file-format.txt and tools/perf/util/header.c. */
#include <inttypes.h>
#include <stdio.h>

#include "perf_data_internal.h"

enum feature_bit {
    FEATURE_BUILD_ID = 2,
    FEATURE_HOSTNAME = 3,
    FEATURE_OS_RELEASE = 4,
    FEATURE_VERSION = 5,
    FEATURE_ARCH = 6,
    FEATURE_CPU_COUNT = 7,
    FEATURE_CPU_DESCRIPTION = 8,
    FEATURE_CPU_ID = 9,
    FEATURE_MEMORY = 10,
    FEATURE_COMMAND_LINE = 11,
    FEATURE_EVENTS = 12,
    FEATURE_CLOCK = 29
};

/* Reads one kind of section. Returns false if it is malformed. */
typedef bool feature_reader(struct perf_data *data, struct text section);

static void enter(struct perf_data *data, struct text key, struct text value) {
    perf_header_enter(&data->recording.header, data->profile, key, text_trim(value));
}

/* Takes a length and a string of that many bytes, padded with NULs. */
static struct text take_string(struct data_cursor *cursor) {
    struct text padded = data_cursor_bytes(cursor, data_cursor_u32(cursor));
    return text_slice(padded, 0, text_find(padded, '\0'));
}

static bool read_string(struct perf_data *data, struct text section, struct text key) {
    struct data_cursor cursor = data_cursor_of(section);
    struct text value = take_string(&cursor);
    if (!cursor.is_bad) enter(data, key, value);
    return !cursor.is_bad;
}

static bool read_hostname(struct perf_data *data, struct text section) {
    return read_string(data, section, TEXT("hostname"));
}

static bool read_os_release(struct perf_data *data, struct text section) {
    struct data_cursor cursor = data_cursor_of(section);
    data->os_release = arena_copy(&data->texts, take_string(&cursor));
    return read_string(data, section, TEXT("os release"));
}

static bool read_version(struct perf_data *data, struct text section) {
    return read_string(data, section, TEXT("perf version"));
}

/* Returns whether uname calls a 32-bit machine so. */
static bool is_32_bit(struct text machine) {
    static const struct text whole[] = {TEXT("i386"), TEXT("i486"),    TEXT("i586"),       TEXT("i686"),
                                        TEXT("mips"), TEXT("riscv32"), TEXT("loongarch32")};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (text_equal(machine, whole[i])) return true;
    return text_starts_with(machine, TEXT("arm")) && !text_starts_with(machine, TEXT("arm64"));
}

static bool read_arch(struct perf_data *data, struct text section) {
    struct data_cursor cursor = data_cursor_of(section);
    struct text machine = text_trim(take_string(&cursor));
    if (is_32_bit(machine))
        failure_set(
            data->profile->failure, FAILURE_INPUT,
            "this perf.data was recorded on a 32-bit machine (%.*s), and only those of 64-bit machines are read; "
            "convert its text: perf script -F +pid -i FILE | gecko-convert -",
            (int)machine.bytes_count, machine.bytes);
    return read_string(data, section, TEXT("arch"));
}

static bool read_cpu_description(struct perf_data *data, struct text section) {
    return read_string(data, section, TEXT("cpudesc"));
}

static bool read_cpu_id(struct perf_data *data, struct text section) {
    return read_string(data, section, TEXT("cpuid"));
}

static void enter_number(struct perf_data *data, struct text key, const char *format, uint64_t number) {
    char value[40];
    snprintf(value, sizeof value, format, number);
    enter(data, key, text_of(value));
}

static bool read_cpu_count(struct perf_data *data, struct text section) {
    struct data_cursor cursor = data_cursor_of(section);
    uint32_t available_count = data_cursor_u32(&cursor), online_count = data_cursor_u32(&cursor);
    if (cursor.is_bad) return false;
    enter_number(data, TEXT("nrcpus online"), "%" PRIu64, online_count);
    enter_number(data, TEXT("nrcpus avail"), "%" PRIu64, available_count);
    return true;
}

static bool read_memory(struct perf_data *data, struct text section) {
    struct data_cursor cursor = data_cursor_of(section);
    uint64_t kilobytes = data_cursor_u64(&cursor);
    if (!cursor.is_bad) enter_number(data, TEXT("total memory"), "%" PRIu64 " kB", kilobytes);
    return !cursor.is_bad;
}

enum { COMMAND_LINE_BYTES_MAX = 64 * 1024 };

static bool read_command_line(struct perf_data *data, struct text section) {
    char line[COMMAND_LINE_BYTES_MAX];
    size_t bytes_count = 0;
    struct data_cursor cursor = data_cursor_of(section);
    for (uint32_t left = data_cursor_u32(&cursor); left && !cursor.is_bad; left--) {
        struct text word = take_string(&cursor);
        if (bytes_count + word.bytes_count + 1 > sizeof line) break;
        if (word.bytes_count) memcpy(line + bytes_count, word.bytes, word.bytes_count);
        bytes_count += word.bytes_count;
        line[bytes_count++] = ' ';
    }
    if (!cursor.is_bad) enter(data, TEXT("cmdline"), (struct text){line, bytes_count});
    return !cursor.is_bad;
}

/* ---- Events. ---- */

/* Names the event that has these ids. Without ids, names the event at the same place in the list. */
static void name_event(struct perf_data *data, struct text name, struct text ids, uint32_t place) {
    struct perf_events *events = &data->recording.events;
    const struct data_attr *attr = NULL;
    if (ids.bytes_count)
        attr = data_attrs_find(&data->attrs, data_word_at(ids, 0));
    else if (place < data->attrs.rows.count)
        attr = data_attrs_at(&data->attrs, place);
    if (attr) perf_events_set_name(events, attr->event, name);
}

static bool read_events(struct perf_data *data, struct text section) {
    struct data_cursor cursor = data_cursor_of(section);
    uint32_t count = data_cursor_u32(&cursor), attr_bytes = data_cursor_u32(&cursor);
    for (uint32_t i = 0; i < count && !cursor.is_bad; i++) {
        data_cursor_bytes(&cursor, attr_bytes);
        uint32_t id_count = data_cursor_u32(&cursor);
        struct text name = take_string(&cursor), ids = data_cursor_words(&cursor, id_count);
        if (!cursor.is_bad) name_event(data, name, ids, i);
    }
    return !cursor.is_bad;
}

/* ---- Build ids. ---- */

enum { BUILD_ID_BYTES = 20, HAS_SIZE = 1 << 15 };

void data_features_read_build_id(struct perf_data *data, struct text record) {
    struct data_cursor cursor = data_cursor_of(record);
    data_cursor_u32(&cursor);
    uint16_t misc = data_cursor_u16(&cursor);
    data_cursor_u16(&cursor);
    data_cursor_u32(&cursor);
    struct text id = data_cursor_bytes(&cursor, BUILD_ID_BYTES);
    struct text size = data_cursor_bytes(&cursor, 4);
    struct text name = data_cursor_name(&cursor);
    if (cursor.is_bad || !name.bytes_count) return;
    size_t id_bytes = misc & HAS_SIZE ? (unsigned char)size.bytes[0] : BUILD_ID_BYTES;
    char hex[2 * BUILD_ID_BYTES + 1] = "";
    for (size_t i = 0; i < id_bytes && i < BUILD_ID_BYTES; i++)
        snprintf(hex + 2 * i, 3, "%02x", (unsigned char)id.bytes[i]);
    data_code_set_build_id(&data->code, name, text_of(hex));
}

static bool read_build_ids(struct perf_data *data, struct text section) {
    while (section.bytes_count >= RECORD_HEAD_BYTES) {
        uint16_t size_bytes;
        memcpy(&size_bytes, section.bytes + 6, sizeof size_bytes);
        size_bytes = le16toh(size_bytes);
        if (size_bytes < RECORD_HEAD_BYTES || size_bytes > section.bytes_count) return false;
        data_features_read_build_id(data, text_slice(section, 0, size_bytes));
        section = text_from(section, size_bytes);
    }
    return true;
}

/* ---- Clocks. ---- */

/* Reads one moment on two clocks: the wall clock and the recording's clock. */
static bool read_clock(struct perf_data *data, struct text section) {
    struct data_cursor cursor = data_cursor_of(section);
    data_cursor_u32(&cursor);
    data_cursor_u32(&cursor);
    uint64_t wall_ns = data_cursor_u64(&cursor), clock_ns = data_cursor_u64(&cursor);
    if (cursor.is_bad) return false;
    if (wall_ns <= INT64_MAX && clock_ns <= wall_ns)
        data->profile->meta.epoch_offset_ns = (int64_t)(wall_ns - clock_ns);
    return true;
}

/* ---- All sections. ---- */

static bool read_tracing_data(struct perf_data *data, struct text section) {
    return data_tracing_read(&data->tracing, section);
}

static const struct {
    unsigned bit; /* enum feature_bit, or FEATURE_TRACING_DATA */
    feature_reader *read;
} feature_readers[] = {
    {FEATURE_TRACING_DATA, read_tracing_data},
    {FEATURE_BUILD_ID, read_build_ids},
    {FEATURE_HOSTNAME, read_hostname},
    {FEATURE_OS_RELEASE, read_os_release},
    {FEATURE_VERSION, read_version},
    {FEATURE_ARCH, read_arch},
    {FEATURE_CPU_COUNT, read_cpu_count},
    {FEATURE_CPU_DESCRIPTION, read_cpu_description},
    {FEATURE_CPU_ID, read_cpu_id},
    {FEATURE_MEMORY, read_memory},
    {FEATURE_COMMAND_LINE, read_command_line},
    {FEATURE_EVENTS, read_events},
    {FEATURE_CLOCK, read_clock},
};

void data_features_read(struct perf_data *data, uint64_t bit, struct text section, uint64_t offset) {
    for (size_t i = 0; i < sizeof feature_readers / sizeof *feature_readers; i++) {
        if (feature_readers[i].bit != bit || feature_readers[i].read(data, section)) continue;
        data_tally(data, DATA_BAD_FEATURE, 1, offset);
    }
}
