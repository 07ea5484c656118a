#include "manifest_records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/bus_guard.h"
#include "cli/output_name.h"
#include "file_digest.h"
#include "libconvert/base/file_stamp.h"
#include "libconvert/base/first_row.h"
#include "libconvert/base/path.h"
#include "libconvert/report.h"
#include "manifest.h"
#include "manifest_file.h"

enum { NS_PER_MS = 1000000 };

struct manifest_records {
    struct failure failure;
    struct arena memory;
    struct manifest_file file; /* its groups are sorted by path */
};

/* ---- Values. ---- */

static bool is_xxh3(struct text digits, uint64_t xxh3) {
    char wanted[17];
    manifest_format_xxh3(wanted, xxh3);
    return text_equal(digits, text_of(wanted));
}

static bool is_digest(struct text xxh3, int64_t bytes_count, struct input_digest digest) {
    return is_xxh3(xxh3, digest.xxh3) && (uint64_t)bytes_count == digest.bytes_count;
}

static bool has_stamp(struct text stamp_of_record, uint64_t stamp) { return stamp && is_xxh3(stamp_of_record, stamp); }

/* Returns false if the text is not a hash. */
static bool read_xxh3(struct text digits, uint64_t *xxh3) {
    char terminated[17] = "";
    if (digits.bytes_count != sizeof terminated - 1) return false;
    memcpy(terminated, digits.bytes, digits.bytes_count);
    *xxh3 = strtoull(terminated, NULL, 16);
    return true;
}

static bool read_digest(struct text xxh3, int64_t bytes_count, struct input_digest *digest) {
    digest->bytes_count = (uint64_t)bytes_count;
    return read_xxh3(xxh3, &digest->xxh3);
}

/* ---- Reading the manifest. ---- */

static int compare_groups(const void *left, const void *right) {
    const struct manifest_group *a = left, *b = right;
    return text_compare(a->path, b->path);
}

struct manifest_records *manifest_records_create(const char *path, struct failure *failure) {
    if (access(path, F_OK) != 0 && errno == ENOENT) return NULL;
    struct manifest_records *records = failure_check_memory(failure, calloc(1, sizeof *records));
    if (!records) return NULL;
    arena_init(&records->memory, &records->failure);
    manifest_file_init(&records->file, path, &records->memory);
    return records;
}

const char *manifest_records_read(struct manifest_records *records, const struct options *options) {
    const struct manifest_file *file = &records->file;
    bus_guard_begin(); /* if the file becomes shorter meanwhile, the missing bytes read as zeros, which are not JSON */
    manifest_file_read(&records->file);
    bus_guard_end();
    if (failure_is_set(&records->failure)) return records->failure.message;
    if (!text_equal(file->type, TEXT("batch"))) return "is not the report of a batch";
    if (file->version != MANIFEST_VERSION) return "was written by another version of this program";
    if (!is_xxh3(file->options_xxh3, manifest_options_xxh3(options, &records->failure)))
        return "was written with other options or by another build of this program";
    column_sort(&records->file.groups, compare_groups);
    if (failure_is_set(&records->failure)) return records->failure.message;
    return file->has_stray_member ? "is not a complete report" : NULL;
}

void manifest_records_destroy(struct manifest_records *records) {
    if (!records) return;
    manifest_file_fini(&records->file);
    arena_fini(&records->memory);
    free(records);
}

bool manifest_records_have_archive(const struct manifest_records *records, const char *path,
                                   struct input_digest *digest) {
    return file_digest(path, digest) &&
           is_digest(records->file.archive.xxh3, records->file.archive.bytes_count, *digest);
}

size_t manifest_records_output_count(const struct manifest_records *records) {
    size_t count = 0;
    for (size_t i = 0; i < records->file.records.count; i++)
        count += manifest_record_at(&records->file, i)->output.path.bytes_count > 0;
    return count;
}

/* ---- From a record to an entry. ---- */

static const char *text_or_empty(struct text text) { return text.bytes_count ? text.bytes : ""; }

/* Returns the static code; NULL for codes that are derived from a status. */
static const char *error_code(struct text code) {
    if (text_equal(code, text_of(batch_code_refused))) return batch_code_refused;
    return text_equal(code, text_of(batch_code_no_trace)) ? batch_code_no_trace : NULL;
}

static struct failure read_failure(const struct manifest_record *record) {
    bool is_strict = text_equal(record->error.code, text_of(report_status_name(GECKO_CONVERT_LOST)));
    enum gecko_convert_status code = is_strict ? FAILURE_STRICT : FAILURE_INPUT;
    const char *message = text_or_empty(record->error.message);
    struct position position = {(uint64_t)record->error.line, (uint64_t)record->error.offset};
    struct failure failure = {0};
    if (record->error.offset >= 0)
        failure_set_at(&failure, code, position, "%s", message);
    else
        failure_set(&failure, code, "%s", message);
    return failure;
}

/* Returns false if memory ran out. */
static bool fill_trace(struct batch_entry *entry, const struct manifest_record *record) {
    struct batch_trace *trace = batch_entry_make_trace(entry);
    if (!trace) return false;
    struct gecko_convert_result *result = &trace->result;
    result->input_format = text_or_empty(record->format);
    result->output_format = text_or_empty(record->output.format);
    result->wrapping = text_or_empty(record->wrapping);
    result->input_bytes = (uint64_t)record->trace_bytes;
    result->duration_ns = (uint64_t)record->milliseconds * NS_PER_MS;
    result->counts.samples = (uint64_t)record->sample_count;
    result->counts.markers = (uint64_t)record->marker_count;
    trace->record = record;
    if (!record->output.path.bytes_count) return true;
    read_digest(record->output.xxh3, record->output.bytes_count, &trace->output_digest);
    trace->output = strdup(record->output.path.bytes);
    return trace->output != NULL;
}

/* Returns false if memory ran out. */
static bool fill_entry(struct batch_source *source, struct batch_entry *entry, const struct manifest_record *record,
                       enum batch_status status) {
    bool is_trace = record->format.bytes_count || record->output.path.bytes_count;
    if (is_trace && !fill_trace(entry, record)) return false;
    struct input_digest digest;
    if (read_digest(record->xxh3, record->bytes_count, &digest)) batch_entry_set_digest(entry, digest);
    entry->is_archive = status == BATCH_ARCHIVE;
    if (!record->error.code.bytes_count) {
        atomic_store(&entry->status, status);
        return true;
    }
    struct failure failure = read_failure(record);
    batch_entry_fail(entry, &source->texts, status, error_code(record->error.code), &failure);
    return batch_entry_outcome(entry) != GECKO_CONVERT_NO_MEMORY;
}

/* ---- Reuse. ---- */

/* Returns whether the profile has the name that it would get now. Anybody may have written the manifest: a path that
 * leads out of the folder would put some other file of the user into the archive of profiles. */
static bool has_its_name(const struct batch_plan *plan, const struct batch_source *source, struct text path,
                         bool is_member) {
    if (path_leads_up(path)) return false;
    struct text start = is_member ? output_name_folder(text_of(source->name)) : output_name_stem(text_of(source->name));
    if (!text_starts_with(path, start)) return false;
    struct text rest = text_from(path, start.bytes_count);
    struct output_suffix suffix = output_name_suffix(plan->options->convert.format, plan->options->compresses);
    if (!is_member) return text_equal(rest, text_of(suffix.bytes));
    return !start.bytes_count || text_starts_with(rest, TEXT("/"));
}

/* Returns whether the file at `path` is the profile of the record. Sets *stamp to the file's stamp, or to 0 if the
 * stamp cannot be relied on later. */
static bool is_output(const struct manifest_record *record, const char *path, uint64_t *stamp) {
    struct stat status;
    struct input_digest digest;
    if (stat(path, &status) != 0) return false;
    *stamp = file_stamp(&status);
    if (has_stamp(record->output.stamp, *stamp)) return true;
    if (!file_stamp_is_lasting(&status)) *stamp = 0;
    return file_digest(path, &digest) && is_digest(record->output.xxh3, record->output.bytes_count, digest);
}

/* Returns true if the profile exists unchanged at the path where it would be written now. Profiles in an archive are
 * checked with the archive. */
static bool has_output(const struct batch_plan *plan, const struct batch_source *source,
                       const struct manifest_record *record, bool is_member, uint64_t *stamp) {
    struct text path = record->output.path;
    if (!path.bytes_count || !has_its_name(plan, source, path, is_member)) return false;
    if (!plan->options->output_dir) return true;
    char *full_path = batch_output_path(plan, path.bytes);
    bool is_there = full_path && is_output(record, full_path, stamp);
    free(full_path);
    return is_there;
}

/* Returns the status that the record gives to the entry if its output still exists; BATCH_PENDING if the record cannot
 * be used. */
static enum batch_status status_by_record(const struct batch_source *source, const struct manifest_record *record,
                                          bool is_member) {
    struct text status = record->status;
    if (text_equal(status, TEXT("converted")) || text_equal(status, TEXT("unchanged"))) return BATCH_UNCHANGED;
    if (text_equal(status, TEXT("archive"))) return BATCH_ARCHIVE;
    if (text_equal(status, TEXT("no-trace"))) return is_member || !source->is_named ? BATCH_NO_TRACE : BATCH_PENDING;
    struct text code = record->error.code;
    bool lies_in_file = text_equal(code, TEXT("input")) || text_equal(code, TEXT("strict")) ||
                        text_equal(code, text_of(batch_code_refused));
    return lies_in_file ? BATCH_FAILED : BATCH_PENDING;
}

static const struct manifest_record *record_of(const struct batch_plan *plan, const struct manifest_group *group,
                                               size_t number) {
    return manifest_record_at(&plan->records->file, group->first + number);
}

/* Returns true if all records of the group can be used. Sets the stamps of the existing profiles; pass zeros. */
static bool is_usable(const struct batch_plan *plan, const struct batch_source *source,
                      const struct manifest_group *group, uint64_t *stamps) {
    for (size_t i = 0; i < group->count; i++) {
        const struct manifest_record *record = record_of(plan, group, i);
        enum batch_status status = status_by_record(source, record, i > 0);
        if (status == BATCH_PENDING) return false;
        if (status == BATCH_UNCHANGED && !has_output(plan, source, record, i > 0, &stamps[i])) return false;
    }
    return true;
}

static bool fill_entries(const struct batch_plan *plan, struct batch_source *source, const struct manifest_group *group,
                         const uint64_t *stamps) {
    for (size_t i = 0; i < group->count; i++) {
        const struct manifest_record *record = record_of(plan, group, i);
        struct batch_entry *entry = i > 0 ? batch_source_add_member(source, record->member) : &source->own;
        if (!entry || !fill_entry(source, entry, record, status_by_record(source, record, i > 0))) return false;
        if (batch_entry_output(entry)) batch_entry_trace(entry)->output_stamp = stamps[i];
    }
    return true;
}

/* Returns false if the group cannot be used or memory ran out (latched in the source). */
static bool reuse_group(const struct batch_plan *plan, struct batch_source *source,
                        const struct manifest_group *group) {
    uint64_t *stamps = calloc(group->count, sizeof *stamps);
    bool is_good = stamps && is_usable(plan, source, group, stamps);
    if (!stamps || (is_good && !fill_entries(plan, source, group, stamps))) failure_set_memory(&source->failure);
    free(stamps);
    return is_good && !failure_is_set(&source->failure);
}

/* Returns the number of the first group that has the source's path or a greater one. */
static size_t first_group(const struct batch_plan *plan, const struct batch_source *source) {
    const struct column *groups = plan->records ? &plan->records->file.groups : NULL;
    const struct manifest_group wanted = {.path = text_of(source->path)};
    return groups ? FIRST_ROW(i, groups->count, compare_groups(column_at(groups, i), &wanted) >= 0) : 0;
}

/* Returns the group with that number; NULL if it has another path than the source, or there is none. */
static const struct manifest_group *group_at(const struct batch_plan *plan, const struct batch_source *source,
                                             size_t number) {
    if (!plan->records || number >= plan->records->file.groups.count) return NULL;
    const struct manifest_group *group = column_at(&plan->records->file.groups, number);
    return text_equal(group->path, text_of(source->path)) ? group : NULL;
}

bool manifest_records_know(const struct batch_plan *plan, const struct batch_source *source,
                           struct input_digest *digest) {
    const struct manifest_group *group;
    for (size_t i = first_group(plan, source); (group = group_at(plan, source, i)); i++) {
        const struct manifest_record *record = record_of(plan, group, 0);
        if (has_stamp(record->stamp, source->stamp) && read_digest(record->xxh3, record->bytes_count, digest))
            return true;
    }
    return false;
}

bool manifest_records_reuse(struct batch_plan *plan, struct batch_source *source) {
    const struct manifest_group *group;
    for (size_t i = first_group(plan, source); (group = group_at(plan, source, i)); i++) {
        const struct manifest_record *record = record_of(plan, group, 0);
        if (!is_digest(record->xxh3, record->bytes_count, source->own.digest)) continue;
        if (reuse_group(plan, source, group)) return true;
        if (!failure_is_set(&source->failure)) continue;
        batch_entry_fail(&source->own, &source->texts, BATCH_FAILED, NULL, &source->failure);
        return true;
    }
    return false;
}
