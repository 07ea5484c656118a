#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "embed_sources.h"
#include "libconvert/base/printable.h"
#include "libconvert/profile/cut_stacks.h"
#include "libconvert/profile/ledger.h"
#include "libconvert/tracks/task_markers.h"
#include "readers/filter.h"
#include "writer/json.h"

/* ---- Lines for people. ---- */

void report_append(struct report_text *text, const char *format, ...) {
    size_t left = sizeof text->bytes - text->bytes_count;
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(text->bytes + text->bytes_count, left, format, arguments);
    va_end(arguments);
    if (wanted < 0) return;
    text->bytes_count += (size_t)wanted < left ? (size_t)wanted : left - 1;
}

/* Ends the line that starts at byte `start`, replaces its control characters, and cuts it so that three lines
 * fit. */
void report_end_line(struct report_text *text, size_t start) {
    enum { LINE_BYTES = REPORT_TEXT_BYTES / 3 };
    char line[REPORT_TEXT_BYTES];
    size_t bytes_count = text->bytes_count - start;
    memcpy(line, text->bytes + start, bytes_count);
    printable_copy(text->bytes + start, LINE_BYTES - 1, (struct text){line, bytes_count});
    text->bytes_count = start + strlen(text->bytes + start);
    report_append(text, "\n");
}

static const char *shown_name(const char *path, const char *standard_name, const char *default_name) {
    if (!path) return default_name;
    return strcmp(path, "-") == 0 ? standard_name : path;
}

const char *report_input_name(const struct gecko_convert_options *options) {
    if (options->input_name) return options->input_name;
    return shown_name(options->input_path, "standard input", "the input");
}

const char *report_path_name(const char *path) { return shown_name(path, "standard input", "the input"); }

/* Writes "1.2 MB": powers of 1000, with one digit after the point below ten. */
void report_append_bytes(struct report_text *text, uint64_t bytes) {
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    uint64_t unit_bytes = 1;
    size_t unit = 0;
    while (unit + 1 < sizeof units / sizeof *units && bytes / unit_bytes >= 1000) {
        unit_bytes *= 1000;
        unit++;
    }
    uint64_t whole = bytes / unit_bytes;
    if (unit && whole < 10)
        report_append(text, "%" PRIu64 ".%" PRIu64 " %s", whole, bytes % unit_bytes * 10 / unit_bytes, units[unit]);
    else
        report_append(text, "%" PRIu64 " %s", whole, units[unit]);
}

/* Writes "1 thread" or "2 threads". The plural of "process" ends in "es". */
static void append_count(struct report_text *text, uint64_t count, const char *noun, const char *plural_end) {
    report_append(text, "%" PRIu64 " %s%s", count, noun, count == 1 ? "" : plural_end);
}

/* Returns NULL if every sample weighs 1. */
static const char *weight_unit_of(const struct gecko_convert_result *result) {
    return result->weight_unit && *result->weight_unit ? result->weight_unit : NULL;
}

static bool counts_samples(const struct gecko_convert_result *result) {
    const char *unit = weight_unit_of(result);
    return unit && strcmp(unit, "samples") == 0;
}

/* If weights count samples, a row is a stack that was sampled several times. */
static const char *row_noun(const struct gecko_convert_result *result) {
    return counts_samples(result) ? "stack" : "sample";
}

/* Whole numbers are exact, and of others six digits are enough. */
static void append_weight(double weight, const char *kind, const char *unit, struct report_text *text) {
    bool is_whole = fabs(weight) < 1e15 && weight == (double)(int64_t)weight;
    report_append(text, " with %s%.*g %s", kind, is_whole ? 12 : 6, weight, unit);
}

void report_append_contents(const struct gecko_convert_result *result, struct report_text *text) {
    const struct gecko_convert_counts *counts = &result->counts;
    bool is_count = counts_samples(result), is_each_one = is_count && result->weight == (double)counts->samples;
    const char *unit = is_each_one ? NULL : weight_unit_of(result);
    append_count(text, counts->samples, is_each_one ? "sample" : row_noun(result), "s");
    if (unit) append_weight(result->weight, is_count ? "" : "a weight of ", unit, text);
    if (counts->markers) {
        report_append(text, " and ");
        append_count(text, counts->markers, "marker", "s");
    }
    report_append(text, " in ");
    append_count(text, counts->threads, "thread", "s");
    report_append(text, " of ");
    append_count(text, counts->processes, "process", "es");
}

static const struct {
    const char *name, *description;
} timelines[] = {
    [GECKO_CONVERT_TIMELINE_CLOCK] = {"clock", "on the timeline by its clock"},
    [GECKO_CONVERT_TIMELINE_TIME_OF_DAY] = {"time-of-day", "on the timeline by the time of day"},
    [GECKO_CONVERT_TIMELINE_EVENTS] = {"events", "on the timeline by events that another input has too"},
    [GECKO_CONVERT_TIMELINE_GIVEN] = {"given", "on the timeline as --align says"},
    [GECKO_CONVERT_TIMELINE_TICKS] = {"ticks", "on the timeline by the processor's counter of ticks"},
    [GECKO_CONVERT_TIMELINE_RUN] = {"run", "a run of the program"},
    [GECKO_CONVERT_TIMELINE_APART] = {"apart", "beside the timeline, from its start, since its clock is unknown"},
};

void report_append_input(const struct gecko_convert_result *result, size_t number, struct report_text *text) {
    const struct gecko_convert_input *input = &result->inputs[number];
    report_append(text, "%s: %s", input->name, input->title);
    if (*input->wrapping) report_append(text, " (%s)", input->wrapping);
    report_append(text, ", ");
    report_append_bytes(text, input->bytes);
    report_append(text, ", %s", timelines[input->timeline].description);
    if (*input->remark) report_append(text, "; %s", input->remark);
}

void report_input(const struct gecko_convert_result *result, size_t number, struct report_text *text) {
    text->bytes_count = 0;
    report_append(text, "read ");
    report_append_input(result, number, text);
    report_end_line(text, 0);
}

static void append_filtered(const struct gecko_convert_result *result, struct report_text *text) {
    uint64_t count = result->sums[GECKO_CONVERT_SAMPLES].filtered;
    if (!count) return;
    report_append(text, "; filters left out ");
    append_count(text, count, row_noun(result), "s");
}

void report_append_read(const struct gecko_convert_options *options, const struct gecko_convert_result *result,
                        struct report_text *text) {
    if (result->input_count) {
        report_append(text, "read %zu inputs: ", result->input_count);
    } else {
        report_append(text, "read %s: %s", report_input_name(options), result->input_title);
        if (*result->wrapping) report_append(text, " (%s)", result->wrapping);
        report_append(text, ", ");
        report_append_bytes(text, result->input_bytes);
        report_append(text, ", ");
    }
    report_append_contents(result, text);
    append_filtered(result, text);
}

static bool is_loss(const struct gecko_convert_entry *entry) { return entry->fate == GECKO_CONVERT_FATE_LOST; }

/* Returns whether a more important unit has lost entries of the same cause. */
static bool is_covered(const struct gecko_convert_result *result, const struct gecko_convert_entry *entry) {
    for (size_t i = 0; i < result->entry_count; i++) {
        const struct gecko_convert_entry *other = &result->entries[i];
        if (is_loss(other) && ledger_unit_rank(other->unit) < ledger_unit_rank(entry->unit) &&
            strcmp(other->cause, entry->cause) == 0)
            return true;
    }
    return false;
}

/* More important units come first, then higher counts, then earlier entries. */
static bool is_before(const struct gecko_convert_entry *a, const struct gecko_convert_entry *b) {
    unsigned a_rank = ledger_unit_rank(a->unit), b_rank = ledger_unit_rank(b->unit);
    if (a_rank != b_rank) return a_rank < b_rank;
    if (a->count != b->count) return a->count > b->count;
    return a < b;
}

/* Returns the loss to list after `last` (NULL: the first one), or NULL if there is none. */
static const struct gecko_convert_entry *next_loss(const struct gecko_convert_result *result,
                                                   const struct gecko_convert_entry *last) {
    const struct gecko_convert_entry *next = NULL;
    for (size_t i = 0; i < result->entry_count; i++) {
        const struct gecko_convert_entry *entry = &result->entries[i];
        if (!is_loss(entry) || (last && !is_before(last, entry)) || is_covered(result, entry)) continue;
        if (!next || is_before(entry, next)) next = entry;
    }
    return next;
}

static void append_loss(struct report_text *text, const struct gecko_convert_entry *loss) {
    const char *unit = ledger_unit_noun(loss->unit, loss->count);
    report_append(text, "%" PRIu64 " %s (%s", loss->count, unit, loss->cause);
    if (loss->has_first && loss->first_line)
        report_append(text, ", first at line %" PRIu64, loss->first_line);
    else if (loss->has_first)
        report_append(text, ", first at byte %" PRIu64, loss->first_offset);
    report_append(text, ")");
}

void report_append_losses(const struct gecko_convert_result *result, struct report_text *text) {
    enum { LISTED_MAX = 3 };
    const struct gecko_convert_entry *loss = next_loss(result, NULL);
    for (unsigned listed = 0; loss && listed < LISTED_MAX; listed++, loss = next_loss(result, loss)) {
        report_append(text, "%s", listed ? ", " : "; lost: ");
        append_loss(text, loss);
    }
    size_t more = 0;
    for (size_t i = 0; loss && i < result->entry_count; i++) {
        const struct gecko_convert_entry *entry = &result->entries[i];
        if (is_loss(entry) && !is_before(entry, loss) && !is_covered(result, entry)) more++;
    }
    if (more) report_append(text, " and %zu more, see --report", more);
}

/* Returns what follows the start of the cause in a note; NULL: the entry is no such note. */
static const char *note_after(const struct gecko_convert_entry *entry, const char *start) {
    size_t start_bytes = strlen(start);
    bool is_it = entry->fate == GECKO_CONVERT_FATE_NOTED && strncmp(entry->cause, start, start_bytes) == 0;
    return is_it ? entry->cause + start_bytes : NULL;
}

/* Returns whether the entry tells that an option has no effect. If there are several inputs, it begins with the name of
 * one. */
static bool is_of_option(const struct gecko_convert_entry *entry) {
    return note_after(entry, "--") || (entry->fate == GECKO_CONVERT_FATE_NOTED && strstr(entry->cause, ": --"));
}

void report_append_sources(const struct gecko_convert_result *result, struct report_text *text) {
    unsigned listed = 0;
    for (size_t i = 0; i < result->entry_count; i++) {
        const char *outcome = note_after(&result->entries[i], EMBED_SOURCES_CAUSE " ");
        if (outcome)
            report_append(text, "%s%" PRIu64 " %s", listed++ ? ", " : "; source files: ", result->entries[i].count,
                          outcome);
    }
}

static void append_share(double share, struct report_text *text) {
    double percent = share * 100;
    report_append(text, percent < 0.5 ? "less than 1 %%" : "%.0f %%", percent);
}

void report_append_missing_name(const struct gecko_convert_result *result, size_t number, struct report_text *text) {
    const struct gecko_convert_missing_names *row = &result->missing_names[number];
    report_append(text, "%s ", row->library);
    append_share(row->share, text);
    report_append(text, " (%s)", row->reason);
}

static void append_missing_names(const struct gecko_convert_result *result, struct report_text *text) {
    enum { LISTED_MAX = 5 };
    static const double share_min = 0.01;
    size_t start = text->bytes_count, count = result->missing_name_count;
    double share = 0;
    for (size_t i = 0; i < count; i++) share += result->missing_names[i].share;
    if (share <= share_min) return;
    for (size_t i = 0; i < count && i < LISTED_MAX; i++) {
        report_append(text, i ? ", " : "names missing: ");
        report_append_missing_name(result, i, text);
    }
    if (count > LISTED_MAX) report_append(text, " and of %zu more, see --report", count - LISTED_MAX);
    report_end_line(text, start);
}

void report_append_advice(const struct gecko_convert_result *result, struct report_text *text) {
    append_missing_names(result, text);
    for (size_t i = 0; i < result->entry_count; i++) {
        const struct gecko_convert_entry *entry = &result->entries[i];
        const char *advice = note_after(entry, CUT_STACKS_CAUSE);
        size_t start = text->bytes_count;
        if (advice && result->cut_stack_share > 0) {
            append_share(result->cut_stack_share, text);
            report_append(text, " of the stacks end early: %s", advice);
        } else if (is_of_option(entry)) {
            report_append(text, "%s", entry->cause);
        } else {
            continue;
        }
        report_end_line(text, start);
    }
}

static void append_written(const struct gecko_convert_options *options, const struct gecko_convert_result *result,
                           struct report_text *text) {
    enum { NS_PER_CENTISECOND = 10000000, CENTISECONDS = 100 };
    uint64_t centiseconds = result->duration_ns / NS_PER_CENTISECOND;
    report_append(text, "wrote %s: %s, ", shown_name(options->output_path, "standard output", "the output"),
                  result->output_title);
    report_append_bytes(text, result->output_bytes);
    report_append(text, ", in %" PRIu64 ".%02" PRIu64 " s", centiseconds / CENTISECONDS, centiseconds % CENTISECONDS);
    report_append_sources(result, text);
    report_append_losses(result, text);
}

void report_summary(const struct gecko_convert_options *options, const struct gecko_convert_result *result,
                    struct report_text *text) {
    text->bytes_count = 0;
    report_append_read(options, result, text);
    report_end_line(text, 0);
    size_t second_line = text->bytes_count;
    append_written(options, result, text);
    report_end_line(text, second_line);
    report_append_advice(result, text);
}

void report_append_place(struct report_text *text, const char *name, uint64_t line, uint64_t offset) {
    report_append(text, "%s", name);
    if (line) report_append(text, ":%" PRIu64, line);
    if (!line || (line == 1 && offset)) report_append(text, ": at byte %" PRIu64, offset);
    report_append(text, ": ");
}

void report_error(const struct gecko_convert_options *options, const struct gecko_convert_result *result,
                  struct report_text *text) {
    text->bytes_count = 0;
    report_append(text, "gecko-convert: ");
    if (result->has_error_place)
        report_append_place(text, report_input_name(options), result->error_line, result->error_offset);
    report_append(text, "%s", result->message);
    report_end_line(text, 0);
}

/* ---- JSON. ---- */

static void write_input(struct json *json, const struct gecko_convert_options *options,
                        const struct gecko_convert_result *result) {
    json_key_object_begin(json, "input");
    json_key_string_or_null(json, "name", options->input_name ? options->input_name : options->input_path);
    json_key_string_or_null(json, "format", result->input_format);
    json_key_string_or_null(json, "wrapping", result->wrapping);
    json_key_count(json, "bytes", result->input_bytes);
    json_object_end(json);
}

void report_write_inputs(struct json *json, const struct gecko_convert_result *result) {
    if (!result->input_count) return;
    json_key_array_begin(json, "inputs");
    for (size_t i = 0; i < result->input_count; i++) {
        const struct gecko_convert_input *input = &result->inputs[i];
        json_object_begin(json);
        json_key_string(json, "name", input->name);
        json_key_string_or_null(json, "format", input->format);
        json_key_string_or_null(json, "wrapping", input->wrapping);
        json_key_count(json, "bytes", input->bytes);
        json_key_string(json, "timeline", timelines[input->timeline].name);
        json_key_int(json, "offsetNanoseconds", input->offset_ns);
        json_key_string_or_null(json, "remark", input->remark);
        json_object_end(json);
    }
    json_array_end(json);
}

static void write_output(struct json *json, const struct gecko_convert_options *options,
                         const struct gecko_convert_result *result) {
    json_key_object_begin(json, "output");
    json_key_string_or_null(json, "name", options->output_path);
    json_key_string_or_null(json, "format", result->output_format);
    json_key_count(json, "bytes", result->output_bytes);
    json_object_end(json);
}

void report_write_counts(struct json *json, const struct gecko_convert_counts *counts) {
    json_key_object_begin(json, "counts");
    json_key_count(json, "processes", counts->processes);
    json_key_count(json, "threads", counts->threads);
    json_key_count(json, "samples", counts->samples);
    json_key_count(json, "stacks", counts->stacks);
    json_key_count(json, "frames", counts->frames);
    json_key_count(json, "funcs", counts->funcs);
    json_key_count(json, "strings", counts->strings);
    json_key_count(json, "libs", counts->libs);
    json_key_count(json, "markers", counts->markers);
    json_object_end(json);
}

/* Writes nothing for an unknown place, and a line only if the trace has lines. */
void report_write_place(struct json *json, bool is_known, uint64_t line, uint64_t offset) {
    if (!is_known) return;
    if (line) json_key_count(json, "line", line);
    json_key_count(json, "offset", offset);
}

static void write_entry(struct json *json, const struct gecko_convert_entry *entry) {
    json_object_begin(json);
    json_key_string(json, "fate", gecko_convert_fate_name(entry->fate));
    json_key_string(json, "cause", entry->cause);
    json_key_count(json, "count", entry->count);
    report_write_place(json, entry->has_first, entry->first_line, entry->first_offset);
    json_object_end(json);
}

static void write_unit(struct json *json, const struct gecko_convert_result *result, enum gecko_convert_unit unit) {
    json_key_object_begin(json, gecko_convert_unit_name(unit));
    json_key_count(json, "read", result->sums[unit].read);
    json_key_count(json, "kept", result->sums[unit].kept);
    json_key_count(json, "lost", result->sums[unit].lost);
    if (result->sums[unit].filtered) json_key_count(json, "filtered", result->sums[unit].filtered);
    json_key_array_begin(json, "entries");
    for (size_t i = 0; i < result->entry_count; i++)
        if (result->entries[i].unit == unit) write_entry(json, &result->entries[i]);
    json_array_end(json);
    json_object_end(json);
}

void report_write_missing_names(struct json *json, const struct gecko_convert_result *result) {
    if (!result->missing_name_count) return;
    json_key_array_begin(json, "missingNames");
    for (size_t i = 0; i < result->missing_name_count; i++) {
        json_object_begin(json);
        json_key_string(json, "library", result->missing_names[i].library);
        json_key_double(json, "share", result->missing_names[i].share);
        json_key_string(json, "reason", result->missing_names[i].reason);
        json_object_end(json);
    }
    json_array_end(json);
}

void report_write_ledger(struct json *json, const struct gecko_convert_result *result) {
    json_key_object_begin(json, "ledger");
    for (enum gecko_convert_unit unit = 0; unit < GECKO_CONVERT_UNIT_COUNT; unit++) write_unit(json, result, unit);
    json_key_bool(json, "balanced", result->is_balanced);
    json_object_end(json);
}

const char *report_status_name(enum gecko_convert_status status) {
    static const char *const names[] = {
        [GECKO_CONVERT_GOOD] = "good",           [GECKO_CONVERT_BAD_INPUT] = "input",
        [GECKO_CONVERT_BAD_USAGE] = "usage",     [GECKO_CONVERT_IO_FAILED] = "io",
        [GECKO_CONVERT_NO_MEMORY] = "memory",    [GECKO_CONVERT_LOST] = "strict",
        [GECKO_CONVERT_CANCELLED] = "cancelled",
    };
    return names[status];
}

void report_give_failure(struct gecko_convert_result *result, const struct failure *failure) {
    result->status = failure->code;
    memcpy(result->message, failure->message, sizeof failure->message);
    result->has_error_place = failure->has_position;
    result->error_line = failure->position.line;
    result->error_offset = failure->position.offset;
}

void report_take_failure(struct failure *failure, const struct gecko_convert_result *result) {
    if (result->status == GECKO_CONVERT_GOOD) return;
    failure_clear(failure);
    failure_set(failure, result->status, "%s", result->message);
    failure->has_position = result->has_error_place;
    failure->position = (struct position){result->error_line, result->error_offset};
}

void report_write_error(struct json *json, const struct failure *failure) {
    if (!json_key_object_or_null(json, "error", failure_is_set(failure))) return;
    json_key_string(json, "code", report_status_name(failure->code));
    json_key_int(json, "exit", failure->code);
    json_key_string(json, "message", failure->message);
    report_write_place(json, failure->has_position, failure->position.line, failure->position.offset);
    json_object_end(json);
}

static void write_weight(struct json *json, const struct gecko_convert_result *result) {
    if (!weight_unit_of(result)) return;
    json_key_object_begin(json, "weight");
    json_key_string(json, "unit", result->weight_unit);
    json_key_double(json, "sum", result->weight);
    json_object_end(json);
}

void report_json(const struct gecko_convert_options *options, const struct gecko_convert_result *result,
                 struct chunk_list *out) {
    enum { REPORT_VERSION = 1, NS_PER_MS = 1000000 };
    struct failure failure = {0};
    struct json json;
    report_take_failure(&failure, result);
    json_init(&json, out->failure);
    json_object_begin(&json);
    json_key_int(&json, "version", REPORT_VERSION);
    json_key_string(&json, "tool", "gecko-convert " GECKO_CONVERT_VERSION);
    write_input(&json, options, result);
    report_write_inputs(&json, result);
    write_output(&json, options, result);
    json_key_count(&json, "milliseconds", result->duration_ns / NS_PER_MS);
    report_write_counts(&json, &result->counts);
    write_weight(&json, result);
    report_write_missing_names(&json, result);
    if (result->cut_stack_share > 0) json_key_double(&json, "cutStackShare", result->cut_stack_share);
    report_write_ledger(&json, result);
    report_write_error(&json, &failure);
    json_object_end(&json);
    struct chunk_list chunks = json_take_chunks(&json);
    chunk_list_splice(out, &chunks);
    chunk_list_append(out, "\n", 1);
}
