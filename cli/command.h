/* The commands of the program. If the first argument is the name of a command, the program runs that instead of a
 * conversion. (A file of that name can be converted as ./NAME.) */
#ifndef GECKO_COMMAND_H
#define GECKO_COMMAND_H

#include <stdbool.h>

#include "arguments.h"
#include "libconvert/base/progress.h"
#include "libconvert/gecko_convert.h"
#include "progress_tty.h"
#include "writer/json.h"

/* If the first argument (after the program's name) is a command, runs it, sets *exit_code and returns true. */
bool command_run(int argument_count, char *const *arguments, int *exit_code);

/* The commands. The arguments are those after the command's name. Return exit codes. */
int check_command(int argument_count, char *const *arguments);
int info_command(int argument_count, char *const *arguments);
int view_command(int argument_count, char *const *arguments);

/* ---- For commands. ---- */

struct input;

/* Parts of every command's help. */
#define COMMAND_HELP_JSON "  --json             print JSON: see docs/info.md\n"
#define COMMAND_HELP_OPTIONS                                                             \
    "  --max-memory SIZE  use at most this much memory for each file: bytes, or with\n"  \
    "                     K, M, G or T, or unlimited (default: half of the machine's)\n" \
    "  -h, --help         show this text\n"                                              \
    "\n"                                                                                 \
    "Options may come before or after files; everything after -- is a file.\n"           \
    "\n"
#define COMMAND_HELP_EXIT_CODES                          \
    "  2  the command line is wrong\n"                   \
    "  3  a file cannot be read\n"                       \
    "  4  memory ran out, or more than SIZE is needed\n" \
    "With several files, the code is that of the first file whose code is not 0.\n"

enum command_action { COMMAND_SHOW_FILES, COMMAND_SHOW_HELP };

/* The row of --help in the table of a command's options. `action_target` is the offset of its command_action. */
#define COMMAND_OPTION_HELP(action_target) \
    { .name = "help", .letter = 'h', .kind = OPTION_ACTION, .target = (action_target), .action = COMMAND_SHOW_HELP }

/* Options that every command has. */
struct command_options {
    enum command_action action;
    bool wants_json;
    uint64_t max_memory_bytes; /* for each file; 0: half of the machine's memory */
    struct options_list files; /* at least one file, unless help is requested */
};

/* Reads the arguments into `options`, which must be zeroed except for defaults. It must be the first member of the
 * struct to which the table's targets belong. Call command_options_fini in any case. */
void command_options_read(struct command_options *options, const struct option_table *table, int argument_count,
                          char *const *arguments, struct failure *failure);
void command_options_fini(struct command_options *options);

/* Gives an input that was opened before to a conversion, which closes it: the conversion's `open`. `context` points to
 * the input, which becomes NULL. */
struct input *command_give_input(void *context, struct failure *failure);

/* Replaces the failure with that of the conversion. Does nothing if the conversion succeeded. */
void command_take_failure(struct failure *failure, const struct gecko_convert_result *result);

/* Returns the name that texts use for the file at that path. */
const char *command_file_name(const char *path);

/* Reports a wrong command line and returns its exit code. */
int command_refuse(const char *name, const struct failure *failure);

/* Writes the text of --help and returns the exit code. */
int command_show_help(const char *help, const char *name);

/* Writes the member "error": null or the failure, as in reports of conversions. */
void command_write_error(struct json *json, const struct failure *failure);

/* The output of a command for all its files. Only one of `json` and `text` is used. */
struct command_output {
    const char *name; /* the command's name */
    struct progress_tty bar;
    bool is_json;
    struct json json; /* within a list of files */
    struct chunk_list text;
};

/* Returns progress for the work on one file; it draws the bar. */
struct progress_root command_progress(struct command_output *output);

/* Clears the bar and prints a line to standard error: "gecko-convert NAME: path:line: message". */
void command_print_failure(struct command_output *output, const char *path, const struct failure *failure);

/* Appends the output for one file; returns the exit code for that file. */
typedef int command_show(const char *path, struct command_output *output, void *context);

/* Calls `show` for each file, then writes the output: text, or JSON as {"version":…,"tool":…,"files":[…]}. Returns the
 * first exit code that is not 0. */
int command_show_files(const struct command_options *options, const char *name, int version, command_show *show,
                       void *context);

/* Appends to the text like printf. */
void command_append(struct chunk_list *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
