/* The commands of the program: a first argument that names one does something else than converting.
 * (A file of such a name is converted as ./NAME.) */
#ifndef GECKO_COMMAND_H
#define GECKO_COMMAND_H

#include <stdbool.h>

#include "arguments.h"
#include "libconvert/progress.h"
#include "progress_tty.h"
#include "writer/json.h"

/* Runs the command that the first argument behind the program's name is, and sets *exit_code. False: it is none. */
bool command_run(int argument_count, char *const *arguments, int *exit_code);

/* The commands, with the arguments behind their names; they return exit codes. */
int check_command(int argument_count, char *const *arguments);
int info_command(int argument_count, char *const *arguments);

/* ---- For commands. ---- */

enum command_action { COMMAND_SHOW_FILES, COMMAND_SHOW_HELP };

/* What every command can be told. */
struct command_options {
    enum command_action action;
    bool wants_json;
    uint64_t max_memory_bytes; /* for each file; 0: half of what the machine has */
    struct options_list files; /* at least one, unless it is help that is wanted */
};

/* Reads the arguments into the options, zeroed but for defaults: the first member of the struct that the table's
 * targets are in. To be finished in any case. */
void command_options_read(struct command_options *options, const struct option_table *table, int argument_count,
                          char *const *arguments, struct failure *failure);
void command_options_fini(struct command_options *options);

/* What texts call the file at that path. */
const char *command_file_name(const char *path);

/* A bad command line: says so, and is its exit code. */
int command_refuse(const char *name, const struct failure *failure);

/* The exit code of writing the text of --help. */
int command_show_help(const char *help, const char *name);

/* "error": null, or what failed: as in reports of conversions. */
void command_write_error(struct json *json, const struct failure *failure);

/* What is said of all files: one of the two, and what is drawn meanwhile. */
struct command_output {
    const char *name; /* the command's */
    struct progress_tty bar;
    bool is_json;
    struct json json; /* in a list of files */
    struct chunk_list text;
};

/* For the work on a file: draws the bar. */
struct progress_root command_progress(struct command_output *output);

/* A line on standard error, in the bar's place: "gecko-convert NAME: path:line: message". */
void command_print_failure(struct command_output *output, const char *path, const struct failure *failure);

/* Adds what there is to say of a file; returns the exit code for it. */
typedef int command_show(const char *path, struct command_output *output, void *context);

/* Shows each file, and writes it all to standard output, JSON as {"version":…,"tool":…,"files":[…]}: the first exit
 * code that is not 0. */
int command_show_files(const struct command_options *options, const char *name, int version, command_show *show,
                       void *context);

/* Writes all of it to standard output: the exit code. */
int command_write(struct chunk_list *text, const char *name);

/* printf to the end of the list. */
void command_append(struct chunk_list *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
