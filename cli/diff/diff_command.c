/* gecko-convert diff: shows what changed between two sides of runs, and checks limits. */
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/console.h"
#include "diff_json.h"
#include "diff_text.h"
#include "difference.h"
#include "writer/sink.h"

enum { TOP_COUNT_DEFAULT = 20 };

static const char usage[] =
    "Usage: gecko-convert diff [options] BASE HEAD\n"
    "\n"
    "Shows what changed between two runs of a program, or between two folders of\n"
    "runs: functions by their own time and with all that they call, markers,\n"
    "counters and the duration. With at least 5 runs on each side, only changes\n"
    "that stand out of the noise are listed.\n";

static const char notes[] =
    "Expressions of --fail-if: self(GLOB) and total(GLOB) of functions,\n"
    "count(MARKER), median(MARKER), p95(MARKER), counter(NAME) and duration. Limits:\n"
    "+5% more than BASE, +10ms or +100 more than BASE, or 12%, 10ms or 100 itself.\n"
    "\n"
    "Exit codes:\n"
    "  0  success\n"
    "  1  an input is not valid\n"
    "  2  the command line is wrong, or an expression matches nothing\n"
    "  3  a file cannot be read or written\n"
    "  4  memory ran out, or more than SIZE is needed\n"
    "  6  something is above a limit of --fail-if or --budget\n";

static void complete(struct options *options, struct failure *failure) {
    if (options->inputs.count != 2)
        failure_set(failure, FAILURE_USAGE,
                    "diff compares two inputs: a file or a folder of runs for each of BASE HEAD");
    else if (strcmp(options->inputs.values[0], "-") == 0 && strcmp(options->inputs.values[1], "-") == 0)
        failure_set(failure, FAILURE_USAGE, "only one of BASE and HEAD can be standard input");
    if (options->wants_json && options->wants_markdown)
        failure_set(failure, FAILURE_USAGE, "--json and --markdown exclude each other");
    const char *output_path = options->convert.output_path;
    if (output_path && strcmp(output_path, "-") == 0)
        failure_set(failure, FAILURE_USAGE, "--output needs a file, because the comparison goes to standard output");
    for (size_t i = 0; output_path && i < options->inputs.count; i++)
        if (strcmp(options->inputs.values[i], "-") == 0)
            failure_set(failure, FAILURE_USAGE, "--output reads the runs again, so they must be files");
    bool has_limits = options->limits.count || options->budgets.count;
    if (!has_limits && (options->junit_path || options->allows_missing))
        failure_set(failure, FAILURE_USAGE, "--%s is for limits: it needs --fail-if or --budget",
                    options->junit_path ? "junit" : "allow-missing");
    if (options->junit_path && strcmp(options->junit_path, "-") == 0)
        failure_set(failure, FAILURE_USAGE, "--junit needs a file, because the comparison goes to standard output");
}

/* ---- Output. ---- */

static void write_junit(const struct gate *gate, const char *path, struct failure *failure) {
    struct chunk_list junit;
    if (!path) return;
    chunk_list_init(&junit, failure);
    gate_append_junit(gate, &junit);
    sink_write(&junit, path, failure);
    chunk_list_fini(&junit);
}

static void write_comparison(const struct comparison *comparison, const struct gate *gate,
                             const struct options *options, struct failure *failure) {
    struct json json;
    struct chunk_list text;
    struct diff_layout layout = {.style = style_of(style_has_colors(STDOUT_FILENO) && !options->wants_markdown),
                                 .top_count = options->top_count,
                                 .shows_all = options->shows_all,
                                 .is_markdown = options->wants_markdown};
    json_init(&json, failure);
    chunk_list_init(&text, failure);
    if (options->wants_json) {
        diff_write_json(&json, comparison, gate, options->shows_all);
        text = json_take_chunks(&json);
        chunk_list_append(&text, "\n", 1);
    } else {
        diff_append_text(&text, comparison, gate, &layout);
    }
    sink_write(&text, "-", failure);
    chunk_list_fini(&text);
    json_fini(&json);
}

static void print_losses(const struct runs *runs) {
    for (size_t i = 0; i < runs_count(runs); i++) {
        const struct run *run = &runs->all[i];
        if (*run->losses) console_print_message("%s: %s", report_path_name(run->path), run->losses);
    }
}

/* One run of each side is enough: the runs of a side are of one build. */
static void print_missing_names(const struct runs *runs) {
    const struct run *firsts[] = {&runs->all[0], &runs->all[runs->counts.base]};
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
        if (!*firsts[i]->missing_names) continue;
        console_print_message("%s: names missing: %s", report_path_name(firsts[i]->path), firsts[i]->missing_names);
    }
}

/* ---- The command. ---- */

static int refuse(const struct runs *runs, const struct failure *failure) {
    if (!runs->failed_path) return command_refuse(&command_diff, failure);
    struct command_output output = {.command = &command_diff};
    command_print_failure(&output, runs->failed_path, failure);
    return (int)failure->code;
}

static int diff(struct options *options) {
    struct failure *failure;
    struct runs runs = {0};
    struct gate gate;
    struct comparison comparison;
    struct failure gate_failure = {0};
    gate_init(&gate, options, &gate_failure);
    if (failure_is_set(&gate_failure)) {
        gate_fini(&gate);
        return command_refuse(&command_diff, &gate_failure);
    }
    runs_read(&runs, options, &gate.globs);
    failure = &runs.failure;
    for (size_t i = 0; i < runs_count(&runs); i++) options_keep_input(options, runs.all[i].path, failure);
    comparison_init(&comparison, &runs, options->per, failure);
    if (!failure_is_set(failure)) gate_judge(&gate, &comparison);
    if (!options->is_quiet && !failure_is_set(failure)) {
        print_losses(&runs);
        print_missing_names(&runs);
    }
    if (!failure_is_set(failure) && options->convert.output_path) difference_write(&comparison, options, failure);
    if (!failure_is_set(failure)) write_junit(&gate, options->junit_path, failure);
    if (!failure_is_set(failure)) write_comparison(&comparison, &gate, options, failure);
    int exit_code = failure_is_set(failure) ? refuse(&runs, failure) : gate_exit_code(&gate);
    comparison_fini(&comparison);
    gate_fini(&gate);
    runs_fini(&runs);
    return exit_code;
}

const struct command command_diff = {.name = "diff",
                                     .bit = DIFF,
                                     .usage = usage,
                                     .notes = notes,
                                     .defaults = {.top_count = TOP_COUNT_DEFAULT},
                                     .complete = complete,
                                     .run = diff};
