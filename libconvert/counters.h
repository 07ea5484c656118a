/* Counters: values of a process that the viewer draws as tracks over time. */
#ifndef GECKO_COUNTERS_H
#define GECKO_COUNTERS_H

#include "column.h"
#include "ids.h"
#include "markers.h"
#include "text.h"

enum counter_graph {
    COUNTER_ACCUMULATED, /* line-accumulated: the sum of all changes, as of memory */
    COUNTER_RATE,        /* line-rate: change per time, as of bandwidth or CPU use */
    COUNTER_GRAPH_COUNT
};

struct counter_sample {
    int64_t time_ns;   /* the trace's clock until profile_finish, then since the profile's start */
    int64_t change;    /* of the value since the sample before; the client reads the first one as 0 */
    uint32_t number;   /* how many operations made the change; 0 in all samples: not known */
    uint32_t reserved; /* 0 */
};

struct counter {
    process_id process;
    struct text name;
    struct text category; /* "Memory", "CPU", "Bandwidth", "power" are known to the client */
    struct text description;
    struct text label; /* of the track; empty: the name */
    struct text unit;  /* "bytes", "percent", "pWh"…; empty: none */
    enum counter_graph graph;
    enum graph_color color;
    bool is_stepped;       /* samples are changes as they happened: in between the value stays as it is */
    int32_t sort_weight;   /* tracks with lower ones stand higher; the client's own are 10 to 50 */
    struct column samples; /* struct counter_sample; times need not ascend until profile_finish */
};

/* Sorts the samples by time and makes those of one time one sample: between them the client would divide by 0. */
void counter_order(struct counter *counter);

/* Puts a sample without a change before an ordered counter's first one where that has a change, which the client would
 * not see: it reads the first change as 0. `interval_ns` (> 0) is between samples, where a counter has only one. */
void counter_start_at_zero(struct counter *counter, int64_t interval_ns);

/* Puts a sample without a change shortly before each change of a stepped counter: the client draws straight lines from
 * sample to sample, which would show a value creeping up to what it became at once. */
void counter_hold_steps(struct counter *counter);

/* Whether it is known how many operations made the changes. */
bool counter_has_numbers(const struct counter *counter);

/* A time in which a process recorded nothing on purpose. */
struct paused_range {
    process_id process;
    int64_t start_ns; /* TIME_NONE: since before the trace */
    int64_t end_ns;   /* TIME_NONE: until after it */
};

#endif
