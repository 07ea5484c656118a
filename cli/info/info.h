/* The facts about a trace or a profile that gecko-convert info shows. */
#pragma once

#include "libconvert/base/strings.h"
#include "libconvert/profile/totals.h"

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
    double cpu;    /* processor time of its samples, in the unit of the info */
};

struct info_process {
    struct text pid;
    struct text name;
    uint64_t thread_count;
    uint64_t sample_count;
    double weight;
    double cpu;
};

struct info_counter {
    struct text pid;
    struct text name;
    struct text category;
    struct text unit;
    uint64_t sample_count;
    bool is_rate;   /* the viewer draws the changes per time, not their sum */
    double change;  /* sum of all changes */
    double level;   /* sum of the changes after the first one, which the viewer takes as 0 */
    double last_ms; /* time of the last sample */
    double lowest;  /* the lowest level, or change per second; INFINITY: none is known */
    double highest; /* -INFINITY: none is known */
    /* The highest sum at one time of the levels of all counters with this name and unit. Set in one of these counters;
     * 0 in the others, and in rates. */
    double highest_together;
};

/* Returns whether the counter is a rate in percent. Its changes are of any unit, and the viewer shows them as shares of
 * the highest rate. */
static inline bool info_counter_is_share(const struct info_counter *counter) {
    return counter->is_rate && text_equal(counter->unit, TEXT("percent"));
}

struct info_marker {
    uint32_t row;
    struct text name;
    uint64_t count;
    uint64_t duration_count; /* how many have a start and an end */
    double sum_ms;           /* the sum of their durations */
    double median_ms;        /* by nearest rank, as the 95th percentile; NAN if there are none */
    double p95_ms;
};

/* The sums that each function has. */
enum info_sum {
    INFO_WEIGHT,    /* the weights of samples */
    INFO_CPU,       /* processor time, in the unit of the info */
    INFO_ALLOCATED, /* bytes of recorded allocations */
    INFO_SUM_COUNT
};

struct info_function {
    struct text name;    /* as the other texts, only of functions in a list */
    struct text library; /* empty: not known */
    struct text file;    /* source file; empty: not known */
    struct function_weights sums[INFO_SUM_COUNT];
    double wait; /* weight of the samples in which it is innermost, if threads do not run in them */
};

enum info_order {
    INFO_FUNCTIONS_BY_SELF,
    INFO_FUNCTIONS_BY_TOTAL,
    INFO_FUNCTIONS_BY_CPU_SELF,
    INFO_FUNCTIONS_BY_CPU_TOTAL,
    INFO_ALLOCATORS, /* functions, by what they allocated themselves */
    INFO_WAITS,      /* functions, by their idle samples */
    INFO_THREADS,
    INFO_THREADS_BY_CPU,
    INFO_MARKERS,
    INFO_ORDER_COUNT
};

/* The heaviest rows, the heaviest first. */
struct info_list {
    uint32_t *rows; /* owned; their numbers */
    size_t count;
    size_t all_count; /* how many rows have a weight */
};

/* A line of the viewer's information panel. */
struct info_fact {
    struct text section;
    struct text label;
    struct text value;
};

struct info {
    struct failure *failure; /* borrowed */
    unsigned top_count;      /* how many rows lists have at most; 0: functions are only counted */
    struct info_list lists[INFO_ORDER_COUNT];
    struct strings texts;
    struct text product;
    struct text weight_unit; /* "samples", "ms", "bytes", or the name of the event that was counted */
    double weight;           /* sum of the absolute weights of all samples */
    struct text cpu_unit;    /* "ms" or "cycles"; empty: processor time is not known */
    double cpu;              /* processor time of all samples with a stack */
    double thread_cpu;       /* processor time of all samples */
    double allocated;        /* bytes of all recorded allocations */
    double stackless_bytes;  /* bytes of allocations without a stack */
    double wait;             /* sum of the absolute weights of samples in which threads do not run */
    double interval_ms;      /* 0: not known, or not the same for all samples */
    double duration_ms;      /* time from the first to the last sample or marker */
    int64_t start_time_ms;   /* since the Unix epoch; 0: not known */
    bool has_times;          /* false: the trace has no times, and those of the profile only keep the order */
    uint64_t sample_count;
    uint64_t stackless_count; /* samples without a stack */
    uint64_t marker_count;
    uint64_t allocation_count;
    uint64_t stack_count;
    uint64_t frame_count;
    uint32_t function_count;
    uint64_t lib_count;
    struct column processes; /* struct info_process */
    struct column threads;   /* struct info_thread, grouped by process */
    struct column counters;  /* struct info_counter */
    struct column markers;   /* struct info_marker, one for each marker name */
    struct column functions; /* struct info_function; empty if there are no lists */
    struct column facts;     /* struct info_fact */
};

void info_init(struct info *info, unsigned top_count, struct failure *failure);
void info_fini(struct info *info);

/* Returns a copy of the text, owned by the info; empty if memory ran out (latched). */
static inline struct text info_text(struct info *info, struct text text) { return strings_copy(&info->texts, text); }

/* Returns whether to rank by processor time: it is known, and threads do not run in some samples. Otherwise each sample
 * was taken on a processor, and all samples count alike. */
static inline bool info_is_by_cpu(const struct info *info) { return info->cpu_unit.bytes_count && info->wait != 0; }

/* Returns the weight of the function by which a list in that order is sorted. */
double info_function_weight(const struct info_function *function, enum info_order order);

/* Makes the lists of all rows. Running out of memory is latched. */
void info_rank(struct info *info);
