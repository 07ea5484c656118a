#include "manifest_records.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/document.h"
#include "cli/output_name.h"
#include "cli/report.h"
#include "file_digest.h"
#include "manifest.h"
#include "readers/reader.h"
#include "writer/emitter.h"

enum { NS_PER_MS = 1000000 };

/* The records of one file: its own, and those of its members behind it. */
struct record_group {
    struct text path; /* borrowed */
    size_t first;
    size_t count;
};

struct manifest_records {
    struct failure failure;
    struct document document;
    const struct node *records; /* borrowed from the document, like all texts */
    size_t record_count;
    struct column groups; /* struct record_group, by path */
};

/* ---- Values. ---- */

/* The keys that are looked for: in the document each has this number. */
enum key {
    KEY_ARCHIVE,
    KEY_BALANCED,
    KEY_BYTES,
    KEY_CAUSE,
    KEY_CODE,
    KEY_COUNT,
    KEY_COUNTS,
    KEY_ENTRIES,
    KEY_ERROR,
    KEY_FATE,
    KEY_FORMAT,
    KEY_FRAMES,
    KEY_FUNCS,
    KEY_INPUTS,
    KEY_KEPT,
    KEY_LEDGER,
    KEY_LIBS,
    KEY_LINE,
    KEY_LINES,
    KEY_LOST,
    KEY_MARKERS,
    KEY_MEMBER,
    KEY_MESSAGE,
    KEY_MILLISECONDS,
    KEY_OFFSET,
    KEY_OPTIONS_XXH3,
    KEY_OUTPUT,
    KEY_PATH,
    KEY_PERIODS,
    KEY_PROCESSES,
    KEY_READ,
    KEY_RECORDS,
    KEY_SAMPLES,
    KEY_STACKS,
    KEY_STATUS,
    KEY_STRINGS,
    KEY_THREADS,
    KEY_TRACE_BYTES,
    KEY_TYPE,
    KEY_VALUES,
    KEY_VERSION,
    KEY_WRAPPING,
    KEY_XXH3,
    KEYS_COUNT
};

static const char *const key_names[KEYS_COUNT] = {
    [KEY_ARCHIVE] = "archive", [KEY_BALANCED] = "balanced",
    [KEY_BYTES] = "bytes",     [KEY_CAUSE] = "cause",
    [KEY_CODE] = "code",       [KEY_COUNT] = "count",
    [KEY_COUNTS] = "counts",   [KEY_ENTRIES] = "entries",
    [KEY_ERROR] = "error",     [KEY_FATE] = "fate",
    [KEY_FORMAT] = "format",   [KEY_FRAMES] = "frames",
    [KEY_FUNCS] = "funcs",     [KEY_INPUTS] = "inputs",
    [KEY_KEPT] = "kept",       [KEY_LEDGER] = "ledger",
    [KEY_LIBS] = "libs",       [KEY_LINE] = "line",
    [KEY_LINES] = "lines",     [KEY_LOST] = "lost",
    [KEY_MARKERS] = "markers", [KEY_MEMBER] = "member",
    [KEY_MESSAGE] = "message", [KEY_MILLISECONDS] = "milliseconds",
    [KEY_OFFSET] = "offset",   [KEY_OPTIONS_XXH3] = "options_xxh3",
    [KEY_OUTPUT] = "output",   [KEY_PATH] = "path",
    [KEY_PERIODS] = "periods", [KEY_PROCESSES] = "processes",
    [KEY_READ] = "read",       [KEY_RECORDS] = "records",
    [KEY_SAMPLES] = "samples", [KEY_STACKS] = "stacks",
    [KEY_STATUS] = "status",   [KEY_STRINGS] = "strings",
    [KEY_THREADS] = "threads", [KEY_TRACE_BYTES] = "trace_bytes",
    [KEY_TYPE] = "type",       [KEY_VALUES] = "values",
    [KEY_VERSION] = "version", [KEY_WRAPPING] = "wrapping",
    [KEY_XXH3] = "xxh3",
};

static const enum key unit_keys[GECKO_CONVERT_UNIT_COUNT] = {[GECKO_CONVERT_LINES] = KEY_LINES,
                                                             [GECKO_CONVERT_SAMPLES] = KEY_SAMPLES,
                                                             [GECKO_CONVERT_RECORDS] = KEY_RECORDS,
                                                             [GECKO_CONVERT_PERIODS] = KEY_PERIODS,
                                                             [GECKO_CONVERT_VALUES] = KEY_VALUES};

/* The first keys of an empty document. */
static void number_keys(struct document *document) {
    for (size_t i = 0; i < KEYS_COUNT; i++) strings_intern(&document->keys, text_of(key_names[i]));
}

/* NULL when there is none, or the node is no object. */
static const struct node *member_of(const struct node *object, enum key key) {
    return document_member_by_key(object, (string_id){key});
}

/* Without bytes for what is no text. */
static struct text text_at(const struct node *object, enum key key) {
    const struct node *value = member_of(object, key);
    return node_is(value, NODE_TEXT) ? node_text(value) : (struct text){NULL, 0};
}

static bool is_text(const struct node *object, enum key key, const char *text) {
    const struct node *value = member_of(object, key);
    return value && node_is_text(value, text_of(text));
}

/* 0 for what is no integer that can be told exactly. */
static uint64_t count_at(const struct node *object, enum key key) {
    const struct node *value = member_of(object, key);
    return node_is(value, NODE_NUMBER) && node_is_integer(value) && value->number > 0 ? (uint64_t)value->number : 0;
}

static bool is_digest(const struct node *object, struct input_digest digest) {
    char digits[17];
    manifest_format_xxh3(digits, digest.xxh3);
    return is_text(object, KEY_XXH3, digits) && count_at(object, KEY_BYTES) == digest.bytes_count;
}

static bool read_digest(const struct node *object, struct input_digest *digest) {
    struct text digits = text_at(object, KEY_XXH3);
    char terminated[17] = "";
    if (digits.bytes_count != sizeof terminated - 1) return false;
    memcpy(terminated, digits.bytes, digits.bytes_count);
    *digest = (struct input_digest){count_at(object, KEY_BYTES), strtoull(terminated, NULL, 16)};
    return true;
}

/* ---- Reading the manifest. ---- */

static int compare_texts(struct text a, struct text b) {
    size_t common_bytes = a.bytes_count < b.bytes_count ? a.bytes_count : b.bytes_count;
    int order = common_bytes ? memcmp(a.bytes, b.bytes, common_bytes) : 0;
    return order ? order : (a.bytes_count > b.bytes_count) - (a.bytes_count < b.bytes_count);
}

static int compare_groups(const void *left, const void *right) {
    const struct record_group *a = left, *b = right;
    return compare_texts(a->path, b->path);
}

/* False when it is no list of records, or memory ran out (latched). */
static bool index_records(struct manifest_records *records) {
    const struct node *inputs = member_of(&records->document.root, KEY_INPUTS);
    if (!node_is(inputs, NODE_LIST)) return false;
    records->records = inputs->nodes;
    records->record_count = inputs->count;
    struct record_group *last = NULL;
    for (size_t i = 0; i < records->record_count; i++) {
        struct text path = text_at(&records->records[i], KEY_PATH);
        bool is_member = text_at(&records->records[i], KEY_MEMBER).bytes_count > 0;
        if (is_member && !(last && text_equal(last->path, path))) return false;
        if (is_member) {
            last->count++;
            continue;
        }
        last = column_push(&records->groups);
        if (!last) return false;
        *last = (struct record_group){path, i, 1};
    }
    column_sort(&records->groups, compare_groups);
    return !failure_is_set(&records->failure);
}

/* "" when it is a manifest of this program with these options. */
static const char *reason_against(struct manifest_records *records, const struct options *options) {
    const struct node *root = &records->document.root;
    if (!node_is(root, NODE_OBJECT) || !is_text(root, KEY_TYPE, "batch")) return "is no report of a batch";
    if (count_at(root, KEY_VERSION) != MANIFEST_VERSION) return "is of another version of this program";
    char digits[17];
    manifest_format_xxh3(digits, manifest_options_xxh3(options, &records->failure));
    if (!is_text(root, KEY_OPTIONS_XXH3, digits)) return "is of other options, or of another version";
    return index_records(records) ? "" : "is no whole report";
}

static void read_document(struct manifest_records *records, const char *path) {
    struct input *input = input_open(path, &records->failure);
    if (input) document_read(&records->document, input);
    input_close(input);
}

struct manifest_records *manifest_records_read(const char *path, const struct options *options, char *reason,
                                               size_t reason_bytes) {
    *reason = '\0';
    if (access(path, F_OK) != 0 && errno == ENOENT) return NULL;
    struct manifest_records *records = calloc(1, sizeof *records);
    if (!records) {
        snprintf(reason, reason_bytes, "cannot be read: memory ran out");
        return NULL;
    }
    document_init(&records->document, &records->failure);
    number_keys(&records->document);
    column_init(&records->groups, sizeof(struct record_group), &records->failure);
    read_document(records, path);
    const char *against = failure_is_set(&records->failure) ? "" : reason_against(records, options);
    if (!*against && !failure_is_set(&records->failure)) return records;
    snprintf(reason, reason_bytes, "%s", *against ? against : records->failure.message);
    manifest_records_destroy(records);
    return NULL;
}

void manifest_records_destroy(struct manifest_records *records) {
    if (!records) return;
    column_fini(&records->groups);
    document_fini(&records->document);
    free(records);
}

bool manifest_records_have_archive(const struct manifest_records *records, const char *path,
                                   struct input_digest *digest) {
    const struct node *archive = member_of(&records->document.root, KEY_ARCHIVE);
    return file_digest(path, digest) && is_digest(archive, *digest);
}

size_t manifest_records_output_count(const struct manifest_records *records) {
    size_t count = 0;
    for (size_t i = 0; i < records->record_count; i++)
        count += node_is(member_of(&records->records[i], KEY_OUTPUT), NODE_OBJECT);
    return count;
}

/* ---- A record as an entry. ---- */

static void name_input_format(struct text name, struct gecko_convert_result *result) {
    for (const struct reader *const *reader = readers; *reader; reader++) {
        if (!text_equal(name, text_of((*reader)->name))) continue;
        result->input_format = (*reader)->name;
        result->input_title = (*reader)->title;
    }
}

static void name_output_format(struct text name, struct gecko_convert_result *result) {
    for (const struct emitter *const *emitter = emitters; *emitter; emitter++) {
        if (!text_equal(name, text_of((*emitter)->name))) continue;
        result->output_format = (*emitter)->name;
        result->output_title = (*emitter)->title;
    }
}

static void read_counts(const struct node *counts, struct gecko_convert_counts *out) {
    *out = (struct gecko_convert_counts){.processes = count_at(counts, KEY_PROCESSES),
                                         .threads = count_at(counts, KEY_THREADS),
                                         .samples = count_at(counts, KEY_SAMPLES),
                                         .markers = count_at(counts, KEY_MARKERS),
                                         .stacks = count_at(counts, KEY_STACKS),
                                         .frames = count_at(counts, KEY_FRAMES),
                                         .funcs = count_at(counts, KEY_FUNCS),
                                         .strings = count_at(counts, KEY_STRINGS),
                                         .libs = count_at(counts, KEY_LIBS)};
}

static enum gecko_convert_fate fate_named(struct text name) {
    for (enum gecko_convert_fate fate = GECKO_CONVERT_FATE_KEPT; fate <= GECKO_CONVERT_FATE_NOTED; fate++)
        if (text_equal(name, text_of(gecko_convert_fate_name(fate)))) return fate;
    return GECKO_CONVERT_FATE_LOST;
}

/* The list of a unit's entries; an empty one when there is none. */
static const struct node *entries_of(const struct node *ledger, enum gecko_convert_unit unit) {
    static const struct node none = {.kind = NODE_LIST};
    const struct node *entries = member_of(member_of(ledger, unit_keys[unit]), KEY_ENTRIES);
    return node_is(entries, NODE_LIST) ? entries : &none;
}

static const char *place_text(char **next, struct text text) {
    char *place = *next;
    if (text.bytes_count) memcpy(place, text.bytes, text.bytes_count);
    place[text.bytes_count] = '\0';
    *next += text.bytes_count + 1;
    return place;
}

static struct gecko_convert_entry ledger_entry(const struct node *entry, enum gecko_convert_unit unit, char **next) {
    return (struct gecko_convert_entry){.unit = unit,
                                        .fate = fate_named(text_at(entry, KEY_FATE)),
                                        .cause = place_text(next, text_at(entry, KEY_CAUSE)),
                                        .count = count_at(entry, KEY_COUNT),
                                        .has_first = member_of(entry, KEY_OFFSET),
                                        .first_line = count_at(entry, KEY_LINE),
                                        .first_offset = count_at(entry, KEY_OFFSET)};
}

static void read_sums(const struct node *ledger, struct gecko_convert_result *result) {
    for (enum gecko_convert_unit unit = 0; unit < GECKO_CONVERT_UNIT_COUNT; unit++) {
        const struct node *sums = member_of(ledger, unit_keys[unit]);
        result->sums[unit] = (struct gecko_convert_unit_sums){count_at(sums, KEY_READ), count_at(sums, KEY_KEPT),
                                                              count_at(sums, KEY_LOST)};
    }
    result->is_balanced = node_is(member_of(ledger, KEY_BALANCED), NODE_TRUE);
}

/* One block: the entries, then their texts. False when memory ran out. */
static bool read_entries(const struct node *ledger, struct text wrapping, struct gecko_convert_result *result) {
    size_t entry_count = 0, text_bytes = wrapping.bytes_count + 1;
    for (enum gecko_convert_unit unit = 0; unit < GECKO_CONVERT_UNIT_COUNT; unit++) {
        const struct node *entries = entries_of(ledger, unit);
        entry_count += entries->count;
        for (size_t i = 0; i < entries->count; i++)
            text_bytes += text_at(&entries->nodes[i], KEY_CAUSE).bytes_count + 1;
    }
    struct gecko_convert_entry *block = malloc(entry_count * sizeof *block + text_bytes);
    if (!block) return false;
    char *next = (char *)(block + entry_count);
    for (enum gecko_convert_unit unit = 0; unit < GECKO_CONVERT_UNIT_COUNT; unit++) {
        const struct node *entries = entries_of(ledger, unit);
        for (size_t i = 0; i < entries->count; i++)
            block[result->entry_count++] = ledger_entry(&entries->nodes[i], unit, &next);
    }
    result->wrapping = place_text(&next, wrapping);
    result->entries = block;
    result->owned = block;
    return true;
}

static void read_error(const struct node *error, struct batch_entry *entry) {
    if (!node_is(error, NODE_OBJECT)) return;
    struct gecko_convert_result *result = &entry->result;
    struct text code = text_at(error, KEY_CODE), message = text_at(error, KEY_MESSAGE);
    result->status = GECKO_CONVERT_BAD_INPUT;
    if (text_equal(code, text_of(report_status_name(GECKO_CONVERT_LOST)))) result->status = GECKO_CONVERT_LOST;
    if (text_equal(code, text_of(batch_code_refused))) entry->error_code = batch_code_refused;
    if (text_equal(code, text_of(batch_code_no_trace))) entry->error_code = batch_code_no_trace;
    snprintf(result->message, sizeof result->message, "%.*s", (int)message.bytes_count, message.bytes);
    result->has_error_place = member_of(error, KEY_OFFSET);
    result->error_line = count_at(error, KEY_LINE);
    result->error_offset = count_at(error, KEY_OFFSET);
}

/* False when memory ran out. */
static bool fill_entry(struct batch_entry *entry, const struct node *record, enum batch_status status) {
    struct gecko_convert_result *result = &entry->result;
    const struct node *output = member_of(record, KEY_OUTPUT), *ledger = member_of(record, KEY_LEDGER);
    name_input_format(text_at(record, KEY_FORMAT), result);
    name_output_format(text_at(output, KEY_FORMAT), result);
    result->input_bytes = count_at(record, KEY_TRACE_BYTES);
    result->output_bytes = count_at(output, KEY_BYTES);
    result->duration_ns = count_at(record, KEY_MILLISECONDS) * NS_PER_MS;
    read_counts(member_of(record, KEY_COUNTS), &result->counts);
    read_sums(ledger, result);
    read_error(member_of(record, KEY_ERROR), entry);
    struct input_digest digest;
    if (read_digest(record, &digest)) batch_entry_set_digest(entry, digest);
    if (!read_entries(ledger, text_at(record, KEY_WRAPPING), result)) return false;
    struct text path = text_at(output, KEY_PATH);
    if (path.bytes_count) {
        read_digest(output, &entry->output_digest);
        entry->output = strndup(path.bytes, path.bytes_count);
        if (!entry->output) return false;
    }
    entry->is_archive = status == BATCH_ARCHIVE;
    atomic_store(&entry->status, status);
    return true;
}

/* ---- Reuse. ---- */

/* The profile has the name that it would have now. */
static bool has_its_name(const struct batch_source *source, struct text path, bool is_member) {
    struct text start = is_member ? output_name_folder(text_of(source->name)) : output_name_stem(text_of(source->name));
    if (!text_starts_with(path, start)) return false;
    struct text rest = text_from(path, start.bytes_count);
    if (!is_member) return text_equal(rest, TEXT(OUTPUT_NAME_SUFFIX));
    return !start.bytes_count || text_starts_with(rest, TEXT("/"));
}

/* The profile is where it would be written now, and as it was. Those in an archive are looked at with that. */
static bool has_output(const struct batch_plan *plan, const struct batch_source *source, const struct node *record,
                       bool is_member) {
    const struct node *output = member_of(record, KEY_OUTPUT);
    struct text path = text_at(output, KEY_PATH);
    if (!path.bytes_count || !has_its_name(source, path, is_member)) return false;
    if (!plan->options->output_dir) return true;
    char *name = strndup(path.bytes, path.bytes_count);
    char *full_path = name ? batch_output_path(plan, name) : NULL;
    struct input_digest digest;
    bool is_there = full_path && file_digest(full_path, &digest) && is_digest(output, digest);
    free(name);
    free(full_path);
    return is_there;
}

/* What the record makes of an entry now, if its output is there; BATCH_PENDING when it is of no use. */
static enum batch_status status_by_record(const struct batch_source *source, const struct node *record,
                                          bool is_member) {
    struct text status = text_at(record, KEY_STATUS);
    if (text_equal(status, TEXT("converted")) || text_equal(status, TEXT("unchanged"))) return BATCH_UNCHANGED;
    if (text_equal(status, TEXT("archive"))) return BATCH_ARCHIVE;
    if (text_equal(status, TEXT("no-trace"))) return is_member || !source->is_named ? BATCH_NO_TRACE : BATCH_PENDING;
    struct text code = text_at(member_of(record, KEY_ERROR), KEY_CODE);
    bool lies_in_file = text_equal(code, TEXT("input")) || text_equal(code, TEXT("strict")) ||
                        text_equal(code, text_of(batch_code_refused));
    return lies_in_file ? BATCH_FAILED : BATCH_PENDING;
}

static const struct node *record_of(const struct batch_plan *plan, const struct record_group *group, size_t number) {
    return &plan->records->records[group->first + number];
}

/* Numbers that a document has rounded cannot be written again. Sums of periods alone can be that large. */
static bool has_exact_sums(const struct node *record) {
    const struct node *ledger = member_of(record, KEY_LEDGER);
    const struct node *read = member_of(member_of(ledger, KEY_PERIODS), KEY_READ);
    return !node_is(read, NODE_NUMBER) || node_is_integer(read);
}

static bool is_usable(const struct batch_plan *plan, const struct batch_source *source,
                      const struct record_group *group) {
    if (!is_digest(record_of(plan, group, 0), source->own.digest)) return false;
    for (size_t i = 0; i < group->count; i++) {
        const struct node *record = record_of(plan, group, i);
        enum batch_status status = status_by_record(source, record, i > 0);
        if (status == BATCH_PENDING || !has_exact_sums(record)) return false;
        if (status == BATCH_UNCHANGED && !has_output(plan, source, record, i > 0)) return false;
    }
    return true;
}

static bool fill_entries(const struct batch_plan *plan, struct batch_source *source, const struct record_group *group) {
    for (size_t i = 0; i < group->count; i++) {
        const struct node *record = record_of(plan, group, i);
        struct batch_entry *entry = &source->own;
        struct text member = text_at(record, KEY_MEMBER);
        if (i > 0) entry = batch_source_add_member(source, strndup(member.bytes, member.bytes_count));
        if (!entry || !fill_entry(entry, record, status_by_record(source, record, i > 0))) return false;
    }
    return true;
}

/* The number of the first group of the path, or of one behind it. */
static size_t first_group(const struct manifest_records *records, struct text path) {
    size_t from = 0, to = records->groups.count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        const struct record_group *group = column_at(&records->groups, middle);
        if (compare_texts(group->path, path) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

bool manifest_records_reuse(struct batch_plan *plan, struct batch_source *source) {
    const struct manifest_records *records = plan->records;
    if (!records) return false;
    struct text path = text_of(source->path);
    for (size_t i = first_group(records, path); i < records->groups.count; i++) {
        const struct record_group *group = column_at(&records->groups, i);
        if (!text_equal(group->path, path)) return false;
        if (!is_usable(plan, source, group)) continue;
        if (fill_entries(plan, source, group)) return true;
        failure_set_memory(&source->failure);
        batch_entry_fail(&source->own, BATCH_FAILED, NULL, &source->failure);
        return true;
    }
    return false;
}
