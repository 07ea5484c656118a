/* Counters: values of a process that the viewer draws as tracks over time. */
#pragma once

#include "libconvert/base/column.h"
#include "libconvert/base/ids.h"
#include "libconvert/base/text.h"
#include "markers.h"

enum counter_graph {
    COUNTER_ACCUMULATED, /* line-accumulated: the sum of all changes, such as memory in use */
    COUNTER_RATE,        /* line-rate: the change per time, such as bandwidth or CPU use */
    COUNTER_GRAPH_COUNT
};

struct counter_sample {
    union {
        int64_t time_ns; /* see profile.h on times */
        int64_t time_ticks;
    };
    int64_t change;    /* change of the value since the previous sample; the front-end reads the first one as 0 */
    uint32_t number;   /* how many operations made the change; 0 in all samples: unknown */
    uint32_t reserved; /* 0 */
};

struct counter {
    process_id process;
    struct text name;
    struct text category; /* the front-end knows "Memory", "CPU", "Bandwidth" and "power" */
    struct text description;
    struct text label; /* the name of the track; empty: the counter's name */
    struct text unit;  /* "bytes", "percent", "pWh" and so on; empty: none */
    enum counter_graph graph;
    enum graph_color color;
    bool has_each_change;  /* samples are the changes as they happened; the value is constant between them */
    int32_t sort_weight;   /* tracks with lower weights are drawn higher; the front-end's own have 10 to 50 */
    struct column samples; /* struct counter_sample; in any order until profile_finish */
    size_t run_number;     /* private to merge_rows: the last run that has it, counted from 1 */
};

/* Returns whether both belong to one process and have the same descriptions, so that they may be parts of one counter.
 */
bool counter_is_same(const struct counter *a, const struct counter *b);

/* When a counter has samples, and what they add up to. */
struct counter_span {
    struct counter_sample *first; /* NULL: it has no samples */
    int64_t last_ns;
    int64_t sum;
};

/* The samples may be in any order. */
struct counter_span counter_span_of(const struct counter *counter);

/* Sorts the samples by time, and merges those of the same time: the front-end would divide by the 0 between them. */
void counter_order(struct counter *counter);

/* Sums up the changes of an ordered counter of rates that has each change, by intervals: each interval with changes
 * becomes a sample at its end. The front-end divides a change by the time since the previous sample, which may be a few
 * nanoseconds if the samples are the changes themselves. A sample without a change begins the first interval with
 * changes after others without, and another one ends the interval after them, so that the rate is 0 in between.
 * interval_ns must be above 0. */
void counter_bin(struct counter *counter, int64_t interval_ns);

/* If the first sample of an ordered counter has a change, inserts a sample without one before it, because the front-end
 * reads the first change as 0. If the counter has only one sample, the new one is interval_ns (> 0) earlier. */
void counter_start_at_zero(struct counter *counter, int64_t interval_ns);

/* Limits the processor time of a process to what that many processors (0: unknown) can do in each interval: a round of
 * the sampler that comes late is followed by one that comes early. The excess goes to the neighbours, so the sum stays.
 * Does nothing to other counters. Call this after counter_start_at_zero. */
void counter_limit_cpu(struct counter *counter, uint32_t processor_count);

/* Inserts a sample without a change shortly before each change of an accumulated counter that has each change. The
 * front-end draws straight lines from sample to sample and would otherwise show a step as a slope. */
void counter_hold_steps(struct counter *counter);

/* Adds a sample without a change at end_ns to an accumulated counter, unless it has samples until then. The front-end
 * draws nothing after the last sample, as if memory were freed there. */
void counter_extend(struct counter *counter, int64_t end_ns);

/* Returns the name of the track. */
static inline struct text counter_label(const struct counter *counter) {
    return counter->label.bytes_count ? counter->label : counter->name;
}

/* Returns the name under which the front-end shows the counter: the counter's own, except that the front-end shows a
 * counter named "processCPU" only if an experimental option is on. */
struct text counter_visible_name(const struct counter *counter);

/* Returns whether the numbers of operations say more than that a sample is a change: whether any is above 1. */
bool counter_has_numbers(const struct counter *counter);

/* A period in which a process recorded nothing on purpose. */
struct paused_range {
    process_id process;
    int64_t start_ns; /* TIME_NONE: it began before the trace */
    int64_t end_ns;   /* TIME_NONE: it ended after the trace */
};
