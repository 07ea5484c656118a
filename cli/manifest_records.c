#include "manifest_records.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_tree.h>

#include "file_digest.h"
#include "manifest.h"
#include "output_name.h"
#include "readers/reader.h"
#include "report.h"
#include "writer/emitter.h"

/* The records of one file: its own, and those of its members behind it. */
struct record_group {
    const char *path; /* borrowed */
    size_t first;
    size_t count;
};

struct manifest_records {
    yajl_val root;
    yajl_val *records; /* borrowed from the root */
    size_t record_count;
    struct record_group *groups; /* owned; by path */
    size_t group_count;
};

/* ---- Values. ---- */

static yajl_val member_of(yajl_val object, const char *key) {
    if (!YAJL_IS_OBJECT(object)) return NULL;
    for (size_t i = 0; i < YAJL_GET_OBJECT(object)->len; i++)
        if (strcmp(YAJL_GET_OBJECT(object)->keys[i], key) == 0) return YAJL_GET_OBJECT(object)->values[i];
    return NULL;
}

/* NULL for what is no text. */
static const char *text_at(yajl_val object, const char *key) {
    yajl_val value = member_of(object, key);
    return YAJL_GET_STRING(value);
}

static bool is_text(yajl_val object, const char *key, const char *text) {
    const char *found = text_at(object, key);
    return found && strcmp(found, text) == 0;
}

/* 0 for what is no integer. */
static uint64_t count_at(yajl_val object, const char *key) {
    yajl_val value = member_of(object, key);
    return YAJL_IS_INTEGER(value) && YAJL_GET_INTEGER(value) > 0 ? (uint64_t)YAJL_GET_INTEGER(value) : 0;
}

static bool is_true(yajl_val object, const char *key) {
    yajl_val value = member_of(object, key);
    return YAJL_IS_TRUE(value);
}

static bool is_digest(yajl_val object, struct input_digest digest) {
    char digits[17];
    manifest_format_xxh3(digits, digest.xxh3);
    return is_text(object, "xxh3", digits) && count_at(object, "bytes") == digest.bytes_count;
}

static bool read_digest(yajl_val object, struct input_digest *digest) {
    const char *digits = text_at(object, "xxh3");
    if (!digits) return false;
    *digest = (struct input_digest){count_at(object, "bytes"), strtoull(digits, NULL, 16)};
    return true;
}

/* ---- Reading the manifest. ---- */

static int compare_groups(const void *left, const void *right) {
    const struct record_group *a = left, *b = right;
    int order = strcmp(a->path, b->path);
    return order ? order : (a->first > b->first) - (a->first < b->first);
}

/* False when memory ran out, or the records are none. */
static bool index_records(struct manifest_records *records) {
    yajl_val inputs = member_of(records->root, "inputs");
    if (!YAJL_IS_ARRAY(inputs)) return false;
    records->records = YAJL_GET_ARRAY(inputs)->values;
    records->record_count = YAJL_GET_ARRAY(inputs)->len;
    records->groups = calloc(records->record_count + 1, sizeof *records->groups);
    if (!records->groups) return false;
    for (size_t i = 0; i < records->record_count; i++) {
        const char *path = text_at(records->records[i], "path");
        if (!path) return false;
        bool is_member = text_at(records->records[i], "member") != NULL;
        struct record_group *last = records->group_count ? &records->groups[records->group_count - 1] : NULL;
        if (!is_member)
            records->groups[records->group_count++] = (struct record_group){path, i, 1};
        else if (last && strcmp(last->path, path) == 0)
            last->count++;
        else
            return false;
    }
    qsort(records->groups, records->group_count, sizeof *records->groups, compare_groups);
    return true;
}

/* The whole file, terminated, to be freed; NULL (errno) when it cannot be read. */
static char *read_file(const char *path) {
    FILE *file = fopen(path, "re");
    if (!file) return NULL;
    char *bytes = NULL;
    size_t capacity = 0;
    /* No byte of JSON is NUL: all is read. */
    ssize_t bytes_count = getdelim(&bytes, &capacity, '\0', file);
    int error = ferror(file) ? errno : 0;
    fclose(file);
    if (bytes_count >= 0 && !error) return bytes;
    free(bytes);
    if (!error) return calloc(1, 1);
    errno = error;
    return NULL;
}

/* "" when it is a manifest of this program with these options. */
static const char *reason_against(yajl_val root, const struct options *options, struct failure *failure) {
    if (!root || !is_text(root, "type", "batch")) return "is no report of a batch";
    if (count_at(root, "version") != MANIFEST_VERSION) return "is of another version of this program";
    char digits[17];
    manifest_format_xxh3(digits, manifest_options_xxh3(options, failure));
    return is_text(root, "options_xxh3", digits) ? "" : "is of other options, or of another version of this program";
}

struct manifest_records *manifest_records_read(const char *path, const struct options *options, char *reason,
                                               size_t reason_bytes) {
    struct failure failure = {0};
    *reason = '\0';
    char *bytes = read_file(path);
    if (!bytes) {
        if (errno != ENOENT) snprintf(reason, reason_bytes, "cannot be read: %s", strerror(errno));
        return NULL;
    }
    yajl_val root = yajl_tree_parse(bytes, NULL, 0);
    free(bytes);
    const char *against = reason_against(root, options, &failure);
    struct manifest_records *records = *against ? NULL : calloc(1, sizeof *records);
    if (records) {
        records->root = root;
        if (index_records(records)) return records;
        against = "cannot be used: it is no whole report, or memory ran out";
        manifest_records_destroy(records);
    } else {
        yajl_tree_free(root);
    }
    snprintf(reason, reason_bytes, "%s", against);
    return NULL;
}

void manifest_records_destroy(struct manifest_records *records) {
    if (!records) return;
    yajl_tree_free(records->root);
    free(records->groups);
    free(records);
}

bool manifest_records_have_archive(const struct manifest_records *records, const char *path,
                                   struct input_digest *digest) {
    yajl_val archive = member_of(records->root, "archive");
    return file_digest(path, digest) && is_digest(archive, *digest);
}

size_t manifest_records_output_count(const struct manifest_records *records) {
    size_t count = 0;
    for (size_t i = 0; i < records->record_count; i++)
        count += YAJL_IS_OBJECT(member_of(records->records[i], "output"));
    return count;
}

/* ---- A record as an entry. ---- */

static const char *static_input_format(const char *name, const char **title) {
    const struct reader *reader = name ? reader_by_name(name) : NULL;
    *title = reader ? reader->title : "";
    return reader ? reader->name : "";
}

static const char *static_output_format(const char *name, const char **title) {
    const struct emitter *emitter = name ? emitter_by_name(name) : NULL;
    *title = emitter ? emitter->title : "";
    return emitter ? emitter->name : "";
}

static const char *static_error_code(const char *code) {
    if (!code) return NULL;
    if (strcmp(code, batch_code_refused) == 0) return batch_code_refused;
    if (strcmp(code, batch_code_no_trace) == 0) return batch_code_no_trace;
    return NULL;
}

static void read_counts(yajl_val counts, struct gecko_convert_counts *out) {
    *out = (struct gecko_convert_counts){.processes = count_at(counts, "processes"),
                                         .threads = count_at(counts, "threads"),
                                         .samples = count_at(counts, "samples"),
                                         .markers = count_at(counts, "markers"),
                                         .stacks = count_at(counts, "stacks"),
                                         .frames = count_at(counts, "frames"),
                                         .funcs = count_at(counts, "funcs"),
                                         .strings = count_at(counts, "strings"),
                                         .libs = count_at(counts, "libs")};
}

static enum gecko_convert_fate fate_named(const char *name) {
    for (enum gecko_convert_fate fate = GECKO_CONVERT_FATE_KEPT; fate <= GECKO_CONVERT_FATE_NOTED; fate++)
        if (name && strcmp(name, gecko_convert_fate_name(fate)) == 0) return fate;
    return GECKO_CONVERT_FATE_LOST;
}

static yajl_val entries_of(yajl_val ledger, enum gecko_convert_unit unit) {
    yajl_val entries = member_of(member_of(ledger, gecko_convert_unit_name(unit)), "entries");
    return YAJL_IS_ARRAY(entries) ? entries : NULL;
}

static const char *place_text(char **next, const char *text) {
    char *place = *next;
    size_t bytes_count = strlen(text) + 1;
    memcpy(place, text, bytes_count);
    *next += bytes_count;
    return place;
}

static struct gecko_convert_entry ledger_entry(yajl_val value, enum gecko_convert_unit unit, char **next) {
    const char *cause = text_at(value, "cause");
    return (struct gecko_convert_entry){.unit = unit,
                                        .fate = fate_named(text_at(value, "fate")),
                                        .cause = place_text(next, cause ? cause : ""),
                                        .count = count_at(value, "count"),
                                        .has_first = member_of(value, "offset") != NULL,
                                        .first_line = count_at(value, "line"),
                                        .first_offset = count_at(value, "offset")};
}

/* One block: the entries, then their texts. False when memory ran out. */
static bool read_ledger(yajl_val ledger, const char *wrapping, struct gecko_convert_result *result) {
    size_t entry_count = 0, text_bytes = strlen(wrapping) + 1;
    for (enum gecko_convert_unit unit = 0; unit < GECKO_CONVERT_UNIT_COUNT; unit++) {
        yajl_val sums = member_of(ledger, gecko_convert_unit_name(unit)), entries = entries_of(ledger, unit);
        result->sums[unit] =
            (struct gecko_convert_unit_sums){count_at(sums, "read"), count_at(sums, "kept"), count_at(sums, "lost")};
        for (size_t i = 0; entries && i < YAJL_GET_ARRAY(entries)->len; i++, entry_count++) {
            const char *cause = text_at(YAJL_GET_ARRAY(entries)->values[i], "cause");
            text_bytes += cause ? strlen(cause) + 1 : 1;
        }
    }
    struct gecko_convert_entry *block = malloc(entry_count * sizeof *block + text_bytes);
    if (!block) return false;
    char *next = (char *)(block + entry_count);
    size_t used = 0;
    for (enum gecko_convert_unit unit = 0; unit < GECKO_CONVERT_UNIT_COUNT; unit++) {
        yajl_val entries = entries_of(ledger, unit);
        for (size_t i = 0; entries && i < YAJL_GET_ARRAY(entries)->len; i++)
            block[used++] = ledger_entry(YAJL_GET_ARRAY(entries)->values[i], unit, &next);
    }
    result->wrapping = place_text(&next, wrapping);
    result->entries = block;
    result->entry_count = entry_count;
    result->owned = block;
    result->is_balanced = is_true(ledger, "balanced");
    return true;
}

static enum gecko_convert_status status_named(const char *code) {
    for (enum gecko_convert_status status = GECKO_CONVERT_GOOD; status <= GECKO_CONVERT_LOST; status++)
        if (code && strcmp(code, report_status_name(status)) == 0) return status;
    return GECKO_CONVERT_BAD_INPUT;
}

static void read_error(yajl_val error, struct batch_entry *entry) {
    if (!YAJL_IS_OBJECT(error)) return;
    struct gecko_convert_result *result = &entry->result;
    const char *code = text_at(error, "code"), *message = text_at(error, "message");
    result->status = status_named(code);
    snprintf(result->message, sizeof result->message, "%s", message ? message : "");
    result->has_error_place = member_of(error, "offset") != NULL;
    result->error_line = count_at(error, "line");
    result->error_offset = count_at(error, "offset");
    entry->error_code = static_error_code(code);
}

/* False when memory ran out. */
static bool fill_entry(struct batch_entry *entry, yajl_val record, enum batch_status status) {
    struct gecko_convert_result *result = &entry->result;
    yajl_val output = member_of(record, "output");
    result->input_format = static_input_format(text_at(record, "format"), &result->input_title);
    result->output_format = static_output_format(text_at(output, "format"), &result->output_title);
    result->input_bytes = count_at(record, "trace_bytes");
    result->output_bytes = count_at(output, "bytes");
    result->duration_ns = count_at(record, "milliseconds") * 1000000;
    read_counts(member_of(record, "counts"), &result->counts);
    read_error(member_of(record, "error"), entry);
    struct input_digest digest;
    if (read_digest(record, &digest)) batch_entry_set_digest(entry, digest);
    const char *path = text_at(output, "path"), *wrapping = text_at(record, "wrapping");
    if (!read_ledger(member_of(record, "ledger"), wrapping ? wrapping : "", result)) return false;
    if (path) {
        read_digest(output, &entry->output_digest);
        entry->output = strdup(path);
        if (!entry->output) return false;
    }
    entry->is_archive = status == BATCH_ARCHIVE;
    atomic_store(&entry->status, status);
    return true;
}

/* ---- Reuse. ---- */

/* The profile is where it would be written now, and as it was. In an archive, all of which has been looked at, it is.
 */
static bool has_output(const struct batch_plan *plan, const struct batch_source *source, yajl_val record,
                       bool is_member) {
    yajl_val output = member_of(record, "output");
    const char *path = text_at(output, "path");
    if (!path) return false;
    struct text name = text_of(source->name), rest = text_of(path);
    struct text start = is_member ? output_name_folder(name) : output_name_stem(name);
    if (!text_starts_with(rest, start)) return false;
    rest = text_from(rest, start.bytes_count);
    if (is_member ? start.bytes_count && !text_starts_with(rest, TEXT("/"))
                  : !text_equal(rest, TEXT(OUTPUT_NAME_SUFFIX)))
        return false;
    if (!plan->options->output_dir) return true;
    char *full_path = batch_output_path(plan, path);
    struct input_digest digest;
    bool is_there = full_path && file_digest(full_path, &digest) && is_digest(output, digest);
    free(full_path);
    return is_there;
}

/* What the record makes of an entry now, if its output is there; BATCH_PENDING when it is of no use. */
static enum batch_status status_by_record(const struct batch_source *source, yajl_val record, bool is_member) {
    if (is_text(record, "status", "converted") || is_text(record, "status", "unchanged")) return BATCH_UNCHANGED;
    if (is_text(record, "status", "archive")) return BATCH_ARCHIVE;
    if (is_text(record, "status", "no-trace")) return is_member || !source->is_named ? BATCH_NO_TRACE : BATCH_PENDING;
    const char *code = text_at(member_of(record, "error"), "code");
    bool lies_in_file =
        code && (strcmp(code, "input") == 0 || strcmp(code, "strict") == 0 || strcmp(code, batch_code_refused) == 0);
    return lies_in_file ? BATCH_FAILED : BATCH_PENDING;
}

static bool is_usable(const struct batch_plan *plan, const struct batch_source *source,
                      const struct record_group *group) {
    const struct manifest_records *records = plan->records;
    if (!is_digest(records->records[group->first], source->own.digest)) return false;
    for (size_t i = 0; i < group->count; i++) {
        yajl_val record = records->records[group->first + i];
        enum batch_status status = status_by_record(source, record, i > 0);
        if (status == BATCH_PENDING) return false;
        if (status == BATCH_UNCHANGED && !has_output(plan, source, record, i > 0)) return false;
    }
    return true;
}

static bool fill_entries(const struct batch_plan *plan, struct batch_source *source, const struct record_group *group) {
    for (size_t i = 0; i < group->count; i++) {
        yajl_val record = plan->records->records[group->first + i];
        struct batch_entry *entry = &source->own;
        if (i > 0) entry = batch_source_add_member(source, strdup(text_at(record, "member")));
        if (!entry || !fill_entry(entry, record, status_by_record(source, record, i > 0))) return false;
    }
    return true;
}

static const struct record_group *first_group(const struct manifest_records *records, const char *path) {
    size_t from = 0, to = records->group_count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (strcmp(records->groups[middle].path, path) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return records->groups + from;
}

bool manifest_records_reuse(struct batch_plan *plan, struct batch_source *source) {
    const struct manifest_records *records = plan->records;
    if (!records) return false;
    const struct record_group *end = records->groups + records->group_count;
    for (const struct record_group *group = first_group(records, source->path);
         group < end && strcmp(group->path, source->path) == 0; group++) {
        if (!is_usable(plan, source, group)) continue;
        if (fill_entries(plan, source, group)) return true;
        failure_set_memory(&source->failure);
        batch_entry_fail(&source->own, BATCH_FAILED, NULL, &source->failure);
        return true;
    }
    return false;
}
