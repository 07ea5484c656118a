/* gecko-convert info: shows facts about traces and profiles, for people and as JSON (docs/info.md). */
#include <string.h>
#include <unistd.h>

#include "cli/check/check.h"
#include "cli/command.h"
#include "cli/several_inputs.h"
#include "info_profile.h"
#include "info_subject.h"
#include "libconvert/conversion.h"
#include "libconvert/report.h"
#include "readers/reader.h"

enum { INFO_VERSION = 1, TOP_COUNT_DEFAULT = 10 };

static const char usage[] =
    "Usage: gecko-convert info [--json] [--top N] [--from FORMAT] [--together]\n"
    "                          [--max-memory SIZE] FILE...\n"
    "\n"
    "Shows what traces and profiles contain: duration, processes, threads, samples,\n"
    "markers, counters, what converting a trace would lose, and the functions that\n"
    "took the most time. - is standard input.\n";

static const char notes[] =
    "Colours and bars are used on terminals only; NO_COLOR, CLICOLOR and\n"
    "CLICOLOR_FORCE are honoured.\n"
    "\n"
    "Exit codes:\n"
    "  0  success\n"
    "  1  an input is not valid\n" COMMAND_HELP_EXIT_CODES;

/* Options that apply to all files, and what was printed so far. */
struct info_request {
    const struct options *options;
    struct info_layout layout;
    bool has_text; /* a file was printed before */
};

static int add(struct command_output *output, const struct info_subject *subject, struct info_request *request) {
    const struct failure *failure = subject->failure;
    if (output->is_json) {
        info_write_json(&output->json, subject);
    } else if (!failure_is_set(failure)) {
        if (request->has_text) chunk_list_format(&output->text, "\n");
        info_append_text(&output->text, subject, &request->layout);
        request->has_text = true;
    }
    if (!failure_is_set(failure)) return FAILURE_NONE;
    command_print_failure(output, subject->path, failure);
    return (int)failure->code;
}

/* ---- Inputs. ---- */

/* Takes ownership of the input. `failure` is the input's. */
static int show_input(const char *path, struct input *input, struct failure *failure, struct command_output *output,
                      struct info_request *request) {
    struct info info;
    struct gecko_convert_options options = request->options->convert;
    options.input_path = path;
    options.debuginfod = GECKO_CONVERT_DEBUGINFOD_NO;
    /* A profile is shown as it is. */
    bool is_profile = profile_is_likely(input_peek(input, PROBE_BYTES));
    if (is_profile) options.symbols = GECKO_CONVERT_SYMBOLS_NONE;
    options.progress = progress_tty_draw;
    options.progress_context = &output->bar;
    struct gecko_convert_result result;
    info_init(&info, request->options->top_count, failure);
    struct conversion_ends ends = {
        .input = {.open = command_give_input, .context = &input, .opens_file = true, .failure = failure},
        .memory = failure->memory,
        .replace_writing = info_fill_from_profile,
        .visitor_context = &info};
    conversion_run(&options, &ends, &result, NULL);
    input_close(input);
    report_take_failure(failure, &result);
    if (is_profile) result.missing_name_count = 0; /* they were not looked up */
    struct info_subject subject = {.path = path,
                                   .format = text_of(result.input_format),
                                   .title = text_of(result.input_title),
                                   .wrapping = text_of(result.wrapping),
                                   .bytes_count = result.input_bytes,
                                   .result = &result,
                                   .failure = failure,
                                   .info = &info};
    int exit_code = add(output, &subject, request);
    gecko_convert_result_fini(&result);
    info_fini(&info);
    return exit_code;
}

static int show_one(const char *path, struct command_output *output, void *context) {
    struct info_request *request = context;
    struct memory_limit memory;
    memory_limit_init(&memory, request->options->convert.max_memory_bytes);
    struct failure failure = {.memory = &memory};
    struct input *input = input_open(path, &failure);
    if (input) return show_input(path, input, &failure, output, request);
    struct info_subject subject = {.path = path, .failure = &failure};
    return add(output, &subject, request);
}

/* ---- The command. ---- */

static void complete(struct options *options, struct failure *failure) {
    if (options->alignments.count && !options->is_together)
        failure_set(failure, FAILURE_USAGE, "--align is for several files that are shown --together");
    if (options->is_together) several_inputs_take(options, failure);
}

static int show_files(struct options *options) {
    bool has_colors = style_has_colors(STDOUT_FILENO);
    struct info_request request = {.options = options,
                                   .layout = {.style = style_of(has_colors),
                                              .has_utf8 = style_has_utf8(),
                                              .has_bars = has_colors || isatty(STDOUT_FILENO)}};
    size_t shown_count = options->is_together ? 1 : options->inputs.count;
    return command_show_files(&command_info, options, shown_count, INFO_VERSION, show_one, &request);
}

const struct command command_info = {.name = "info",
                                     .bit = INFO,
                                     .usage = usage,
                                     .notes = notes,
                                     .defaults = {.top_count = TOP_COUNT_DEFAULT},
                                     .complete = complete,
                                     .run = show_files};
