/* gecko-convert merge-manifests: merges the reports of the shards of a batch into one.
 *
 * The records of inputs are copied unchanged, in the order in which an undivided batch would have reported them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/console.h"
#include "libconvert/base/memory.h"
#include "manifest.h"
#include "manifest_file.h"
#include "writer/json.h"
#include "writer/sink.h"

static const char usage[] =
    "Usage: gecko-convert merge-manifests [options] MANIFEST... [-o FILE]\n"
    "\n"
    "Makes one report of those of all shards (gecko-convert --output-dir DIR --shard\n"
    "K/N), which is the manifest that one call would have left, and says which are\n"
    "missing.\n";

static const char notes[] =
    "Exit codes:\n"
    "  0  all shards are there, and no input has failed\n"
    "  1  a shard is missing or was interrupted, an input has failed, or a file is\n"
    "     not valid; the report is written if all files are manifests of one batch\n"
    "  2  the command line is wrong\n"
    "  3  reading or writing failed\n"
    "  4  memory ran out, or more than --max-memory was needed\n";

/* ---- The parts. ---- */

/* A group of the report. */
struct group {
    int64_t position; /* among the inputs of all shards */
    uint32_t shard;   /* among the manifests */
    const struct manifest_group *records;
};

struct merging {
    struct failure failure;
    struct memory_limit memory_limit;
    struct arena memory;
    struct column parts;  /* struct manifest_file, without duplicates */
    struct column groups; /* struct group, in the order of the report */
    int64_t totals[TOTAL_COUNT];
    int64_t missing_count; /* shards */
};

static struct manifest_file *part_at(const struct merging *merging, size_t number) {
    return column_at(&merging->parts, number);
}

static const struct manifest_record *record_at(const struct merging *merging, const struct group *group,
                                               uint32_t number) {
    return manifest_record_at(part_at(merging, group->shard), group->records->first + number);
}

/* ---- Shards that fit together. ---- */

static int compare_parts(const void *left, const void *right) {
    const struct manifest_file *a = left, *b = right;
    /* If a shard ran twice, a run that was not interrupted comes first. */
    return ORDER(a->shard.number, b->shard.number)
               ?: (a->totals[TOTAL_INTERRUPTED] > 0) - (b->totals[TOTAL_INTERRUPTED] > 0);
}

static void check_same_batch(struct merging *merging) {
    const struct manifest_file *first = part_at(merging, 0);
    for (size_t i = 1; i < merging->parts.count; i++) {
        const struct manifest_file *part = part_at(merging, i);
        bool has_inputs = text_equal(part->shard.inputs_xxh3, first->shard.inputs_xxh3);
        const char *difference = part->shard.count != first->shard.count ? "another number of shards"
                                 : !text_equal(part->options_xxh3, first->options_xxh3)
                                     ? "other options, or another build"
                                 : !has_inputs || part->shard.input_count != first->shard.input_count ? "other inputs"
                                                                                                      : NULL;
        if (difference)
            failure_set(&merging->failure, FAILURE_INPUT, "%s and %s are of different batches: they have %s",
                        first->path, part->path, difference);
    }
}

/* Returns whether both runs of a shard made the same profiles. */
static bool have_same_outputs(const struct manifest_file *a, const struct manifest_file *b) {
    if (a->records.count != b->records.count) return false;
    for (size_t i = 0; i < a->records.count; i++) {
        const struct manifest_record *first = column_at(&a->records, i), *second = column_at(&b->records, i);
        if (!text_equal(first->output.path, second->output.path) ||
            !text_equal(first->output.xxh3, second->output.xxh3))
            return false;
    }
    return true;
}

/* Keeps one manifest of each shard. */
static void drop_duplicates(struct merging *merging) {
    uint32_t count = 1;
    column_sort(&merging->parts, compare_parts);
    for (size_t i = 1; i < merging->parts.count; i++) {
        struct manifest_file *part = part_at(merging, i), *last = part_at(merging, count - 1);
        if (part->shard.number != last->shard.number) {
            *part_at(merging, count++) = *part;
            continue;
        }
        bool is_whole = !part->totals[TOTAL_INTERRUPTED];
        if (is_whole && !have_same_outputs(last, part))
            failure_set(&merging->failure, FAILURE_INPUT,
                        "%s and %s are of the same shard, but have different profiles", last->path, part->path);
        manifest_file_fini(part);
    }
    merging->parts.count = count;
}

/* ---- The whole. ---- */

static int compare_groups(const void *a, const void *b) { return ORDER_BY(struct group, position, a, b); }

static void add_groups(struct merging *merging, uint32_t number) {
    const struct manifest_file *part = part_at(merging, number);
    for (size_t i = 0; i < part->groups.count; i++) {
        const int64_t *position = column_at(&part->shard.positions, i);
        column_add(&merging->groups, &(struct group){*position, number, column_at(&part->groups, i)});
    }
}

static int compare_outputs(const void *left, const void *right) {
    const struct manifest_record *a = *(const struct manifest_record *const *)left,
                                 *b = *(const struct manifest_record *const *)right;
    return text_compare(a->output.path, b->output.path);
}

/* Each shard has checked that its own profiles have different names. This checks the profiles of all shards. */
static void check_outputs(struct merging *merging) {
    struct column all;
    column_init(&all, sizeof(struct manifest_record *), &merging->failure);
    for (size_t i = 0; i < merging->parts.count; i++)
        COLUMN_EACH(const struct manifest_record, record, &part_at(merging, i)->records) {
            const struct manifest_record **added = record->output.path.bytes_count ? column_push(&all) : NULL;
            if (added) *added = record;
        }
    column_sort(&all, compare_outputs);
    for (size_t i = 1; i < all.count; i++) {
        const struct manifest_record *first = *(struct manifest_record **)column_at(&all, i - 1),
                                     *second = *(struct manifest_record **)column_at(&all, i);
        if (text_equal(first->output.path, second->output.path))
            failure_set(&merging->failure, FAILURE_INPUT,
                        "%.*s is the profile of %.*s and also that of %.*s: convert them into separate folders",
                        TEXT_ARGS(first->output.path), TEXT_ARGS(first->path), TEXT_ARGS(second->path));
    }
    column_fini(&all);
}

/* The numbers of a damaged manifest may overflow. */
static int64_t add(int64_t a, int64_t b) {
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static void check_positions(struct merging *merging) {
    int64_t last = -1, limit = part_at(merging, 0)->shard.input_count;
    COLUMN_EACH(const struct group, group, &merging->groups) {
        if (group->position <= last || group->position >= limit)
            failure_set(&merging->failure, FAILURE_INPUT,
                        "%s: input %" PRId64 " of %" PRId64 " is in no or another shard",
                        part_at(merging, group->shard)->path, group->position, limit);
        last = group->position;
    }
}

static void combine(struct merging *merging) {
    check_same_batch(merging);
    drop_duplicates(merging);
    check_outputs(merging);
    if (failure_is_set(&merging->failure)) return;
    const struct manifest_file *first = part_at(merging, 0);
    for (uint32_t i = 0; i < merging->parts.count; i++) {
        add_groups(merging, i);
        for (size_t j = 0; j < TOTAL_COUNT; j++)
            merging->totals[j] = add(merging->totals[j], part_at(merging, i)->totals[j]);
    }
    column_sort(&merging->groups, compare_groups);
    check_positions(merging);
    merging->missing_count = first->shard.count - merging->parts.count;
}

/* ---- Writing. ---- */

/* Returns the folder that all shards have named; empty if they differ, as they may on several machines. */
static struct text common_output_dir(const struct merging *merging) {
    struct text common = part_at(merging, 0)->output_dir;
    for (size_t i = 1; i < merging->parts.count; i++)
        if (!text_equal(part_at(merging, i)->output_dir, common)) return (struct text){0};
    return common;
}

static struct text first_signal(const struct merging *merging) {
    for (size_t i = 0; i < merging->parts.count; i++)
        if (part_at(merging, i)->interrupted_by.bytes_count) return part_at(merging, i)->interrupted_by;
    return (struct text){0};
}

/* Writes null if no shard is missing: the report is then that of a whole batch. */
static void write_missing(struct json *json, const struct merging *merging) {
    if (!json_key_object_or_null(json, "shard", merging->missing_count)) return;
    int64_t count = part_at(merging, 0)->shard.count, input_count = part_at(merging, 0)->shard.input_count;
    json_key_int(json, "count", count);
    json_key_int(json, "inputs", input_count);
    json_key_int(json, "missing_inputs", input_count - merging->groups.count);
    json_key_array_begin(json, "missing");
    for (int64_t number = 1, i = 0; number <= count; number++) {
        bool is_there = i < merging->parts.count && part_at(merging, (size_t)i)->shard.number == number;
        if (is_there)
            i++;
        else
            json_int(json, number);
    }
    json_array_end(json);
    json_object_end(json);
}

static void write_inputs(struct json *json, const struct merging *merging) {
    json_key_array_begin(json, "inputs");
    COLUMN_EACH(const struct group, group, &merging->groups) {
        for (uint32_t j = 0; j < group->records->count; j++) {
            json_line(json, true);
            manifest_write_raw(json, record_at(merging, group, j)->raw);
        }
    }
    json_line(json, false);
    json_array_end(json);
}

static void write_report(struct merging *merging, const char *path) {
    const struct manifest_file *first = part_at(merging, 0);
    struct json json;
    json_init(&json, &merging->failure);
    json_object_begin(&json);
    json_key_int(&json, "version", MANIFEST_VERSION);
    json_key_string(&json, "type", "batch");
    json_key_value_text(&json, "tool", first->tool);
    json_key(&json, "options");
    manifest_write_raw(&json, first->raw_options);
    json_key_value_text(&json, "options_xxh3", first->options_xxh3);
    json_key_text_or_null(&json, "output_dir", common_output_dir(merging));
    json_key_null(&json, "archive");
    write_missing(&json, merging);
    json_key_text_or_null(&json, "interrupted_by", first_signal(merging));
    write_inputs(&json, merging);
    manifest_write_totals(&json, merging->totals);
    json_object_end(&json);
    struct chunk_list chunks = json_take_chunks(&json);
    chunk_list_append(&chunks, "\n", 1);
    sink_write(&chunks, path, &merging->failure);
    chunk_list_fini(&chunks);
    json_fini(&json);
}

/* ---- For people. ---- */

/* Most messages begin with the name of the input. */
static void print_failed(const struct merging *merging) {
    COLUMN_EACH(const struct group, group, &merging->groups) {
        for (uint32_t j = 0; j < group->records->count; j++) {
            const struct manifest_record *record = record_at(merging, group, j);
            if (!text_equal(record->status, TEXT("failed"))) continue;
            bool is_named = text_starts_with(record->error.message, record->path);
            console_print_line("failed     %.*s%s%.*s", is_named ? 0 : (int)record->path.bytes_count,
                               record->path.bytes, is_named ? "" : ": ", TEXT_ARGS(record->error.message));
        }
    }
}

/* Prints that the shards of the range are missing; nothing if the range is empty. */
static void print_range(int64_t from, int64_t to, int64_t count) {
    if (from == to) console_print_line("missing    shard %" PRId64 " of %" PRId64, from, count);
    if (from < to) console_print_line("missing    shards %" PRId64 " to %" PRId64 " of %" PRId64, from, to, count);
}

static void print_missing(const struct merging *merging) {
    int64_t count = part_at(merging, 0)->shard.count, next = 1;
    COLUMN_EACH(const struct manifest_file, part, &merging->parts) {
        print_range(next, part->shard.number - 1, count);
        next = part->shard.number + 1;
        if (part->totals[TOTAL_INTERRUPTED])
            console_print_line("not done   shard %" PRId64 " of %" PRId64 ": it was interrupted, %" PRId64
                               " inputs are not done",
                               part->shard.number, count, part->totals[TOTAL_INTERRUPTED]);
    }
    print_range(next, count, count);
}

static void print_totals(const struct merging *merging) {
    const struct manifest_file *first = part_at(merging, 0);
    struct report_text text = {.bytes_count = 0};
    report_append(&text, "%" PRIu32 " of %" PRId64 " shards, %" PRIu32 " of %" PRId64 " inputs: ", merging->parts.count,
                  first->shard.count, merging->groups.count, first->shard.input_count);
    manifest_append_counts(&text, merging->totals);
    report_end_line(&text, 0);
    console_print(&text);
}

/* ---- The command. ---- */

static bool holds_trace(const struct merging *merging) {
    static const enum total traces[] = {TOTAL_CONVERTED, TOTAL_UNCHANGED, TOTAL_EMPTY, TOTAL_FAILED, TOTAL_INTERRUPTED};
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++)
        if (merging->totals[traces[i]]) return true;
    return false;
}

static int finish(struct merging *merging, const struct options *options) {
    write_report(merging, options->convert.output_path ? options->convert.output_path : "-");
    if (failure_is_set(&merging->failure)) return command_refuse(&command_merge_manifests, &merging->failure);
    bool has_trace = holds_trace(merging) || merging->missing_count;
    print_failed(merging);
    print_missing(merging);
    if (!has_trace) console_print_line("gecko-convert: none of the inputs is a trace");
    if (!options->is_quiet) print_totals(merging);
    bool is_good = !merging->missing_count && !merging->totals[TOTAL_FAILED] && !merging->totals[TOTAL_INTERRUPTED];
    return is_good && has_trace ? FAILURE_NONE : FAILURE_INPUT;
}

static void merging_fini(struct merging *merging) {
    for (size_t i = 0; i < merging->parts.count; i++) manifest_file_fini(part_at(merging, i));
    COLUMNS_FINI(&merging->groups, &merging->parts);
    arena_fini(&merging->memory);
}

static void read_part(struct merging *merging, const char *path) {
    struct manifest_file *part = column_push(&merging->parts);
    if (!part) return;
    manifest_file_init(part, path, &merging->memory);
    manifest_file_read(part);
    if (failure_is_set(&merging->failure)) return;
    const char *problem = manifest_file_shard_error(part);
    if (problem) failure_set(&merging->failure, FAILURE_INPUT, "%s: this is %s", path, problem);
}

static int merge_manifests(struct options *options) {
    struct merging merging = {0};
    struct failure *failure = &merging.failure;
    struct command_output output = {.command = &command_merge_manifests};
    memory_limit_init(&merging.memory_limit, options->convert.max_memory_bytes);
    failure->memory = &merging.memory_limit;
    arena_init(&merging.memory, failure);
    column_init(&merging.parts, sizeof(struct manifest_file), failure);
    column_init(&merging.groups, sizeof(struct group), failure);
    const char *path = NULL;
    for (size_t i = 0; i < options->inputs.count && !failure_is_set(failure); i++)
        read_part(&merging, path = options->inputs.values[i]);
    bool are_read = !failure_is_set(failure);
    if (!are_read) command_print_failure(&output, path, failure);
    if (are_read) combine(&merging);
    if (are_read && failure_is_set(failure)) command_refuse(&command_merge_manifests, failure);
    int exit_code = failure_is_set(failure) ? (int)failure->code : finish(&merging, options);
    merging_fini(&merging);
    return exit_code;
}

/* A report of several shards cannot be merged again, so it must not replace that of one. */
static void complete(struct options *options, struct failure *failure) {
    for (size_t i = 0; i < options->inputs.count; i++) options_keep_input(options, options->inputs.values[i], failure);
}

const struct command command_merge_manifests = {.name = "merge-manifests",
                                                .bit = MERGE_MANIFESTS,
                                                .usage = usage,
                                                .notes = notes,
                                                .complete = complete,
                                                .run = merge_manifests};
