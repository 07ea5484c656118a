/* Reads the command line into the options of a conversion or a batch. */
#ifndef GECKO_OPTIONS_H
#define GECKO_OPTIONS_H

#include <stdio.h>

#include "arguments.h"
#include "libconvert/gecko_convert.h"

enum options_action { OPTIONS_CONVERT, OPTIONS_SHOW_HELP, OPTIONS_SHOW_VERSION };

/* When to draw the progress bar. */
enum progress_choice {
    PROGRESS_AUTO, /* if standard error is a terminal and the work takes long */
    PROGRESS_ALWAYS,
    PROGRESS_NEVER
};

/* Strings are borrowed from the arguments, except the default output name. */
struct options {
    enum options_action action;
    struct gecko_convert_options convert;
    char *default_output_path; /* owned; set if no output path was given; then convert.output_path points to it */
    struct options_list debug_dirs;
    struct options_list source_dirs;
    struct options_list source_maps;
    struct options_list inputs;
    struct options_list alignments;                    /* texts FILE=OFFSET */
    struct gecko_convert_alignment *parsed_alignments; /* owned; one for each input; NULL: none was given */
    const char *output_dir;                            /* NULL: not given */
    const char *output_archive;                        /* a batch needs output_dir or output_archive */
    const char *report_path;                           /* "-": standard output */
    const char *junit_path;                            /* "-": standard output */
    const char *if_changed;                            /* path of a manifest; "": the one in output_dir */
    enum progress_choice progress;
    bool is_quiet;
};

/* Returns true if the options ask for a batch, which may convert many traces or search for them. */
static inline bool options_are_batch(const struct options *options) {
    return options->output_dir || options->output_archive;
}

/* Reads the arguments after the program's name. Failures are FAILURE_USAGE or FAILURE_MEMORY. After --help or
 * --version, the rest is ignored. Call options_fini in any case. */
void options_init(struct options *options, int argument_count, char *const *arguments, struct failure *failure);
void options_fini(struct options *options);

/* --from in a table of options. */
#define OPTION_FROM(offset)                                                                         \
    .name = "from", .kind = OPTION_NAME, .target = (offset), .choices = gecko_convert_input_format, \
    .alias = {"native", "recorder"}

/* Names of the values of --weight, --root, --symbols, --samples and --sources. Each function is a choice_name. */
const char *options_weight_name(size_t number);
const char *options_root_name(size_t number);
const char *options_symbols_name(size_t number);
const char *options_samples_name(size_t number);
const char *options_sources_name(size_t number);

/* Prints the text of --help. */
void options_print_help(FILE *stream);

#endif
