#include "manifest_records.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/bus_guard.h"
#include "cli/output_name.h"
#include "file_digest.h"
#include "libconvert/base/file_stamp.h"
#include "libconvert/base/first_row.h"
#include "libconvert/report.h"
#include "manifest.h"
#include "readers/json/document.h"

enum { NS_PER_MS = 1000000 };

/* The records of one file: its own, then those of its members. */
struct record_group {
    struct text path; /* borrowed */
    size_t first;     /* among all records */
    size_t count;
    size_t number; /* among the groups, once they are sorted by path */
};

struct manifest_records {
    struct failure failure;
    struct document document;   /* owns all texts */
    const struct node *records; /* of the inputs; in the document */
    size_t record_count;
    struct column groups; /* struct record_group, by path */
};

/* ---- Values. ---- */

/* The keys that this file looks up. Each one's number is its id in the document's keys. */
/* clang-format off */
#define KEYS(X)                                                                                               \
    X(archive) X(balanced) X(bytes) X(cause) X(code) X(count) X(counts) X(entries) X(error) X(fate) X(format) \
    X(frames) X(funcs) X(inputs) X(kept) X(ledger) X(library) X(libs) X(line) X(lines) X(lost) X(filtered) X(markers) X(member) \
    X(message) X(milliseconds) X(missingNames) X(offset) X(options_xxh3) X(output) X(path) X(periods) X(processes) X(read) X(reason) \
    X(records) X(salted_xxh3) X(samples) X(stacks) X(stamp) X(status) X(strings) X(threads) X(trace_bytes) X(type) X(values) \
    X(version) X(wrapping) X(xxh3)
/* clang-format on */

#define NUMBER(name) KEY_##name,
enum key { KEYS(NUMBER) KEYS_COUNT };
#undef NUMBER

#define NAME(name) TEXT(#name),
static const struct text key_names[KEYS_COUNT] = {KEYS(NAME)};
#undef NAME

static const enum key unit_keys[GECKO_CONVERT_UNIT_COUNT] = {[GECKO_CONVERT_LINES] = KEY_lines,
                                                             [GECKO_CONVERT_SAMPLES] = KEY_samples,
                                                             [GECKO_CONVERT_RECORDS] = KEY_records,
                                                             [GECKO_CONVERT_PERIODS] = KEY_periods,
                                                             [GECKO_CONVERT_VALUES] = KEY_values};

/* Returns NULL if there is no such member or the node is not an object. */
static const struct node *member_of(const struct node *object, enum key key) {
    return document_member_by_key(object, (string_id){key});
}

/* Returns an empty text if the member is not a text. */
static struct text text_at(const struct node *object, enum key key) {
    const struct node *value = member_of(object, key);
    return node_is(value, NODE_TEXT) ? node_text(value) : (struct text){NULL, 0};
}

static bool is_text(const struct node *object, enum key key, const char *text) {
    const struct node *value = member_of(object, key);
    return value && node_is_text(value, text_of(text));
}

/* Returns 0 if the member is not a positive integer that a double represents exactly. */
static uint64_t count_at(const struct node *object, enum key key) {
    const struct node *value = member_of(object, key);
    return node_is(value, NODE_NUMBER) && node_is_integer(value) && value->number > 0 ? (uint64_t)value->number : 0;
}

static bool is_digest(const struct node *object, struct input_digest digest) {
    char digits[17];
    manifest_format_xxh3(digits, digest.xxh3);
    return is_text(object, KEY_xxh3, digits) && count_at(object, KEY_bytes) == digest.bytes_count;
}

static bool has_stamp(const struct node *object, uint64_t stamp) {
    char digits[17];
    manifest_format_xxh3(digits, stamp);
    return stamp && is_text(object, KEY_stamp, digits);
}

/* Returns false if the text is not a hash. */
static bool read_xxh3(struct text digits, uint64_t *xxh3) {
    char terminated[17] = "";
    if (digits.bytes_count != sizeof terminated - 1) return false;
    memcpy(terminated, digits.bytes, digits.bytes_count);
    *xxh3 = strtoull(terminated, NULL, 16);
    return true;
}

static bool read_digest(const struct node *object, struct input_digest *digest) {
    digest->bytes_count = count_at(object, KEY_bytes);
    return read_xxh3(text_at(object, KEY_xxh3), &digest->xxh3);
}

/* Returns a salt of 0 if there is no salted hash. */
static struct salted_xxh3 read_salted(const struct node *record) {
    struct text both = text_at(record, KEY_salted_xxh3);
    size_t salt_bytes = text_find(both, '-');
    struct salted_xxh3 salted;
    bool is_good = read_xxh3(text_slice(both, 0, salt_bytes), &salted.salt) &&
                   read_xxh3(text_from(both, salt_bytes + 1), &salted.xxh3);
    return is_good ? salted : (struct salted_xxh3){0};
}

static bool is_salted(const struct node *record, struct salted_xxh3 now) {
    struct salted_xxh3 before = read_salted(record);
    return before.salt && before.salt == now.salt && before.xxh3 == now.xxh3;
}

/* ---- Reading the manifest. ---- */

static int compare_groups(const void *left, const void *right) {
    const struct record_group *a = left, *b = right;
    return text_compare(a->path, b->path);
}

/* Returns false if the inputs are not a list, if a member does not follow its file, or if memory ran out
 * (latched). */
static bool group_records(struct manifest_records *records) {
    const struct node *inputs = member_of(&records->document.root, KEY_inputs);
    if (!node_is(inputs, NODE_LIST)) return false;
    records->records = inputs->nodes;
    records->record_count = inputs->count;
    struct record_group *last = NULL;
    for (size_t i = 0; i < records->record_count; i++) {
        struct text path = text_at(&records->records[i], KEY_path);
        bool is_member = text_at(&records->records[i], KEY_member).bytes_count > 0;
        if (is_member && !(last && text_equal(last->path, path))) return false;
        if (is_member) {
            last->count++;
            continue;
        }
        last = column_push(&records->groups);
        if (!last) return false;
        *last = (struct record_group){.path = path, .first = i, .count = 1};
    }
    column_sort(&records->groups, compare_groups);
    for (size_t i = 0; i < records->groups.count; i++)
        ((struct record_group *)column_at(&records->groups, i))->number = i;
    return !failure_is_set(&records->failure);
}

struct manifest_records *manifest_records_create(const char *path, struct failure *failure) {
    if (access(path, F_OK) != 0 && errno == ENOENT) return NULL;
    struct manifest_records *records = calloc(1, sizeof *records);
    if (!records) {
        failure_set_memory(failure);
        return NULL;
    }
    document_init(&records->document, &records->failure);
    column_init(&records->groups, sizeof(struct record_group), &records->failure);
    return records;
}

/* If the file becomes shorter meanwhile, the missing bytes read as zeros, which are not JSON. */
static void read_document(struct manifest_records *records, const char *path) {
    for (size_t i = 0; i < KEYS_COUNT; i++) strings_intern(&records->document.keys, key_names[i]);
    bus_guard_begin();
    struct input *input = input_open(path, &records->failure);
    if (input) document_read(&records->document, input);
    input_close(input);
    bus_guard_end();
}

const char *manifest_records_read(struct manifest_records *records, const char *path, const struct options *options) {
    read_document(records, path);
    if (failure_is_set(&records->failure)) return records->failure.message;
    const struct node *root = &records->document.root;
    if (!node_is(root, NODE_OBJECT) || !is_text(root, KEY_type, "batch")) return "is not the report of a batch";
    if (count_at(root, KEY_version) != MANIFEST_VERSION) return "was written by another version of this program";
    char digits[17];
    manifest_format_xxh3(digits, manifest_options_xxh3(options, &records->failure));
    if (!is_text(root, KEY_options_xxh3, digits))
        return "was written with other options or by another build of this program";
    if (group_records(records)) return NULL;
    return failure_is_set(&records->failure) ? records->failure.message : "is not a complete report";
}

void manifest_records_destroy(struct manifest_records *records) {
    if (!records) return;
    column_fini(&records->groups);
    document_fini(&records->document);
    free(records);
}

bool manifest_records_have_archive(const struct manifest_records *records, const char *path,
                                   struct input_digest *digest) {
    const struct node *archive = member_of(&records->document.root, KEY_archive);
    return file_digest(path, digest, NULL, 0) && is_digest(archive, *digest);
}

size_t manifest_records_output_count(const struct manifest_records *records) {
    size_t count = 0;
    for (size_t i = 0; i < records->record_count; i++)
        count += node_is(member_of(&records->records[i], KEY_output), NODE_OBJECT);
    return count;
}

/* ---- From a record to an entry. ---- */

/* Returns the name of a format as the library has it, which is static; an empty one if there is no such format. */
static const char *format_named(struct text name, const char *(*format_name)(size_t number)) {
    for (size_t i = 0; format_name(i); i++)
        if (text_equal(name, text_of(format_name(i)))) return format_name(i);
    return "";
}

static void read_counts(const struct node *counts, struct gecko_convert_counts *out) {
    *out = (struct gecko_convert_counts){.processes = count_at(counts, KEY_processes),
                                         .threads = count_at(counts, KEY_threads),
                                         .samples = count_at(counts, KEY_samples),
                                         .markers = count_at(counts, KEY_markers),
                                         .stacks = count_at(counts, KEY_stacks),
                                         .frames = count_at(counts, KEY_frames),
                                         .funcs = count_at(counts, KEY_funcs),
                                         .strings = count_at(counts, KEY_strings),
                                         .libs = count_at(counts, KEY_libs)};
}

static enum gecko_convert_fate fate_named(struct text name) {
    for (enum gecko_convert_fate fate = GECKO_CONVERT_FATE_KEPT; fate <= GECKO_CONVERT_FATE_FILTERED; fate++)
        if (text_equal(name, text_of(gecko_convert_fate_name(fate)))) return fate;
    return GECKO_CONVERT_FATE_LOST;
}

/* Returns the member; an empty list if it is not a list. */
static const struct node *list_at(const struct node *node, enum key key) {
    static const struct node none = {.kind = NODE_LIST};
    const struct node *list = member_of(node, key);
    return node_is(list, NODE_LIST) ? list : &none;
}

/* Returns the list of a unit's entries. */
static const struct node *entries_of(const struct node *ledger, enum gecko_convert_unit unit) {
    return list_at(member_of(ledger, unit_keys[unit]), KEY_entries);
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
                                        .fate = fate_named(text_at(entry, KEY_fate)),
                                        .cause = place_text(next, text_at(entry, KEY_cause)),
                                        .count = count_at(entry, KEY_count),
                                        .has_first = member_of(entry, KEY_offset),
                                        .first_line = count_at(entry, KEY_line),
                                        .first_offset = count_at(entry, KEY_offset)};
}

static void read_sums(const struct node *ledger, struct gecko_convert_result *result) {
    for (enum gecko_convert_unit unit = 0; unit < GECKO_CONVERT_UNIT_COUNT; unit++) {
        const struct node *sums = member_of(ledger, unit_keys[unit]);
        result->sums[unit] = (struct gecko_convert_unit_sums){count_at(sums, KEY_read), count_at(sums, KEY_kept),
                                                              count_at(sums, KEY_lost), count_at(sums, KEY_filtered)};
    }
    result->is_balanced = node_is(member_of(ledger, KEY_balanced), NODE_TRUE);
}

/* Allocates one block for the entries and the missing names, followed by their texts. Returns false if memory ran out.
 */
static bool read_entries(const struct node *record, struct gecko_convert_result *result) {
    const struct node *ledger = member_of(record, KEY_ledger), *missing = list_at(record, KEY_missingNames);
    struct text wrapping = text_at(record, KEY_wrapping);
    size_t entry_count = 0, text_bytes = wrapping.bytes_count + 1;
    for (enum gecko_convert_unit unit = 0; unit < GECKO_CONVERT_UNIT_COUNT; unit++) {
        const struct node *entries = entries_of(ledger, unit);
        entry_count += entries->count;
        for (size_t i = 0; i < entries->count; i++)
            text_bytes += text_at(&entries->nodes[i], KEY_cause).bytes_count + 1;
    }
    for (size_t i = 0; i < missing->count; i++)
        text_bytes += text_at(&missing->nodes[i], KEY_library).bytes_count + 1 +
                      text_at(&missing->nodes[i], KEY_reason).bytes_count + 1;
    struct gecko_convert_missing_names *names;
    struct gecko_convert_entry *block =
        malloc(entry_count * sizeof *block + missing->count * sizeof *names + text_bytes);
    if (!block) return false;
    names = (struct gecko_convert_missing_names *)(block + entry_count);
    char *next = (char *)(names + missing->count);
    for (enum gecko_convert_unit unit = 0; unit < GECKO_CONVERT_UNIT_COUNT; unit++) {
        const struct node *entries = entries_of(ledger, unit);
        for (size_t i = 0; i < entries->count; i++)
            block[result->entry_count++] = ledger_entry(&entries->nodes[i], unit, &next);
    }
    for (size_t i = 0; i < missing->count; i++) {
        const struct node *row = &missing->nodes[i];
        const char *library = place_text(&next, text_at(row, KEY_library));
        names[i] = (struct gecko_convert_missing_names){library, count_at(row, KEY_samples),
                                                        place_text(&next, text_at(row, KEY_reason))};
    }
    result->missing_names = names;
    result->missing_name_count = missing->count;
    result->wrapping = place_text(&next, wrapping);
    result->entries = block;
    result->owned = block;
    return true;
}

/* Returns NULL for codes that are names of a failure_code. */
static const char *error_code(const struct node *error) {
    struct text code = text_at(error, KEY_code);
    if (text_equal(code, text_of(batch_code_refused))) return batch_code_refused;
    return text_equal(code, text_of(batch_code_no_trace)) ? batch_code_no_trace : NULL;
}

static struct failure read_failure(const struct node *error) {
    bool is_strict = text_equal(text_at(error, KEY_code), text_of(report_status_name(GECKO_CONVERT_LOST)));
    enum gecko_convert_status code = is_strict ? FAILURE_STRICT : FAILURE_INPUT;
    struct text message = text_at(error, KEY_message);
    struct position position = {count_at(error, KEY_line), count_at(error, KEY_offset)};
    struct failure failure = {0};
    if (member_of(error, KEY_offset))
        failure_set_at(&failure, code, position, "%.*s", (int)message.bytes_count, message.bytes);
    else
        failure_set(&failure, code, "%.*s", (int)message.bytes_count, message.bytes);
    return failure;
}

/* Returns false if memory ran out. */
static bool fill_trace(struct batch_entry *entry, const struct node *record) {
    struct batch_trace *trace = batch_entry_make_trace(entry);
    if (!trace) return false;
    struct gecko_convert_result *result = &trace->result;
    const struct node *output = member_of(record, KEY_output), *ledger = member_of(record, KEY_ledger);
    result->input_format = format_named(text_at(record, KEY_format), gecko_convert_input_format);
    result->output_format = format_named(text_at(output, KEY_format), gecko_convert_output_format);
    result->input_bytes = count_at(record, KEY_trace_bytes);
    result->output_bytes = count_at(output, KEY_bytes);
    result->duration_ns = count_at(record, KEY_milliseconds) * NS_PER_MS;
    read_counts(member_of(record, KEY_counts), &result->counts);
    read_sums(ledger, result);
    if (!read_entries(record, result)) return false;
    struct text path = text_at(output, KEY_path);
    if (!path.bytes_count) return true;
    read_digest(output, &trace->output_digest);
    trace->output = strndup(path.bytes, path.bytes_count);
    return trace->output != NULL;
}

/* Returns false if memory ran out. */
static bool fill_entry(struct batch_source *source, struct batch_entry *entry, const struct node *record,
                       enum batch_status status) {
    const struct node *error = member_of(record, KEY_error);
    bool is_trace = text_at(record, KEY_format).bytes_count || node_is(member_of(record, KEY_output), NODE_OBJECT);
    if (is_trace && !fill_trace(entry, record)) return false;
    struct input_digest digest;
    if (read_digest(record, &digest)) batch_entry_set_digest(entry, digest);
    entry->is_archive = status == BATCH_ARCHIVE;
    if (!node_is(error, NODE_OBJECT)) {
        atomic_store(&entry->status, status);
        return true;
    }
    struct failure failure = read_failure(error);
    batch_entry_fail(entry, &source->texts, status, error_code(error), &failure);
    return batch_entry_outcome(entry) != GECKO_CONVERT_NO_MEMORY;
}

/* ---- Reuse. ---- */

static bool leads_upwards(struct text path) {
    while (path.bytes_count) {
        size_t part_bytes = text_find(path, '/');
        if (text_equal(text_slice(path, 0, part_bytes), TEXT(".."))) return true;
        path = text_from(path, part_bytes + 1);
    }
    return false;
}

/* Returns true if the profile has the name that it would get now. Anybody may have written the manifest: a path that
 * leads out of the folder would put some other file of the user into the archive of profiles. */
static bool has_its_name(const struct batch_plan *plan, const struct batch_source *source, struct text path,
                         bool is_member) {
    if (leads_upwards(path)) return false;
    struct text start = is_member ? output_name_folder(text_of(source->name)) : output_name_stem(text_of(source->name));
    if (!text_starts_with(path, start)) return false;
    struct text rest = text_from(path, start.bytes_count);
    struct output_suffix suffix = output_name_suffix(plan->options->convert.format, plan->options->compresses);
    if (!is_member) return text_equal(rest, text_of(suffix.bytes));
    return !start.bytes_count || text_starts_with(rest, TEXT("/"));
}

/* Returns true if the file at `path` is the profile of the record. *stamp becomes the file's stamp; 0 if it cannot be
 * relied on later. */
static bool is_output(const struct node *output, const char *path, uint64_t *stamp) {
    struct stat status;
    struct input_digest digest;
    if (stat(path, &status) != 0) return false;
    *stamp = file_stamp(&status);
    if (has_stamp(output, *stamp)) return true;
    if (!file_stamp_is_lasting(&status)) *stamp = 0;
    return file_digest(path, &digest, NULL, 0) && is_digest(output, digest);
}

/* Returns true if the profile exists unchanged at the path where it would be written now. Profiles in an archive are
 * checked with the archive. */
static bool has_output(const struct batch_plan *plan, const struct batch_source *source, const struct node *record,
                       bool is_member, uint64_t *stamp) {
    const struct node *output = member_of(record, KEY_output);
    struct text path = text_at(output, KEY_path);
    if (!path.bytes_count || !has_its_name(plan, source, path, is_member)) return false;
    if (!plan->options->output_dir) return true;
    char *name = strndup(path.bytes, path.bytes_count);
    char *full_path = name ? batch_output_path(plan, name) : NULL;
    bool is_there = full_path && is_output(output, full_path, stamp);
    free(name);
    free(full_path);
    return is_there;
}

/* Returns the status that the record gives to the entry if its output still exists; BATCH_PENDING if the record cannot
 * be used. */
static enum batch_status status_by_record(const struct batch_source *source, const struct node *record,
                                          bool is_member) {
    struct text status = text_at(record, KEY_status);
    if (text_equal(status, TEXT("converted")) || text_equal(status, TEXT("unchanged"))) return BATCH_UNCHANGED;
    if (text_equal(status, TEXT("archive"))) return BATCH_ARCHIVE;
    if (text_equal(status, TEXT("no-trace"))) return is_member || !source->is_named ? BATCH_NO_TRACE : BATCH_PENDING;
    struct text code = text_at(member_of(record, KEY_error), KEY_code);
    bool lies_in_file = text_equal(code, TEXT("input")) || text_equal(code, TEXT("strict")) ||
                        text_equal(code, text_of(batch_code_refused));
    return lies_in_file ? BATCH_FAILED : BATCH_PENDING;
}

static const struct node *record_of(const struct batch_plan *plan, const struct record_group *group, size_t number) {
    return &plan->records->records[group->first + number];
}

/* A double may have rounded a number of the record; such a record cannot be written again. Only sums of periods can be
 * that large. */
static bool has_exact_sums(const struct node *record) {
    const struct node *ledger = member_of(record, KEY_ledger);
    const struct node *read = member_of(member_of(ledger, KEY_periods), KEY_read);
    return !node_is(read, NODE_NUMBER) || node_is_integer(read);
}

/* Returns true if all records of the group can be used. Sets the stamps of the existing profiles; pass zeros. */
static bool is_usable(const struct batch_plan *plan, const struct batch_source *source,
                      const struct record_group *group, uint64_t *stamps) {
    for (size_t i = 0; i < group->count; i++) {
        const struct node *record = record_of(plan, group, i);
        enum batch_status status = status_by_record(source, record, i > 0);
        if (status == BATCH_PENDING || !has_exact_sums(record)) return false;
        if (status == BATCH_UNCHANGED && !has_output(plan, source, record, i > 0, &stamps[i])) return false;
    }
    return true;
}

static bool fill_entries(const struct batch_plan *plan, struct batch_source *source, const struct record_group *group,
                         const uint64_t *stamps) {
    for (size_t i = 0; i < group->count; i++) {
        const struct node *record = record_of(plan, group, i);
        struct batch_entry *entry = &source->own;
        struct text member = text_at(record, KEY_member);
        if (i > 0) entry = batch_source_add_member(source, member);
        if (!entry || !fill_entry(source, entry, record, status_by_record(source, record, i > 0))) return false;
        if (batch_entry_output(entry)) batch_entry_trace(entry)->output_stamp = stamps[i];
    }
    return true;
}

/* Returns false if the group cannot be used or memory ran out (latched in the source). */
static bool reuse_group(const struct batch_plan *plan, struct batch_source *source, const struct record_group *group) {
    uint64_t *stamps = calloc(group->count, sizeof *stamps);
    bool is_good = stamps && is_usable(plan, source, group, stamps);
    if (!stamps || (is_good && !fill_entries(plan, source, group, stamps))) failure_set_memory(&source->failure);
    free(stamps);
    return is_good && !failure_is_set(&source->failure);
}

/* Returns the number of the first group that has the path or a greater one. */
static size_t first_group(const struct column *groups, struct text path) {
    return FIRST_ROW(i, groups->count,
                     text_compare(((const struct record_group *)column_at(groups, i))->path, path) >= 0);
}

/* Returns the group after `group`, or the first one if that is NULL, among those of the source's path; NULL after the
 * last. */
static const struct record_group *next_group(const struct batch_plan *plan, const struct batch_source *source,
                                             const struct record_group *group) {
    if (!plan->records) return NULL;
    const struct column *groups = &plan->records->groups;
    struct text path = text_of(source->path);
    size_t number = group ? group->number + 1 : first_group(groups, path);
    const struct record_group *next = number < groups->count ? column_at(groups, number) : NULL;
    return next && text_equal(next->path, path) ? next : NULL;
}

bool manifest_records_know(const struct batch_plan *plan, const struct batch_source *source,
                           struct input_digest *digest, struct salted_xxh3 *salted) {
    const struct record_group *group = NULL;
    *salted = (struct salted_xxh3){0};
    while ((group = next_group(plan, source, group))) {
        const struct node *record = record_of(plan, group, 0);
        *salted = read_salted(record);
        if (has_stamp(record, source->stamp) && salted->salt && read_digest(record, digest)) return true;
    }
    return false;
}

bool manifest_records_reuse(struct batch_plan *plan, struct batch_source *source, struct salted_xxh3 salted) {
    const struct record_group *group = NULL;
    while ((group = next_group(plan, source, group))) {
        const struct node *record = record_of(plan, group, 0);
        if (!is_digest(record, source->own.digest) || !is_salted(record, salted)) continue;
        if (reuse_group(plan, source, group)) return true;
        if (!failure_is_set(&source->failure)) continue;
        batch_entry_fail(&source->own, &source->texts, BATCH_FAILED, NULL, &source->failure);
        return true;
    }
    return false;
}
