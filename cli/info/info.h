/* The facts of a trace or a profile, for gecko-convert info. */
#ifndef GECKO_INFO_H
#define GECKO_INFO_H

#include "libconvert/strings.h"
#include "totals.h"

/* Texts are the info's own. Times are milliseconds since the profile's zero. */

struct info_thread {
    size_t process; /* row */
    struct text tid;
    struct text name;
    bool is_main;
    double start_ms; /* NAN: before the trace, or not known */
    double end_ms;   /* NAN: after it */
    uint64_t sample_count;
    uint64_t marker_count;
    uint64_t allocation_count;
    double weight; /* of its samples */
};

struct info_process {
    struct text pid;
    struct text name;
    uint64_t thread_count;
    uint64_t sample_count;
    double weight;
};

struct info_counter {
    struct text pid;
    struct text name;
    struct text category;
    struct text unit;
    uint64_t sample_count;
    double change; /* sum of all changes */
};

struct info_marker {
    struct text name;
    uint64_t count;
};

struct info_function {
    struct text name;
    struct text library; /* empty: not known */
    struct text file;    /* source; empty: not known */
    struct function_weights weights;
};

/* A line of the information panel. */
struct info_fact {
    struct text section;
    struct text label;
    struct text value;
};

struct info {
    struct failure *failure; /* borrowed */
    struct strings texts;
    struct text product;
    struct text weight_unit; /* "samples", "ms", "bytes", or the event that was counted */
    double weight;           /* of all samples; of negative ones without the sign */
    double interval_ms;
    double duration_ms;    /* from the first to the last sample or marker */
    int64_t start_time_ms; /* since the Unix epoch; 0: not known */
    bool has_times;        /* false: the trace has none, and those of the profile only keep its order */
    uint64_t sample_count;
    uint64_t stackless_count; /* samples without a stack */
    uint64_t marker_count;
    uint64_t allocation_count;
    uint64_t stack_count;
    uint64_t frame_count;
    uint64_t lib_count;
    struct column processes;    /* struct info_process */
    struct column threads;      /* struct info_thread, by process */
    struct column counters;     /* struct info_counter */
    struct column markers;      /* struct info_marker, one for each name */
    struct column functions;    /* struct info_function */
    struct column facts;        /* struct info_fact */
    struct column marker_names; /* uint32_t for each text: row of `markers`, or ID_NONE */
};

void info_init(struct info *info, struct failure *failure);
void info_fini(struct info *info);

/* A copy of the text; empty when memory ran out (latched). */
static inline struct text info_text(struct info *info, struct text text) { return strings_copy(&info->texts, text); }

/* New rows; NULL when memory ran out (latched). */
struct info_process *info_add_process(struct info *info);
struct info_thread *info_add_thread(struct info *info); /* of the last process */
struct info_counter *info_add_counter(struct info *info);
void info_add_fact(struct info *info, struct text section, struct text label, struct text value);
void info_count_marker(struct info *info, struct text name);

/* Counts a sample of the last thread. */
void info_count_sample(struct info *info, double weight, bool has_stack);

/* Row numbers of the first `top_count` of them (0: of all), the heaviest first; *count is how many. NULL when memory
 * ran out (latched). To be given back (memory_free). */
enum info_order { INFO_FUNCTIONS_BY_SELF, INFO_FUNCTIONS_BY_TOTAL, INFO_THREADS, INFO_MARKERS };
uint32_t *info_top(struct info *info, enum info_order order, size_t top_count, size_t *count);

#endif
