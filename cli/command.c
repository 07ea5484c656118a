#include "command.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "console.h"
#include "libconvert/options_check.h"
#include "libconvert/report.h"
#include "writer/sink.h"

#define COMMAND_ADDRESS(name) &command_##name,
static const struct command *const commands[] = {COMMANDS(COMMAND_ADDRESS)};

static const struct command *find_command(const char *name) {
    for (size_t i = 1; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(name, commands[i]->name) == 0) return commands[i];
    return commands[0];
}

static const char *name_of_bit(unsigned bit) {
    size_t number = 0;
    while (commands[number]->bit != bit) number++;
    return number ? commands[number]->name : "converting";
}

/* ---- Output. ---- */

static void print_error(const struct command *command, const char *message) {
    console_print_line("gecko-convert%s%s: %s", *command->name ? " " : "", command->name, message);
}

void command_print_failure(struct command_output *output, const char *path, const struct failure *failure) {
    const char *name = report_path_name(path);
    struct report_text text = {.bytes_count = 0};
    if (failure->has_position)
        report_append_place(&text, name, failure->position.line, failure->position.offset);
    else if (failure->code == FAILURE_MEMORY) /* the message names no file */
        report_append(&text, "%s: ", name);
    report_append(&text, "%s", failure->message);
    progress_tty_clear(&output->bar);
    print_error(output->command, text.bytes);
}

/* Writes the text to standard output and returns the exit code. */
static int write_text(const struct command *command, struct chunk_list *text) {
    struct failure *failure = text->failure;
    if (sink_write(text, "-", failure)) return FAILURE_NONE;
    print_error(command, failure->message);
    return (int)failure->code;
}

void command_print_hint(const struct command *command, unsigned exit_code) {
    if (exit_code == FAILURE_USAGE)
        console_print_line("see gecko-convert %s%s--help", command->name, *command->name ? " " : "");
}

int command_refuse(const struct command *command, const struct failure *failure) {
    print_error(command, failure->message);
    command_print_hint(command, failure->code);
    return (int)failure->code;
}

/* ---- JSON. ---- */

static void begin_json(struct json *json, int version) {
    json_object_begin(json);
    json_key_int(json, "version", version);
    json_key_string(json, "tool", "gecko-convert " GECKO_CONVERT_VERSION);
    json_key_array_begin(json, "files");
}

static struct chunk_list end_json(struct json *json) {
    json_array_end(json);
    json_object_end(json);
    struct chunk_list list = json_take_chunks(json);
    chunk_list_append(&list, "\n", 1);
    return list;
}

/* ---- Conversions. ---- */

struct input *command_give_input(void *context, struct failure *failure) {
    (void)failure;
    struct input **input = context, *given = *input;
    *input = NULL;
    return given;
}

/* ---- All files. ---- */

struct progress_root command_progress(struct command_output *output) {
    return (struct progress_root){.callback = progress_tty_draw, .context = &output->bar};
}

int command_show_files(const struct command *command, const struct options *options, size_t input_count, int version,
                       command_show *show, void *context) {
    struct failure failure = {0};
    struct command_output output = {.command = command, .is_json = options->wants_json};
    progress_tty_init(&output.bar, STDERR_FILENO, isatty(STDERR_FILENO), PROGRESS_TTY_DELAY_NS);
    json_init(&output.json, &failure);
    chunk_list_init(&output.text, &failure);
    begin_json(&output.json, version);
    int exit_code = FAILURE_NONE;
    for (size_t i = 0; i < input_count; i++) {
        progress_tty_restart(&output.bar);
        int code = show(options->inputs.values[i], &output, context);
        if (!exit_code) exit_code = code;
    }
    progress_tty_clear(&output.bar);
    struct chunk_list json = end_json(&output.json);
    int write_exit = write_text(command, output.is_json ? &json : &output.text);
    chunk_list_fini(&json);
    chunk_list_fini(&output.text);
    return exit_code ? exit_code : write_exit;
}

/* ---- Running a command. ---- */

/* Returns the exit code: 0 if all of the standard output was written. */
static int close_standard_output(const struct command *command) {
    bool is_good = !ferror(stdout);
    if (fclose(stdout) == 0 && is_good) return FAILURE_NONE;
    print_error(command, "cannot write standard output");
    return FAILURE_IO;
}

static int show_help(const struct command *command) {
    fputs(command->usage, stdout);
    fputs("\nOptions (if one is repeated, the last one counts):\n", stdout);
    arguments_print_help(&options_table, command->bit, stdout);
    fputs(
        "\n"
        "A value is the next argument or follows an equals sign: --max-memory 4G,\n"
        "--max-memory=4G. Nothing after -- is an option.\n"
        "\n",
        stdout);
    fputs(command->notes, stdout);
    return close_standard_output(command);
}

static int show_version(const struct command *command) {
    printf("gecko-convert %s\n", gecko_convert_version());
    return close_standard_output(command);
}

/* Returns the command that was probably meant; NULL if no name is similar. */
static const struct command *nearest_command(const char *name) {
    const struct command *nearest = NULL;
    size_t least = SIZE_MAX;
    for (size_t i = 1; i < sizeof commands / sizeof *commands; i++) {
        size_t distance = arguments_name_distance(text_of(name), commands[i]->name);
        if (distance >= least) continue;
        least = distance;
        nearest = commands[i];
    }
    return nearest;
}

/* Refuses the name of a command after options, or one that is misspelled, which would be taken for the name of an
 * input. A file with that name is an input. A batch goes on without inputs that are missing. */
static void refuse_command_name(const struct command *command, const struct options *options, struct failure *failure) {
    if (command != commands[0] || !options->inputs.count) return;
    const char *first = options->inputs.values[0];
    const struct command *nearest = nearest_command(first);
    bool is_exact = find_command(first) != commands[0];
    if (!nearest || (!is_exact && options_are_batch(options)) || access(first, F_OK) == 0) return;
    if (!is_exact)
        failure_set(failure, FAILURE_USAGE, "there is no file '%s'; did you mean the command %s?", first,
                    nearest->name);
    else
        failure_set(failure, FAILURE_USAGE,
                    "there is no file '%s', and the command %s comes before all options: "
                    "gecko-convert %s ...",
                    first, first, first);
}

void command_read_options(const struct command *command, struct options *options, int argument_count,
                          char *const *arguments, struct failure *failure) {
    *options = command->defaults;
    options_read(options, command->bit, name_of_bit, argument_count, arguments, failure);
    if (options->action != OPTIONS_RUN || failure_is_set(failure)) return;
    refuse_command_name(command, options, failure);
    if (command->complete) command->complete(options, failure);
    options_check_folders(&options->convert, failure);
    options_check_filters(&options->convert, failure);
}

static int act(const struct command *command, struct options *options, const struct failure *failure) {
    if (failure_is_set(failure)) return command_refuse(command, failure);
    switch (options->action) {
        case OPTIONS_SHOW_HELP: return show_help(command);
        case OPTIONS_SHOW_VERSION: return show_version(command);
        case OPTIONS_RUN: break;
    }
    return command->run(options);
}

/* "help" and "help COMMAND" are "--help" and "COMMAND --help", unless a file is called help. */
static int help(int argument_count, char *const *arguments) {
    const struct command *command = find_command(argument_count ? arguments[0] : "");
    struct failure failure = {0};
    if (argument_count && command == commands[0]) {
        const struct command *nearest = nearest_command(arguments[0]);
        failure_set(&failure, FAILURE_USAGE, "there is no command '%s'%s%s%s", arguments[0],
                    nearest ? "; did you mean " : "", nearest ? nearest->name : "", nearest ? "?" : "");
    }
    return failure_is_set(&failure) ? command_refuse(command, &failure) : show_help(command);
}

int command_run(int argument_count, char *const *arguments) {
    if (argument_count && strcmp(arguments[0], "help") == 0 && access("help", F_OK) != 0)
        return help(argument_count - 1, arguments + 1);
    const struct command *command = find_command(argument_count ? arguments[0] : "");
    int name_count = command != commands[0];
    struct failure failure = {0};
    struct options options;
    command_read_options(command, &options, argument_count - name_count, arguments + name_count, &failure);
    int exit_code = act(command, &options, &failure);
    options_fini(&options);
    return exit_code;
}
