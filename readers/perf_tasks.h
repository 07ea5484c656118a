/* Who ran: the threads of perf script, keyed by (pid, tid, life), and their processes.
 *
 * A tid names one task at a time. Lines may tell only the tid; the pid is then learnt from any record that tells it,
 * before or after. A fork that creates a tid which is known already begins a new life. */
#ifndef GECKO_PERF_TASKS_H
#define GECKO_PERF_TASKS_H

#include "libconvert/profile.h"
#include "libconvert/stack_path.h"

/* The samples of one event in one thread. */
struct perf_series {
    uint32_t event;
    thread_id thread;
    struct samples samples;
};

struct perf_task {
    int64_t pid; /* PID_UNKNOWN until told */
    int64_t tid;
    uint32_t machine;
    thread_id thread;
    bool is_forked;
    bool has_samples;
    int64_t last_time_ns;             /* of its last sample; TIME_NONE */
    struct perf_series *last_series;  /* where its last sample went; NULL before it */
    struct deferred_sample *deferred; /* samples that wait for their user stacks; owned by perf_samples.c */
    struct stack_path path;
};

struct perf_tasks {
    struct profile *profile;      /* borrowed */
    struct column rows;           /* struct perf_task */
    struct row_table tids;        /* struct tid_key */
    struct column current;        /* uint32_t: the task that has each tid now */
    struct row_table pids;        /* struct tid_key, of pids */
    struct column processes;      /* process_id: the process that has each pid now */
    struct row_table lives;       /* struct life_key */
    struct column life_counts;    /* uint32_t: the tasks so far of each pid and tid */
    struct row_table series_keys; /* struct series_key */
    struct column series;         /* struct perf_series */
    uint16_t rename_schema;
};

void perf_tasks_init(struct perf_tasks *tasks, struct profile *profile);
void perf_tasks_fini(struct perf_tasks *tasks);

/* The task that has the tid now, added when it is new. pid may be PID_UNKNOWN. NULL when memory ran out (latched). */
struct perf_task *perf_tasks_find(struct perf_tasks *tasks, uint32_t machine, int64_t pid, int64_t tid);

/* The task's name from here on; a name that changes after a sample becomes a marker. */
void perf_tasks_rename(struct perf_tasks *tasks, struct perf_task *task, struct text comm, int64_t time_ns);

void perf_tasks_fork(struct perf_tasks *tasks, uint32_t machine, int64_t pid, int64_t tid,
                     const struct perf_task *parent, int64_t time_ns);
void perf_tasks_exit(struct perf_tasks *tasks, uint32_t machine, int64_t pid, int64_t tid, int64_t time_ns);

/* The samples of an event in the task; NULL when memory ran out (latched). */
struct perf_series *perf_tasks_series(struct perf_tasks *tasks, struct perf_task *task, uint32_t event);

/* Gives every thread its process, and the samples of that event. */
void perf_tasks_finish(struct perf_tasks *tasks, uint32_t event);

#endif
