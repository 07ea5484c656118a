#include "data_attr.h"

#include <inttypes.h>
#include <stdio.h>

#include "readers/perf/perf_cursor.h"
#include "readers/perf/perf_record.h"

struct id_meaning {
    uint32_t attr;
    uint64_t counted; /* the counter's value when it was last read */
};

void data_attrs_init(struct data_attrs *attrs, struct failure *failure) {
    column_init(&attrs->rows, sizeof(struct data_attr), failure);
    row_table_init(&attrs->ids, sizeof(uint64_t), failure);
    column_init(&attrs->meanings, sizeof(struct id_meaning), failure);
}

void data_attrs_fini(struct data_attrs *attrs) {
    COLUMNS_FINI(&attrs->rows, &attrs->meanings);
    row_table_fini(&attrs->ids);
}

/* ---- Events. ---- */

enum attr_flag { FLAG_FREQUENCY = 1 << 10, FLAG_SAMPLE_ID_ALL = 1 << 18, FLAG_USE_CLOCK = 1 << 25 };

/* Size of the structure's first version. Later versions only add fields; a missing field is read as 0. */
enum { ATTR_BYTES_MIN = 64, ATTR_BYTES_KNOWN = 128 };

bool data_attr_parse(struct text bytes, struct data_attr *attr) {
    char padded[ATTR_BYTES_KNOWN] = {0};
    if (bytes.bytes_count < ATTR_BYTES_MIN) return false;
    uint32_t size_bytes = perf_load_u32(bytes.bytes + 4);
    if (!size_bytes) size_bytes = ATTR_BYTES_MIN;
    if (size_bytes < ATTR_BYTES_MIN || size_bytes > bytes.bytes_count) return false;
    memcpy(padded, bytes.bytes, size_bytes < sizeof padded ? size_bytes : sizeof padded);
    uint64_t flags = perf_load_u64(padded + 40);
    uint32_t max_stack = perf_load_u32(padded + 108) & UINT16_MAX;
    *attr = (struct data_attr){
        .type = perf_load_u32(padded),
        .config = perf_load_u64(padded + 8),
        .frequency_hz = flags & FLAG_FREQUENCY ? (double)perf_load_u64(padded + 16) : 0,
        .fixed_period = flags & FLAG_FREQUENCY ? 0 : perf_load_u64(padded + 16),
        .sample_type = perf_load_u64(padded + 24),
        .read_format = perf_load_u64(padded + 32),
        .branch_type = perf_load_u64(padded + 72),
        .registers_user = perf_load_u64(padded + 80),
        .registers_intr = perf_load_u64(padded + 96),
        .stack_places_max = max_stack ? max_stack : PERF_PLACES_MAX,
        .has_trailers = flags & FLAG_SAMPLE_ID_ALL,
        .has_clock = flags & FLAG_USE_CLOCK,
        .clock = (int32_t)perf_load_u32(padded + 92),
    };
    return true;
}

uint32_t data_attrs_add(struct data_attrs *attrs, const struct data_attr *attr) {
    uint32_t row = (uint32_t)attrs->rows.count;
    if (row >= DATA_ATTRS_MAX) return ID_NONE;
    if (!column_add(&attrs->rows, attr)) return ID_NONE;
    return row;
}

/* Names of events, from Linux tools/perf/util/evsel.c. */
static const char *const hardware_names[] = {
    "cycles",        "instructions", "cache-references",        "cache-misses",           "branches",
    "branch-misses", "bus-cycles",   "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles"};
static const char *const software_names[] = {"cpu-clock",        "task-clock",   "page-faults",  "context-switches",
                                             "cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
                                             "emulation-faults", "dummy",        "bpf-output",   "cgroup-switches"};

void data_attr_default_name(const struct data_attr *attr, char *name, size_t capacity_bytes) {
    const char *known = NULL;
    /* The upper half of a hardware event's config identifies the kind of core that it counts on. */
    uint64_t hardware = attr->config & UINT32_MAX;
    if (attr->type == ATTR_HARDWARE && hardware < sizeof hardware_names / sizeof *hardware_names)
        known = hardware_names[hardware];
    if (attr->type == ATTR_SOFTWARE && attr->config < sizeof software_names / sizeof *software_names)
        known = software_names[attr->config];
    if (known)
        snprintf(name, capacity_bytes, "%s", known);
    else if (attr->type == ATTR_TRACEPOINT)
        snprintf(name, capacity_bytes, "tracepoint:%" PRIu64, attr->config);
    else
        snprintf(name, capacity_bytes, "type %" PRIu32 " config 0x%" PRIx64, attr->type, attr->config);
}

/* ---- Ids. ---- */

void data_attrs_add_id(struct data_attrs *attrs, uint64_t id, uint32_t row) {
    uint32_t number = row_table_intern(&attrs->ids, &id);
    if (number != attrs->meanings.count) return;
    column_add(&attrs->meanings, &(struct id_meaning){.attr = row});
}

/* Returns the meaning of an id; NULL if the id is unknown. */
static struct id_meaning *find_meaning(const struct data_attrs *attrs, uint64_t id) {
    uint32_t number = row_table_find(&attrs->ids, &id);
    return number < attrs->meanings.count ? column_at(&attrs->meanings, number) : NULL;
}

const struct data_attr *data_attrs_find(const struct data_attrs *attrs, uint64_t id) {
    const struct id_meaning *meaning = find_meaning(attrs, id);
    return meaning ? data_attrs_at(attrs, meaning->attr) : NULL;
}

uint64_t data_attrs_count(struct data_attrs *attrs, uint64_t id, uint64_t value, const struct data_attr **attr) {
    struct id_meaning *meaning = find_meaning(attrs, id);
    *attr = meaning ? data_attrs_at(attrs, meaning->attr) : NULL;
    if (!meaning) return 0;
    uint64_t grown = value - meaning->counted;
    meaning->counted = value;
    return grown;
}

/* ---- The event of a record. ---- */

enum { HEAD_BYTES = 8 };

/* Returns the offset of the id in a sample, or 0 if the sample has no id. Each field before the id has 8 bytes. */
static size_t id_place_in_sample(uint64_t sample_type) {
    if (sample_type & SAMPLE_IDENTIFIER) return HEAD_BYTES;
    if (!(sample_type & SAMPLE_ID)) return 0;
    uint64_t before = sample_type & (SAMPLE_IP | SAMPLE_TID | SAMPLE_TIME | SAMPLE_ADDR);
    return HEAD_BYTES + 8 * (size_t)__builtin_popcountll(before);
}

/* Returns the distance of the id in a trailer from the end of the record, or 0 if the trailer has no id. */
static size_t id_place_in_trailer(uint64_t sample_type) {
    if (sample_type & SAMPLE_IDENTIFIER) return 8;
    if (!(sample_type & SAMPLE_ID)) return 0;
    return 8 + 8 * (size_t)__builtin_popcountll(sample_type & (SAMPLE_STREAM_ID | SAMPLE_CPU));
}

const struct data_attr *data_attrs_of_record(struct data_attrs *attrs, struct text record, bool is_sample) {
    if (!attrs->rows.count) return NULL;
    const struct data_attr *first = data_attrs_at(attrs, 0);
    if (attrs->rows.count == 1 || (!is_sample && !first->has_trailers)) return first;
    size_t place = is_sample ? id_place_in_sample(first->sample_type) : id_place_in_trailer(first->sample_type);
    if (!place) return first;
    size_t bytes_needed = is_sample ? place + 8 : HEAD_BYTES + place;
    if (record.bytes_count < bytes_needed) return NULL;
    uint64_t id = perf_load_u64(is_sample ? record.bytes + place : record.bytes + record.bytes_count - place);
    /* Id 0: perf itself wrote the record, which belongs to no event. */
    if (!id) return first;
    struct known_id *known = &attrs->known[id % (sizeof attrs->known / sizeof *attrs->known)];
    if (!known->attr || id != known->id) *known = (struct known_id){id, data_attrs_find(attrs, id)};
    return known->attr;
}
