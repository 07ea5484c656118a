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

static const struct node *member_of(const struct manifest_records *records, const struct node *object,
                                    const char *key) {
    return object ? document_member(&records->document, object, text_of(key)) : NULL;
}

/* Without bytes for what is no text. */
static struct text text_at(const struct manifest_records *records, const struct node *object, const char *key) {
    const struct node *value = member_of(records, object, key);
    return node_is(value, NODE_TEXT) ? node_text(value) : (struct text){NULL, 0};
}

static bool is_text(const struct manifest_records *records, const struct node *object, const char *key,
                    const char *text) {
    const struct node *value = member_of(records, object, key);
    return value && node_is_text(value, text_of(text));
}

/* 0 for what is no integer that can be told exactly. */
static uint64_t count_at(const struct manifest_records *records, const struct node *object, const char *key) {
    const struct node *value = member_of(records, object, key);
    return node_is(value, NODE_NUMBER) && node_is_integer(value) && value->number > 0 ? (uint64_t)value->number : 0;
}

static bool is_digest(const struct manifest_records *records, const struct node *object, struct input_digest digest) {
    char digits[17];
    manifest_format_xxh3(digits, digest.xxh3);
    return is_text(records, object, "xxh3", digits) && count_at(records, object, "bytes") == digest.bytes_count;
}

static bool read_digest(const struct manifest_records *records, const struct node *object,
                        struct input_digest *digest) {
    struct text digits = text_at(records, object, "xxh3");
    char terminated[17] = "";
    if (digits.bytes_count != sizeof terminated - 1) return false;
    memcpy(terminated, digits.bytes, digits.bytes_count);
    *digest = (struct input_digest){count_at(records, object, "bytes"), strtoull(terminated, NULL, 16)};
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
    const struct node *inputs = member_of(records, &records->document.root, "inputs");
    if (!node_is(inputs, NODE_LIST)) return false;
    records->records = inputs->nodes;
    records->record_count = inputs->count;
    struct record_group *last = NULL;
    for (size_t i = 0; i < records->record_count; i++) {
        struct text path = text_at(records, &records->records[i], "path");
        bool is_member = text_at(records, &records->records[i], "member").bytes_count > 0;
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
    if (!node_is(root, NODE_OBJECT) || !is_text(records, root, "type", "batch")) return "is no report of a batch";
    if (count_at(records, root, "version") != MANIFEST_VERSION) return "is of another version of this program";
    char digits[17];
    manifest_format_xxh3(digits, manifest_options_xxh3(options, &records->failure));
    if (!is_text(records, root, "options_xxh3", digits)) return "is of other options, or of another version";
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
    const struct node *archive = member_of(records, &records->document.root, "archive");
    return file_digest(path, digest) && is_digest(records, archive, *digest);
}

size_t manifest_records_output_count(const struct manifest_records *records) {
    size_t count = 0;
    for (size_t i = 0; i < records->record_count; i++)
        count += node_is(member_of(records, &records->records[i], "output"), NODE_OBJECT);
    return count;
}

/* ---- A record as an entry. ---- */

/* A record while an entry is made of it. */
struct record {
    const struct manifest_records *records;
    const struct node *value;
};

static struct record part_of(struct record record, const char *key) {
    return (struct record){record.records, member_of(record.records, record.value, key)};
}

static struct text record_text(struct record record, const char *key) {
    return text_at(record.records, record.value, key);
}

static uint64_t record_count(struct record record, const char *key) {
    return count_at(record.records, record.value, key);
}

static bool has_member(struct record record, const char *key) {
    return member_of(record.records, record.value, key) != NULL;
}

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

static void read_counts(struct record counts, struct gecko_convert_counts *out) {
    *out = (struct gecko_convert_counts){.processes = record_count(counts, "processes"),
                                         .threads = record_count(counts, "threads"),
                                         .samples = record_count(counts, "samples"),
                                         .markers = record_count(counts, "markers"),
                                         .stacks = record_count(counts, "stacks"),
                                         .frames = record_count(counts, "frames"),
                                         .funcs = record_count(counts, "funcs"),
                                         .strings = record_count(counts, "strings"),
                                         .libs = record_count(counts, "libs")};
}

static enum gecko_convert_fate fate_named(struct text name) {
    for (enum gecko_convert_fate fate = GECKO_CONVERT_FATE_KEPT; fate <= GECKO_CONVERT_FATE_NOTED; fate++)
        if (text_equal(name, text_of(gecko_convert_fate_name(fate)))) return fate;
    return GECKO_CONVERT_FATE_LOST;
}

/* The list of a unit's entries; an empty one when there is none. */
static const struct node *entries_of(struct record ledger, enum gecko_convert_unit unit) {
    static const struct node none = {.kind = NODE_LIST};
    struct record entries = part_of(part_of(ledger, gecko_convert_unit_name(unit)), "entries");
    return node_is(entries.value, NODE_LIST) ? entries.value : &none;
}

static const char *place_text(char **next, struct text text) {
    char *place = *next;
    if (text.bytes_count) memcpy(place, text.bytes, text.bytes_count);
    place[text.bytes_count] = '\0';
    *next += text.bytes_count + 1;
    return place;
}

static struct gecko_convert_entry ledger_entry(struct record entry, enum gecko_convert_unit unit, char **next) {
    return (struct gecko_convert_entry){.unit = unit,
                                        .fate = fate_named(record_text(entry, "fate")),
                                        .cause = place_text(next, record_text(entry, "cause")),
                                        .count = record_count(entry, "count"),
                                        .has_first = has_member(entry, "offset"),
                                        .first_line = record_count(entry, "line"),
                                        .first_offset = record_count(entry, "offset")};
}

static void read_sums(struct record ledger, struct gecko_convert_result *result) {
    for (enum gecko_convert_unit unit = 0; unit < GECKO_CONVERT_UNIT_COUNT; unit++) {
        struct record sums = part_of(ledger, gecko_convert_unit_name(unit));
        result->sums[unit] = (struct gecko_convert_unit_sums){record_count(sums, "read"), record_count(sums, "kept"),
                                                              record_count(sums, "lost")};
    }
    result->is_balanced = node_is(part_of(ledger, "balanced").value, NODE_TRUE);
}

/* One block: the entries, then their texts. False when memory ran out. */
static bool read_entries(struct record ledger, struct text wrapping, struct gecko_convert_result *result) {
    size_t entry_count = 0, text_bytes = wrapping.bytes_count + 1;
    for (enum gecko_convert_unit unit = 0; unit < GECKO_CONVERT_UNIT_COUNT; unit++) {
        const struct node *entries = entries_of(ledger, unit);
        entry_count += entries->count;
        for (size_t i = 0; i < entries->count; i++)
            text_bytes += record_text((struct record){ledger.records, &entries->nodes[i]}, "cause").bytes_count + 1;
    }
    struct gecko_convert_entry *block = malloc(entry_count * sizeof *block + text_bytes);
    if (!block) return false;
    char *next = (char *)(block + entry_count);
    for (enum gecko_convert_unit unit = 0; unit < GECKO_CONVERT_UNIT_COUNT; unit++) {
        const struct node *entries = entries_of(ledger, unit);
        for (size_t i = 0; i < entries->count; i++)
            block[result->entry_count++] =
                ledger_entry((struct record){ledger.records, &entries->nodes[i]}, unit, &next);
    }
    result->wrapping = place_text(&next, wrapping);
    result->entries = block;
    result->owned = block;
    return true;
}

static void read_error(struct record error, struct batch_entry *entry) {
    if (!node_is(error.value, NODE_OBJECT)) return;
    struct gecko_convert_result *result = &entry->result;
    struct text code = record_text(error, "code"), message = record_text(error, "message");
    result->status = GECKO_CONVERT_BAD_INPUT;
    if (text_equal(code, text_of(report_status_name(GECKO_CONVERT_LOST)))) result->status = GECKO_CONVERT_LOST;
    if (text_equal(code, text_of(batch_code_refused))) entry->error_code = batch_code_refused;
    if (text_equal(code, text_of(batch_code_no_trace))) entry->error_code = batch_code_no_trace;
    snprintf(result->message, sizeof result->message, "%.*s", (int)message.bytes_count, message.bytes);
    result->has_error_place = has_member(error, "offset");
    result->error_line = record_count(error, "line");
    result->error_offset = record_count(error, "offset");
}

/* False when memory ran out. */
static bool fill_entry(struct batch_entry *entry, struct record record, enum batch_status status) {
    struct gecko_convert_result *result = &entry->result;
    struct record output = part_of(record, "output"), ledger = part_of(record, "ledger");
    name_input_format(record_text(record, "format"), result);
    name_output_format(record_text(output, "format"), result);
    result->input_bytes = record_count(record, "trace_bytes");
    result->output_bytes = record_count(output, "bytes");
    result->duration_ns = record_count(record, "milliseconds") * NS_PER_MS;
    read_counts(part_of(record, "counts"), &result->counts);
    read_sums(ledger, result);
    read_error(part_of(record, "error"), entry);
    struct input_digest digest;
    if (read_digest(record.records, record.value, &digest)) batch_entry_set_digest(entry, digest);
    if (!read_entries(ledger, record_text(record, "wrapping"), result)) return false;
    struct text path = record_text(output, "path");
    if (path.bytes_count) {
        read_digest(output.records, output.value, &entry->output_digest);
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
static bool has_output(const struct batch_plan *plan, const struct batch_source *source, struct record record,
                       bool is_member) {
    struct record output = part_of(record, "output");
    struct text path = record_text(output, "path");
    if (!path.bytes_count || !has_its_name(source, path, is_member)) return false;
    if (!plan->options->output_dir) return true;
    char *name = strndup(path.bytes, path.bytes_count);
    char *full_path = name ? batch_output_path(plan, name) : NULL;
    struct input_digest digest;
    bool is_there = full_path && file_digest(full_path, &digest) && is_digest(output.records, output.value, digest);
    free(name);
    free(full_path);
    return is_there;
}

/* What the record makes of an entry now, if its output is there; BATCH_PENDING when it is of no use. */
static enum batch_status status_by_record(const struct batch_source *source, struct record record, bool is_member) {
    struct text status = record_text(record, "status");
    if (text_equal(status, TEXT("converted")) || text_equal(status, TEXT("unchanged"))) return BATCH_UNCHANGED;
    if (text_equal(status, TEXT("archive"))) return BATCH_ARCHIVE;
    if (text_equal(status, TEXT("no-trace"))) return is_member || !source->is_named ? BATCH_NO_TRACE : BATCH_PENDING;
    struct text code = record_text(part_of(record, "error"), "code");
    bool lies_in_file = text_equal(code, TEXT("input")) || text_equal(code, TEXT("strict")) ||
                        text_equal(code, text_of(batch_code_refused));
    return lies_in_file ? BATCH_FAILED : BATCH_PENDING;
}

static struct record record_of(const struct batch_plan *plan, const struct record_group *group, size_t number) {
    return (struct record){plan->records, &plan->records->records[group->first + number]};
}

/* Numbers that a document has rounded cannot be written again. Sums of periods alone can be that large. */
static bool has_exact_sums(struct record record) {
    struct record ledger = part_of(record, "ledger");
    struct record read = part_of(part_of(ledger, gecko_convert_unit_name(GECKO_CONVERT_PERIODS)), "read");
    return !node_is(read.value, NODE_NUMBER) || node_is_integer(read.value);
}

static bool is_usable(const struct batch_plan *plan, const struct batch_source *source,
                      const struct record_group *group) {
    if (!is_digest(plan->records, record_of(plan, group, 0).value, source->own.digest)) return false;
    for (size_t i = 0; i < group->count; i++) {
        struct record record = record_of(plan, group, i);
        enum batch_status status = status_by_record(source, record, i > 0);
        if (status == BATCH_PENDING || !has_exact_sums(record)) return false;
        if (status == BATCH_UNCHANGED && !has_output(plan, source, record, i > 0)) return false;
    }
    return true;
}

static bool fill_entries(const struct batch_plan *plan, struct batch_source *source, const struct record_group *group) {
    for (size_t i = 0; i < group->count; i++) {
        struct record record = record_of(plan, group, i);
        struct batch_entry *entry = &source->own;
        struct text member = record_text(record, "member");
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
