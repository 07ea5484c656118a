/* The command line: from arguments to the options of a conversion. */
#ifndef GECKO_OPTIONS_H
#define GECKO_OPTIONS_H

#include <stdio.h>

#include "arguments.h"
#include "gecko_convert.h"

enum options_action { OPTIONS_CONVERT, OPTIONS_SHOW_HELP, OPTIONS_SHOW_VERSION };

/* When the progress bar is drawn. */
enum progress_choice {
    PROGRESS_AUTO, /* when standard error is a terminal, and only for what takes long */
    PROGRESS_ALWAYS,
    PROGRESS_NEVER
};

/* All texts are borrowed from the arguments, but the default of the output's name. */
struct options {
    enum options_action action;
    struct gecko_convert_options convert;
    char *default_output_path; /* owned; convert.output_path unless that was given */
    struct options_list debug_dirs;
    struct options_list inputs;
    const char *output_dir;     /* NULL: not given, as of all that follow */
    const char *output_archive; /* one of these two: a batch */
    const char *report_path;    /* "-": standard output */
    const char *junit_path;     /* the same */
    const char *if_changed;     /* a manifest; "": the one in output_dir */
    unsigned job_count;         /* 0: not given */
    enum progress_choice progress;
    bool is_quiet;
};

/* Several traces, or one that is to be found in a folder or an archive. */
static inline bool options_are_batch(const struct options *options) {
    return options->output_dir || options->output_archive;
}

/* Reads the arguments behind the program's name. Failures are FAILURE_USAGE or FAILURE_MEMORY; the options are to
 * be finished in any case. --help and --version end the reading: nothing behind them is looked at. */
void options_init(struct options *options, int argument_count, char *const *arguments, struct failure *failure);
void options_fini(struct options *options);

/* The text of --help. */
void options_print_help(FILE *stream);

#endif
