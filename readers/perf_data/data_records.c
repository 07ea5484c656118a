/* Parses each kind of record. Layout: Linux include/uapi/linux/perf_event.h, tools/lib/perf/include/perf/event.h. */
#include <inttypes.h>
#include <stdio.h>

#include "command_field.h"
#include "data_parser.h"
#include "libconvert/base/cursor.h"
#include "libconvert/base/memory.h"
#include "readers/perf/perf_roles.h"

/* Flags in misc. The same bit has different meanings in different types of records. */
enum record_flag {
    MISC_COMM_EXECUTED = 1 << 13,
    MISC_FORK_SYNTHESIZED = 1 << 13,
    MISC_MMAP_DATA = 1 << 13,
    MISC_MMAP_BUILD_ID = 1 << 14,
    MISC_SWITCH_OUT = 1 << 13,
    MISC_SWITCH_PREEMPTED = 1 << 14
};

/* Parses a record's payload into *out, whose time and position are set, and emits it. Returns false if it is
 * malformed. */
typedef bool record_user(struct data_parser *parser, const struct data_record *record, struct perf_record *out);

static void emit(struct data_parser *parser, struct perf_record *out, enum perf_record_type type) {
    out->type = type;
    perf_emit(parser->sink, out);
}

static void take_ids(struct perf_cursor *cursor, struct perf_record *out) {
    out->pid = perf_cursor_s32(cursor);
    out->tid = perf_cursor_s32(cursor);
}

/* ---- Tasks. ---- */

/* Returns the arguments that `gecko-convert record` has added to the name, each with a NUL after it; empty: none. */
static struct text command_line_of(struct data_parser *parser, const struct data_record *record, struct text name) {
    enum { NAME_AT = 8, WORD_BYTES = 8 };
    const struct text mark = {COMMAND_FIELD_MARK, COMMAND_FIELD_MARK_BYTES};
    const struct data_attr *attr = data_attrs_of_record(&parser->attrs, record->bytes, false);
    size_t begin = NAME_AT + (name.bytes_count + WORD_BYTES) / WORD_BYTES * WORD_BYTES;
    size_t end = record->payload.bytes_count - (attr ? data_record_trailer(record, attr).bytes_count : 0);
    struct text field = begin < end ? text_slice(record->payload, begin, end) : (struct text){0};
    if (!cursor_take(&field, mark)) return (struct text){0};
    while (field.bytes_count > 1 && !field.bytes[field.bytes_count - 2]) field.bytes_count--;
    return field;
}

static bool use_comm(struct data_parser *parser, const struct data_record *record, struct perf_record *out) {
    struct perf_cursor cursor = perf_cursor_of(record->payload);
    take_ids(&cursor, out);
    out->name = perf_cursor_name(&cursor);
    out->text = command_line_of(parser, record, out->name);
    out->is_exec = record->misc & MISC_COMM_EXECUTED;
    if (!cursor.is_bad) emit(parser, out, PERF_COMM);
    return !cursor.is_bad;
}

static bool parse_task(const struct data_record *record, struct perf_record *out) {
    struct perf_cursor cursor = perf_cursor_of(record->payload);
    out->pid = perf_cursor_s32(&cursor);
    out->fork.parent_pid = perf_cursor_s32(&cursor);
    out->tid = perf_cursor_s32(&cursor);
    out->fork.parent_tid = perf_cursor_s32(&cursor);
    return !cursor.is_bad;
}

static bool use_fork(struct data_parser *parser, const struct data_record *record, struct perf_record *out) {
    if (!parse_task(record, out)) return false;
    out->fork.is_synthesized = record->misc & MISC_FORK_SYNTHESIZED;
    out->fork.is_before = out->fork.is_synthesized || out->time_ns == TIME_NONE;
    emit(parser, out, PERF_FORK);
    return true;
}

static bool use_exit(struct data_parser *parser, const struct data_record *record, struct perf_record *out) {
    if (!parse_task(record, out)) return false;
    emit(parser, out, PERF_EXIT);
    return true;
}

static bool use_namespaces(struct data_parser *parser, const struct data_record *record, struct perf_record *out) {
    struct perf_cursor cursor = perf_cursor_of(record->payload);
    struct perf_namespace kinds[PERF_NAMESPACES_MAX];
    take_ids(&cursor, out);
    uint64_t count = perf_cursor_u64(&cursor);
    if (count > PERF_NAMESPACES_MAX) count = PERF_NAMESPACES_MAX;
    for (uint64_t i = 0; i < count; i++) {
        kinds[i].device = perf_cursor_u64(&cursor);
        kinds[i].inode = perf_cursor_u64(&cursor);
    }
    out->namespaces = (struct perf_namespace_list){(uint32_t)count, kinds};
    if (!cursor.is_bad) emit(parser, out, PERF_NAMESPACES);
    return !cursor.is_bad;
}

static bool use_cgroup(struct data_parser *parser, const struct data_record *record, struct perf_record *out) {
    struct perf_cursor cursor = perf_cursor_of(record->payload);
    out->cgroup = perf_cursor_u64(&cursor);
    out->name = perf_cursor_name(&cursor);
    if (!cursor.is_bad) emit(parser, out, PERF_CGROUP);
    return !cursor.is_bad;
}

/* ---- Mappings. ---- */

static void emit_mapping(struct data_parser *parser, const struct data_record *record, struct perf_record *out) {
    enum record_mode mode = data_record_mode(record);
    if (mode == MODE_KERNEL) out->pid = PID_KERNEL;
    /* The kernel of a virtual machine's guest is not the kernel of the machine. */
    if (mode != MODE_GUEST_KERNEL && out->name.bytes_count) emit(parser, out, PERF_MAPPING);
}

/* Takes the fields that both kinds of records of mappings begin with. */
static void take_mapping(struct perf_cursor *cursor, struct perf_record *out) {
    take_ids(cursor, out);
    out->mapping.start = perf_cursor_u64(cursor);
    out->mapping.size_bytes = perf_cursor_u64(cursor);
    out->mapping.file_offset = perf_cursor_u64(cursor);
}

static bool use_mmap(struct data_parser *parser, const struct data_record *record, struct perf_record *out) {
    struct perf_cursor cursor = perf_cursor_of(record->payload);
    take_mapping(&cursor, out);
    out->name = perf_cursor_name(&cursor);
    if (cursor.is_bad) return false;
    if (!(record->misc & MISC_MMAP_DATA)) emit_mapping(parser, record, out);
    return true;
}

enum { BUILD_ID_BYTES = 20, PROTECTION_OF_SIMPLEPERF_JIT = 0x4000 };

/* Returns the build id of a mapped file; an empty text if the bytes are a device, an inode and its generation. Linux
 * marks those as a build id, too, if another recording of the process at the same time asks for build ids. */
static struct text build_id_of(struct text origin) {
    static const char zeros[BUILD_ID_BYTES];
    size_t id_bytes = (unsigned char)origin.bytes[0];
    if (id_bytes > BUILD_ID_BYTES || memcmp(origin.bytes + 1, zeros, 3) != 0) return (struct text){0};
    struct text rest = text_from(origin, 4 + id_bytes);
    return memcmp(rest.bytes, zeros, rest.bytes_count) == 0 ? text_slice(origin, 4, 4 + id_bytes) : (struct text){0};
}

static bool use_mmap2(struct data_parser *parser, const struct data_record *record, struct perf_record *out) {
    char hex[2 * BUILD_ID_BYTES + 1];
    struct perf_cursor cursor = perf_cursor_of(record->payload);
    take_mapping(&cursor, out);
    struct text origin = perf_cursor_bytes(&cursor, 4 + BUILD_ID_BYTES);
    uint32_t protection = perf_cursor_u32(&cursor);
    perf_cursor_u32(&cursor);
    out->name = perf_cursor_name(&cursor);
    if (cursor.is_bad) return false;
    if (record->misc & MISC_MMAP_BUILD_ID) out->text = text_hex(build_id_of(origin), hex);
    /* The functions of such a file have the addresses of the recording. perf inject --jit writes the mode of its file
     * in place of the protection, which is no folder. */
    if (protection >> 12 == PROTECTION_OF_SIMPLEPERF_JIT >> 12) out->mapping.file_offset = out->mapping.start;
    /* Mappings of data may replace mappings of code, but only code is ever looked up. simpleperf has mappings of files
     * of Java's byte code without the flag, as the interpreter's frames are there. */
    if (!(record->misc & MISC_MMAP_DATA)) emit_mapping(parser, record, out);
    return true;
}

/* Tells of code that the kernel generated, such as BPF programs and trampolines. */
static bool use_ksymbol(struct data_parser *parser, const struct data_record *record, struct perf_record *out) {
    enum { IS_GONE = 1 };
    struct perf_cursor cursor = perf_cursor_of(record->payload);
    out->pid = PID_KERNEL;
    out->mapping.start = perf_cursor_u64(&cursor);
    out->mapping.size_bytes = perf_cursor_u32(&cursor);
    perf_cursor_u16(&cursor);
    uint16_t flags = perf_cursor_u16(&cursor);
    out->name = perf_cursor_name(&cursor);
    if (cursor.is_bad) return false;
    if (flags & IS_GONE || out->name.bytes_count) emit(parser, out, flags & IS_GONE ? PERF_UNMAPPING : PERF_MAPPING);
    return true;
}

/* ---- What threads do. ---- */

/* Takes the task from the record's trailer. Returns the event that the record belongs to, or NULL if it does not name
 * the task. Sets the processor, which is -1 if it is unknown, unless that is NULL. */
static const struct data_attr *read_trailer(struct data_parser *parser, const struct data_record *record,
                                            struct perf_record *out, int32_t *processor) {
    struct data_sample ids;
    const struct data_attr *attr = data_attrs_of_record(&parser->attrs, record->bytes, false);
    if (!attr || !(attr->sample_type & SAMPLE_TID) || !data_sample_parse_trailer(record, attr, &ids)) return NULL;
    out->pid = ids.pid;
    out->tid = ids.tid;
    if (processor) *processor = data_sample_processor(&ids);
    return attr;
}

/* Parses both kinds of switches. The one of whole processors also has the other thread, whose own record follows. */
static bool use_switch(struct data_parser *parser, const struct data_record *record, struct perf_record *out) {
    if (out->time_ns == TIME_NONE || !read_trailer(parser, record, out, &out->running.processor)) return false;
    out->running.is_out = record->misc & MISC_SWITCH_OUT;
    out->running.is_preempted = record->misc & MISC_SWITCH_PREEMPTED;
    out->running.is_of_processor = record->type == RECORD_SWITCH_CPU_WIDE;
    emit(parser, out, PERF_SWITCH);
    return true;
}

static bool use_deferred(struct data_parser *parser, const struct data_record *record, struct perf_record *out) {
    struct perf_cursor cursor = perf_cursor_of(record->payload);
    out->sample.cookie = perf_cursor_u64(&cursor);
    struct text chain = perf_cursor_words(&cursor, perf_cursor_u64(&cursor));
    if (cursor.is_bad || !read_trailer(parser, record, out, NULL)) return false;
    data_samples_use_user_stack(parser, record, chain, out);
    return true;
}

/* Takes the stream that a record of throttling belongs to. */
static bool parse_stream(const struct data_record *record, struct perf_record *out) {
    struct perf_cursor cursor = perf_cursor_of(record->payload);
    perf_cursor_words(&cursor, 2);
    out->throttle.stream = perf_cursor_u64(&cursor);
    return out->time_ns != TIME_NONE && !cursor.is_bad;
}

static bool use_throttle(struct data_parser *parser, const struct data_record *record, struct perf_record *out) {
    const struct data_attr *attr = read_trailer(parser, record, out, NULL);
    if (!attr || !parse_stream(record, out)) return false;
    out->throttle.event = attr->event;
    emit(parser, out, PERF_THROTTLE);
    return true;
}

static bool use_unthrottle(struct data_parser *parser, const struct data_record *record, struct perf_record *out) {
    if (!parse_stream(record, out)) return false;
    out->throttle.is_end = true;
    emit(parser, out, PERF_THROTTLE);
    return true;
}

/* ---- Losses. ---- */

/* Records that perf itself writes at the end of the recording have no task. */
static bool emit_loss(struct data_parser *parser, const struct data_record *record, struct perf_record *out) {
    out->tid = -1;
    read_trailer(parser, record, out, NULL);
    emit(parser, out, PERF_LOSS);
    return true;
}

static bool use_lost(struct data_parser *parser, const struct data_record *record, struct perf_record *out) {
    struct perf_cursor cursor = perf_cursor_of(record->payload);
    perf_cursor_u64(&cursor);
    out->loss.count = perf_cursor_u64(&cursor);
    return !cursor.is_bad && emit_loss(parser, record, out);
}

static bool use_lost_samples(struct data_parser *parser, const struct data_record *record, struct perf_record *out) {
    struct perf_cursor cursor = perf_cursor_of(record->payload);
    out->loss = (struct perf_loss){.count = perf_cursor_u64(&cursor), .is_of_samples = true};
    return !cursor.is_bad && emit_loss(parser, record, out);
}

/* perf record -s: how often the event happened in a thread that ends. */
static bool use_read(struct data_parser *parser, const struct data_record *record, struct perf_record *out) {
    (void)out;
    data_tally(parser, TALLY_THREAD_TOTAL, 1, record->offset);
    return true;
}

/* ---- perf's own records. ---- */

uint32_t data_records_add_attr(struct data_parser *parser, struct text bytes, uint64_t offset) {
    enum { CLOCK_OF_BOOT = 1 }; /* CLOCK_MONOTONIC */
    struct data_attr attr;
    char name[64];
    if (!data_attr_parse(bytes, &attr)) {
        data_tally(parser, TALLY_BAD_ATTR, 1, offset);
        return ID_NONE;
    }
    attr.event = (uint32_t)parser->attrs.rows.count;
    uint32_t row = data_attrs_add(&parser->attrs, &attr);
    if (row == ID_NONE) return ID_NONE;
    /* The event has a default name until its own is known. */
    data_attr_default_name(&attr, name, sizeof name);
    struct perf_record out = {.time_ns = TIME_NONE,
                              .position = data_position(offset),
                              .name = text_of(name),
                              .event = {.event = attr.event,
                                        .is_tracepoint = attr.type == ATTR_TRACEPOINT,
                                        .is_name_made_up = true,
                                        .tracepoint_id = attr.config,
                                        .frequency_hz = attr.frequency_hz,
                                        .has_clock = attr.has_clock,
                                        .is_clock_monotonic = attr.has_clock && attr.clock == CLOCK_OF_BOOT}};
    emit(parser, &out, PERF_EVENT);
    return row;
}

static bool use_header_attr(struct data_parser *parser, const struct data_record *record, struct perf_record *out) {
    (void)out;
    if (record->payload.bytes_count < 8) return false;
    uint32_t attr_bytes = perf_load_u32(record->payload.bytes + 4);
    uint32_t row = data_records_add_attr(parser, record->payload, record->offset);
    if (row == ID_NONE) return false;
    struct text ids = text_from(record->payload, attr_bytes);
    for (size_t i = 0; i < ids.bytes_count / 8; i++) data_attrs_add_id(&parser->attrs, perf_word_at(ids, i), row);
    return true;
}

void data_records_name_event(struct data_parser *parser, const struct data_attr *attr, struct text name) {
    struct perf_record out = {.time_ns = TIME_NONE, .name = name, .event = {.event = attr->event}};
    struct data_attr *named = data_attrs_at(&parser->attrs, attr->event);
    named->has_name = true;
    named->is_off_cpu_time = perf_role_is_off_cpu_time(name);
    emit(parser, &out, PERF_EVENT_NAME);
}

static bool use_event_update(struct data_parser *parser, const struct data_record *record, struct perf_record *out) {
    (void)out;
    enum { UPDATE_NAME = 2 };
    struct perf_cursor cursor = perf_cursor_of(record->payload);
    uint64_t kind = perf_cursor_u64(&cursor), id = perf_cursor_u64(&cursor);
    if (cursor.is_bad) return false;
    const struct data_attr *attr = data_attrs_find(&parser->attrs, id);
    if (kind == UPDATE_NAME && attr) data_records_name_event(parser, attr, perf_cursor_name(&cursor));
    return true;
}

static bool use_time_conversion(struct data_parser *parser, const struct data_record *record, struct perf_record *out) {
    enum { SHIFT_MAX = 63 };
    struct perf_cursor cursor = perf_cursor_of(record->payload);
    uint64_t shift = perf_cursor_u64(&cursor), multiplier = perf_cursor_u64(&cursor);
    uint64_t zero_ns = perf_cursor_u64(&cursor);
    if (cursor.is_bad || shift > SHIFT_MAX || multiplier > UINT32_MAX) return false;
    out->ticks = (struct perf_ticks){(int64_t)zero_ns, (uint32_t)multiplier, (uint32_t)shift};
    emit(parser, out, PERF_TICKS);
    return true;
}

static bool use_build_id(struct data_parser *parser, const struct data_record *record, struct perf_record *out) {
    (void)out;
    data_features_read_build_id(parser, record->bytes);
    return true;
}

static bool use_header_feature(struct data_parser *parser, const struct data_record *record, struct perf_record *out) {
    (void)out;
    struct perf_cursor cursor = perf_cursor_of(record->payload);
    uint64_t bit = perf_cursor_u64(&cursor);
    if (cursor.is_bad) return false;
    data_features_read(parser, bit, cursor.left, record->offset);
    return true;
}

/* Reads tracepoint formats that are inside of their record: simpleperf's. Those of perf follow it. */
static bool use_formats(struct data_parser *parser, const struct data_record *record, struct perf_record *out) {
    (void)out;
    struct perf_cursor cursor = perf_cursor_of(record->payload);
    struct text formats = perf_cursor_bytes(&cursor, perf_cursor_u32(&cursor));
    if (formats.bytes_count) data_features_read(parser, FEATURE_TRACING_DATA, formats, record->offset);
    return true;
}

static bool use_finished_round(struct data_parser *parser, const struct data_record *record, struct perf_record *out) {
    (void)record;
    (void)out;
    data_order_end_round(&parser->order);
    return true;
}

static bool use_sample(struct data_parser *parser, const struct data_record *record, struct perf_record *out) {
    data_samples_use(parser, record, out);
    return true;
}

/* A record that is longer than a record can be is split. The parts follow each other. */
static bool use_part(struct data_parser *parser, const struct data_record *record, struct perf_record *out) {
    (void)out;
    struct text part = record->payload;
    if (!parser->parts_bytes) parser->parts_offset = record->offset;
    if (!memory_reserve(parser->failure, &parser->parts, &parser->parts_capacity,
                        parser->parts_bytes + part.bytes_count, 1))
        return true;
    if (part.bytes_count) memcpy(parser->parts + parser->parts_bytes, part.bytes, part.bytes_count);
    parser->parts_bytes += part.bytes_count;
    return true;
}

static bool use_parts(struct data_parser *parser, const struct data_record *record, struct perf_record *out) {
    (void)out;
    struct perf_cursor cursor = perf_cursor_of((struct text){parser->parts, parser->parts_bytes});
    uint32_t type = perf_cursor_u32(&cursor);
    uint32_t size_high = perf_cursor_u16(&cursor), size_low = perf_cursor_u16(&cursor);
    bool is_whole = !cursor.is_bad && (size_high << 16 | size_low) == parser->parts_bytes;
    bool is_part = type == RECORD_SIMPLEPERF_PART || type == RECORD_SIMPLEPERF_PARTS_END;
    parser->parts_bytes = 0;
    if (!is_whole || is_part || type <= RECORD_SIMPLEPERF_FIRST) return false;
    data_records_use(parser, &(struct data_record){.type = type, .payload = cursor.left, .offset = record->offset}, 0);
    return true;
}

/* ---- All records. ---- */

/* The types of records. A record without `use` is ignored. Samples are counted by what becomes of them. is_lost: the
 * record has data for which profiles have no place. */
static const struct {
    const char *name;
    record_user *use;
    bool is_lost;
} record_table[] = {
    [RECORD_MMAP] = {"MMAP", use_mmap, false},
    [RECORD_LOST] = {"LOST", use_lost, false},
    [RECORD_COMM] = {"COMM", use_comm, false},
    [RECORD_EXIT] = {"EXIT", use_exit, false},
    [RECORD_THROTTLE] = {"THROTTLE", use_throttle, false},
    [RECORD_UNTHROTTLE] = {"UNTHROTTLE", use_unthrottle, false},
    [RECORD_FORK] = {"FORK", use_fork, false},
    [RECORD_READ] = {"READ", use_read, false},
    [RECORD_SAMPLE] = {"SAMPLE", use_sample, false},
    [RECORD_MMAP2] = {"MMAP2", use_mmap2, false},
    [RECORD_AUX] = {"AUX", NULL, true},
    [12] = {"ITRACE_START", NULL, true},
    [RECORD_LOST_SAMPLES] = {"LOST_SAMPLES", use_lost_samples, false},
    [RECORD_SWITCH] = {"SWITCH", use_switch, false},
    [RECORD_SWITCH_CPU_WIDE] = {"SWITCH_CPU_WIDE", use_switch, false},
    [RECORD_NAMESPACES] = {"NAMESPACES", use_namespaces, false},
    [RECORD_KSYMBOL] = {"KSYMBOL", use_ksymbol, false},
    [RECORD_BPF_EVENT] = {"BPF_EVENT", NULL, false}, /* the program's KSYMBOL record has its name and its address */
    [RECORD_CGROUP] = {"CGROUP", use_cgroup, false},
    [20] = {"TEXT_POKE", NULL, true},
    [21] = {"AUX_OUTPUT_HW_ID", NULL, true},
    [RECORD_CALLCHAIN_DEFERRED] = {"CALLCHAIN_DEFERRED", use_deferred, false},
    [RECORD_HEADER_ATTR] = {"HEADER_ATTR", use_header_attr, false},
    [65] = {"HEADER_EVENT_TYPE", NULL, false},
    [RECORD_TRACING_DATA] = {"HEADER_TRACING_DATA", use_formats, false},
    [RECORD_BUILD_ID] = {"HEADER_BUILD_ID", use_build_id, false},
    [RECORD_FINISHED_ROUND] = {"FINISHED_ROUND", use_finished_round, false},
    [69] = {"ID_INDEX", NULL, false},
    [70] = {"AUXTRACE_INFO", NULL, true},
    [RECORD_AUXTRACE] = {"AUXTRACE", NULL, true},
    [72] = {"AUXTRACE_ERROR", NULL, true},
    [73] = {"THREAD_MAP", NULL, false},
    [74] = {"CPU_MAP", NULL, false},
    [75] = {"STAT_CONFIG", NULL, true},
    [76] = {"STAT", NULL, true},
    [77] = {"STAT_ROUND", NULL, true},
    [RECORD_EVENT_UPDATE] = {"EVENT_UPDATE", use_event_update, false},
    [RECORD_TIME_CONV] = {"TIME_CONV", use_time_conversion, false},
    [RECORD_HEADER_FEATURE] = {"HEADER_FEATURE", use_header_feature, false},
    [RECORD_COMPRESSED] = {"COMPRESSED", NULL, false},
    [82] = {"FINISHED_INIT", NULL, false},
    [RECORD_COMPRESSED2] = {"COMPRESSED2", NULL, false},
    /* Sections of the file have the functions that were sampled, and samples have the stacks as they were unwound. */
    [SIMPLEPERF_ROW + 1] = {"KERNEL_SYMBOL", NULL, false},
    {"DSO", NULL, true},
    {"SYMBOL", NULL, true},
    {"SPLIT", use_part, false},
    {"SPLIT_END", use_parts, false},
    {"EVENT_ID", NULL, false},
    {"CALLCHAIN", NULL, false},
    {"UNWINDING_RESULT", NULL, false},
    {"TRACING_DATA", use_formats, false},
    {"DEBUG", NULL, false},
};

_Static_assert(sizeof record_table / sizeof *record_table == COUNTED_TYPES, "each type that is counted has a row");

/* Returns the row of the type in the table and in the counts. */
static uint32_t row_of(uint32_t type) {
    if (type > RECORD_SIMPLEPERF_FIRST && type <= RECORD_SIMPLEPERF_LAST)
        return SIMPLEPERF_ROW + (type - RECORD_SIMPLEPERF_FIRST);
    return type < RECORD_OTHER ? type : RECORD_OTHER;
}

static void count_record(struct data_parser *parser, uint32_t row, uint64_t offset) {
    if (!parser->record_counts[row]++) parser->first_records[row] = data_position(offset);
}

void data_records_use(void *context, const struct data_record *record, uint64_t time_ns) {
    struct data_parser *parser = context;
    bool has_time = time_ns && time_ns <= (uint64_t)PERF_TIME_MAX_NS;
    struct perf_record out = {.time_ns = has_time ? (int64_t)time_ns : TIME_NONE,
                              .position = data_position(record->offset)};
    uint32_t row = row_of(record->type);
    record_user *use = record_table[row].use;
    if (use && !use(parser, record, &out))
        data_tally(parser, TALLY_DAMAGED_RECORD, 1, record->offset);
    else if (row != RECORD_SAMPLE)
        count_record(parser, row, record->offset);
}

static bool is_sum_of_waits(const struct data_attr *attr, const struct data_record *record, uint64_t time_ns) {
    return record->type == RECORD_SAMPLE && data_attr_may_be_off_cpu_time(attr) && time_ns >= DATA_TIME_OF_SUMS_NS;
}

uint64_t data_records_take(struct data_parser *parser, const struct data_record *record) {
    uint64_t time_ns = 0;
    const struct data_attr *attr = NULL;
    if (record->type < RECORD_USER_FIRST)
        attr = data_attrs_of_record(&parser->attrs, record->bytes, record->type == RECORD_SAMPLE);
    bool has_time = attr && data_record_time(record, attr, &time_ns) && time_ns;
    if (has_time && is_sum_of_waits(attr, record, time_ns)) {
        data_order_add(&parser->order, record, time_ns);
        return 0;
    }
    if (has_time && time_ns > (uint64_t)PERF_TIME_MAX_NS) {
        bool is_sample = record->type == RECORD_SAMPLE;
        data_tally(parser, is_sample ? TALLY_BAD_SAMPLE : TALLY_DAMAGED_RECORD, 1, record->offset);
        return 0;
    }
    if (has_time)
        data_order_add(&parser->order, record, time_ns);
    else
        data_records_use(parser, record, time_ns);
    return time_ns;
}

void data_records_count(struct data_parser *parser) {
    for (uint32_t type = 0; type < COUNTED_TYPES; type++) {
        uint64_t count = parser->record_counts[type];
        if (!count) continue;
        char cause[64];
        const char *name = record_table[type].name;
        if (name)
            snprintf(cause, sizeof cause, "%s record%s", name,
                     type == RECORD_AUX ? ": perf inject --itrace makes samples of traces" : "");
        else if (type < RECORD_OTHER)
            snprintf(cause, sizeof cause, "record of the unknown type %" PRIu32, type);
        else
            snprintf(cause, sizeof cause, "record of an unknown type above 254");
        bool is_lost = !name || record_table[type].is_lost;
        struct perf_record out = {.time_ns = TIME_NONE,
                                  .position = parser->first_records[type],
                                  .name = text_of(cause),
                                  .count = {LEDGER_RECORDS, is_lost ? LEDGER_LOST : LEDGER_KEPT, count}};
        emit(parser, &out, PERF_COUNT);
    }
}
