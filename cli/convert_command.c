/* Converting: one profile of all inputs, or a batch. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/batch/batch.h"
#include "cli/batch/shard.h"
#include "cli/split/split.h"
#include "command.h"
#include "console.h"
#include "libconvert/base/printable.h"
#include "libconvert/base/text.h"
#include "libconvert/conversion.h"
#include "libconvert/file_identity.h"
#include "libconvert/options_check.h"
#include "libconvert/report.h"
#include "options.h"
#include "output_name.h"
#include "several_inputs.h"
#include "writer/sink.h"

static const char usage[] =
    "Usage: gecko-convert [options] INPUT [-o OUTPUT]\n"
    "       gecko-convert [options] INPUT... -o OUTPUT       (into one profile)\n"
    "       gecko-convert [options] INPUT... --output-dir DIR\n"
    "       gecko-convert record COMMAND... run it, sample it, view the profile\n"
    "       gecko-convert info FILE...      show what traces and profiles contain\n"
    "       gecko-convert check PROFILE...  find what the viewer does not accept\n"
    "       gecko-convert view INPUT        open it in the viewer, from this machine\n"
    "       gecko-convert diff BASE HEAD    show what changed between runs\n"
    "       gecko-convert merge INPUT... -o OUTPUT            make runs one profile\n"
    "       gecko-convert merge-manifests MANIFEST...        one report of all shards\n"
    "\n"
    "Converts a trace into a profile for the Firefox Profiler. INPUT is a recorder\n"
    "trace, a perf.data file, perf script text or a file of collapsed stacks. It may\n"
    "be plain, compressed (gzip, xz, zstd, bzip2, lz4), or the only file in an\n"
    "archive (tar, zip, 7z). - is standard input.\n";

static const char notes[] =
    "Exit codes:\n"
    "  0  success\n"
    "  1  the input is not valid; in a batch, one or more inputs are not\n"
    "  2  the command line is wrong\n"
    "  3  reading or writing failed: disk, permission, pipe\n"
    "  4  memory ran out, or more than --max-memory was needed\n"
    "  5  --strict was given, and something would have been lost\n"
    "If the code is not 0, OUTPUT is not written, and an existing file is kept.\n"
    "(If only the report cannot be written, the code is 3 or 4, and OUTPUT is good.)\n"
    "In a batch, each input has its own profile, and one that fails does not stop the\n"
    "others.\n";

/* ---- Listing the events. ---- */

enum { NAME_BYTES = 512 };

static void append_events(struct chunk_list *text, const struct gecko_convert_result *result) {
    chunk_list_format(text, "%10s  %-9s  %s\n", "samples", "treatment", "event");
    for (size_t i = 0; i < result->event_count; i++) {
        const struct gecko_convert_event *event = &result->events[i];
        char name[NAME_BYTES];
        printable_copy(name, sizeof name, text_of(event->name));
        chunk_list_format(text, "%10llu  %-9s  %s\n", (unsigned long long)event->sample_count, event->treatment, name);
    }
}

static void ignore_profile(void *context, const struct profile *profile) {
    (void)context;
    (void)profile;
}

static int list_one(const char *path, struct command_output *output, void *context) {
    const struct options *options = context;
    struct gecko_convert_options convert = options->convert;
    convert.input_path = path;
    convert.more_input_count = 0;
    convert.symbols = GECKO_CONVERT_SYMBOLS_NONE;
    convert.sources = GECKO_CONVERT_SOURCES_NONE;
    convert.progress = progress_tty_draw;
    convert.progress_context = &output->bar;
    struct conversion_ends ends = {.replace_writing = ignore_profile};
    struct gecko_convert_result result;
    struct failure failure = {0};
    conversion_run(&convert, &ends, &result, NULL);
    report_take_failure(&failure, &result);
    if (!failure_is_set(&failure) && !result.event_count)
        failure_set(&failure, FAILURE_INPUT, "%s, read as %s, has no events", report_path_name(path),
                    result.input_title);
    if (failure_is_set(&failure)) {
        command_print_failure(output, path, &failure);
    } else {
        char name[NAME_BYTES];
        printable_copy(name, sizeof name, text_of(report_path_name(path)));
        if (options->inputs.count > 1) chunk_list_format(&output->text, "%s:\n", name);
        append_events(&output->text, &result);
    }
    gecko_convert_result_fini(&result);
    return (int)failure.code;
}

/* Reads the inputs, and converts nothing. Returns the exit code. */
static int list_events(const struct options *options) {
    return command_show_files(&command_convert, options, options->inputs.count, 0, list_one,
                              (void *)(uintptr_t)options);
}

/* ---- The name of the output. ---- */

static void choose_output(struct options *options, struct failure *failure) {
    if (options->convert.output_path) return;
    if (strcmp(options->convert.input_path, "-") == 0) {
        options->convert.output_path = "-";
        return;
    }
    struct text input = text_of(options->convert.input_path);
    while (text_ends_with(input, TEXT("/"))) input.bytes_count--;
    options->default_output_path = output_name_of(text_base_name(input), options->convert.format, options->compresses);
    options->convert.output_path = options->default_output_path;
    if (!options->default_output_path) failure_set_memory(failure);
}

/* ---- Rules across options. ---- */

static void check_report(const struct options *options, struct failure *failure) {
    if (!options->report_path) return;
    const char *output_path = options->convert.output_path;
    if (file_identity_is_one(options->report_path, output_path, STDOUT_FILENO))
        failure_set(failure, FAILURE_USAGE, "the report and the profile cannot both go to %s",
                    strcmp(output_path, "-") == 0 ? "standard output" : output_path);
    for (size_t i = 0; i < options->inputs.count; i++) options_keep_input(options, options->inputs.values[i], failure);
}

static void check_sources(const struct options *options, struct failure *failure) {
    const struct gecko_convert_options *convert = &options->convert;
    const char *option = convert->source_max_bytes ? "sources-max" : NULL;
    if (convert->source_map_count) option = "source-map";
    if (convert->source_dir_count) option = "source-dir";
    if (option && convert->sources == GECKO_CONVERT_SOURCES_NONE)
        failure_set(failure, FAILURE_USAGE, "--%s is for source files that are embedded: it needs --sources embed",
                    option);
    options_check_sources(convert, failure);
}

/* A given name says by itself whether the profile is compressed. */
static void check_compress(const struct options *options, struct failure *failure) {
    bool is_named = options->convert.output_path || strcmp(options->convert.input_path, "-") == 0;
    if (options->compresses && is_named)
        failure_set(failure, FAILURE_USAGE,
                    "--compress is for profiles whose names are not given: --output FILE.gz is compressed by its name");
}

/* Checks options for a single conversion. */
static void check_single(const struct options *options, struct failure *failure) {
    const struct options_list *inputs = &options->inputs;
    if (inputs->count > 1 && !options->convert.output_path)
        failure_set(failure, FAILURE_USAGE,
                    "two inputs, '%s' and '%s': --output FILE makes one profile of them, and --output-dir DIR one of "
                    "each",
                    inputs->values[0], inputs->values[1]);
    const char *option = options->junit_path   ? "report-junit"
                         : options->if_changed ? "if-changed"
                         : options->shard      ? "shard"
                                               : NULL;
    if (option)
        failure_set(failure, FAILURE_USAGE, "--%s is for batches: it needs --output-dir or --output-archive", option);
}

static void check_batch(const struct options *options, struct failure *failure) {
    if (options->convert.output_path)
        failure_set(failure, FAILURE_USAGE, "--output is for a single profile: a batch needs --output-dir DIR instead");
    if (options->split)
        failure_set(failure, FAILURE_USAGE, "--split is for a single trace: a batch makes one profile of each input");
    if (options->alignments.count)
        failure_set(failure, FAILURE_USAGE, "--align is for a single profile: a batch makes one of each input");
    if (options->if_changed && !*options->if_changed && !options->output_dir)
        failure_set(failure, FAILURE_USAGE,
                    "--if-changed without --output-dir needs the report of the previous batch: --if-changed=FILE");
    if (options->shard && options->output_archive)
        failure_set(failure, FAILURE_USAGE, "--shard is for --output-dir: pack the folder once all shards are done");
    shard_parse(options->shard, failure);
    const char *written[] = {options->output_archive, options->report_path, options->junit_path};
    enum { WRITTEN_COUNT = sizeof written / sizeof *written };
    for (size_t i = 0; i < WRITTEN_COUNT; i++)
        for (size_t j = i + 1; j < WRITTEN_COUNT; j++)
            if (file_identity_is_one(written[i], written[j], STDOUT_FILENO))
                failure_set(failure, FAILURE_USAGE, "%s would be written twice: name another file", written[i]);
    for (size_t i = 0; i < options->inputs.count; i++) {
        const char *input = options->inputs.values[i];
        if (strcmp(input, "-") == 0)
            failure_set(failure, FAILURE_USAGE,
                        "a batch cannot name the profile of standard input: convert it alone, with --output FILE");
        options_keep_input(options, input, failure);
    }
}

static void check_listing(const struct options *options, struct failure *failure) {
    const char *option = options->convert.output_path ? "output"
                         : options->output_dir        ? "output-dir"
                         : options->output_archive    ? "output-archive"
                         : options->report_path       ? "report"
                                                      : NULL;
    if (option) failure_set(failure, FAILURE_USAGE, "--event list converts nothing: leave out --%s", option);
}

static void complete(struct options *options, struct failure *failure) {
    if (options->lists_events) {
        check_listing(options, failure);
        return;
    }
    const struct emitter *emitter = options_check_format(&options->convert, failure);
    if (emitter) options->convert.format = emitter->name;
    check_sources(options, failure);
    if (options_are_batch(options)) {
        check_batch(options, failure);
        return;
    }
    check_single(options, failure);
    if (failure_is_set(failure)) return;
    several_inputs_take(options, failure);
    check_compress(options, failure);
    choose_output(options, failure);
    if (!failure_is_set(failure) && options->split) split_check(options, failure);
    if (!failure_is_set(failure)) check_report(options, failure);
}

/* ---- Converting. ---- */

static bool draws_progress(const struct options *options) {
    if (options->is_quiet || options->progress == PROGRESS_NEVER) return false;
    return options->progress == PROGRESS_ALWAYS || isatty(STDERR_FILENO);
}

/* Returns the exit code of writing the report; EXIT_SUCCESS if none was requested. */
static int write_report(const struct options *options, const struct gecko_convert_result *result) {
    if (!options->report_path) return EXIT_SUCCESS;
    struct failure failure = {0};
    struct chunk_list chunks;
    chunk_list_init(&chunks, &failure);
    report_json(&options->convert, result, &chunks);
    if (sink_write(&chunks, options->report_path, &failure)) return EXIT_SUCCESS;
    console_print_message("the report: %s", failure.message);
    return (int)failure.code;
}

static void print_inputs(const struct gecko_convert_result *result) {
    for (size_t i = 0; i < result->input_count; i++) {
        struct report_text text;
        report_input(result, i, &text);
        console_print(&text);
    }
}

static void print_outcome(const struct command *command, const struct options *options,
                          const struct gecko_convert_result *result) {
    struct report_text text = {.bytes_count = 0};
    if (result->status == GECKO_CONVERT_GOOD && !options->is_quiet) print_inputs(result);
    if (result->status != GECKO_CONVERT_GOOD)
        report_error(&options->convert, result, &text);
    else if (!options->is_quiet)
        report_summary(&options->convert, result, &text);
    console_print(&text);
    command_print_hint(command, result->status);
}

/* `runs` says that the inputs are runs of one program; otherwise NULL. */
static int convert_single(const struct command *command, struct options *options, const struct merge_runs *runs,
                          struct progress_tty *bar) {
    options->convert.progress = progress_tty_draw;
    options->convert.progress_context = bar;
    struct gecko_convert_result result;
    conversion_run(&options->convert, &(struct conversion_ends){.runs = runs}, &result, NULL);
    progress_tty_clear(bar);
    print_outcome(command, options, &result);
    int report_exit = write_report(options, &result);
    int exit_code = result.status != GECKO_CONVERT_GOOD ? (int)result.status : report_exit;
    gecko_convert_result_fini(&result);
    return exit_code;
}

static void init_bar(const struct options *options, struct progress_tty *bar) {
    bool is_forced = options->progress == PROGRESS_ALWAYS;
    progress_tty_init(bar, STDERR_FILENO, draws_progress(options), is_forced ? 0 : PROGRESS_TTY_DELAY_NS);
}

/* Checks that the files can be written. They are written last, but a command that makes its inputs itself checks them
 * before it starts. */
static void check_places(const struct options *options, struct failure *failure) {
    const char *const paths[] = {options->convert.output_path, options->report_path};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (paths[i]) sink_check(paths[i], failure);
}

static int convert(struct options *options) {
    if (options->lists_events) return list_events(options);
    struct progress_tty bar;
    init_bar(options, &bar);
    if (options_are_batch(options)) return batch_run(options, &bar);
    if (options->split) return split_run(&command_convert, options, &bar);
    return convert_single(&command_convert, options, NULL, &bar);
}

const struct command command_convert = {.name = "",
                                        .bit = CONVERT,
                                        .usage = usage,
                                        .notes = notes,
                                        .complete = complete,
                                        .check = check_places,
                                        .run = convert};

/* ---- Merging runs. ---- */

static const char merge_usage[] =
    "Usage: gecko-convert merge [options] INPUT... -o OUTPUT\n"
    "\n"
    "Makes one profile of several runs of a program. Weights are added: a function\n"
    "has the samples of all runs. Processes and threads with one name become one.\n";

static const char merge_notes[] =
    "Exit codes:\n"
    "  0  success\n"
    "  1  an input is not valid\n"
    "  2  the command line is wrong\n"
    "  3  reading or writing failed: disk, permission, pipe\n"
    "  4  memory ran out, or more than --max-memory was needed\n"
    "  5  --strict was given, and something would have been lost\n"
    "If the code is not 0, OUTPUT is not written, and an existing file is kept.\n";

static void complete_merge(struct options *options, struct failure *failure) {
    const struct emitter *emitter = options_check_format(&options->convert, failure);
    if (emitter) options->convert.format = emitter->name;
    if (!options->convert.output_path)
        failure_set(failure, FAILURE_USAGE, "no output: name the profile with --output FILE");
    if (failure_is_set(failure)) return;
    several_inputs_take(options, failure);
    check_report(options, failure);
}

static int merge(struct options *options) {
    const struct merge_runs runs = {.match = options->match, .layout = options->layout};
    struct progress_tty bar;
    init_bar(options, &bar);
    return convert_single(&command_merge, options, &runs, &bar);
}

const struct command command_merge = {.name = "merge",
                                      .bit = MERGE,
                                      .usage = merge_usage,
                                      .notes = merge_notes,
                                      .complete = complete_merge,
                                      .run = merge};
