/* Processes, threads and their samples. */
#ifndef GECKO_THREADS_H
#define GECKO_THREADS_H

#include "column.h"
#include "ids.h"
#include "text.h"

#define TIME_NONE   INT64_MIN
#define PID_UNKNOWN INT64_MIN

/* 16 bytes a sample, as three columns. */
struct samples {
    struct column time_ns; /* int64_t: the trace's clock until profile_finish, then since the profile's start */
    struct column stack;   /* stack_id; none: no stack */
    struct column weight;  /* uint32_t: see profile_weight_encode */
};

struct process {
    int64_t pid;           /* PID_UNKNOWN when the trace does not tell it */
    uint32_t life;         /* 0 for the first process with this pid, 1 for the next… */
    struct text pid_text;  /* how the pid is written: "123", "123.2" for the second life; set by profile_finish unless a
                              reader set it */
    struct text name;      /* set by profile_finish after the main thread, unless a reader set it */
    int64_t start_ns;      /* TIME_NONE: before the trace */
    int64_t end_ns;        /* TIME_NONE: after it */
    thread_id main_thread; /* set by profile_finish; none when the trace has none */
};

struct thread {
    process_id process;
    int64_t tid;
    uint32_t life;        /* 0 for the first thread with this tid in its process, 1 for the next… */
    bool is_main;         /* set by profile_finish: the thread whose tid is the pid */
    struct text tid_text; /* "123.2" for the second life; empty: the tid as a number; set by profile_finish */
    struct text name;
    int64_t start_ns; /* TIME_NONE: before the trace */
    int64_t end_ns;   /* TIME_NONE: after it */
    struct samples samples;
    struct column markers; /* struct marker */
};

/* Adds a sample. Times need not ascend. */
static inline void samples_add(struct samples *samples, int64_t time_ns, stack_id stack, uint32_t weight) {
    int64_t *new_time_ns = column_push(&samples->time_ns);
    stack_id *new_stack = column_push(&samples->stack);
    uint32_t *new_weight = column_push(&samples->weight);
    if (!new_time_ns || !new_stack || !new_weight) return;
    *new_time_ns = time_ns;
    *new_stack = stack;
    *new_weight = weight;
}

static inline uint32_t samples_count(const struct samples *samples) { return (uint32_t)samples->time_ns.count; }

#endif
