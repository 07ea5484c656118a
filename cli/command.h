/* The commands of the program. If the first argument is the name of a command, the program runs that instead of a
 * conversion. (A file of that name can be converted as ./NAME.) */
#pragma once

#include <stdbool.h>

#include "libconvert/base/progress.h"
#include "libconvert/report.h"
#include "options.h"
#include "progress_tty.h"
#include "writer/json.h"

struct command {
    const char *name;        /* "" for converting */
    enum command_bit bit;    /* its options in the table */
    const char *usage;       /* --help before the options */
    const char *notes;       /* --help after the options */
    struct options defaults; /* the defaults that are not zero */

    /* Checks and completes the options: what concerns several of them, or only this command. NULL: nothing. */
    void (*complete)(struct options *options, struct failure *failure);

    /* Latches a failure if the completed options cannot be carried out, before inputs are made for them. NULL:
     * nothing to check. */
    void (*check)(const struct options *options, struct failure *failure);

    /* Returns the exit code. */
    int (*run)(struct options *options);
};

/* All commands: COMMAND(info) stands for `command_info`. The one without a name comes first. */
#define COMMANDS(COMMAND)    \
    COMMAND(convert)         \
    COMMAND(check)           \
    COMMAND(info)            \
    COMMAND(record)          \
    COMMAND(diff)            \
    COMMAND(merge)           \
    COMMAND(merge_manifests) \
    COMMAND(view)

#define DECLARE_COMMAND(name) extern const struct command command_##name;
COMMANDS(DECLARE_COMMAND)

/* Runs the command that the arguments after the program's name ask for, and returns the exit code. */
int command_run(int argument_count, char *const *arguments);

/* Reads and completes the options of the command. Call options_fini in any case. */
void command_read_options(const struct command *command, struct options *options, int argument_count,
                          char *const *arguments, struct failure *failure);

/* ---- For commands. ---- */

struct input;

/* The end of the help of commands that read many files. */
#define COMMAND_HELP_EXIT_CODES                          \
    "  2  the command line is wrong\n"                   \
    "  3  a file cannot be read\n"                       \
    "  4  memory ran out, or more than SIZE is needed\n" \
    "With several files, the code is that of the first file whose code is not 0.\n"

/* Gives an input that was opened before to a conversion, which closes it: the conversion's `open`. `context` points to
 * the input, which becomes NULL. */
struct input *command_give_input(void *context, struct failure *failure);

/* Points to --help on standard error if the exit code is that of a wrong command line. */
void command_print_hint(const struct command *command, unsigned exit_code);

/* Prints the failure, with that hint, and returns its exit code. */
int command_refuse(const struct command *command, const struct failure *failure);

/* The output of a command for all its files. Only one of `json` and `text` is used. */
struct command_output {
    const struct command *command;
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

/* Calls `show` for each of the first input_count inputs, then writes the output: text, or JSON as
 * {"version":…,"tool":…,"files":[…]}. Returns the first exit code that is not 0. */
int command_show_files(const struct command *command, const struct options *options, size_t input_count, int version,
                       command_show *show, void *context);
