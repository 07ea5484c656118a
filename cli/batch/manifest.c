#include "manifest.h"

#include <stdlib.h>
#include <string.h>

#include "cli/report.h"
#include "crew.h"
#include "file_digest.h"
#include "readers/reader.h"
#include "writer/json.h"

enum { NS_PER_MS = 1000000 };

/* Five for each input when nothing has changed: printf would take a twentieth of that batch's instructions. */
void manifest_format_xxh3(char out[17], uint64_t xxh3) {
    for (size_t i = 16; i-- > 0; xxh3 >>= 4) out[i] = "0123456789abcdef"[xxh3 & 15];
    out[16] = '\0';
}

const char *manifest_status_name(enum batch_status status) {
    static const char *const names[] = {
        [BATCH_PENDING] = "interrupted", [BATCH_CONVERTED] = "converted", [BATCH_UNCHANGED] = "unchanged",
        [BATCH_ARCHIVE] = "archive",     [BATCH_FOLDER] = "folder",       [BATCH_NO_TRACE] = "no-trace",
        [BATCH_EMPTY] = "empty",         [BATCH_FAILED] = "failed"};
    return names[status];
}

/* ---- Parts. ---- */

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

/* The file's, which a member of it has none of. */
static void write_salted(struct json *json, const struct batch_source *source, const struct batch_entry *entry) {
    if (entry->member || !source->salted.salt || !atomic_load(&entry->has_digest)) {
        json_key_null(json, "salted_xxh3");
        return;
    }
    char digits[2 * 17];
    manifest_format_xxh3(digits, source->salted.salt);
    digits[16] = '-';
    manifest_format_xxh3(digits + 17, source->salted.xxh3);
    json_key_string(json, "salted_xxh3", digits);
}

static void write_digest(struct json *json, struct input_digest digest) {
    json_key_count(json, "bytes", digest.bytes_count);
    write_xxh3(json, "xxh3", digest.xxh3);
}

/* ---- Options. ---- */

static void write_options(struct json *json, const struct options *options) {
    static const char *const weights[] = {"samples", "period"}, *const roots[] = {"frame", "thread"},
                             *const symbols[] = {"auto", "none", "always"};
    const struct gecko_convert_options *convert = &options->convert;
    json_object_begin(json);
    json_key_string_or_null(json, "format", convert->format ? convert->format : gecko_convert_output_format(0));
    json_key_string_or_null(json, "from", convert->from);
    json_key_string_or_null(json, "product", convert->product);
    json_key_string(json, "weight", weights[convert->weight]);
    json_key_string(json, "root", roots[convert->root]);
    json_key_string(json, "symbols", symbols[convert->symbols]);
    json_key(json, "debug_dirs");
    json_array_begin(json);
    for (size_t i = 0; i < convert->debug_dir_count; i++) json_string(json, convert->debug_dirs[i]);
    json_array_end(json);
    json_key_bool(json, "strict", convert->is_strict);
    json_object_end(json);
}

uint64_t manifest_options_xxh3(const struct options *options, struct failure *failure) {
    struct json json;
    json_init(&json, failure);
    json_array_begin(&json);
    json_string(&json, gecko_convert_version());
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
    if (status != BATCH_CONVERTED && status != BATCH_UNCHANGED) {
        json_key_null(json, "output");
        return;
    }
    const struct batch_trace *trace = batch_entry_trace(entry);
    json_key(json, "output");
    json_object_begin(json);
    json_key_string(json, "path", trace->output);
    json_key_string(json, "format", trace->result.output_format);
    write_digest(json, trace->output_digest);
    write_stamp(json, trace->output_stamp);
    json_object_end(json);
}

static void write_error(struct json *json, const struct batch_source *source, const struct batch_entry *entry) {
    struct batch_error error;
    if (!batch_entry_error(entry, &source->texts, &error)) {
        json_key_null(json, "error");
        return;
    }
    json_key(json, "error");
    json_object_begin(json);
    json_key_string(json, "code", error.code);
    json_key_string(json, "message", error.message);
    report_write_place(json, error.has_place, error.line, error.offset);
    json_object_end(json);
}

/* A recorder writes through a mapping, also to what has failed as a trace because nothing was in it yet. */
static uint64_t stamp_of(const struct batch_source *source) {
    enum batch_status status = atomic_load(&source->own.status);
    bool has_lasting_status = status != BATCH_PENDING && status != BATCH_FAILED && status != BATCH_EMPTY;
    const char *format = batch_entry_result(&source->own)->input_format;
    bool is_recorded = has_lasting_status && !strcmp(format, reader_native_trace.name);
    return has_lasting_status && !is_recorded ? source->stamp : 0;
}

/* A trace has been read, if not to its end. */
static void write_contents(struct json *json, const struct gecko_convert_result *result) {
    if (!*result->input_format) {
        json_key_null(json, "counts");
        json_key_null(json, "ledger");
        return;
    }
    report_write_counts(json, &result->counts);
    report_write_ledger(json, result);
}

static void write_entry(struct json *json, const struct batch_source *source, const struct batch_entry *entry) {
    /* What another thread may still work on is not looked at. */
    static const struct gecko_convert_result nothing = {.input_format = "", .wrapping = ""};
    enum batch_status status = atomic_load(&entry->status);
    const struct gecko_convert_result *result = status == BATCH_PENDING ? &nothing : batch_entry_result(entry);
    json_line(json, true);
    json_object_begin(json);
    json_key_string(json, "path", source->path);
    json_key_string_or_null(json, "member", entry->member);
    json_key_string(json, "status", manifest_status_name(status));
    if (atomic_load(&entry->has_digest)) {
        write_digest(json, entry->digest);
    } else {
        json_key_null(json, "bytes");
        json_key_null(json, "xxh3");
    }
    write_salted(json, source, entry);
    write_stamp(json, entry->member ? 0 : stamp_of(source));
    json_key_string_or_null(json, "format", result->input_format);
    json_key_string_or_null(json, "wrapping", result->wrapping);
    json_key_count(json, "trace_bytes", result->input_bytes);
    write_output(json, entry);
    json_key_count(json, "milliseconds", result->duration_ns / NS_PER_MS);
    write_contents(json, result);
    write_error(json, source, entry);
    json_object_end(json);
}

/* ---- Inputs, in parts. ---- */

/* An entry of the plan. */
struct entry_place {
    size_t source;
    size_t number;
};

/* Lines of some entries. Each has a failure of its own: threads share no latch. */
struct draft_part {
    struct entry_place begin;
    struct entry_place end;
    struct failure failure;
    struct json lines;
};

enum { PART_ENTRY_COUNT = 64, ROUND_PART_COUNT = 64 };

/* The lines of all entries come in rounds, so that the text of a million members is never in memory as a whole. */
struct draft {
    struct batch_plan *plan;
    struct entry_place place; /* where the next round begins */
    struct draft_part *parts; /* ROUND_PART_COUNT, of this round */
    size_t part_count;
    atomic_size_t next;
};

/* False past the last entry. */
static bool is_in_plan(const struct draft *draft, struct entry_place place) {
    return place.source < draft->plan->sources.count;
}

/* The place so many entries after `place`, of those that are known now, or the end of the plan. */
static struct entry_place place_after(const struct draft *draft, struct entry_place place, size_t entry_count) {
    while (entry_count && is_in_plan(draft, place)) {
        if (batch_entry_known_at(batch_source_at(draft->plan, place.source), place.number)) {
            place.number++;
            entry_count--;
        } else {
            place = (struct entry_place){place.source + 1, 0};
        }
    }
    return place;
}

/* What members an archive has may become known meanwhile: a part ends where the next one begins, whatever there is. */
static void cut_parts(struct draft *draft) {
    draft->part_count = 0;
    atomic_store(&draft->next, 0);
    while (draft->part_count < ROUND_PART_COUNT && is_in_plan(draft, draft->place)) {
        struct draft_part *part = &draft->parts[draft->part_count++];
        part->failure = (struct failure){0};
        json_init(&part->lines, &part->failure);
        part->begin = draft->place;
        part->end = draft->place = place_after(draft, draft->place, PART_ENTRY_COUNT);
    }
}

static bool is_before(struct entry_place place, struct entry_place end) {
    return place.source < end.source || (place.source == end.source && place.number < end.number);
}

static void write_part(struct draft *draft, struct draft_part *part) {
    struct entry_place place = part->begin;
    while (is_before(place, part->end)) {
        struct batch_source *source = batch_source_at(draft->plan, place.source);
        const struct batch_entry *entry = batch_entry_known_at(source, place.number++);
        if (!entry)
            place = (struct entry_place){place.source + 1, 0};
        else if (atomic_load(&entry->status) != BATCH_FOLDER)
            write_entry(&part->lines, source, entry);
    }
}

static void write_parts(void *context) {
    struct draft *draft = context;
    for (size_t i; (i = atomic_fetch_add(&draft->next, 1)) < draft->part_count;) write_part(draft, &draft->parts[i]);
}

static void join_parts(struct draft *draft, struct json *json) {
    for (size_t i = 0; i < draft->part_count; i++) {
        struct draft_part *part = &draft->parts[i];
        if (failure_is_set(&part->failure)) failure_set_memory(json->out.failure);
        if (part->lines.out.total_bytes) json_splice(json, &part->lines);
        json_fini(&part->lines);
    }
}

static void write_inputs(struct json *json, struct batch_plan *plan, unsigned thread_count, struct sink *sink) {
    struct draft draft = {.plan = plan, .parts = calloc(ROUND_PART_COUNT, sizeof *draft.parts)};
    if (!draft.parts) failure_set_memory(json->out.failure);
    json_key(json, "inputs");
    json_array_begin(json);
    while (!failure_is_set(json->out.failure) && is_in_plan(&draft, draft.place)) {
        cut_parts(&draft);
        crew_share(draft.part_count < thread_count ? (unsigned)draft.part_count : thread_count, write_parts, &draft);
        join_parts(&draft, json);
        sink_put(sink, &json->out, (struct progress){0});
    }
    json_line(json, false);
    json_array_end(json);
    free(draft.parts);
}

/* ---- The whole. ---- */

static bool has_losses(const struct gecko_convert_result *result) {
    for (size_t i = 0; i < result->entry_count; i++)
        if (result->entries[i].fate == GECKO_CONVERT_FATE_LOST) return true;
    return false;
}

struct batch_totals batch_totals_of(struct batch_plan *plan) {
    struct batch_totals totals = {0};
    for (size_t i = 0; i < plan->sources.count; i++) {
        struct batch_source *source = batch_source_at(plan, i);
        const struct batch_entry *entry;
        for (size_t j = 0; (entry = batch_entry_known_at(source, j)); j++) {
            enum batch_status status = atomic_load(&entry->status);
            totals.status_counts[status]++;
            if (!entry->member && atomic_load(&entry->has_digest)) totals.read_bytes += entry->digest.bytes_count;
            if (status != BATCH_CONVERTED && status != BATCH_UNCHANGED) continue;
            const struct batch_trace *trace = batch_entry_trace(entry);
            totals.lossy_count += has_losses(&trace->result);
            totals.samples += trace->result.counts.samples;
            totals.markers += trace->result.counts.markers;
            if (status == BATCH_CONVERTED) totals.written_bytes += trace->output_digest.bytes_count;
        }
    }
    return totals;
}

static void write_totals(struct json *json, const struct batch_totals *totals, uint64_t duration_ns) {
    json_key(json, "totals");
    json_object_begin(json);
    json_key_count(json, "converted", totals->status_counts[BATCH_CONVERTED]);
    json_key_count(json, "unchanged", totals->status_counts[BATCH_UNCHANGED]);
    json_key_count(json, "lossy", totals->lossy_count);
    json_key_count(json, "failed", totals->status_counts[BATCH_FAILED]);
    json_key_count(json, "no_trace", totals->status_counts[BATCH_NO_TRACE]);
    json_key_count(json, "empty", totals->status_counts[BATCH_EMPTY]);
    json_key_count(json, "archives", totals->status_counts[BATCH_ARCHIVE]);
    json_key_count(json, "interrupted", totals->status_counts[BATCH_PENDING]);
    json_key_count(json, "bytes_read", totals->read_bytes);
    json_key_count(json, "bytes_written", totals->written_bytes);
    json_key_count(json, "samples", totals->samples);
    json_key_count(json, "markers", totals->markers);
    json_key_count(json, "milliseconds", duration_ns / NS_PER_MS);
    json_object_end(json);
}

static void write_archive(struct json *json, const struct batch_outcome *outcome) {
    if (!outcome->archive_path) {
        json_key_null(json, "archive");
        return;
    }
    json_key(json, "archive");
    json_object_begin(json);
    json_key_string(json, "path", outcome->archive_path);
    write_digest(json, outcome->archive_digest);
    json_object_end(json);
}

void manifest_write(struct batch_plan *plan, const struct batch_outcome *outcome, unsigned thread_count,
                    struct sink *sink, struct failure *failure) {
    struct batch_totals totals = batch_totals_of(plan);
    struct json json;
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
    json_key_string_or_null(&json, "interrupted_by", outcome->ended_by ? sigabbrev_np(outcome->ended_by) : NULL);
    write_inputs(&json, plan, thread_count, sink);
    write_totals(&json, &totals, outcome->duration_ns);
    json_object_end(&json);
    struct chunk_list chunks = json_take_chunks(&json);
    chunk_list_append(&chunks, "\n", 1);
    sink_put(sink, &chunks, (struct progress){0});
}
