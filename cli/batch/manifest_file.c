#include "manifest_file.h"

#include "readers/json/json_stream.h"
#include "shard.h"

/* ---- The members of a manifest. ---- */

/* A member that is read. Its target is at an offset in the struct for the object. */
struct known_member {
    const char *key;
    enum {
        KNOWN_TEXT,    /* the target is a struct text */
        KNOWN_NUMBER,  /* an int64_t */
        KNOWN_RAW,     /* a struct text, with the JSON of the value */
        KNOWN_PARTS,   /* like KNOWN_RAW, but the members of the object are read into the same struct, too */
        KNOWN_OBJECT,  /* the struct of the object */
        KNOWN_NUMBERS, /* a column of int64_t */
        KNOWN_RECORDS  /* a column of struct manifest_record */
    } kind;
    size_t target;
    const struct known_member *members; /* members of an object; the last one has the key NULL */
};

#define IN_RECORD(member) offsetof(struct manifest_record, member)
#define IN_FILE(member)   offsetof(struct manifest_file, member)

static const struct known_member known_in_output[] = {{"path", KNOWN_TEXT, IN_RECORD(output.path), NULL},
                                                      {"format", KNOWN_TEXT, IN_RECORD(output.format), NULL},
                                                      {"bytes", KNOWN_NUMBER, IN_RECORD(output.bytes_count), NULL},
                                                      {"xxh3", KNOWN_TEXT, IN_RECORD(output.xxh3), NULL},
                                                      {"stamp", KNOWN_TEXT, IN_RECORD(output.stamp), NULL},
                                                      {0}};

static const struct known_member known_in_error[] = {{"code", KNOWN_TEXT, IN_RECORD(error.code), NULL},
                                                     {"message", KNOWN_TEXT, IN_RECORD(error.message), NULL},
                                                     {"line", KNOWN_NUMBER, IN_RECORD(error.line), NULL},
                                                     {"offset", KNOWN_NUMBER, IN_RECORD(error.offset), NULL},
                                                     {0}};

static const struct known_member known_in_counts[] = {{"samples", KNOWN_NUMBER, IN_RECORD(sample_count), NULL},
                                                      {"markers", KNOWN_NUMBER, IN_RECORD(marker_count), NULL},
                                                      {0}};

static const struct known_member known_in_unit[] = {{"lost", KNOWN_NUMBER, 0, NULL}, {0}};
#define UNIT(key, unit) \
    { key, KNOWN_OBJECT, IN_RECORD(lost_counts) + (unit) * sizeof(int64_t), known_in_unit }
static const struct known_member known_in_ledger[] = {
    UNIT("lines", GECKO_CONVERT_LINES),     UNIT("samples", GECKO_CONVERT_SAMPLES),
    UNIT("records", GECKO_CONVERT_RECORDS), UNIT("periods", GECKO_CONVERT_PERIODS),
    UNIT("values", GECKO_CONVERT_VALUES),   {0}};

static const struct known_member known_in_record[] = {
    {"path", KNOWN_TEXT, IN_RECORD(path), NULL},
    {"member", KNOWN_TEXT, IN_RECORD(member), NULL},
    {"status", KNOWN_TEXT, IN_RECORD(status), NULL},
    {"bytes", KNOWN_NUMBER, IN_RECORD(bytes_count), NULL},
    {"xxh3", KNOWN_TEXT, IN_RECORD(xxh3), NULL},
    {"stamp", KNOWN_TEXT, IN_RECORD(stamp), NULL},
    {"format", KNOWN_TEXT, IN_RECORD(format), NULL},
    {"wrapping", KNOWN_TEXT, IN_RECORD(wrapping), NULL},
    {"trace_bytes", KNOWN_NUMBER, IN_RECORD(trace_bytes), NULL},
    {"milliseconds", KNOWN_NUMBER, IN_RECORD(milliseconds), NULL},
    {"output", KNOWN_OBJECT, 0, known_in_output},
    {"error", KNOWN_OBJECT, 0, known_in_error},
    {"counts", KNOWN_PARTS, IN_RECORD(raw_counts), known_in_counts},
    {"missingNames", KNOWN_RAW, IN_RECORD(raw_missing_names), NULL},
    {"ledger", KNOWN_PARTS, IN_RECORD(raw_ledger), known_in_ledger},
    {0},
};

static const struct known_member known_in_archive[] = {{"bytes", KNOWN_NUMBER, IN_FILE(archive.bytes_count), NULL},
                                                       {"xxh3", KNOWN_TEXT, IN_FILE(archive.xxh3), NULL},
                                                       {0}};

static const struct known_member known_in_shard[] = {{"number", KNOWN_NUMBER, IN_FILE(shard.number), NULL},
                                                     {"count", KNOWN_NUMBER, IN_FILE(shard.count), NULL},
                                                     {"inputs", KNOWN_NUMBER, IN_FILE(shard.input_count), NULL},
                                                     {"inputs_xxh3", KNOWN_TEXT, IN_FILE(shard.inputs_xxh3), NULL},
                                                     {"positions", KNOWN_NUMBERS, IN_FILE(shard.positions), NULL},
                                                     {0}};

#define TOTAL(total, key) [total] = {key, KNOWN_NUMBER, IN_FILE(totals) + (total) * sizeof(int64_t), NULL}
static const struct known_member known_in_totals[TOTAL_COUNT + 1] = {
    TOTAL(TOTAL_CONVERTED, "converted"),
    TOTAL(TOTAL_UNCHANGED, "unchanged"),
    TOTAL(TOTAL_LOSSY, "lossy"),
    TOTAL(TOTAL_FAILED, "failed"),
    TOTAL(TOTAL_NO_TRACE, "no_trace"),
    TOTAL(TOTAL_EMPTY, "empty"),
    TOTAL(TOTAL_ARCHIVES, "archives"),
    TOTAL(TOTAL_INTERRUPTED, "interrupted"),
    TOTAL(TOTAL_BYTES_READ, "bytes_read"),
    TOTAL(TOTAL_BYTES_WRITTEN, "bytes_written"),
    TOTAL(TOTAL_SAMPLES, "samples"),
    TOTAL(TOTAL_MARKERS, "markers"),
    TOTAL(TOTAL_MILLISECONDS, "milliseconds"),
};

const char *manifest_total_name(enum total total) { return known_in_totals[total].key; }

static const struct known_member known_in_file[] = {
    {"version", KNOWN_NUMBER, IN_FILE(version), NULL},
    {"type", KNOWN_TEXT, IN_FILE(type), NULL},
    {"tool", KNOWN_TEXT, IN_FILE(tool), NULL},
    {"options", KNOWN_RAW, IN_FILE(raw_options), NULL},
    {"options_xxh3", KNOWN_TEXT, IN_FILE(options_xxh3), NULL},
    {"output_dir", KNOWN_TEXT, IN_FILE(output_dir), NULL},
    {"archive", KNOWN_OBJECT, 0, known_in_archive},
    {"shard", KNOWN_OBJECT, 0, known_in_shard},
    {"interrupted_by", KNOWN_TEXT, IN_FILE(interrupted_by), NULL},
    {"inputs", KNOWN_RECORDS, IN_FILE(records), NULL},
    {"totals", KNOWN_OBJECT, 0, known_in_totals},
    {0},
};

/* ---- Reading. ---- */

static void read_members(struct json_stream *json, struct arena *memory, const struct known_member *members,
                         char *base);

/* Returns whether the next value is of that kind. Otherwise skips it: it counts as missing. */
static bool is_next(struct json_stream *json, enum json_kind kind) {
    bool is_good = json_peek_kind(json) == kind;
    if (!is_good) json_skip(json);
    return is_good;
}

static struct text take_text(struct json_stream *json, struct arena *memory) {
    struct text text;
    if (!is_next(json, JSON_TEXT) || !json_take_text(json, &text)) return (struct text){0};
    const char *bytes = arena_copy_terminated(memory, text);
    return (struct text){bytes, bytes ? text.bytes_count : 0};
}

/* Returns the text of the value. Within a record, it is a part of the record's own text. */
static struct text take_raw(struct json_stream *json, struct arena *memory) {
    struct text raw = json_skip_recording(json);
    return json->input ? arena_copy(memory, raw) : raw;
}

/* Keeps the text of the value, then reads its members. */
static struct text take_parts(struct json_stream *json, struct arena *memory, const struct known_member *members,
                              char *base) {
    struct json_stream part;
    struct position position = json_stream_position(json);
    struct text raw = take_raw(json, memory);
    json_stream_init_part(&part, json, raw, position);
    read_members(&part, memory, members, base);
    json_stream_fini(&part);
    return raw;
}

static void take_numbers(struct json_stream *json, struct column *numbers) {
    for (bool is_list = is_next(json, JSON_LIST) && json_begin_list(json); is_list && json_next(json);) {
        int64_t *number = column_push(numbers);
        if (number) json_take_int(json, number);
    }
}

static void take_records(struct json_stream *json, struct arena *memory, struct column *records) {
    for (bool is_list = is_next(json, JSON_LIST) && json_begin_list(json); is_list && json_next(json);) {
        struct manifest_record *record = column_push(records);
        if (!record) return;
        *record = (struct manifest_record){.error.offset = -1};
        record->raw = take_parts(json, memory, known_in_record, (char *)record);
    }
}

static void read_value(struct json_stream *json, struct arena *memory, const struct known_member *known, char *base) {
    void *target = base + known->target;
    switch (known->kind) {
        case KNOWN_TEXT: *(struct text *)target = take_text(json, memory); break;
        case KNOWN_NUMBER:
            if (is_next(json, JSON_NUMBER)) json_take_int(json, target);
            break;
        case KNOWN_RAW: *(struct text *)target = take_raw(json, memory); break;
        case KNOWN_PARTS: *(struct text *)target = take_parts(json, memory, known->members, base); break;
        case KNOWN_OBJECT: read_members(json, memory, known->members, target); break;
        case KNOWN_NUMBERS: take_numbers(json, target); break;
        case KNOWN_RECORDS: take_records(json, memory, target); break;
    }
}

static void read_members(struct json_stream *json, struct arena *memory, const struct known_member *members,
                         char *base) {
    struct text key;
    if (!is_next(json, JSON_OBJECT) || !json_begin_object(json)) return;
    while (json_next_key(json, &key)) {
        const struct known_member *known = members;
        while (known->key && !text_equal(key, text_of(known->key))) known++;
        if (known->key)
            read_value(json, memory, known, base);
        else
            json_skip(json);
    }
}

static void group_records(struct manifest_file *manifest) {
    struct manifest_group *group = NULL;
    for (uint32_t i = 0; i < manifest->records.count; i++) {
        const struct manifest_record *record = manifest_record_at(manifest, i);
        bool is_member = record->member.bytes_count > 0;
        manifest->has_stray_member |= is_member && !(group && text_equal(group->path, record->path));
        if (!is_member) group = column_push(&manifest->groups);
        if (!group) continue;
        if (is_member)
            group->count++;
        else
            *group = (struct manifest_group){record->path, i, 1};
    }
}

void manifest_file_read(struct manifest_file *manifest) {
    struct failure *failure = manifest->memory->failure;
    struct json_stream json;
    struct input *input = input_open(manifest->path, failure);
    if (!input) return;
    json_stream_init(&json, input, failure);
    read_members(&json, manifest->memory, known_in_file, (char *)manifest);
    json_stream_finish(&json);
    json_stream_fini(&json);
    input_close(input);
    if (!failure_is_set(failure)) group_records(manifest);
}

const char *manifest_file_shard_error(const struct manifest_file *manifest) {
    size_t file_count = manifest->groups.count;
    int64_t number = manifest->shard.number, count = manifest->shard.count;
    bool is_number = number > 0 && number <= count && count <= SHARD_COUNT_MAX;
    bool has_positions =
        file_count == manifest->shard.positions.count && (int64_t)file_count <= manifest->shard.input_count;
    if (!text_equal(manifest->type, TEXT("batch")) || manifest->version != MANIFEST_VERSION)
        return "not the manifest of a batch of this version of the program";
    if (!count) return "the manifest of a whole batch, not of a shard";
    return is_number && has_positions && !manifest->has_stray_member ? NULL : "a manifest that contradicts itself";
}

void manifest_file_init(struct manifest_file *manifest, const char *path, struct arena *memory) {
    *manifest = (struct manifest_file){.path = path, .memory = memory};
    column_init(&manifest->shard.positions, sizeof(int64_t), memory->failure);
    column_init(&manifest->records, sizeof(struct manifest_record), memory->failure);
    column_init(&manifest->groups, sizeof(struct manifest_group), memory->failure);
}

void manifest_file_fini(struct manifest_file *manifest) {
    COLUMNS_FINI(&manifest->groups, &manifest->records, &manifest->shard.positions);
}
