/* gecko-convert info: traces and profiles to facts, for people and as JSON (docs/info.md). */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/check/check.h"
#include "cli/command.h"
#include "cli/conversion.h"
#include "info_document.h"
#include "info_profile.h"
#include "info_subject.h"
#include "readers/reader.h"

enum { INFO_VERSION = 1, TOP_COUNT_DEFAULT = 10, TOP_COUNT_MAX = 1000000 };

static const char command_name[] = "info";

/* Where checking a profile ends in the whole work. */
static const double CHECK_END = 0.90;

static const char help[] =
    "Usage: gecko-convert info [--json] [--top N] [--from FORMAT]\n"
    "                          [--max-memory SIZE] FILE...\n"
    "\n"
    "Says what is in traces, as they are converted, and in profiles: duration,\n"
    "processes, threads, samples, markers, counters, what is lost, and the functions\n"
    "that took the most time. - is standard input.\n"
    "\n"
    "  --json             write it as JSON: see docs/info.md\n"
    "  --top N            rows of lists (default: 10)\n"
    "  --from FORMAT      all files are traces of that format: perf-script,\n"
    "                     collapsed, native (default: by their content)\n"
    "  --max-memory SIZE  take no more memory for a file: bytes, or with K, M, G or\n"
    "                     T, or unlimited (default: half of what the machine has)\n"
    "  -h, --help         show this text\n"
    "\n"
    "Options stand before or behind files; behind -- everything is a file.\n"
    "\n"
    "Colours and bars are for terminals: NO_COLOR, CLICOLOR and CLICOLOR_FORCE are\n"
    "honoured. Exit codes: 0 good, 1 an input that is no good, 2 a bad command line,\n"
    "3 a file that cannot be read, 4 no memory or more than SIZE needed; of several\n"
    "files, that of the first one that is not 0.\n";

/* What goes for all files. */
struct telling {
    struct info_look look;
    const char *from;
    uint64_t max_memory_bytes;
    bool has_text; /* of a file before */
};

static int add(struct command_output *output, const struct info_subject *subject, struct telling *telling) {
    const struct failure *failure = subject->failure;
    if (output->is_json) {
        info_write_json(&output->json, subject, telling->look.top_count);
    } else if (!failure_is_set(failure)) {
        if (telling->has_text) command_append(&output->text, "\n");
        info_append_text(&output->text, subject, &telling->look);
        telling->has_text = true;
    }
    if (!failure_is_set(failure)) return FAILURE_NONE;
    command_print_failure(output, subject->path, failure);
    return (int)failure->code;
}

/* ---- Traces. ---- */

static void take_profile(void *context, const struct profile *profile) { info_take_profile(context, profile); }

/* The failure of a conversion, of which the result has a copy. */
static void take_failure(struct failure *failure, const struct gecko_convert_result *result) {
    if (result->status == GECKO_CONVERT_GOOD) return;
    failure_clear(failure);
    struct position place = {result->error_line, result->error_offset};
    enum failure_code code = (enum failure_code)result->status;
    if (result->has_error_place)
        failure_set_at(failure, code, place, "%s", result->message);
    else
        failure_set(failure, code, "%s", result->message);
}

/* Once: the conversion closes it. */
static struct input *give_input(void *context, struct failure *failure) {
    (void)failure;
    struct input **input = context, *given = *input;
    *input = NULL;
    return given;
}

/* Failures of the input are in its latch. */
static int show_trace(const char *path, struct input *input, struct failure *failure, struct command_output *output,
                      struct telling *telling) {
    struct info info;
    struct gecko_convert_options options = {
        .input_path = path, .from = telling->from, .progress = progress_tty_draw, .progress_context = &output->bar};
    struct gecko_convert_result result;
    info_init(&info, failure);
    struct conversion_ends ends = {.open = give_input,
                                   .context = &input,
                                   .input_failure = failure,
                                   .memory = failure->memory,
                                   .source_progress = progress_tty_draw_source,
                                   .look = take_profile,
                                   .look_context = &info};
    conversion_run(&options, &ends, &result, NULL);
    input_close(input);
    take_failure(failure, &result);
    struct info_subject subject = {.path = path,
                                   .format = text_of(result.input_format),
                                   .title = text_of(result.input_title),
                                   .wrapping = text_of(result.wrapping),
                                   .bytes_count = result.input_bytes,
                                   .result = &result,
                                   .failure = failure,
                                   .info = &info};
    int exit_code = add(output, &subject, telling);
    gecko_convert_result_fini(&result);
    info_fini(&info);
    return exit_code;
}

/* ---- Profiles. ---- */

/* The first one stands for all. */
static void refuse_bad_profile(const char *path, const struct offences *offences, struct failure *failure) {
    unsigned long long count = offences->counts[OFFENCE_ERROR];
    for (size_t i = 0; i < offences->kinds.count; i++) {
        const struct offence_kind *kind = column_at(&offences->kinds, i);
        if (kind->severity != OFFENCE_ERROR || !kind->shown_count) continue;
        failure_set(failure, FAILURE_INPUT, "%s: %.*s: %.*s (%llu error%s: see gecko-convert check)",
                    command_file_name(path), (int)kind->shown_paths[0].bytes_count, kind->shown_paths[0].bytes,
                    (int)kind->messages[0].bytes_count, kind->messages[0].bytes, count, count == 1 ? "" : "s");
    }
}

static int show_profile(const char *path, struct input *input, struct failure *failure, struct command_output *output,
                        struct telling *telling) {
    struct document document;
    struct offences offences;
    struct info info;
    document_init(&document, failure);
    offences_init(&offences, failure);
    info_init(&info, failure);
    struct progress_root progress = command_progress(output);
    check_input(input, path, &document, &offences, progress_part(progress_whole(&progress), 0, CHECK_END));
    if (!failure_is_set(failure) && offences.counts[OFFENCE_ERROR]) refuse_bad_profile(path, &offences, failure);
    if (!failure_is_set(failure)) info_take_document(&info, &document);
    struct profile_identity identity = profile_identify(&document);
    char title[PROFILE_TITLE_BYTES];
    profile_identity_write(identity, title);
    struct info_subject subject = {.path = path,
                                   .format = identity.kind == PROFILE_GECKO ? TEXT("gecko") : TEXT("processed"),
                                   .title = text_of(title),
                                   .wrapping = document.wrapping,
                                   .bytes_count = document.bytes_count,
                                   .failure = failure,
                                   .info = &info};
    int exit_code = add(output, &subject, telling);
    info_fini(&info);
    offences_fini(&offences);
    document_fini(&document);
    return exit_code;
}

/* ---- Which of them. ---- */

/* By its first bytes, as traces are told apart. */
static int show_one(const char *path, struct command_output *output, void *context) {
    struct telling *telling = context;
    struct memory_limit memory;
    memory_limit_init(&memory, telling->max_memory_bytes);
    struct failure failure = {.memory = &memory};
    struct input *input = input_open(path, &failure);
    if (input) {
        bool is_profile = !telling->from && profile_is_likely(input_peek(input, PROBE_BYTES));
        return (is_profile ? show_profile : show_trace)(path, input, &failure, output, telling);
    }
    struct info_subject subject = {.path = path, .failure = &failure};
    return add(output, &subject, telling);
}

/* ---- The command line. ---- */

struct info_options {
    struct command_options command;
    unsigned top_count;
    const char *from; /* NULL: what each file is shows its content */
};

#define TARGET(member) offsetof(struct info_options, member)

static const struct option known_options[] = {
    {.name = "json", .kind = OPTION_FLAG, .target = TARGET(command.wants_json)},
    {.name = "top", .kind = OPTION_NUMBER, .target = TARGET(top_count), .number_max = TOP_COUNT_MAX},
    {.name = "max-memory", .kind = OPTION_SIZE, .target = TARGET(command.max_memory_bytes)},
    {.name = "from", .kind = OPTION_NAME, .target = TARGET(from), .choices = gecko_convert_input_format},
    {.name = "help",
     .letter = 'h',
     .kind = OPTION_ACTION,
     .target = TARGET(command.action),
     .action = COMMAND_SHOW_HELP},
};

static const struct option_table table = {.options = known_options,
                                          .option_count = sizeof known_options / sizeof *known_options,
                                          .operands = TARGET(command.files),
                                          .operand_name = "a file"};

static int act(const struct info_options *options, const struct failure *failure) {
    if (failure_is_set(failure)) return command_refuse(command_name, failure);
    if (options->command.action == COMMAND_SHOW_HELP) return command_show_help(help, command_name);
    struct telling telling = {.look = {style_of(style_has_colors(STDOUT_FILENO)), style_has_utf8(), options->top_count},
                              .from = options->from,
                              .max_memory_bytes = options->command.max_memory_bytes};
    return command_show_files(&options->command, command_name, INFO_VERSION, show_one, &telling);
}

int info_command(int argument_count, char *const *arguments) {
    struct failure failure = {0};
    struct info_options options = {.top_count = TOP_COUNT_DEFAULT};
    command_options_read(&options.command, &table, argument_count, arguments, &failure);
    int exit_code = act(&options, &failure);
    command_options_fini(&options.command);
    return exit_code;
}
