/* Processes each kind of record. Layout: Linux include/uapi/linux/perf_event.h, tools/lib/perf/include/perf/event.h. */
#include <inttypes.h>
#include <stdio.h>

#include "perf_data_internal.h"
#include "readers/perf/perf_programs.h"

/* Flags in misc. The same bit has different meanings in different types of records. */
enum record_flag {
    MISC_COMM_EXECUTED = 1 << 13,
    MISC_FORK_SYNTHESIZED = 1 << 13,
    MISC_MMAP_DATA = 1 << 13,
    MISC_MMAP_BUILD_ID = 1 << 14,
    MISC_SWITCH_OUT = 1 << 13,
    MISC_SWITCH_PREEMPTED = 1 << 14
};

/* Processes a record's payload. Returns false if it is malformed. */
typedef bool record_user(struct perf_data *data, const struct data_record *record, uint64_t time_ns);

/* Limits times to 73 years, so that sums and differences of a few of them cannot overflow. */
static int64_t trace_time(uint64_t time_ns) {
    static const int64_t TIME_MAX_NS = INT64_MAX / 4;
    return time_ns <= (uint64_t)TIME_MAX_NS ? (int64_t)time_ns : TIME_MAX_NS;
}

/* ---- Tasks. ---- */

static bool use_comm(struct perf_data *data, const struct data_record *record, uint64_t time_ns) {
    struct data_cursor cursor = data_cursor_of(record->payload);
    int32_t pid = data_cursor_s32(&cursor), tid = data_cursor_s32(&cursor);
    if (cursor.is_bad) return false;
    struct perf_task *task = perf_tasks_find(&data->recording.tasks, 0, pid, tid);
    data->recording.tasks.has_records = true;
    if (!task) return true;
    if (record->misc & MISC_COMM_EXECUTED)
        perf_programs_execute(&data->recording.tasks, task, data_cursor_name(&cursor), trace_time(time_ns));
    else
        perf_tasks_rename(&data->recording.tasks, task, data_cursor_name(&cursor), trace_time(time_ns));
    return true;
}

struct task_record {
    int32_t pid, parent_pid, tid, parent_tid;
};

static bool parse_task(const struct data_record *record, struct task_record *out) {
    struct data_cursor cursor = data_cursor_of(record->payload);
    out->pid = data_cursor_s32(&cursor);
    out->parent_pid = data_cursor_s32(&cursor);
    out->tid = data_cursor_s32(&cursor);
    out->parent_tid = data_cursor_s32(&cursor);
    return !cursor.is_bad;
}

static bool use_fork(struct perf_data *data, const struct data_record *record, uint64_t time_ns) {
    struct task_record task;
    if (!parse_task(record, &task)) return false;
    struct perf_tasks *tasks = &data->recording.tasks;
    bool is_synthesized = record->misc & MISC_FORK_SYNTHESIZED;
    data_code_fork(&data->code, task.pid, task.parent_pid, is_synthesized);
    const struct perf_task *parent = perf_tasks_find(tasks, 0, task.parent_pid, task.parent_tid);
    /* The recording does not have the start of a task that ran before the recording began. */
    if (is_synthesized || !time_ns) {
        perf_tasks_adopt(tasks, 0, task.pid, task.tid, parent);
        return true;
    }
    perf_tasks_fork(tasks, 0, task.pid, task.tid, parent, trace_time(time_ns));
    return true;
}

static bool use_exit(struct perf_data *data, const struct data_record *record, uint64_t time_ns) {
    struct task_record task;
    if (!parse_task(record, &task)) return false;
    perf_tasks_exit(&data->recording.tasks, 0, task.pid, task.tid, trace_time(time_ns));
    return true;
}

/* ---- Mappings. ---- */

static void add_mapping(struct perf_data *data, const struct data_record *record, const struct data_mapping *mapping,
                        int32_t tid) {
    bool is_kernel = data_record_mode(record) == MODE_KERNEL || mapping->pid == PID_KERNEL;
    struct data_mapping placed = *mapping;
    if (is_kernel) placed.pid = PID_KERNEL;
    /* The kernel of a virtual machine's guest is not the kernel of the machine. */
    if (data_record_mode(record) == MODE_GUEST_KERNEL || !placed.path.bytes_count) return;
    data_code_map(&data->code, &placed);
    if (is_kernel) return;
    data_jit_offer(&data->jit, placed.pid, placed.path, data->profile->meta.is_clock_monotonic);
    perf_tasks_find(&data->recording.tasks, 0, placed.pid, tid);
}

/* Takes the fields that both kinds of records of mappings begin with. */
static struct data_mapping take_mapping(struct data_cursor *cursor, int32_t *tid) {
    struct data_mapping mapping = {.pid = data_cursor_s32(cursor)};
    *tid = data_cursor_s32(cursor);
    mapping.start = data_cursor_u64(cursor);
    mapping.size_bytes = data_cursor_u64(cursor);
    mapping.file_offset = data_cursor_u64(cursor);
    return mapping;
}

static bool use_mmap(struct perf_data *data, const struct data_record *record, uint64_t time_ns) {
    (void)time_ns;
    int32_t tid;
    struct data_cursor cursor = data_cursor_of(record->payload);
    struct data_mapping mapping = take_mapping(&cursor, &tid);
    mapping.path = data_cursor_name(&cursor);
    if (cursor.is_bad) return false;
    if (!(record->misc & MISC_MMAP_DATA)) add_mapping(data, record, &mapping, tid);
    return true;
}

enum { BUILD_ID_BYTES = 20, PROTECTION_EXECUTE = 4 };

static struct text hex_of(struct text bytes, char *hex) {
    for (size_t i = 0; i < bytes.bytes_count; i++) snprintf(hex + 2 * i, 3, "%02x", (unsigned char)bytes.bytes[i]);
    return (struct text){hex, 2 * bytes.bytes_count};
}

static bool use_mmap2(struct perf_data *data, const struct data_record *record, uint64_t time_ns) {
    (void)time_ns;
    int32_t tid;
    struct data_cursor cursor = data_cursor_of(record->payload);
    struct data_mapping mapping = take_mapping(&cursor, &tid);
    struct text origin = data_cursor_bytes(&cursor, 4 + BUILD_ID_BYTES);
    uint32_t protection = data_cursor_u32(&cursor);
    data_cursor_u32(&cursor);
    mapping.path = data_cursor_name(&cursor);
    if (cursor.is_bad) return false;
    char hex[2 * BUILD_ID_BYTES + 1];
    if (record->misc & MISC_MMAP_BUILD_ID) {
        unsigned char size_bytes = (unsigned char)origin.bytes[0];
        size_t id_bytes = size_bytes < BUILD_ID_BYTES ? size_bytes : BUILD_ID_BYTES;
        mapping.build_id = hex_of(text_slice(origin, 4, 4 + id_bytes), hex);
    }
    /* Mappings of data may replace mappings of code, but only code is ever looked up. perf inject --jit writes the mode
     * of its file in place of the protection. */
    bool is_code = protection & PROTECTION_EXECUTE || protection > 0xff || mapping.pid == PID_KERNEL;
    if (is_code && !(record->misc & MISC_MMAP_DATA)) add_mapping(data, record, &mapping, tid);
    return true;
}

/* Adds or removes code that the kernel generated, such as BPF programs and trampolines. */
static bool use_ksymbol(struct perf_data *data, const struct data_record *record, uint64_t time_ns) {
    (void)time_ns;
    enum { IS_GONE = 1 };
    struct data_cursor cursor = data_cursor_of(record->payload);
    struct data_mapping mapping = {.pid = PID_KERNEL, .start = data_cursor_u64(&cursor)};
    mapping.size_bytes = data_cursor_u32(&cursor);
    data_cursor_u16(&cursor);
    uint16_t flags = data_cursor_u16(&cursor);
    mapping.path = data_cursor_name(&cursor);
    if (cursor.is_bad) return false;
    if (flags & IS_GONE)
        data_code_unmap_kernel(&data->code, mapping.start, mapping.size_bytes);
    else if (mapping.path.bytes_count)
        data_code_map(&data->code, &mapping);
    return true;
}

/* ---- What threads do. ---- */

/* Reads the record's trailer. Returns false if it does not name the thread. */
static bool read_trailer(struct perf_data *data, const struct data_record *record, struct data_sample *ids) {
    const struct data_attr *attr = data_attrs_of_record(&data->attrs, record->bytes, false);
    return attr && attr->sample_type & SAMPLE_TID && data_sample_parse_trailer(record, attr, ids);
}

/* Processes both kinds of switches. The one of whole processors also has the other thread, whose own record follows. */
static bool use_switch(struct perf_data *data, const struct data_record *record, uint64_t time_ns) {
    struct data_sample ids;
    if (!time_ns || !read_trailer(data, record, &ids)) return false;
    if (!perf_activity_has_switches(ids.tid)) return true;
    struct perf_task *task = perf_tasks_find(&data->recording.tasks, 0, ids.pid, ids.tid);
    if (!task) return true;
    if (record->misc & MISC_SWITCH_OUT)
        perf_activity_switch_out(task, record->misc & MISC_SWITCH_PREEMPTED, trace_time(time_ns));
    else
        perf_activity_switch_in(&data->recording.activity, task, trace_time(time_ns));
    return true;
}

static bool use_deferred(struct perf_data *data, const struct data_record *record, uint64_t time_ns) {
    (void)time_ns;
    struct data_sample ids;
    struct data_cursor cursor = data_cursor_of(record->payload);
    uint64_t cookie = data_cursor_u64(&cursor);
    struct text chain = data_cursor_words(&cursor, data_cursor_u64(&cursor));
    if (cursor.is_bad || !read_trailer(data, record, &ids)) return false;
    data_samples_join(data, record, ids.pid, ids.tid, cookie, chain);
    return true;
}

/* Returns the stream that a record of throttling belongs to. */
static bool parse_stream(const struct data_record *record, uint64_t *stream) {
    struct data_cursor cursor = data_cursor_of(record->payload);
    data_cursor_words(&cursor, 2);
    *stream = data_cursor_u64(&cursor);
    return !cursor.is_bad;
}

static bool use_throttle(struct perf_data *data, const struct data_record *record, uint64_t time_ns) {
    struct data_sample ids;
    uint64_t stream;
    if (!time_ns || !read_trailer(data, record, &ids) || !parse_stream(record, &stream)) return false;
    const struct perf_task *task = perf_tasks_find(&data->recording.tasks, 0, ids.pid, ids.tid);
    struct text event = perf_events_at(&data->recording.events, ids.attr->event)->name;
    if (task) perf_activity_throttle(&data->recording.activity, task, stream, event, trace_time(time_ns));
    return true;
}

static bool use_unthrottle(struct perf_data *data, const struct data_record *record, uint64_t time_ns) {
    uint64_t stream;
    if (!time_ns || !parse_stream(record, &stream)) return false;
    perf_activity_unthrottle(&data->recording.activity, stream, trace_time(time_ns));
    return true;
}

static bool use_namespaces(struct perf_data *data, const struct data_record *record, uint64_t time_ns) {
    struct data_cursor cursor = data_cursor_of(record->payload);
    int32_t pid = data_cursor_s32(&cursor), tid = data_cursor_s32(&cursor);
    uint64_t count = data_cursor_u64(&cursor);
    if (count > PERF_NAMESPACES_MAX) count = PERF_NAMESPACES_MAX;
    struct perf_namespace namespaces[PERF_NAMESPACES_MAX];
    for (uint64_t i = 0; i < count; i++) {
        namespaces[i].device = data_cursor_u64(&cursor);
        namespaces[i].inode = data_cursor_u64(&cursor);
    }
    if (cursor.is_bad) return false;
    struct perf_task *task = perf_tasks_find(&data->recording.tasks, 0, pid, tid);
    /* perf itself wrote the records of the threads that were there before, without a time. */
    if (task)
        perf_activity_set_namespaces(&data->recording.activity, task, namespaces, (uint32_t)count,
                                     time_ns ? trace_time(time_ns) : TIME_NONE);
    return true;
}

static bool use_cgroup(struct perf_data *data, const struct data_record *record, uint64_t time_ns) {
    (void)time_ns;
    struct data_cursor cursor = data_cursor_of(record->payload);
    uint64_t id = data_cursor_u64(&cursor);
    if (cursor.is_bad) return false;
    perf_activity_name_cgroup(&data->recording.activity, id, data_cursor_name(&cursor));
    return true;
}

/* ---- Losses. ---- */

static void note_lost(struct perf_data *data, const struct data_record *record) {
    if (!data->lost_count && !data->lost_samples_count) data->first_lost = data_position(record->offset);
}

static bool use_lost(struct perf_data *data, const struct data_record *record, uint64_t time_ns) {
    (void)time_ns;
    struct data_cursor cursor = data_cursor_of(record->payload);
    data_cursor_u64(&cursor);
    note_lost(data, record);
    data->lost_count += data_cursor_u64(&cursor);
    return !cursor.is_bad;
}

static bool use_lost_samples(struct perf_data *data, const struct data_record *record, uint64_t time_ns) {
    (void)time_ns;
    struct data_cursor cursor = data_cursor_of(record->payload);
    note_lost(data, record);
    data->lost_samples_count += data_cursor_u64(&cursor);
    return !cursor.is_bad;
}

/* ---- perf's own records. ---- */

/* Adds the event of an attribute under a default name, until its name is known. */
static uint32_t add_event(struct perf_data *data, const struct data_attr *attr, uint64_t offset) {
    char name[64];
    data_attr_default_name(attr, name, sizeof name);
    return perf_events_add(&data->recording.events, text_of(name), attr->type == ATTR_TRACEPOINT,
                           data_position(offset));
}

uint32_t data_records_add_attr(struct perf_data *data, struct text bytes, uint64_t offset) {
    struct data_attr attr;
    if (!data_attr_parse(bytes, &attr)) {
        data_tally(data, DATA_BAD_ATTR, 1, offset);
        return ID_NONE;
    }
    attr.event = add_event(data, &attr, offset);
    if (attr.event == ID_NONE) return ID_NONE;
    struct perf_header *header = &data->recording.header;
    if (attr.frequency_hz > 0 && header->frequency_hz <= 0) header->frequency_hz = attr.frequency_hz;
    struct profile_meta *meta = &data->profile->meta;
    enum { CLOCK_OF_BOOT = 1 }; /* CLOCK_MONOTONIC */
    if (attr.has_clock && attr.clock == CLOCK_OF_BOOT) meta->is_clock_monotonic = true;
    data->has_named_clock |= attr.has_clock;
    return data_attrs_add(&data->attrs, &attr);
}

static bool use_header_attr(struct perf_data *data, const struct data_record *record, uint64_t time_ns) {
    (void)time_ns;
    if (record->payload.bytes_count < 8) return false;
    uint32_t attr_bytes = data_load_u32(record->payload.bytes + 4);
    uint32_t row = data_records_add_attr(data, record->payload, record->offset);
    if (row == ID_NONE) return false;
    struct text ids = text_from(record->payload, attr_bytes);
    for (size_t i = 0; i < ids.bytes_count / 8; i++) data_attrs_add_id(&data->attrs, data_word_at(ids, i), row);
    return true;
}

static bool use_event_update(struct perf_data *data, const struct data_record *record, uint64_t time_ns) {
    (void)time_ns;
    enum { UPDATE_NAME = 2 };
    struct data_cursor cursor = data_cursor_of(record->payload);
    uint64_t kind = data_cursor_u64(&cursor), id = data_cursor_u64(&cursor);
    if (cursor.is_bad) return false;
    const struct data_attr *attr = data_attrs_find(&data->attrs, id);
    if (kind == UPDATE_NAME && attr)
        perf_events_set_name(&data->recording.events, attr->event, data_cursor_name(&cursor));
    return true;
}

/* Says how perf's own clock follows from the processor's counter. A recording with -k has another clock. */
static bool use_time_conversion(struct perf_data *data, const struct data_record *record, uint64_t time_ns) {
    (void)time_ns;
    enum { SHIFT_MAX = 63 };
    struct data_cursor cursor = data_cursor_of(record->payload);
    uint64_t shift = data_cursor_u64(&cursor), multiplier = data_cursor_u64(&cursor);
    uint64_t zero_ns = data_cursor_u64(&cursor);
    if (cursor.is_bad || shift > SHIFT_MAX || multiplier > UINT32_MAX) return false;
    data->profile->meta.tick_relation = (struct tick_relation){.is_known = multiplier != 0,
                                                               .base_ns = (int64_t)zero_ns,
                                                               .multiplier = (uint32_t)multiplier,
                                                               .shift = (uint32_t)shift};
    return true;
}

static bool use_build_id(struct perf_data *data, const struct data_record *record, uint64_t time_ns) {
    (void)time_ns;
    data_features_read_build_id(data, record->bytes);
    return true;
}

static bool use_header_feature(struct perf_data *data, const struct data_record *record, uint64_t time_ns) {
    (void)time_ns;
    struct data_cursor cursor = data_cursor_of(record->payload);
    uint64_t bit = data_cursor_u64(&cursor);
    if (cursor.is_bad) return false;
    data_features_read(data, bit, cursor.left, record->offset);
    return true;
}

static bool use_finished_round(struct perf_data *data, const struct data_record *record, uint64_t time_ns) {
    (void)record;
    (void)time_ns;
    data_order_end_round(&data->order);
    return true;
}

/* ---- All records. ---- */

/* The types of records. A record without `use` is ignored. is_lost: the record has data for which profiles have no
 * place. */
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
    [RECORD_READ] = {"READ", NULL, true},
    [RECORD_MMAP2] = {"MMAP2", use_mmap2, false},
    [11] = {"AUX", NULL, true},
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
    [RECORD_TRACING_DATA] = {"HEADER_TRACING_DATA", NULL, false},
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
};

enum { RECORD_TABLE_COUNT = sizeof record_table / sizeof *record_table, COUNTED_TYPE_MAX = 255 };

static void count_record(struct perf_data *data, const struct data_record *record) {
    uint32_t type = record->type < COUNTED_TYPE_MAX ? record->type : COUNTED_TYPE_MAX;
    if (!data->record_counts[type]++) data->first_records[type] = data_position(record->offset);
}

void data_records_use(void *context, const struct data_record *record, uint64_t time_ns) {
    struct perf_data *data = context;
    if (time_ns) data->last_time_ns = trace_time(time_ns);
    if (time_ns) data_jit_advance(&data->jit, data->last_time_ns);
    if (record->type == RECORD_SAMPLE) {
        data_samples_use(data, record, time_ns);
        return;
    }
    record_user *use = record->type < RECORD_TABLE_COUNT ? record_table[record->type].use : NULL;
    if (!use || use(data, record, time_ns))
        count_record(data, record);
    else
        data_tally(data, DATA_DAMAGED_RECORD, 1, record->offset);
}

uint64_t data_records_take(struct perf_data *data, const struct data_record *record) {
    uint64_t time_ns = 0;
    const struct data_attr *attr = NULL;
    if (record->type < RECORD_USER_FIRST)
        attr = data_attrs_of_record(&data->attrs, record->bytes, record->type == RECORD_SAMPLE);
    if (attr && data_record_time(record, attr, &time_ns) && time_ns)
        data_order_add(&data->order, record, time_ns);
    else
        data_records_use(data, record, time_ns);
    return time_ns;
}

static const char *record_name(uint32_t type) {
    const char *name = type < RECORD_TABLE_COUNT ? record_table[type].name : NULL;
    return name;
}

void data_records_enter(struct perf_data *data) {
    struct ledger *ledger = &data->profile->ledger;
    for (uint32_t type = 0; type <= COUNTED_TYPE_MAX; type++) {
        uint64_t count = data->record_counts[type];
        if (!count) continue;
        char cause[64];
        const char *name = record_name(type);
        if (name)
            snprintf(cause, sizeof cause, "%s record", name);
        else if (type < COUNTED_TYPE_MAX)
            snprintf(cause, sizeof cause, "record of the unknown type %" PRIu32, type);
        else
            snprintf(cause, sizeof cause, "record of an unknown type above 254");
        bool is_lost = !name || record_table[type].is_lost;
        ledger_read(ledger, LEDGER_RECORDS, count);
        ledger_enter(ledger, LEDGER_RECORDS, is_lost ? LEDGER_LOST : LEDGER_KEPT, text_of(cause), count,
                     &data->first_records[type]);
    }
}
