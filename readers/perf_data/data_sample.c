#include "data_sample.h"

#include "data_numbers.h"

/* ---- Fields. ---- */

/* Parses counters: a single value followed by optional words, or a group with one value per member. */
static void parse_read(struct perf_cursor *cursor, const struct data_attr *attr, struct data_sample *sample) {
    uint64_t format = attr->read_format;
    uint64_t common = (uint64_t)__builtin_popcountll(format & (READ_ENABLED | READ_RUNNING));
    uint64_t own = 1 + (uint64_t)__builtin_popcountll(format & (READ_ID | READ_LOST));
    uint64_t count = 1;
    sample->read_words = (uint32_t)own;
    if (format & READ_GROUP) {
        count = perf_cursor_u64(cursor);
        perf_cursor_words(cursor, common);
        if (count > UINT16_MAX) count = UINT32_MAX; /* more than any record holds */
        sample->reads = perf_cursor_words(cursor, count * own);
        return;
    }
    /* In a single counter, the common words are between the value and the id. */
    sample->read_words += (uint32_t)common;
    sample->reads = perf_cursor_words(cursor, own + common);
}

struct data_read data_sample_read(const struct data_sample *sample, size_t index) {
    uint64_t format = sample->attr->read_format;
    size_t first = index * sample->read_words;
    size_t id_word = format & READ_GROUP ? 1 : 1 + (size_t)__builtin_popcountll(format & (READ_ENABLED | READ_RUNNING));
    return (struct data_read){.value = perf_word_at(sample->reads, first),
                              .id = format & READ_ID ? perf_word_at(sample->reads, first + id_word) : 0};
}

static void parse_branches(struct perf_cursor *cursor, const struct data_attr *attr, struct data_sample *sample) {
    enum { BRANCH_WORDS = 3 };
    uint64_t count = perf_cursor_u64(cursor);
    if (attr->branch_type & BRANCH_HW_INDEX) perf_cursor_u64(cursor);
    if (count > UINT16_MAX) count = UINT32_MAX / BRANCH_WORDS;
    sample->branches = perf_cursor_words(cursor, count * BRANCH_WORDS);
    if (attr->branch_type & BRANCH_COUNTERS) perf_cursor_words(cursor, count);
}

static void parse_registers(struct perf_cursor *cursor, uint64_t mask, struct data_sample *sample) {
    sample->registers_abi = perf_cursor_u64(cursor);
    if (sample->registers_abi) sample->registers = perf_cursor_words(cursor, (uint64_t)__builtin_popcountll(mask));
}

static void parse_stack(struct perf_cursor *cursor, struct data_sample *sample) {
    uint64_t size_bytes = perf_cursor_u64(cursor);
    if (!size_bytes) return;
    struct text copied = perf_cursor_bytes(cursor, size_bytes);
    uint64_t valid_bytes = perf_cursor_u64(cursor);
    sample->stack = text_slice(copied, 0, valid_bytes < copied.bytes_count ? (size_t)valid_bytes : copied.bytes_count);
}

/* Parses what "perf mem" and options such as --phys-data add, and the control group. Copies of stacks make perf ask for
 * the source of data, too: most events have none, and its operation is "not available". */
static void parse_memory(struct perf_cursor *cursor, const struct data_attr *attr, struct data_sample *sample) {
    enum { OPERATION_MASK = 0x1f, NO_OPERATION = 1 };
    uint64_t fields = attr->sample_type;
    if (fields & (SAMPLE_WEIGHT | SAMPLE_WEIGHT_STRUCT)) sample->has_memory |= perf_cursor_u64(cursor) != 0;
    if (fields & SAMPLE_DATA_SOURCE) sample->has_memory |= (perf_cursor_u64(cursor) & OPERATION_MASK) > NO_OPERATION;
    if (fields & SAMPLE_TRANSACTION) sample->has_memory |= perf_cursor_u64(cursor) != 0;
    if (fields & SAMPLE_REGS_INTR && perf_cursor_u64(cursor))
        perf_cursor_words(cursor, (uint64_t)__builtin_popcountll(attr->registers_intr));
    if (fields & SAMPLE_PHYSICAL_ADDR) sample->has_memory |= perf_cursor_u64(cursor) != 0;
    if (fields & SAMPLE_CGROUP) sample->cgroup = perf_cursor_u64(cursor);
}

static void parse_ids(struct perf_cursor *cursor, struct data_sample *sample) {
    sample->pid = perf_cursor_s32(cursor);
    sample->tid = perf_cursor_s32(cursor);
}

/* Since perf 6.15, perf record --off-cpu writes what it knows of a wait into the payload of a sample of the thread that
 * ran before: pid, tid, length, callchain and control group, and padding. Returns false if the payload is another one.
 */
static bool parse_wait(struct data_sample *sample) {
    struct perf_cursor cursor = perf_cursor_of(sample->raw);
    struct data_sample wait = *sample;
    parse_ids(&cursor, &wait);
    wait.period = perf_cursor_u64(&cursor);
    wait.callchain = perf_cursor_words(&cursor, perf_cursor_u64(&cursor));
    wait.cgroup = perf_cursor_u64(&cursor);
    if (cursor.is_bad || cursor.left.bytes_count >= 8 || wait.callchain.bytes_count < 16) return false;
    if ((int64_t)perf_word_at(wait.callchain, 0) != CONTEXT_USER) return false;
    wait.is_wait = true;
    wait.ip = perf_word_at(wait.callchain, 1);
    wait.raw = (struct text){0};
    *sample = wait;
    return true;
}

bool data_sample_parse(const struct data_record *record, const struct data_attr *attr, struct data_sample *sample) {
    struct perf_cursor cursor = perf_cursor_of(record->payload);
    uint64_t fields = attr->sample_type;
    *sample = (struct data_sample){.attr = attr, .pid = -1, .tid = -1, .period = attr->fixed_period};
    if (fields & SAMPLE_IDENTIFIER) sample->id = perf_cursor_u64(&cursor);
    if (fields & SAMPLE_IP) sample->ip = perf_cursor_u64(&cursor);
    if (fields & SAMPLE_TID) parse_ids(&cursor, sample);
    if (fields & SAMPLE_TIME) sample->time_ns = perf_cursor_u64(&cursor);
    if (fields & SAMPLE_ADDR) sample->address = perf_cursor_u64(&cursor);
    if (fields & SAMPLE_ID) sample->id = perf_cursor_u64(&cursor);
    if (fields & SAMPLE_STREAM_ID) perf_cursor_u64(&cursor);
    if (fields & SAMPLE_CPU) {
        sample->cpu = perf_cursor_u32(&cursor);
        perf_cursor_u32(&cursor);
    }
    if (fields & SAMPLE_PERIOD) sample->period = perf_cursor_u64(&cursor);
    if (fields & SAMPLE_READ) parse_read(&cursor, attr, sample);
    if (fields & SAMPLE_CALLCHAIN) sample->callchain = perf_cursor_words(&cursor, perf_cursor_u64(&cursor));
    if (fields & SAMPLE_RAW) sample->raw = perf_cursor_bytes(&cursor, perf_cursor_u32(&cursor));
    if (fields & SAMPLE_BRANCH_STACK) parse_branches(&cursor, attr, sample);
    if (fields & SAMPLE_REGS_USER) parse_registers(&cursor, attr->registers_user, sample);
    if (fields & SAMPLE_STACK_USER) parse_stack(&cursor, sample);
    parse_memory(&cursor, attr, sample);
    bool may_be_wait = fields & SAMPLE_RAW && data_attr_may_be_off_cpu_time(attr);
    if (may_be_wait && !parse_wait(sample) && attr->is_off_cpu_time) return false;
    return !cursor.is_bad;
}

/* ---- Trailers. ---- */

static const uint64_t trailer_fields =
    SAMPLE_TID | SAMPLE_TIME | SAMPLE_ID | SAMPLE_STREAM_ID | SAMPLE_CPU | SAMPLE_IDENTIFIER;

struct text data_record_trailer(const struct data_record *record, const struct data_attr *attr) {
    if (!attr->has_trailers) return (struct text){0};
    size_t bytes_count = 8 * (size_t)__builtin_popcountll(attr->sample_type & trailer_fields);
    if (bytes_count > record->payload.bytes_count) return (struct text){0};
    return text_from(record->payload, record->payload.bytes_count - bytes_count);
}

bool data_sample_parse_trailer(const struct data_record *record, const struct data_attr *attr,
                               struct data_sample *sample) {
    struct text trailer = data_record_trailer(record, attr);
    struct perf_cursor cursor = perf_cursor_of(trailer);
    *sample = (struct data_sample){.attr = attr, .pid = -1, .tid = -1};
    if (!trailer.bytes_count) return false;
    if (attr->sample_type & SAMPLE_TID) parse_ids(&cursor, sample);
    if (attr->sample_type & SAMPLE_TIME) sample->time_ns = perf_cursor_u64(&cursor);
    if (attr->sample_type & SAMPLE_ID) perf_cursor_u64(&cursor);
    if (attr->sample_type & SAMPLE_STREAM_ID) perf_cursor_u64(&cursor);
    if (attr->sample_type & SAMPLE_CPU) sample->cpu = perf_cursor_u32(&cursor);
    return true;
}

int32_t data_sample_processor(const struct data_sample *sample) {
    return sample->attr->sample_type & SAMPLE_CPU && sample->cpu <= INT32_MAX ? (int32_t)sample->cpu : -1;
}

bool data_record_time(const struct data_record *record, const struct data_attr *attr, uint64_t *time_ns) {
    uint64_t fields = attr->sample_type;
    if (!(fields & SAMPLE_TIME)) return false;
    bool is_sample = record->type == RECORD_SAMPLE;
    struct text bytes = is_sample ? record->payload : data_record_trailer(record, attr);
    uint64_t before = fields & (is_sample ? SAMPLE_IDENTIFIER | SAMPLE_IP | SAMPLE_TID : SAMPLE_TID);
    size_t place = 8 * (size_t)__builtin_popcountll(before);
    if (bytes.bytes_count < place + 8) return false;
    *time_ns = perf_load_u64(bytes.bytes + place);
    return true;
}
