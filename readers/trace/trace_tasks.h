/* Processes and threads of a recorder trace. A pid and a start time identify a process. A uid, which is unique in the
 * trace, identifies a thread. */
#pragma once

#include "libconvert/profile/stack_path.h"
#include "trace_clock.h"

/* A thread costs memory even with one event, so the number of threads, and of processes, is bounded. */
enum { TRACE_TASK_COUNT_MAX = 524288 };

/* What became of a process that has no end in the trace. */
enum trace_fate {
    TRACE_FATE_UNKNOWN = 0,
    TRACE_FATE_STILL_RECORDING,
    TRACE_FATE_KILLED,
    TRACE_FATE_REPLACED, /* a later process of the trace has its pid */
};

struct trace_process {
    process_id id;
    uint64_t start_ns;   /* time on CLOCK_MONOTONIC */
    int64_t parent_pid;  /* PID_UNKNOWN: not known */
    int64_t name_ticks;  /* time of the name */
    int64_t first_ticks; /* time of its first entry; TIME_NONE: it has none */
    int64_t last_ticks;  /* time of its last entry, the last sign of life; TIME_NONE */
    bool has_name;
    bool has_live_chunk;    /* some chunk of the process was never returned */
    bool has_ended;         /* the trace has the end of the process */
    uint32_t end;           /* enum trace_process_end */
    enum trace_fate fate;   /* if the process has no end */
    process_id successor;   /* the next one with its pid, if the process has no end */
    uint64_t chunk_count;   /* number of its chunks in the trace */
    uint64_t taken_count;   /* chunks that it is known to have taken; 0: unknown */
    uint64_t skipped_count; /* chunks that could not be read */
};

/* How reliable the name of a thread is. The sampler may record an older name at a later time. */
enum trace_name_rank { TRACE_NAME_NONE, TRACE_NAME_OF_SYSTEM, TRACE_NAME_SAMPLED, TRACE_NAME_OWN };

struct trace_thread {
    thread_id id;
    uint64_t uid;
    int64_t name_ticks;
    enum trace_name_rank name_rank;
    struct text first_name; /* the system's, as the thread itself has recorded it */
    int64_t rest_ns;        /* CPU time that it used between its samples */
    int64_t interval_ns;    /* interval of the samples; 0: unknown */
    bool has_sampled_cpu;   /* a sampler has recorded its CPU time */
};

struct trace_tasks {
    struct profile *profile;       /* borrowed */
    struct row_table process_keys; /* row numbers equal those of `processes` and the profile's process_ids */
    struct column processes;       /* struct trace_process */
    struct row_table thread_keys;  /* row numbers equal those of `threads` and the profile's thread_ids */
    struct column threads;         /* struct trace_thread */
};

void trace_tasks_init(struct trace_tasks *tasks, struct profile *profile);
void trace_tasks_fini(struct trace_tasks *tasks);

/* Returns the process. Adds it if it is new. NULL if there are too many or memory ran out (latched). */
struct trace_process *trace_tasks_process(struct trace_tasks *tasks, int64_t pid, uint64_t start_ns);

/* Returns the thread. Adds it if it is new. NULL if there are too many or memory ran out (latched). */
struct trace_thread *trace_tasks_thread(struct trace_tasks *tasks, const struct trace_process *process, uint64_t uid,
                                        int64_t tid);

/* Returns whether the thread is the recorder's own, which samples the others. */
bool trace_tasks_is_sampler(const struct trace_tasks *tasks, const struct trace_thread *thread);

/* Returns the process that had the pid at that time of CLOCK_MONOTONIC; NULL: the trace has none. Searches all
 * processes. */
struct trace_process *trace_tasks_find_process(struct trace_tasks *tasks, int64_t pid, uint64_t time_ns);

/* Names a process or thread. The latest name stays; for threads, the latest of the highest rank. */
void trace_tasks_name_process(struct trace_tasks *tasks, struct trace_process *process, struct text name,
                              int64_t ticks);
void trace_tasks_name_thread(struct trace_tasks *tasks, struct trace_thread *thread, struct text name,
                             enum trace_name_rank rank, int64_t ticks);

/* Sets the command line of a process, which must live as long as the profile, if the process is known. */
void trace_tasks_set_arguments(struct trace_tasks *tasks, int64_t pid, uint64_t start_ns, struct text arguments);

/* Completes samples. Sets parents and generation numbers (members `generation`) of all processes and threads. Call it
 * when all are known. */
void trace_tasks_finish(struct trace_tasks *tasks);

/* Sets start times of processes. Ends those without an end in the trace, unless they are known to record still: when
 * another one has taken their place, or else at their last sign of life. Ends threads with their process. Call it when
 * the fates are known and all times are in nanoseconds. */
void trace_tasks_end(struct trace_tasks *tasks, struct trace_clock *clock);
