#include "command.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "console.h"
#include "libconvert/base/printable.h"
#include "libconvert/gecko_convert.h"
#include "writer/sink.h"

static const struct {
    const char *name;
    int (*run)(int argument_count, char *const *arguments);
} commands[] = {
    {"check", check_command},
    {"info", info_command},
    {"view", view_command},
};

bool command_run(int argument_count, char *const *arguments, int *exit_code) {
    for (size_t i = 0; argument_count > 0 && i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(arguments[0], commands[i].name) != 0) continue;
        *exit_code = commands[i].run(argument_count - 1, arguments + 1);
        return true;
    }
    return false;
}

/* ---- Arguments. ---- */

_Static_assert(sizeof(enum command_action) == sizeof(unsigned), "actions are stored as numbers");

void command_options_read(struct command_options *options, const struct option_table *table, int argument_count,
                          char *const *arguments, struct failure *failure) {
    arguments_read(table, options, argument_count, arguments, failure);
    if (options->action == COMMAND_SHOW_FILES && !options->files.count)
        failure_set(failure, FAILURE_USAGE, "no file was given");
}

void command_options_fini(struct command_options *options) {
    free(options->files.values);
    options->files = (struct options_list){0};
}

/* ---- Output. ---- */

enum { LINE_BYTES = 2048 };

void command_append(struct chunk_list *text, const char *format, ...) {
    char line[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (wanted > 0) chunk_list_append(text, line, (size_t)wanted < sizeof line ? (size_t)wanted : sizeof line - 1);
}

static void print_error(const char *name, const char *message) {
    char line[LINE_BYTES], shown[LINE_BYTES];
    snprintf(line, sizeof line, "gecko-convert %s: %s", name, message);
    printable_copy(shown, sizeof shown - 1, text_of(line));
    size_t bytes_count = strlen(shown);
    shown[bytes_count] = '\n';
    console_write(shown, bytes_count + 1);
}

const char *command_file_name(const char *path) { return strcmp(path, "-") == 0 ? "standard input" : path; }

/* Writes "path:line: message" if the failure has a position. */
static void describe_failure(const char *path, const struct failure *failure, char *out, size_t capacity_bytes) {
    const char *name = command_file_name(path);
    if (failure->has_position && failure->position.line)
        snprintf(out, capacity_bytes, "%s:%llu: %s", name, (unsigned long long)failure->position.line,
                 failure->message);
    else if (failure->has_position)
        snprintf(out, capacity_bytes, "%s: at byte %llu: %s", name, (unsigned long long)failure->position.offset,
                 failure->message);
    else if (failure->code == FAILURE_MEMORY) /* the message names no file */
        snprintf(out, capacity_bytes, "%s: %s", name, failure->message);
    else
        snprintf(out, capacity_bytes, "%s", failure->message);
}

void command_print_failure(struct command_output *output, const char *path, const struct failure *failure) {
    char message[LINE_BYTES];
    describe_failure(path, failure, message, sizeof message);
    progress_tty_clear(&output->bar);
    print_error(output->name, message);
}

/* Writes the text to standard output and returns the exit code. */
static int write_text(struct chunk_list *text, const char *name) {
    struct failure *failure = text->failure;
    uint64_t written_bytes;
    if (sink_write(text, "-", failure, (struct progress){0}, &written_bytes)) return FAILURE_NONE;
    print_error(name, failure->message);
    return (int)failure->code;
}

int command_refuse(const char *name, const struct failure *failure) {
    print_error(name, failure->message);
    if (failure->code != FAILURE_USAGE) return (int)failure->code;
    char hint[LINE_BYTES];
    int bytes_count = snprintf(hint, sizeof hint, "see gecko-convert %s --help\n", name);
    console_write(hint, (size_t)bytes_count);
    return FAILURE_USAGE;
}

int command_show_help(const char *help, const char *name) {
    struct failure failure = {0};
    struct chunk_list text;
    chunk_list_init(&text, &failure);
    chunk_list_append(&text, help, strlen(help));
    int exit_code = write_text(&text, name);
    chunk_list_fini(&text);
    return exit_code;
}

/* ---- JSON. ---- */

static void begin_json(struct json *json, int version) {
    json_object_begin(json);
    json_key_int(json, "version", version);
    json_key_string(json, "tool", "gecko-convert " GECKO_CONVERT_VERSION);
    json_key(json, "files");
    json_array_begin(json);
}

static struct chunk_list end_json(struct json *json) {
    json_array_end(json);
    json_object_end(json);
    struct chunk_list list = json_take_chunks(json);
    chunk_list_append(&list, "\n", 1);
    return list;
}

void command_write_error(struct json *json, const struct failure *failure) {
    static const char *const names[] = {
        [FAILURE_INPUT] = "input",   [FAILURE_USAGE] = "usage",   [FAILURE_IO] = "io",
        [FAILURE_MEMORY] = "memory", [FAILURE_STRICT] = "strict",
    };
    if (!failure_is_set(failure)) {
        json_key_null(json, "error");
        return;
    }
    json_key(json, "error");
    json_object_begin(json);
    json_key_string(json, "code", names[failure->code]);
    json_key_int(json, "exit", failure->code);
    json_key_string(json, "message", failure->message);
    if (failure->has_position && failure->position.line) json_key_int(json, "line", (int64_t)failure->position.line);
    if (failure->has_position) json_key_int(json, "offset", (int64_t)failure->position.offset);
    json_object_end(json);
}

/* ---- Conversions. ---- */

struct input *command_give_input(void *context, struct failure *failure) {
    (void)failure;
    struct input **input = context, *given = *input;
    *input = NULL;
    return given;
}

void command_take_failure(struct failure *failure, const struct gecko_convert_result *result) {
    if (result->status == GECKO_CONVERT_GOOD) return;
    failure_clear(failure);
    struct position place = {result->error_line, result->error_offset};
    if (result->has_error_place)
        failure_set_at(failure, result->status, place, "%s", result->message);
    else
        failure_set(failure, result->status, "%s", result->message);
}

/* ---- All files. ---- */

struct progress_root command_progress(struct command_output *output) {
    return (struct progress_root){.callback = progress_tty_draw, .context = &output->bar};
}

int command_show_files(const struct command_options *options, const char *name, int version, command_show *show,
                       void *context) {
    struct failure failure = {0};
    struct command_output output = {.name = name, .is_json = options->wants_json};
    progress_tty_init(&output.bar, STDERR_FILENO, isatty(STDERR_FILENO), PROGRESS_TTY_DELAY_NS);
    json_init(&output.json, &failure);
    chunk_list_init(&output.text, &failure);
    begin_json(&output.json, version);
    int exit_code = FAILURE_NONE;
    for (size_t i = 0; i < options->files.count; i++) {
        progress_tty_restart(&output.bar);
        int code = show(options->files.values[i], &output, context);
        if (!exit_code) exit_code = code;
    }
    progress_tty_clear(&output.bar);
    struct chunk_list json = end_json(&output.json);
    int write_exit = write_text(output.is_json ? &json : &output.text, name);
    chunk_list_fini(&json);
    chunk_list_fini(&output.text);
    return exit_code ? exit_code : write_exit;
}
