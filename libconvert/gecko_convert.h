/* gecko-convert as a library: one call turns a trace into a Firefox Profiler profile.
 *
 *     struct gecko_convert_options options = {
 *         .struct_bytes = sizeof options, .input_path = "app.txt", .output_path = "app.profile.json"};
 *     struct gecko_convert_result result = {.struct_bytes = sizeof result};
 *     if (gecko_convert(&options, &result) != GECKO_CONVERT_GOOD) puts(result.message);
 *     gecko_convert_result_fini(&result);
 *
 * Versions: later versions of the library add members at the end of gecko_convert_options, gecko_convert_result and
 * gecko_convert_progress, and change no other struct. The first member of options and result, struct_bytes, says how
 * much of the struct the caller was compiled with. A program therefore runs with later versions of the shared library.
 * It also runs with earlier ones, unless it sets an option that they do not know; the conversion then fails with
 * GECKO_CONVERT_BAD_USAGE.
 *
 * Threads: the library keeps no state between calls. Any number of threads may convert at the same time, each with its
 * own options and result. A conversion of a large trace starts threads of its own, unless job_count is 1. They end
 * before the call returns, call none of the functions in the options, and take no signals but those of their own
 * faults.
 *
 * Side effects: the library prints nothing, does not change the locale and installs no signal handler. If the output is
 * a pipe, ignore SIGPIPE. If another program truncates the input file during the conversion, reading it raises SIGBUS.
 * If memory runs out while an archive is unpacked, libarchive may call exit. */
#ifndef GECKO_CONVERT_H
#define GECKO_CONVERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GECKO_CONVERT_VERSION "0.1.0"

#if defined(__GNUC__)
#define GECKO_CONVERT_API __attribute__((visibility("default")))
#else
#define GECKO_CONVERT_API
#endif

/* How a conversion ended. The values are the exit codes of the program gecko-convert. Unless the status is
 * GECKO_CONVERT_GOOD, no output file was created, and an existing one is unchanged. */
enum gecko_convert_status {
    GECKO_CONVERT_GOOD = 0,
    GECKO_CONVERT_BAD_INPUT = 1, /* the input is damaged, empty, or of no known format */
    GECKO_CONVERT_BAD_USAGE = 2, /* the options are wrong */
    GECKO_CONVERT_IO_FAILED = 3, /* reading or writing failed: disk, permission, pipe, a read or write function */
    GECKO_CONVERT_NO_MEMORY = 4, /* memory ran out, or the conversion needed more than max_memory_bytes */
    GECKO_CONVERT_LOST = 5,      /* is_strict is set, and something would have been lost */
    GECKO_CONVERT_CANCELLED = 6  /* the progress function returned false. As an exit code, 6 is about diff instead */
};

/* The weight of a sample. */
enum gecko_convert_weight {
    GECKO_CONVERT_WEIGHT_SAMPLES = 0, /* 1; for a line of collapsed stacks, its count */
    GECKO_CONVERT_WEIGHT_PERIOD = 1   /* its period: the number of events since the previous sample */
};

/* What becomes of the time in which threads did not run. Only recordings of perf can contain it. */
enum gecko_convert_off_cpu {
    GECKO_CONVERT_OFF_CPU_AUTO = 0, /* samples, if the recording contains it. All weights are then times */
    GECKO_CONVERT_OFF_CPU_NO = 1,   /* markers */
    GECKO_CONVERT_OFF_CPU_ONLY = 2  /* the only samples */
};

/* The meaning of the first frame of a collapsed stack. */
enum gecko_convert_root {
    GECKO_CONVERT_ROOT_AUTO = 0,   /* a thread if the stacks mark threads as async-profiler, py-spy or austin do;
                                      otherwise a frame */
    GECKO_CONVERT_ROOT_THREAD = 1, /* a thread: such a mark, or comm, comm-pid or comm-pid/tid */
    GECKO_CONVERT_ROOT_FRAME = 2   /* a frame like any other; all stacks belong to one thread */
};

/* What the counts of collapsed stacks count. */
enum gecko_convert_weight_unit {
    GECKO_CONVERT_UNIT_AUTO = 0, /* what the header of austin says; otherwise samples */
    GECKO_CONVERT_UNIT_SAMPLES = 1,
    GECKO_CONVERT_UNIT_NS = 2,
    GECKO_CONVERT_UNIT_US = 3,
    GECKO_CONVERT_UNIT_MS = 4,
    GECKO_CONVERT_UNIT_BYTES = 5
};

/* Tells which addresses are looked up in the symbols and debug information of their libraries.
 *
 * A child process looks them up, so that a damaged library or a failed allocation in libdw cannot crash the caller. The
 * conversion forks the child and waits for it. The child keeps none of the caller's files open and takes no signals. Of
 * the caller's code it runs only pthread_atfork handlers and, if the caller replaced it, the allocator. Such an
 * allocator must work in the child of a program with several threads, as those of glibc and musl do. If the caller
 * waits for any of its children, its wait may report this child; that is harmless. Nothing is forked with
 * GECKO_CONVERT_SYMBOLS_NONE, or when there is nothing to look up. */
enum gecko_convert_symbols {
    GECKO_CONVERT_SYMBOLS_AUTO = 0,  /* addresses for which the trace names no function; and, for inlined functions and
                                        lines, those for which the library has the same symbol as the trace */
    GECKO_CONVERT_SYMBOLS_NONE = 1,  /* none; no file that the trace names is opened */
    GECKO_CONVERT_SYMBOLS_ALWAYS = 2 /* all; if nothing is found, the function that the trace names is kept */
};

/* How an input is placed on the timeline of several inputs. */
enum gecko_convert_alignment_kind {
    GECKO_CONVERT_ALIGN_BY_CLOCK = 0,  /* where its clock says, if that is known */
    GECKO_CONVERT_ALIGN_BY_OFFSET = 1, /* its first event comes offset_ns after the first event of the inputs that have
                                          their places from their clocks */
    GECKO_CONVERT_ALIGN_MONOTONIC = 2  /* its times are those of CLOCK_MONOTONIC, which the input itself does not say */
};

struct gecko_convert_alignment {
    enum gecko_convert_alignment_kind kind;
    int64_t offset_ns; /* may be negative */
};

/* Says whose samples are kept of a thread that both perf and the recorder sampled. The others are counted as lost. */
enum gecko_convert_samples {
    GECKO_CONVERT_SAMPLES_AUTO = 0, /* perf's, unless many of its stacks end early */
    GECKO_CONVERT_SAMPLES_PERF = 1,
    GECKO_CONVERT_SAMPLES_RECORDER = 2
};

/* How an input got its place on the timeline of several inputs. */
enum gecko_convert_timeline {
    GECKO_CONVERT_TIMELINE_CLOCK = 0,       /* its clock is that of the timeline */
    GECKO_CONVERT_TIMELINE_TIME_OF_DAY = 1, /* its clock is another one, and the time of day of both is known */
    GECKO_CONVERT_TIMELINE_EVENTS = 2,      /* it and another input have the same events */
    GECKO_CONVERT_TIMELINE_GIVEN = 3,       /* the options say so */
    GECKO_CONVERT_TIMELINE_APART = 4,       /* its clock is unknown: it begins where the timeline begins */
    GECKO_CONVERT_TIMELINE_TICKS = 5, /* it and another input relate the processor's counter of ticks to a clock */
    GECKO_CONVERT_TIMELINE_RUN = 6    /* it is a run of the program, laid after or over the others */
};

/* Whether debug information and source files that this machine lacks are fetched. */
enum gecko_convert_debuginfod {
    GECKO_CONVERT_DEBUGINFOD_AUTO = 0, /* from the servers in DEBUGINFOD_URLS, if that is set; by libdebuginfod */
    GECKO_CONVERT_DEBUGINFOD_NO = 1
};

/* What a filter looks at. Filters of one kind add up: what any of them keeps is kept (excluded names: what any of them
 * names is left out). If there are filters of several kinds, each kind must keep a sample. Names are those that threads
 * have at the time. The last event filter that names an event decides; events that none names are kept. If the format
 * of an input does not support a kind of filter, the conversion fails with GECKO_CONVERT_BAD_USAGE. */
enum gecko_convert_filter_kind {
    GECKO_CONVERT_FILTER_TIME = 0, /* "A-B", "A-" or "-B", both inclusive, from the first sample: seconds, or percent of
                                      the time from the first to the last sample ("10%-20.5%") */
    GECKO_CONVERT_FILTER_PID = 1,  /* "12,30-40" */
    GECKO_CONVERT_FILTER_TID = 2,  /* "12,30-40" */
    GECKO_CONVERT_FILTER_COMM = 3, /* the name of a thread; "*" stands for any bytes and "?" for any byte */
    GECKO_CONVERT_FILTER_EXCLUDE_COMM = 4, /* what is left out, in the same form */
    GECKO_CONVERT_FILTER_CPU = 5,          /* processors: "0,4-7" */
    GECKO_CONVERT_FILTER_EVENT = 6 /* "GLOB=TREATMENT,GLOB=TREATMENT": what becomes of the events of a recording with
                                      such names, as printed or without modifiers: samples, tracks, markers, counter, or
                                      drop, which leaves them out */
};

/* Says which part of a trace to convert. */
struct gecko_convert_filter {
    enum gecko_convert_filter_kind kind;
    const char *value;
};

/* Whether the profile contains the text of the source files that it names, so that the viewer shows it anywhere. */
enum gecko_convert_sources {
    GECKO_CONVERT_SOURCES_NONE = 0, /* no; a profile with sources should not be shared lightly */
    GECKO_CONVERT_SOURCES_EMBED = 1 /* embed the files found on this machine. Not with GECKO_CONVERT_SYMBOLS_NONE */
};

/* The progress of a conversion. */
struct gecko_convert_progress {
    unsigned permille;    /* share of the whole work; never decreases; 1000 once the output is complete */
    uint64_t read_bytes;  /* how much was read of the input as it is stored, compressed or not */
    uint64_t total_bytes; /* size of the input as it is stored; 0: not known, since it is a pipe or a read function */
};

/* Called by the converting thread when permille has changed, and, as long as total_bytes is not known, when read_bytes
 * has. `progress` is valid during the call. Returns true to continue and false to cancel: the conversion then fails
 * with GECKO_CONVERT_CANCELLED. Cancelling has no effect at 1000 permille. */
typedef bool gecko_convert_progress_callback(void *context, const struct gecko_convert_progress *progress);

/* Reads the next bytes of the input into `bytes`, which has room for capacity_bytes > 0. Called by the converting
 * thread. Returns their number, 0 at the end of the input, or -1 if reading failed: the conversion then fails with
 * GECKO_CONVERT_IO_FAILED. */
typedef ptrdiff_t gecko_convert_read_callback(void *context, void *bytes, size_t capacity_bytes);

/* Takes the next bytes of the output. Called by the converting thread, and only once the whole profile has been made.
 * Returns false if the bytes could not be taken: the conversion then fails with GECKO_CONVERT_IO_FAILED. */
typedef bool gecko_convert_write_callback(void *context, const void *bytes, size_t bytes_count);

/* A value for max_memory_bytes: no limit. */
#define GECKO_CONVERT_UNLIMITED UINT64_MAX

/* What to convert, and how. Zero is the default of every member, except that struct_bytes, one input and one output
 * must be set. All pointers are borrowed for the duration of the call. */
struct gecko_convert_options {
    size_t struct_bytes; /* sizeof(struct gecko_convert_options) */

    /* The input: set exactly one of input_path, input_data and read. A compressed trace, and an archive that holds one
     * trace, are unpacked. */
    const char *input_path; /* a file; "-": standard input */
    const void *input_data; /* input_data_bytes bytes in memory */
    size_t input_data_bytes;
    gecko_convert_read_callback *read;
    void *read_context;
    const char *input_name; /* for messages and the report; NULL: the path */

    /* The output: set exactly one of output_path, write and keeps_output. */
    const char *output_path;             /* a file, compressed if its name ends in ".gz"; "-": standard output */
    gecko_convert_write_callback *write; /* gets the profile uncompressed; after a failure perhaps a part of it */
    void *write_context;
    bool keeps_output; /* the uncompressed profile is left in the result's output_data */

    bool is_strict;      /* fail rather than lose anything */
    const char *from;    /* a name from gecko_convert_input_format; NULL: detect the format by content */
    const char *format;  /* a name from gecko_convert_output_format; NULL: "collapsed" if output_path ends in ".folded"
                            or ".folded.gz", "jslb" if in ".jslb" or ".jslb.gz"; otherwise "processed" */
    const char *product; /* the name of what was profiled; NULL: the name in the trace */
    enum gecko_convert_weight weight;
    enum gecko_convert_root root;
    enum gecko_convert_symbols symbols;
    const char *const *debug_dirs; /* folders to search for debug information before those of the system */
    size_t debug_dir_count;

    /* The most memory that the conversion may hold at any time; it fails if it needs more. 0: half of the memory of the
     * machine, or of the process's control group if that has less. output_data does not count. While a compressed input
     * is unpacked, all that the process has allocated since the call began counts. */
    uint64_t max_memory_bytes;

    gecko_convert_progress_callback *progress; /* NULL: none */
    void *progress_context;

    /* With GECKO_CONVERT_SOURCES_EMBED, a file is searched for where the first fitting map leads, then at its path,
     * then below the folders. It must have a name of source code, be text, and not be hidden. If no debug information
     * names it, it must be in one of the folders or the TO of a map. Files with the most samples come first, until
     * source_max_bytes of them are embedded. The entries of the result say how many were embedded, not found,
     * unreadable, left out and why, or changed later. */
    enum gecko_convert_sources sources;
    const char *const *source_dirs; /* folders: a file may be there with its path or the end of its path */
    size_t source_dir_count;
    const char *const *source_maps; /* "FROM=TO": what the profile names below FROM is below TO */
    size_t source_map_count;
    uint64_t source_max_bytes; /* 0: 8 MiB */

    /* Files that are converted into the same profile as input_path, on one timeline. A process or thread that several
     * inputs have appears once. Needs input_path, and only one of the inputs may be standard input. */
    const char *const *more_input_paths;
    size_t more_input_count;
    const struct gecko_convert_alignment *alignments; /* one for each input, input_path first; NULL: all by clock */
    enum gecko_convert_samples samples;

    /* A folder with the file system of the recorded machine or container. Files that the trace names are searched below
     * it first, and symbolic links there do not lead out of it. NULL: the trace is of this machine. */
    const char *sysroot;

    /* The number of threads that work on the conversion, which decides how long it takes and not what it writes. A
     * small input needs only the calling thread. 0: one for each processor that the process may use. */
    unsigned job_count;

    /* For collapsed stacks. The interval is the time between two samples of a thread, above 0. With a unit of time or
     * an interval, the profile has times: each stack takes as long as its count says. 0: unknown. */
    enum gecko_convert_weight_unit weight_unit;
    int64_t sample_interval_ns;
    /* Servers learn the build ids in the trace. GECKO_CONVERT_SYMBOLS_NONE asks none, either. */
    enum gecko_convert_debuginfod debuginfod;

    /* The part of each input that becomes the profile. The entries of the result say how much each filter left out. A
     * filter by time needs a single input. */
    const struct gecko_convert_filter *filters;
    size_t filter_count;
    /* Repeated functions in a row are one frame, the innermost of them. */
    bool folds_recursion;

    /* What collapsed stacks contain besides functions: a comma-separated list of comm, pid, tid (first frame "comm",
     * "comm-pid" or "comm-pid/tid"), kernel, jit, inline (such frames end in "_[k]", "_[j]" or "_[i]") and addresses
     * (of functions without a name), or none. Only with format "collapsed". NULL: "comm". */
    const char *frames;

    /* Threads of one name that follow each other in a process, and processes of one name that follow each other in a
     * parent, have one track if there are more than 30. Also those with names that match this pattern, in which * is
     * any text and ? any byte, if there are two; "no": none. NULL: no others. */
    const char *merge_threads;

    /* The most characters of a process's name together with its arguments, from 1 to 500; "0": names and markers
     * contain no command lines. NULL: 40. */
    const char *process_args;

    /* "FOLDER=https://github.com/OWNER/REPOSITORY/tree/REVISION": source files below the folder get names under which
     * the viewer fetches them from there. */
    const char *const *source_urls;
    size_t source_url_count;

    /* "PID=FILE": the perf map of a process of the trace, which names the code that it generated. It is read wherever
     * the process ran, and whoever wrote it. */
    const char *const *perf_maps;
    size_t perf_map_count;

    /* For recordings of perf; other inputs need GECKO_CONVERT_OFF_CPU_AUTO. */
    enum gecko_convert_off_cpu off_cpu;

    /* Also shows what ran on each processor, in threads of a process of their own. Only for recordings of perf. */
    bool is_per_cpu;

    /* The most bytes of the output, which is compressed if output_path ends in ".gz". The profile is thinned until it
     * fits: samples that are close to each other are added up, so that the sums of all functions stay exact, threads
     * with little in them are joined, and markers of frequent types are left out. The entries of the result say how
     * many. Only with the formats "processed" and "jslb". 0: any number. */
    uint64_t max_output_bytes;
};

/* What is counted. */
enum gecko_convert_unit {
    GECKO_CONVERT_LINES = 0,   /* lines of the input */
    GECKO_CONVERT_SAMPLES = 1, /* samples that the input has, with or without a stack */
    GECKO_CONVERT_RECORDS = 2, /* records of the trace other than samples */
    GECKO_CONVERT_PERIODS = 3, /* the sum of the samples' periods, in the unit of their event */
    GECKO_CONVERT_VALUES = 4,  /* properties that the output format cannot carry, one for each row that has one */
    GECKO_CONVERT_UNIT_COUNT = 5
};

/* What became of what was counted. */
enum gecko_convert_fate {
    GECKO_CONVERT_FATE_KEPT = 0,    /* the profile holds it */
    GECKO_CONVERT_FATE_LOST = 1,    /* the profile lacks it */
    GECKO_CONVERT_FATE_NOTED = 2,   /* remarkable, but nothing was lost: a time that went backwards, for example */
    GECKO_CONVERT_FATE_FILTERED = 3 /* a filter left it out, which is no loss */
};

/* One line of the account: how many of a unit met a fate, and why. */
struct gecko_convert_entry {
    enum gecko_convert_unit unit;
    enum gecko_convert_fate fate;
    const char *cause; /* may quote bytes of the trace that are not valid UTF-8 */
    uint64_t count;
    bool has_first;        /* the place of the first occurrence is known, in these members: */
    uint64_t first_line;   /* from 1; 0: the trace has no lines */
    uint64_t first_offset; /* bytes from the start of the unpacked trace */
};

/* For one unit: how many were read, kept, lost and left out by filters. read == kept + lost + filtered if the result
 * is_balanced. */
struct gecko_convert_unit_sums {
    uint64_t read;
    uint64_t kept;
    uint64_t lost;
    uint64_t filtered;
};

/* How many rows the profile has. Threads and processes that share a track count one by one. */
struct gecko_convert_counts {
    uint64_t processes;
    uint64_t threads;
    uint64_t samples;
    uint64_t markers;
    uint64_t stacks;
    uint64_t frames;
    uint64_t funcs;
    uint64_t strings;
    uint64_t libs;
};

/* One of several inputs. Strings are NUL-terminated and never NULL. `wrapping` and `remark` belong to the result. */
struct gecko_convert_input {
    const char *name; /* borrowed from the options */
    const char *format;
    const char *title;
    const char *wrapping;
    uint64_t bytes; /* size of the unpacked trace */
    enum gecko_convert_timeline timeline;
    int64_t offset_ns;  /* what was added to its times */
    const char *remark; /* what is doubtful about its place or its times; empty: nothing */
};

/* A library of which functions have no names in the profile. */
struct gecko_convert_missing_names {
    const char *library; /* its file name; "kernel"; or "code outside of files" */
    double share;        /* share, 0 to 1, of the weight of all samples with a stack that do not wait: those whose
                          * innermost frame has no name and is in the library */
    const char *reason;  /* why, and what to do about it */
};

/* An event of a perf recording. */
struct gecko_convert_event {
    const char *name;      /* the name that perf prints */
    const char *treatment; /* what became of its samples, as in GECKO_CONVERT_FILTER_EVENT */
    uint64_t sample_count; /* the number of its samples, with and without stacks */
};

/* The outcome of a conversion. Strings are NUL-terminated and never NULL; they are empty if unknown. `wrapping`, the
 * entries, their causes and output_data belong to the result and live until gecko_convert_result_fini. The other
 * strings are static. */
struct gecko_convert_result {
    size_t struct_bytes; /* sizeof(struct gecko_convert_result); set it before the call */
    enum gecko_convert_status status;
    char message[640];         /* what is wrong and what to do about it; empty if the status is GECKO_CONVERT_GOOD */
    bool has_error_place;      /* the place of the error in the unpacked trace is known, in these members: */
    uint64_t error_line;       /* from 1; 0: the trace has no lines */
    uint64_t error_offset;     /* bytes */
    const char *input_format;  /* "perf-script" */
    const char *input_title;   /* "perf script text" */
    const char *wrapping;      /* how the trace was packed: "gzip" */
    uint64_t input_bytes;      /* size of the unpacked trace */
    const char *output_format; /* "processed" */
    const char *output_title;  /* "processed v70" */
    uint64_t output_bytes;     /* written; 0 unless the status is GECKO_CONVERT_GOOD */
    const char *output_data;   /* with keeps_output, output_bytes and a NUL; otherwise NULL */
    const struct gecko_convert_entry *entries;
    size_t entry_count;
    void *owned; /* private */
    uint64_t duration_ns;
    struct gecko_convert_counts counts;
    struct gecko_convert_unit_sums sums[GECKO_CONVERT_UNIT_COUNT];
    bool is_balanced; /* everything that was read is kept, or counted as lost or filtered */

    /* If there are several inputs: one row for each. The input's members above describe the first one. They belong to
     * the result. */
    const struct gecko_convert_input *inputs;
    size_t input_count;

    /* The libraries of which functions have no names, those with the largest share first. They belong to the result. */
    const struct gecko_convert_missing_names *missing_names;
    size_t missing_name_count;
    /* The share, 0 to 1 by weight, of samples whose stack ends early; in a recorder trace, of those that do not wait. 0
     * if no note reports such stacks, or if there are several inputs and not all are of perf. */
    double cut_stack_share;

    /* The sum of the absolute weights of all samples but those in tracks of events beside the main one, and what a
     * weight counts: "samples", "ms", "bytes" or an event. The unit is empty if every sample weighs 1. It belongs to
     * the result. */
    double weight;
    const char *weight_unit;

    /* The events of recordings of perf, those without samples too. They belong to the result. */
    const struct gecko_convert_event *events;
    size_t event_count;
};

/* Converts. Sets every member of *result except struct_bytes, whatever they held, and returns its status. If
 * result->struct_bytes is too small for any version of the struct, returns GECKO_CONVERT_BAD_USAGE and writes nothing.
 */
GECKO_CONVERT_API enum gecko_convert_status gecko_convert(const struct gecko_convert_options *options,
                                                          struct gecko_convert_result *result);

/* Frees what the result owns. Accepts a zeroed result, and one that has been freed before. */
GECKO_CONVERT_API void gecko_convert_result_fini(struct gecko_convert_result *result);

/* Returns the report as JSON (docs/report.md), NUL-terminated; free it with free(). Returns NULL if memory ran out or a
 * struct_bytes is wrong. `options` are those of the call that filled the result. Unless bytes_count is NULL, stores the
 * length there. */
GECKO_CONVERT_API char *gecko_convert_report(const struct gecko_convert_options *options,
                                             const struct gecko_convert_result *result, size_t *bytes_count);

/* Returns the name of a format by its number, from 0, or NULL past the last one. Static. */
GECKO_CONVERT_API const char *gecko_convert_input_format(size_t number);
GECKO_CONVERT_API const char *gecko_convert_output_format(size_t number);

/* Returns "samples" for GECKO_CONVERT_SAMPLES, "lost" for GECKO_CONVERT_FATE_LOST, and so on. Static. */
GECKO_CONVERT_API const char *gecko_convert_unit_name(enum gecko_convert_unit unit);
GECKO_CONVERT_API const char *gecko_convert_fate_name(enum gecko_convert_fate fate);

/* Returns the version of the library; GECKO_CONVERT_VERSION is that of the header. Static. */
GECKO_CONVERT_API const char *gecko_convert_version(void);

#ifdef __cplusplus
}
#endif

#endif
