/* The options of all commands, and a command line read into them. */
#pragma once

#include "arguments.h"
#include "libconvert/gecko_convert.h"

/* Bits of the commands in the table of options. Converting is the command without a name. */
enum command_bit {
    CONVERT = 1,
    CHECK = 2,
    INFO = 4,
    VIEW = 8,
    RECORD = 16,
    DIFF = 32,
    MERGE = 64,
    MERGE_MANIFESTS = 128,
    CONVERTING = CONVERT | VIEW | RECORD | DIFF | MERGE
};

enum options_action { OPTIONS_RUN, OPTIONS_SHOW_HELP, OPTIONS_SHOW_VERSION };

/* When to draw the progress bar. */
enum progress_choice {
    PROGRESS_AUTO, /* drawn if standard error is a terminal and the work takes long */
    PROGRESS_ALWAYS,
    PROGRESS_NEVER
};

/* What diff compares. */
enum measure_choice {
    MEASURE_AUTO, /* processor time if it is known and threads wait in some samples; else samples */
    MEASURE_SAMPLES,
    MEASURE_PROCESSOR
};

/* What samples a command that `record` starts. */
enum recorder_choice { WITH_AUTO, WITH_KERNEL, WITH_RECORDER };

/* Strings are borrowed from the arguments, except the default output name. */
struct options {
    enum options_action action;
    struct options_list inputs; /* at least one if the action is OPTIONS_RUN, unless `record` runs no command */
    struct gecko_convert_options convert;
    struct options_list debug_dirs; /* this list and the next four are those of `convert` */
    struct options_list source_dirs;
    struct options_list source_maps;
    struct options_list source_urls;
    struct options_list perf_maps;
    struct options_list filter_values[GECKO_CONVERT_FILTER_EVENT + 1]; /* by kind */
    struct gecko_convert_filter *filters;                              /* owned; those of `convert` */
    struct options_list alignments;                                    /* texts FILE=OFFSET */
    struct gecko_convert_alignment *parsed_alignments; /* owned; one for each input; NULL: none was given */
    bool is_quiet;

    /* Converting. */
    char *default_output_path;  /* owned; set if no output path was given; then convert.output_path points to it */
    const char *output_dir;     /* NULL: not given */
    const char *output_archive; /* a batch needs output_dir or output_archive */
    const char *split;          /* "process" or "time=30s": one profile of each part; NULL: not given */
    const char *report_path;    /* "-": standard output */
    const char *junit_path;     /* "-": standard output; also of diff */
    bool compresses;            /* profiles whose names are not given */
    bool lists_events;          /* instead of converting */
    const char *if_changed;     /* path of a manifest; "": the one in output_dir */
    const char *shard;          /* "K/N", "auto" or "auto/N"; NULL: all inputs */
    enum progress_choice progress;

    /* check, info and diff. */
    bool wants_json;
    unsigned top_count;
    bool is_together;

    /* merge. */
    unsigned match;  /* enum merge_match */
    unsigned layout; /* enum merge_layout */

    /* diff. */
    const char *per;     /* "share", "run", "second" or the name of a marker; NULL: "share" */
    unsigned measure;    /* enum measure_choice */
    const char *ignored; /* see ignored_parts_parse; NULL: nothing */
    bool shows_all;
    bool wants_markdown;
    struct options_list limits;  /* expressions */
    struct options_list budgets; /* files of expressions */
    bool allows_missing;

    /* view. */
    const char *viewer; /* a folder or an address; NULL: the public one */
    unsigned port;      /* 0: any */
    unsigned idle_s;    /* 0: for ever */
    bool opens_nothing;
    bool compares; /* each input is a profile of its own */

    /* record, whose inputs are the command to run and its arguments. */
    struct options_list recorded_pids;
    struct options_list recorded_events;
    const char *duration; /* text in seconds; NULL: until the program ends */
    int64_t duration_ns;  /* 0: no duration */
    const char *trace_path;
    unsigned frequency_hz;
    unsigned iteration_count;
    unsigned call_graph; /* enum call_graph */
    enum recorder_choice recorder_choice;
    uint64_t stack_bytes;
    bool is_system_wide;
};

/* All options, in the order of --help. */
extern const struct option_table options_table;

/* Returns true if the options ask for a batch, which may convert many traces or search for them. */
static inline bool options_are_batch(const struct options *options) {
    return options->output_dir || options->output_archive;
}

/* Refuses an input that is also one of the files that the options name for output (FAILURE_USAGE). */
void options_keep_input(const struct options *options, const char *path, struct failure *failure);

/* Reads the arguments of the command into `options`, which must be zeroed except for defaults. Failures are
 * FAILURE_USAGE or FAILURE_MEMORY. After --help or --version, the rest is ignored. Call options_fini in any case. */
void options_read(struct options *options, enum command_bit command, command_namer *name_command, int argument_count,
                  char *const *arguments, struct failure *failure);
void options_fini(struct options *options);
