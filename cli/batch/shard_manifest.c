#include "shard_manifest.h"

#include "manifest.h"
#include "readers/json/json_stream.h"
#include "shard.h"

const char *const total_names[TOTAL_COUNT] = {[TOTAL_CONVERTED] = "converted",
                                              [TOTAL_UNCHANGED] = "unchanged",
                                              [TOTAL_LOSSY] = "lossy",
                                              [TOTAL_FAILED] = "failed",
                                              [TOTAL_NO_TRACE] = "no_trace",
                                              [TOTAL_EMPTY] = "empty",
                                              [TOTAL_ARCHIVES] = "archives",
                                              [TOTAL_INTERRUPTED] = "interrupted",
                                              [TOTAL_BYTES_READ] = "bytes_read",
                                              [TOTAL_BYTES_WRITTEN] = "bytes_written",
                                              [TOTAL_SAMPLES] = "samples",
                                              [TOTAL_MARKERS] = "markers",
                                              [TOTAL_MILLISECONDS] = "milliseconds"};

struct reading {
    struct shard_manifest *manifest;
    struct json_stream *json; /* of the manifest or of a record */
};

void shard_manifest_init(struct shard_manifest *manifest, const char *path, struct arena *memory) {
    *manifest = (struct shard_manifest){.path = path, .memory = memory};
    column_init(&manifest->positions, sizeof(int64_t), memory->failure);
    column_init(&manifest->records, sizeof(struct record), memory->failure);
}

void shard_manifest_fini(struct shard_manifest *manifest) {
    column_fini(&manifest->records);
    column_fini(&manifest->positions);
}

/* ---- Values. ---- */

/* Reads a text or null. */
static struct text take_text(struct reading *reading) {
    struct text text = {0};
    if (!json_take_null(reading->json)) json_take_text(reading->json, &text);
    return arena_copy(reading->manifest->memory, text);
}

static struct text take_raw(struct reading *reading) {
    return arena_copy(reading->manifest->memory, json_skip_recording(reading->json));
}

/* Reads an object. `take` reads the value of a key, or returns false. */
static void read_object(struct reading *reading, void *context,
                        bool (*take)(struct reading *reading, struct text key, void *context)) {
    struct text key;
    if (json_take_null(reading->json) || !json_begin_object(reading->json)) return;
    while (json_next_key(reading->json, &key))
        if (!take(reading, key, context)) json_skip(reading->json);
}

static bool take_output(struct reading *reading, struct text key, void *context) {
    struct record *record = context;
    if (text_equal(key, TEXT("path")))
        record->output = take_text(reading);
    else if (text_equal(key, TEXT("xxh3")))
        record->xxh3 = take_text(reading);
    else
        return false;
    return true;
}

static bool take_error(struct reading *reading, struct text key, void *context) {
    struct record *record = context;
    if (!text_equal(key, TEXT("message"))) return false;
    record->message = take_text(reading);
    return true;
}

static bool take_record_part(struct reading *reading, struct text key, void *context) {
    struct record *record = context;
    if (text_equal(key, TEXT("path")))
        record->path = take_text(reading);
    else if (text_equal(key, TEXT("member")))
        record->is_member = take_text(reading).bytes_count > 0;
    else if (text_equal(key, TEXT("status")))
        record->status = take_text(reading);
    else if (text_equal(key, TEXT("output")))
        read_object(reading, record, take_output);
    else if (text_equal(key, TEXT("error")))
        read_object(reading, record, take_error);
    else
        return false;
    return true;
}

static void read_record(struct reading *reading, struct record *record) {
    struct json_stream *whole = reading->json, json;
    struct position position = json_stream_position(whole);
    *record = (struct record){.json = take_raw(reading)};
    json_stream_init_part(&json, whole, record->json, position);
    reading->json = &json;
    read_object(reading, record, take_record_part);
    json_stream_fini(&json);
    reading->json = whole;
}

static bool take_shard(struct reading *reading, struct text key, void *context) {
    struct shard_manifest *manifest = context;
    if (text_equal(key, TEXT("number"))) {
        json_take_int(reading->json, &manifest->number);
    } else if (text_equal(key, TEXT("count"))) {
        json_take_int(reading->json, &manifest->count);
    } else if (text_equal(key, TEXT("inputs"))) {
        json_take_int(reading->json, &manifest->input_count);
    } else if (text_equal(key, TEXT("inputs_xxh3"))) {
        manifest->inputs_xxh3 = take_text(reading);
    } else if (text_equal(key, TEXT("positions")) && json_begin_list(reading->json)) {
        while (json_next(reading->json)) {
            int64_t *position = column_push(&manifest->positions);
            if (position) json_take_int(reading->json, position);
        }
    } else {
        return false;
    }
    return true;
}

static bool take_total(struct reading *reading, struct text key, void *context) {
    struct shard_manifest *manifest = context;
    for (size_t i = 0; i < TOTAL_COUNT; i++)
        if (text_equal(key, text_of(total_names[i]))) return json_take_int(reading->json, &manifest->totals[i]), true;
    return false;
}

static bool take_member(struct reading *reading, struct text key, void *context) {
    struct shard_manifest *manifest = context;
    const struct {
        struct text key;
        struct text *target;
        struct text (*take)(struct reading *reading);
    } texts[] = {{TEXT("type"), &manifest->type, take_text},
                 {TEXT("tool"), &manifest->tool, take_text},
                 {TEXT("options"), &manifest->options, take_raw},
                 {TEXT("options_xxh3"), &manifest->options_xxh3, take_text},
                 {TEXT("output_dir"), &manifest->output_dir, take_text},
                 {TEXT("interrupted_by"), &manifest->interrupted_by, take_text}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (text_equal(key, texts[i].key)) return *texts[i].target = texts[i].take(reading), true;
    if (text_equal(key, TEXT("version"))) {
        json_take_int(reading->json, &manifest->version);
    } else if (text_equal(key, TEXT("shard"))) {
        read_object(reading, manifest, take_shard);
    } else if (text_equal(key, TEXT("totals"))) {
        read_object(reading, manifest, take_total);
    } else if (text_equal(key, TEXT("inputs")) && json_begin_list(reading->json)) {
        while (json_next(reading->json)) {
            struct record *record = column_push(&manifest->records);
            if (record) read_record(reading, record);
        }
    } else {
        return false;
    }
    return true;
}

/* ---- The whole. ---- */

static bool has_record_of_file(const struct shard_manifest *manifest, size_t number) {
    return !((const struct record *)column_at(&manifest->records, number))->is_member;
}

static void check(const struct shard_manifest *manifest) {
    size_t file_count = 0;
    for (size_t i = 0; i < manifest->records.count; i++) file_count += has_record_of_file(manifest, i);
    bool is_manifest = text_equal(manifest->type, TEXT("batch")) && manifest->version == MANIFEST_VERSION;
    bool is_number = manifest->number > 0 && manifest->number <= manifest->count && manifest->count <= SHARD_COUNT_MAX;
    bool has_positions = file_count == manifest->positions.count && file_count <= (uint64_t)manifest->input_count;
    bool is_good = is_number && has_positions && (!manifest->records.count || has_record_of_file(manifest, 0));
    const char *trouble = !is_manifest       ? "no manifest of a batch of this version of the program"
                          : !manifest->count ? "the manifest of a whole batch, not of a shard"
                          : !is_good         ? "a manifest that contradicts itself"
                                             : NULL;
    if (trouble) failure_set(manifest->memory->failure, FAILURE_INPUT, "%s: this is %s", manifest->path, trouble);
}

void shard_manifest_read(struct shard_manifest *manifest) {
    struct failure *failure = manifest->memory->failure;
    struct json_stream json;
    struct reading reading = {manifest, &json};
    struct input *input = input_open(manifest->path, failure);
    if (!input) return;
    json_stream_init(&json, input, failure);
    read_object(&reading, manifest, take_member);
    json_stream_finish(&json);
    json_stream_fini(&json);
    input_close(input);
    if (!failure_is_set(failure)) check(manifest);
}
