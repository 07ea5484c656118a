/* The facts about a trace or a profile that gecko-convert info shows. */
#ifndef GECKO_INFO_H
#define GECKO_INFO_H

#include "libconvert/base/strings.h"
#include "totals.h"

/* All texts are owned by the info. Times are in milliseconds since the profile's time zero. */

struct info_thread {
    size_t process; /* number of a row */
    struct text tid;
    struct text name;
    bool is_main;
    double start_ms; /* NAN: not known, or before the trace */
    double end_ms;   /* NAN: not known, or after the trace */
    uint64_t sample_count;
    uint64_t marker_count;
    uint64_t allocation_count;
    double weight; /* sum of the weights of its samples */
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
    struct text file;    /* source file; empty: not known */
    struct function_weights weights;
    struct function_weights cpu; /* processor time, in the unit of the info */
    double wait;                 /* weight of the idle samples in which it is innermost */
};

/* A line of the viewer's information panel. */
struct info_fact {
    struct text section;
    struct text label;
    struct text value;
};

struct info {
    struct failure *failure; /* borrowed */
    struct strings texts;
    struct text product;
    struct text weight_unit; /* "samples", "ms", "bytes", or the name of the event that was counted */
    double weight;           /* sum of the absolute weights of all samples */
    struct text cpu_unit;    /* "ms" or "cycles"; empty: processor time is not known */
    double cpu;              /* processor time of all samples with a stack */
    double wait;             /* sum of the absolute weights of idle samples */
    double interval_ms;
    double duration_ms;    /* time from the first to the last sample or marker */
    int64_t start_time_ms; /* since the Unix epoch; 0: not known */
    bool has_times;        /* false: the trace has no times, and those of the profile only keep the order */
    uint64_t sample_count;
    uint64_t stackless_count; /* samples without a stack */
    uint64_t marker_count;
    uint64_t allocation_count;
    uint64_t stack_count;
    uint64_t frame_count;
    uint64_t lib_count;
    struct column processes;       /* struct info_process */
    struct column threads;         /* struct info_thread, grouped by process */
    struct column counters;        /* struct info_counter */
    struct column markers;         /* struct info_marker, one for each marker name */
    struct column functions;       /* struct info_function */
    struct column facts;           /* struct info_fact */
    struct column markers_by_name; /* struct info_marker *, by string id of the name; NULL: no marker has that name */
};

void info_init(struct info *info, struct failure *failure);
void info_fini(struct info *info);

/* Returns a copy of the text, owned by the info; empty if memory ran out (latched). */
static inline struct text info_text(struct info *info, struct text text) { return strings_copy(&info->texts, text); }

/* Add a row. The functions that return the row return NULL if memory ran out (latched). */
struct info_process *info_add_process(struct info *info);
struct info_thread *info_add_thread(struct info *info); /* belongs to the last process */
struct info_counter *info_add_counter(struct info *info);
void info_add_fact(struct info *info, struct text section, struct text label, struct text value);
void info_count_marker(struct info *info, struct text name);

/* Counts a sample of the last thread. */
void info_count_sample(struct info *info, double weight, bool has_stack);

enum info_order {
    INFO_FUNCTIONS_BY_SELF,
    INFO_FUNCTIONS_BY_TOTAL,
    INFO_FUNCTIONS_BY_CPU_SELF,
    INFO_FUNCTIONS_BY_CPU_TOTAL,
    INFO_WAITS, /* functions, by their idle samples */
    INFO_THREADS,
    INFO_MARKERS
};

/* Returns the numbers of the rows, the heaviest first; *count is how many there are. Free them with memory_free. NULL
 * if memory ran out (latched). */
uint32_t *info_sort(struct info *info, enum info_order order, size_t *count);

#endif
