#include "manifest.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "file_digest.h"
#include "libconvert/conversion.h"
#include "readers/reader.h"

enum { NS_PER_MS = 1000000 };

void manifest_format_xxh3(char out[17], uint64_t xxh3) { snprintf(out, 17, "%016" PRIx64, xxh3); }

void manifest_write_raw(struct json *json, struct text raw) {
    char *out = json_reserve(json, raw.bytes_count);
    if (!out) return;
    for (size_t i = 0; i < raw.bytes_count; i++)
        if (raw.bytes[i] != '\n') *out++ = raw.bytes[i];
    json_commit(json, out);
}

/* The names of statuses in the report and in messages, and the totals that count such entries. Folders have no entry in
 * the report. */
static const struct {
    const char *name;
    const char *label;
    enum total total;
} statuses[] = {[BATCH_PENDING] = {"interrupted", "not done", TOTAL_INTERRUPTED},
                [BATCH_CONVERTED] = {"converted", "converted", TOTAL_CONVERTED},
                [BATCH_UNCHANGED] = {"unchanged", "unchanged", TOTAL_UNCHANGED},
                [BATCH_ARCHIVE] = {"archive", NULL, TOTAL_ARCHIVES},
                [BATCH_NO_TRACE] = {"no-trace", "no trace", TOTAL_NO_TRACE},
                [BATCH_EMPTY] = {"empty", "empty", TOTAL_EMPTY},
                [BATCH_FAILED] = {"failed", "failed", TOTAL_FAILED}};

const char *manifest_status_label(enum batch_status status) { return statuses[status].label; }

/* ---- Hashes and stamps. ---- */

static void write_xxh3(struct json *json, const char *key, uint64_t xxh3) {
    char digits[17];
    manifest_format_xxh3(digits, xxh3);
    json_key_string(json, key, digits);
}

static void write_stamp(struct json *json, uint64_t stamp) {
    if (stamp)
        write_xxh3(json, "stamp", stamp);
    else
        json_key_null(json, "stamp");
}

static void write_digest(struct json *json, struct input_digest digest) {
    json_key_count(json, "bytes", digest.bytes_count);
    write_xxh3(json, "xxh3", digest.xxh3);
}

/* ---- Options. ---- */

static void write_list(struct json *json, const struct options_list *list) {
    json_array_begin(json);
    for (size_t i = 0; i < list->count; i++) json_string(json, list->values[i]);
    json_array_end(json);
}

static void write_option(struct json *json, const struct options *options, const struct option *option) {
    const void *value = (const char *)options + option->target;
    switch (option->kind) {
        case OPTION_FLAG: json_key_bool(json, option->json_key, *(const bool *)value); break;
        case OPTION_TEXT:
        case OPTION_EXTRA:
        case OPTION_NAME: json_key_string_or_null(json, option->json_key, *(const char *const *)value); break;
        case OPTION_SIZE: json_key_count(json, option->json_key, *(const uint64_t *)value); break;
        case OPTION_TIME: json_key_int(json, option->json_key, *(const int64_t *)value); break;
        case OPTION_LIST:
            json_key(json, option->json_key);
            write_list(json, value);
            break;
        case OPTION_CHOICE: json_key_string(json, option->json_key, option->choices(*(const unsigned *)value)); break;
        case OPTION_NUMBER:
        case OPTION_ACTION: json_key_count(json, option->json_key, *(const unsigned *)value); break;
    }
}

/* Writes the options that determine the profiles. */
static void write_options(struct json *json, const struct options *options) {
    json_object_begin(json);
    for (size_t i = 0; i < options_table.option_count; i++)
        if (options_table.options[i].json_key) write_option(json, options, &options_table.options[i]);
    json_object_end(json);
}

/* Identifies the build of this program: another build of the same version may write other profiles. */
static struct input_digest build;

static void find_build(void) {
    if (!file_digest("/proc/self/exe", &build)) build = (struct input_digest){0};
}

uint64_t manifest_options_xxh3(const struct options *options, struct failure *failure) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_build);
    struct json json;
    json_init(&json, failure);
    json_array_begin(&json);
    json_string(&json, gecko_convert_version());
    json_object_begin(&json);
    write_digest(&json, build);
    json_object_end(&json);
    write_options(&json, options);
    json_array_end(&json);
    struct chunk_list chunks = json_take_chunks(&json);
    uint64_t xxh3 = chunks_xxh3(&chunks);
    chunk_list_fini(&chunks);
    return xxh3;
}

/* ---- Entries. ---- */

static void write_output(struct json *json, const struct batch_entry *entry) {
    enum batch_status status = atomic_load(&entry->status);
    bool has_output = status == BATCH_CONVERTED || status == BATCH_UNCHANGED;
    if (!json_key_object_or_null(json, "output", has_output)) return;
    const struct batch_trace *trace = batch_entry_trace(entry);
    json_key_string(json, "path", trace->output);
    json_key_string(json, "format", trace->result.output_format);
    write_digest(json, trace->output_digest);
    write_stamp(json, trace->output_stamp);
    json_object_end(json);
}

static void write_error(struct json *json, const struct batch_entry *entry) {
    struct batch_error error;
    if (!json_key_object_or_null(json, "error", batch_entry_error(entry, &error))) return;
    json_key_string(json, "code", error.code);
    json_key_string(json, "message", error.message);
    report_write_place(json, error.has_place, error.line, error.offset);
    json_object_end(json);
}

/* A recorder writes through a mapping, which may leave the times of the file unchanged. So there is no stamp for
 * recorder traces, nor for files that failed or were empty: those may be traces that a recorder still writes to. */
static uint64_t stamp_of(const struct batch_source *source) {
    enum batch_status status = atomic_load(&source->own.status);
    bool has_lasting_status = status != BATCH_PENDING && status != BATCH_FAILED && status != BATCH_EMPTY;
    const char *format = batch_entry_result(&source->own)->input_format;
    bool is_recorded = has_lasting_status && !strcmp(format, reader_trace.name);
    return has_lasting_status && !is_recorded ? source->stamp : 0;
}

static void write_raw_member(struct json *json, const char *key, struct text raw) {
    json_key(json, key);
    manifest_write_raw(json, raw.bytes_count ? raw : TEXT("null"));
}

/* Writes the counts and the ledger if a trace was read, even if only in part. */
static void write_contents(struct json *json, const struct gecko_convert_result *result,
                           const struct manifest_record *record) {
    if (record) {
        write_raw_member(json, "counts", record->raw_counts);
        if (record->raw_missing_names.bytes_count) write_raw_member(json, "missingNames", record->raw_missing_names);
        write_raw_member(json, "ledger", record->raw_ledger);
        return;
    }
    if (!*result->input_format) {
        json_key_null(json, "counts");
        json_key_null(json, "ledger");
        return;
    }
    report_write_counts(json, &result->counts);
    report_write_missing_names(json, result);
    report_write_ledger(json, result);
}

static void write_entry(struct json *json, const struct batch_source *source, const struct batch_entry *entry) {
    enum batch_status status = atomic_load(&entry->status);
    /* Another thread may still write to the result of a pending entry. */
    bool is_over = status != BATCH_PENDING;
    const struct gecko_convert_result *result = is_over ? batch_entry_result(entry) : &conversion_no_result;
    const struct batch_trace *trace = is_over ? batch_entry_trace(entry) : NULL;
    json_line(json, true);
    json_object_begin(json);
    json_key_string(json, "path", source->path);
    json_key_string_or_null(json, "member", entry->member);
    json_key_string(json, "status", statuses[status].name);
    if (atomic_load(&entry->has_digest)) {
        write_digest(json, entry->digest);
    } else {
        json_key_null(json, "bytes");
        json_key_null(json, "xxh3");
    }
    write_stamp(json, entry->member ? 0 : stamp_of(source));
    json_key_string_or_null(json, "format", result->input_format);
    json_key_string_or_null(json, "wrapping", result->wrapping);
    json_key_count(json, "trace_bytes", result->input_bytes);
    write_output(json, entry);
    json_key_count(json, "milliseconds", result->duration_ns / NS_PER_MS);
    write_contents(json, result, trace ? trace->record : NULL);
    write_error(json, entry);
    json_object_end(json);
}

/* ---- Shards. ---- */

/* Writes what merge-manifests needs to put the inputs of all shards in order and to find missing ones. */
static void write_shard(struct json *json, const struct batch_plan *plan) {
    if (!json_key_object_or_null(json, "shard", plan->shard.count)) return;
    json_key_count(json, "number", plan->shard.number);
    json_key_count(json, "count", plan->shard.count);
    json_key_count(json, "inputs", plan->input_count);
    write_xxh3(json, "inputs_xxh3", plan->inputs_xxh3);
    json_key_array_begin(json, "positions");
    COLUMN_EACH(const struct batch_source, source, &plan->sources) {
        bool is_listed = !source->is_left_out && atomic_load(&source->own.status) != BATCH_FOLDER;
        if (is_listed) json_int(json, (int64_t)source->position);
    }
    json_array_end(json);
    json_object_end(json);
}

/* ---- Inputs. ---- */

/* Bounds the text in memory: a report may have a million entries. */
enum { BUFFERED_BYTES_MAX = 1024 * 1024 };

static void write_inputs(struct json *json, struct batch_plan *plan, struct sink *sink) {
    json_key_array_begin(json, "inputs");
    for (struct batch_cursor at = {0}; !failure_is_set(json->out.failure) && batch_cursor_next(plan, &at);) {
        if (atomic_load(&at.entry->status) == BATCH_FOLDER) continue;
        write_entry(json, at.source, at.entry);
        if (json->out.total_bytes >= BUFFERED_BYTES_MAX) sink_put(sink, &json->out, (struct progress){0});
    }
    json_line(json, false);
    json_array_end(json);
}

/* ---- The whole report. ---- */

static bool has_losses(const struct batch_trace *trace) {
    for (size_t i = 0; i < trace->result.entry_count; i++)
        if (trace->result.entries[i].fate == GECKO_CONVERT_FATE_LOST) return true;
    for (size_t i = 0; trace->record && i < GECKO_CONVERT_UNIT_COUNT; i++)
        if (trace->record->lost_counts[i]) return true;
    return false;
}

void batch_totals_of(struct batch_plan *plan, int64_t totals[TOTAL_COUNT]) {
    memset(totals, 0, TOTAL_COUNT * sizeof *totals);
    for (struct batch_cursor at = {0}; batch_cursor_next(plan, &at);) {
        enum batch_status status = atomic_load(&at.entry->status);
        if (status != BATCH_FOLDER) totals[statuses[status].total]++;
        if (!at.entry->member && atomic_load(&at.entry->has_digest))
            totals[TOTAL_BYTES_READ] += (int64_t)at.entry->digest.bytes_count;
        if (status != BATCH_CONVERTED && status != BATCH_UNCHANGED) continue;
        const struct batch_trace *trace = batch_entry_trace(at.entry);
        totals[TOTAL_LOSSY] += has_losses(trace);
        totals[TOTAL_SAMPLES] += (int64_t)trace->result.counts.samples;
        totals[TOTAL_MARKERS] += (int64_t)trace->result.counts.markers;
        if (status == BATCH_CONVERTED) totals[TOTAL_BYTES_WRITTEN] += (int64_t)trace->output_digest.bytes_count;
    }
}

void manifest_write_totals(struct json *json, const int64_t totals[TOTAL_COUNT]) {
    json_key_object_begin(json, "totals");
    for (enum total i = 0; i < TOTAL_COUNT; i++) json_key_int(json, manifest_total_name(i), totals[i]);
    json_object_end(json);
}

void manifest_append_counts(struct report_text *text, const int64_t totals[TOTAL_COUNT]) {
    static const enum batch_status order[] = {BATCH_CONVERTED, BATCH_UNCHANGED, BATCH_NO_TRACE,
                                              BATCH_EMPTY,     BATCH_PENDING,   BATCH_FAILED};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        int64_t count = totals[statuses[order[i]].total];
        if (count || !i) report_append(text, "%s%" PRId64 " %s", i ? ", " : "", count, statuses[order[i]].label);
    }
}

static void write_archive(struct json *json, const struct batch_outcome *outcome) {
    if (!json_key_object_or_null(json, "archive", outcome->archive_path)) return;
    json_key_string(json, "path", outcome->archive_path);
    write_digest(json, outcome->archive_digest);
    json_object_end(json);
}

void manifest_write(struct batch_plan *plan, const struct batch_outcome *outcome, struct sink *sink,
                    struct failure *failure) {
    int64_t totals[TOTAL_COUNT];
    struct json json;
    batch_totals_of(plan, totals);
    totals[TOTAL_MILLISECONDS] = (int64_t)(outcome->duration_ns / NS_PER_MS);
    json_init(&json, failure);
    json_object_begin(&json);
    json_key_int(&json, "version", MANIFEST_VERSION);
    json_key_string(&json, "type", "batch");
    json_key_string(&json, "tool", "gecko-convert " GECKO_CONVERT_VERSION);
    json_key(&json, "options");
    write_options(&json, plan->options);
    write_xxh3(&json, "options_xxh3", manifest_options_xxh3(plan->options, failure));
    json_key_string_or_null(&json, "output_dir", plan->options->output_dir);
    write_archive(&json, outcome);
    write_shard(&json, plan);
    json_key_string_or_null(&json, "interrupted_by", outcome->ended_by ? sigabbrev_np(outcome->ended_by) : NULL);
    write_inputs(&json, plan, sink);
    manifest_write_totals(&json, totals);
    json_object_end(&json);
    struct chunk_list chunks = json_take_chunks(&json);
    chunk_list_append(&chunks, "\n", 1);
    sink_put(sink, &chunks, (struct progress){0});
}
