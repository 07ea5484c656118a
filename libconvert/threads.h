/* Processes, threads and their samples. */
#ifndef GECKO_THREADS_H
#define GECKO_THREADS_H

#include "column.h"
#include "ids.h"
#include "text.h"

#define TIME_NONE   INT64_MIN
#define PID_UNKNOWN INT64_MIN

/* What samples of some threads tell besides. A column that none of the thread's samples has a value for is empty, else
 * it is as long as the samples'. */
struct sample_details {
    struct column cpu_ns;   /* int64_t: CPU time since the thread's sample before; TIME_NONE: not known */
    struct column delay_ns; /* int64_t: how long an event sent to the thread would wait; TIME_NONE: not known */
};

/* 16 bytes a sample, as three columns. */
struct samples {
    struct column time_ns; /* int64_t: the trace's clock until profile_finish, then since the profile's start */
    struct column stack;   /* stack_id; none: no stack */
    struct column weight;  /* uint32_t: see profile_weight_encode */
    struct sample_details *details; /* owned; NULL: none of them tells more */
};

/* Memory that a thread took, or gave back. */
struct allocation {
    int64_t time_ns;  /* as that of samples */
    int64_t bytes;    /* how many it stands for; below 0: given back */
    uint64_t address; /* what was taken and is given back has the same one */
    stack_id stack;
    thread_id thread; /* which did it: not the one in whose table it is, where another one had taken the memory */
};

struct process {
    int64_t pid;           /* PID_UNKNOWN when the trace does not tell it */
    uint32_t life;         /* 0 for the first process with this pid, 1 for the next… */
    thread_id main_thread; /* set by profile_finish; none when the trace has none */
    struct text pid_text;  /* how the pid is written: "123", "123.2" for the second life; set by profile_finish unless a
                              reader set it */
    struct text name;      /* set by profile_finish after the main thread, unless a reader set it */
    int64_t start_ns;      /* TIME_NONE: before the trace */
    int64_t end_ns;        /* TIME_NONE: after it */
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
    struct column markers;     /* struct marker */
    struct column allocations; /* struct allocation; times need not ascend until profile_finish */
};

/* Adds "not known" to the columns of details that there are. */
void samples_add_no_details(struct samples *samples);

/* Tells more of the last sample, whose details are not known yet. Failures (memory) are latched. */
void samples_set_details(struct samples *samples, int64_t cpu_ns, int64_t delay_ns);

void samples_fini(struct samples *samples);

static inline bool samples_have_cpu(const struct samples *samples) {
    return samples->details && samples->details->cpu_ns.count;
}
static inline bool samples_have_delays(const struct samples *samples) {
    return samples->details && samples->details->delay_ns.count;
}

/* TIME_NONE where it is not known. */
static inline int64_t samples_cpu_ns(const struct samples *samples, uint32_t row) {
    return samples_have_cpu(samples) ? *(const int64_t *)column_at(&samples->details->cpu_ns, row) : TIME_NONE;
}
static inline int64_t samples_delay_ns(const struct samples *samples, uint32_t row) {
    return samples_have_delays(samples) ? *(const int64_t *)column_at(&samples->details->delay_ns, row) : TIME_NONE;
}

/* Adds a sample. Times need not ascend. */
static inline void samples_add(struct samples *samples, int64_t time_ns, stack_id stack, uint32_t weight) {
    int64_t *new_time_ns = column_push(&samples->time_ns);
    stack_id *new_stack = column_push(&samples->stack);
    uint32_t *new_weight = column_push(&samples->weight);
    if (!new_time_ns || !new_stack || !new_weight) return;
    *new_time_ns = time_ns;
    *new_stack = stack;
    *new_weight = weight;
    if (samples->details) samples_add_no_details(samples);
}

static inline uint32_t samples_count(const struct samples *samples) { return (uint32_t)samples->time_ns.count; }

#endif
