/* gecko-convert as a library: one call turns a trace into a Firefox Profiler profile.
 *
 *     struct gecko_convert_options options = {.input_path = "app.txt", .output_path = "app.profile.json"};
 *     struct gecko_convert_result result;
 *     if (gecko_convert(&options, &result) != GECKO_CONVERT_GOOD) puts(result.message);
 *     gecko_convert_result_fini(&result);
 *
 * Nothing here keeps state between calls: any number of threads may convert at the same time, each with options
 * and a result of its own. Nothing here prints, exits, changes the locale or installs a signal handler. A caller
 * that writes to pipes ignores SIGPIPE; a trace that shrinks while it is read raises SIGBUS. When memory runs out while
 * an archive is read, libarchive may call exit. */
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

/* How a conversion ended. The values are the exit codes of the program. Whatever it is but GECKO_CONVERT_GOOD,
 * no output file was written, and an old one of that name is untouched. */
enum gecko_convert_status {
    GECKO_CONVERT_GOOD = 0,
    GECKO_CONVERT_BAD_INPUT = 1, /* the input is no good */
    GECKO_CONVERT_BAD_USAGE = 2, /* the options are no good */
    GECKO_CONVERT_IO_FAILED = 3, /* reading or writing failed: disk, permission, pipe */
    GECKO_CONVERT_NO_MEMORY = 4, /* memory ran out, or more than max_memory_bytes was needed */
    GECKO_CONVERT_LOST = 5       /* is_strict, and something was lost */
};

/* What a sample weighs. */
enum gecko_convert_weight {
    GECKO_CONVERT_WEIGHT_SAMPLES = 0, /* every sample the same; a collapsed line its count */
    GECKO_CONVERT_WEIGHT_PERIOD = 1   /* its period: events since the sample before */
};

/* What the first frame of a collapsed stack is. */
enum gecko_convert_root {
    GECKO_CONVERT_ROOT_FRAME = 0, /* a frame like others */
    GECKO_CONVERT_ROOT_THREAD = 1 /* a thread of its own: comm, comm-pid or comm-pid/tid */
};

/* Which addresses are looked up in their libraries' symbols and debug information.
 *
 * A child process looks them up, so that a damaged library or a failed allocation in libdw cannot crash the caller. The
 * conversion forks the child and waits for it. The child keeps none of the caller's files open, takes no signals, and
 * runs none of the caller's code but pthread_atfork handlers and, if it has its own, the allocator: that must work in the
 * child of a threaded program, as those of glibc and musl do. A caller that waits for any of its children may be told of
 * this one; that does no harm. Nothing is forked with GECKO_CONVERT_SYMBOLS_NONE, or when there is nothing to look up. */
enum gecko_convert_symbols {
    GECKO_CONVERT_SYMBOLS_AUTO = 0,  /* those that the trace has no function for, as a recorder leaves them */
    GECKO_CONVERT_SYMBOLS_NONE = 1,  /* none: functions are as the trace has them, and no file is opened that it names */
    GECKO_CONVERT_SYMBOLS_ALWAYS = 2 /* all; what the trace says stays where nothing is found */
};

/* Called by the converting thread with the part of the work that is done, 0..1000, never decreasing, and only
 * when it changed. */
typedef void gecko_convert_progress(void *context, unsigned permille);

/* For max_memory_bytes: no limit. */
#define GECKO_CONVERT_UNLIMITED UINT64_MAX

/* Zero is the default of every member but the two paths. All pointers are borrowed for the time of the call. */
struct gecko_convert_options {
    const char *input_path;  /* "-": standard input. Compressed files and archives of one file are fine. */
    const char *output_path; /* "-": standard output. A name that ends in ".gz" is compressed. */
    const char *from;        /* one of gecko_convert_input_format; NULL: found by content */
    const char *format;      /* one of gecko_convert_output_format; NULL: "processed" */
    const char *product;     /* what the profile is of; NULL: what the trace tells */
    enum gecko_convert_weight weight;
    enum gecko_convert_root root;
    enum gecko_convert_symbols symbols;
    const char *const *debug_dirs; /* folders to look for debug information in, before the system's */
    size_t debug_dir_count;
    /* Of all memory that the conversion holds at a time. One that needs more fails. 0: half of what the machine has, or
     * the control group of the process where that has less. */
    uint64_t max_memory_bytes;
    bool is_strict; /* a conversion that would lose something fails */
    gecko_convert_progress *progress;
    void *progress_context;
};

enum gecko_convert_unit {
    GECKO_CONVERT_LINES = 0,
    GECKO_CONVERT_SAMPLES = 1,
    GECKO_CONVERT_RECORDS = 2, /* of the trace, and no samples */
    GECKO_CONVERT_PERIODS = 3, /* sum of the samples' periods */
    GECKO_CONVERT_VALUES = 4,  /* properties that the output format cannot carry */
    GECKO_CONVERT_UNIT_COUNT = 5
};

enum gecko_convert_fate { GECKO_CONVERT_FATE_KEPT = 0, GECKO_CONVERT_FATE_LOST = 1, GECKO_CONVERT_FATE_NOTED = 2 };

/* What became of so many of a unit, and why. */
struct gecko_convert_entry {
    enum gecko_convert_unit unit;
    enum gecko_convert_fate fate;
    const char *cause; /* valid UTF-8 is not promised: it can quote the trace */
    uint64_t count;
    bool has_first;        /* the first occurrence is known: */
    uint64_t first_line;   /* 1-based; 0: not a line-oriented place */
    uint64_t first_offset; /* bytes from the start of the uncompressed trace */
};

/* read = kept + lost when the ledger is balanced. */
struct gecko_convert_unit_sums {
    uint64_t read;
    uint64_t kept;
    uint64_t lost;
};

/* What the written profile holds. */
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

/* Texts are NUL-terminated and never NULL; those of unknown things are empty. They and the entries are the
 * result's own and go with gecko_convert_result_fini; names and titles are static. */
struct gecko_convert_result {
    enum gecko_convert_status status;
    char message[640];         /* what is wrong and what to do about it; empty when all is good */
    bool has_error_place;      /* the place in the uncompressed trace is known: */
    uint64_t error_line;       /* 1-based; 0: not a line-oriented place */
    uint64_t error_offset;     /* bytes */
    const char *input_format;  /* "perf-script" */
    const char *input_title;   /* "perf script text" */
    const char *wrapping;      /* "gzip": what the trace was wrapped in */
    uint64_t input_bytes;      /* of the uncompressed trace */
    const char *output_format; /* "processed" */
    const char *output_title;  /* "processed v70" */
    uint64_t output_bytes;     /* written; 0 unless all was good */
    uint64_t duration_ns;
    struct gecko_convert_counts counts;
    struct gecko_convert_unit_sums sums[GECKO_CONVERT_UNIT_COUNT];
    bool is_balanced; /* nothing went without being counted */
    const struct gecko_convert_entry *entries;
    size_t entry_count;
    void *owned; /* private */
};

/* Converts, fills all of *result (whatever was in it) and returns its status. */
GECKO_CONVERT_API enum gecko_convert_status gecko_convert(const struct gecko_convert_options *options,
                                                          struct gecko_convert_result *result);

/* Frees what the result owns. A zeroed result is fine, and so is a second call. */
GECKO_CONVERT_API void gecko_convert_result_fini(struct gecko_convert_result *result);

/* The report as JSON (docs/report.md), NUL-terminated, to be freed with free(); NULL when memory ran out. `options`
 * are those of the call that filled the result. *bytes_count, unless NULL, is the length. */
GECKO_CONVERT_API char *gecko_convert_report(const struct gecko_convert_options *options,
                                             const struct gecko_convert_result *result, size_t *bytes_count);

/* Names of the formats, by number from 0 on; NULL past the last. Static. */
GECKO_CONVERT_API const char *gecko_convert_input_format(size_t number);
GECKO_CONVERT_API const char *gecko_convert_output_format(size_t number);

/* "samples" of GECKO_CONVERT_SAMPLES; "lost" of GECKO_CONVERT_FATE_LOST. Static. */
GECKO_CONVERT_API const char *gecko_convert_unit_name(enum gecko_convert_unit unit);
GECKO_CONVERT_API const char *gecko_convert_fate_name(enum gecko_convert_fate fate);

/* The version of the library that runs; GECKO_CONVERT_VERSION is that of the header. Static. */
GECKO_CONVERT_API const char *gecko_convert_version(void);

#ifdef __cplusplus
}
#endif

#endif
