#include "split.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/console.h"
#include "libconvert/base/column.h"
#include "libconvert/base/memory.h"
#include "libconvert/conversion.h"
#include "writer/emitter.h"
#include "writer/sink.h"

enum { PARTS_MAX = 10000, FILTER_BYTES = 64 };

static const int64_t NS_PER_S = 1000000000;

/* ---- Options. ---- */

static bool has_filter(const struct options *options, enum gecko_convert_filter_kind kind) {
    return options->filter_values[kind].count > 0;
}

static bool is_by_process(const struct options *options) { return strcmp(options->split, "process") == 0; }

/* Returns the length of a part: "time=30s", "time=1.5s", "time=200ms"; 0 if the value is something else. */
static int64_t part_length_ns(const char *split) {
    static const struct text start = TEXT("time=");
    int64_t ns;
    if (!text_starts_with(text_of(split), start)) return 0;
    return arguments_parse_time(text_from(text_of(split), start.bytes_count), &ns) && ns > 0 ? ns : 0;
}

void split_check(const struct options *options, struct failure *failure) {
    bool is_standard = strcmp(options->convert.output_path, "-") == 0;
    if (!is_by_process(options) && !part_length_ns(options->split))
        failure_set(failure, FAILURE_USAGE,
                    "--split: '%s' is neither process nor a time such as time=30s or time=200ms", options->split);
    else if (is_standard)
        failure_set(failure, FAILURE_USAGE, "--split writes several files: name them with --output FILE");
    else if (strcmp(options->convert.input_path, "-") == 0)
        failure_set(failure, FAILURE_USAGE,
                    "--split reads the trace several times: it needs a file, not standard input");
    else if (is_by_process(options) && has_filter(options, GECKO_CONVERT_FILTER_PID))
        failure_set(failure, FAILURE_USAGE, "--split process and --pid both choose processes: give one of them");
    else if (!is_by_process(options) && has_filter(options, GECKO_CONVERT_FILTER_TIME))
        failure_set(failure, FAILURE_USAGE, "--split time and --time both choose a time: give one of them");
}

/* ---- Parts. ---- */

/* One profile: the filter that selects its content, and the part of its file name. */
struct part {
    char filter[FILTER_BYTES];
    char name[FILTER_BYTES];
};

struct split {
    const struct command *command;
    struct options *options;
    struct progress_tty *bar;
    struct failure failure;
    struct column parts; /* struct part */
    struct chunk_list report;
    unsigned written_count;
};

static void add_part(struct split *split, const char *name, const char *filter) {
    struct part *part = column_push(&split->parts);
    if (!part) return;
    snprintf(part->name, sizeof part->name, "%s", name);
    snprintf(part->filter, sizeof part->filter, "%s", filter);
}

/* Writes seconds with all digits of their nanoseconds. */
static void print_seconds(char *out, size_t capacity_bytes, int64_t ns) {
    snprintf(out, capacity_bytes, "%" PRId64 ".%09" PRId64, ns / NS_PER_S, ns % NS_PER_S);
}

/* Both ends of a filter are inclusive. The first and the last part are open at one end, so they also have what is
 * before and after all samples. */
static void add_times(struct split *split, int64_t span_ns, int64_t end_ns, int64_t length_ns) {
    int64_t count = span_ns / length_ns + 1;
    if (count > PARTS_MAX) {
        failure_set(&split->failure, FAILURE_USAGE, "--split: the trace has %" PRId64 " such parts, more than %d",
                    count, PARTS_MAX);
        return;
    }
    int digits = snprintf(NULL, 0, "%" PRId64, count);
    for (int64_t i = 0; i < count; i++) {
        char first[FILTER_BYTES / 2] = "0", last[FILTER_BYTES / 2] = "", name[FILTER_BYTES], filter[FILTER_BYTES];
        if (i) print_seconds(first, sizeof first, i * length_ns);
        /* A single part ends where the trace ends, because a filter cannot be open at both ends. */
        if (count == 1) print_seconds(last, sizeof last, end_ns);
        if (i + 1 < count) print_seconds(last, sizeof last, (i + 1) * length_ns - 1);
        snprintf(name, sizeof name, "%0*" PRId64, digits, i + 1);
        snprintf(filter, sizeof filter, "%s-%s", i ? first : "", last);
        add_part(split, name, filter);
    }
}

static int compare_pids(const void *a, const void *b) { return ORDER(*(const int64_t *)a, *(const int64_t *)b); }

/* Adds a part for each pid. A process without a pid is a failure: no part would have its samples. */
static void add_processes(struct split *split, const struct profile *profile) {
    struct column pids; /* int64_t */
    column_init(&pids, sizeof(int64_t), &split->failure);
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        const struct thread *thread = profile_ordered_thread(profile, i);
        const struct process *process = profile_process_at(profile, thread->process);
        column_add(&pids, &process->pid);
        if (process->pid != PID_UNKNOWN) continue;
        failure_set(&split->failure, FAILURE_INPUT,
                    "%s: --split: the process \"%.*s\" has no pid, by which it could be split",
                    split->options->convert.input_path, TEXT_ARGS(process->name));
    }
    column_sort(&pids, compare_pids);
    for (size_t i = 0; i < pids.count; i++) {
        char pid[FILTER_BYTES];
        snprintf(pid, sizeof pid, "%" PRId64, *(const int64_t *)column_at(&pids, i));
        if (!i || compare_pids(column_at(&pids, i - 1), column_at(&pids, i))) add_part(split, pid, pid);
    }
    column_fini(&pids);
}

/* Returns the time from the first sample to the end. Times of filters count from the first sample. */
static int64_t span_of(const struct profile *profile) {
    int64_t first_ns = TIME_NONE;
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        const struct thread *thread = profile_ordered_thread(profile, i);
        if (samples_count(&thread->samples))
            first_ns = time_earlier(first_ns, samples_at(&thread->samples, 0)->time_ns);
    }
    return profile->end_ns - (first_ns == TIME_NONE ? 0 : first_ns);
}

/* A profile_visitor. */
static void list_parts(void *context, const struct profile *profile) {
    struct split *split = context;
    if (is_by_process(split->options))
        add_processes(split, profile);
    else
        add_times(split, span_of(profile), profile->end_ns, part_length_ns(split->options->split));
}

/* ---- Conversions. ---- */

static void print_result(const struct split *split, const struct gecko_convert_options *options,
                         const struct gecko_convert_result *result) {
    struct report_text text = {.bytes_count = 0};
    progress_tty_clear(split->bar);
    if (result->status != GECKO_CONVERT_GOOD)
        report_error(options, result, &text);
    else if (!split->options->is_quiet)
        report_summary(options, result, &text);
    console_print(&text);
    command_print_hint(split->command, result->status);
}

static int learn_parts(struct split *split) {
    struct gecko_convert_options options = split->options->convert;
    struct gecko_convert_result result;
    options.symbols = GECKO_CONVERT_SYMBOLS_NONE;
    options.max_output_bytes = 0;
    conversion_run(&options, &(struct conversion_ends){.replace_writing = list_parts, .visitor_context = split},
                   &result, NULL);
    int status = (int)result.status;
    if (status != GECKO_CONVERT_GOOD) print_result(split, &options, &result);
    gecko_convert_result_fini(&result);
    return status;
}

/* Returns "app-3.profile.json.gz" for "app.profile.json.gz" and "3". The caller frees it. NULL: memory ran out
 * (latched). */
static char *path_of_part(struct split *split, const char *name) {
    const char *suffix_of_format = emitter_by_name(split->options->convert.format)->suffix;
    struct text path = text_of(split->options->convert.output_path), stem = path;
    char *made;
    if (text_ends_with(stem, TEXT(".gz"))) stem.bytes_count -= strlen(".gz");
    if (text_ends_with(stem, text_of(suffix_of_format))) {
        stem.bytes_count -= strlen(suffix_of_format);
    } else {
        struct text base = text_base_name(stem);
        const char *dot = memrchr(base.bytes, '.', base.bytes_count);
        if (dot && dot > base.bytes) stem.bytes_count = (size_t)(dot - stem.bytes);
    }
    const char *suffix = path.bytes + stem.bytes_count;
    if (asprintf(&made, "%.*s-%s%s", TEXT_ARGS(stem), name, suffix) >= 0) return made;
    failure_set_memory(&split->failure);
    return NULL;
}

/* Converts one part. Returns its status. A part without content has no file; that is not a failure. */
static int convert_part(struct split *split, const struct part *part, const char *path,
                        struct gecko_convert_filter *filters) {
    struct gecko_convert_options options = split->options->convert;
    struct gecko_convert_result result;
    bool is_empty = false;
    bool is_process = is_by_process(split->options);
    filters[options.filter_count] =
        (struct gecko_convert_filter){is_process ? GECKO_CONVERT_FILTER_PID : GECKO_CONVERT_FILTER_TIME, part->filter};
    options.filters = filters;
    options.filter_count++;
    options.output_path = path;
    conversion_run(&options, &(struct conversion_ends){.is_empty = &is_empty}, &result, NULL);
    int status = is_empty ? GECKO_CONVERT_GOOD : (int)result.status;
    split->written_count += !is_empty && !status;
    if (status == GECKO_CONVERT_BAD_USAGE && !is_process) {
        /* The same options without this filter have just been used, so the input cannot be filtered by time. */
        failure_set(&split->failure, FAILURE_USAGE, "%s: --split time cannot be applied to this input, read as %s",
                    options.input_path, result.input_title);
    } else if (!is_empty) {
        print_result(split, &options, &result);
        report_json(&options, &result, &split->report);
    }
    gecko_convert_result_fini(&result);
    return status;
}

static int convert_parts(struct split *split) {
    const struct gecko_convert_options *options = &split->options->convert;
    size_t filter_count = options->filter_count;
    struct gecko_convert_filter *filters = memory_allocate(&split->failure, (filter_count + 1) * sizeof *filters);
    int status = filters ? GECKO_CONVERT_GOOD : GECKO_CONVERT_NO_MEMORY;
    if (filters && filter_count) memcpy(filters, options->filters, filter_count * sizeof *filters);
    for (size_t i = 0; i < split->parts.count && !status; i++) {
        const struct part *part = column_at(&split->parts, i);
        char *path = path_of_part(split, part->name);
        status = path ? convert_part(split, part, path, filters) : GECKO_CONVERT_NO_MEMORY;
        free(path);
    }
    memory_free(filters);
    return status;
}

/* The report has a line for each part. */
static void write_report(struct split *split) {
    const char *path = split->options->report_path;
    if (path && split->report.first) sink_write(&split->report, path, &split->failure);
}

int split_run(const struct command *command, struct options *options, struct progress_tty *bar) {
    struct split split = {.command = command, .options = options, .bar = bar};
    column_init(&split.parts, sizeof(struct part), &split.failure);
    chunk_list_init(&split.report, &split.failure);
    options->convert.progress = progress_tty_draw;
    options->convert.progress_context = bar;
    int status = learn_parts(&split);
    if (!status && !failure_is_set(&split.failure)) status = convert_parts(&split);
    write_report(&split);
    if (failure_is_set(&split.failure)) {
        console_print_message("%s", split.failure.message);
        command_print_hint(command, split.failure.code);
        if (!status) status = (int)split.failure.code;
    } else if (!status && !split.written_count) {
        console_print_message("no part holds samples or markers");
        status = GECKO_CONVERT_BAD_INPUT;
    }
    chunk_list_fini(&split.report);
    column_fini(&split.parts);
    return status;
}
