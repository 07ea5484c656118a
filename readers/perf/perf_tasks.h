/* The threads of a perf recording, keyed by (pid, tid, generation), and their processes.
 *
 * A tid belongs to one task at a time. Text may have only the tid; the pid then comes from any earlier or later record
 * that has both. A fork that creates an existing tid begins a new task: its generation is the number of tasks that had
 * these ids before. */
#pragma once

#include "libconvert/base/value_table.h"
#include "libconvert/profile/profile.h"
#include "perf_events.h"
#include "readers/filter.h"

/* What a tracepoint or another occurrence tells besides its time and place. */
struct perf_payload {
    const char *bytes;
    uint32_t bytes_count;
    uint32_t order; /* number of payloads before it, of all series */
};

static inline struct text perf_payload_text(const struct perf_payload *payload) {
    return (struct text){payload->bytes, payload->bytes_count};
}

/* The address of the data that a sample is about. */
struct perf_data_address {
    uint64_t address;
    uint32_t sample; /* row in the samples of its series */
};

/* Samples of one event in one thread. */
struct perf_series {
    uint32_t event;
    bool is_bare; /* none of them has a stack */
    thread_id thread;
    struct samples samples;
    struct column payloads;  /* struct perf_payload, each in the row of its sample; later samples have none */
    struct arena bytes;      /* those of the payloads */
    struct column addresses; /* struct perf_data_address, of the samples that have any */
};

/* Frees what the series has, which has no samples afterwards. */
void perf_series_fini(struct perf_series *series);

/* The kernel's names of threads have at most 15 bytes. */
struct perf_comm {
    char bytes[15];
};

struct perf_task {
    int64_t pid; /* PID_UNKNOWN until a line has it */
    uint32_t machine;
    thread_id thread;
    bool is_forked;
    bool has_samples;
    bool is_throttled; /* it was once, and perf_activity's table has its thread */
    bool is_forgotten;
    /* Programs that it executed, as the kernel names them, with up to 15 bytes; none: unknown. Rows of the profile's
       texts. A task that was forked has the last one of its parent. */
    string_id first_program;
    string_id last_program;
    uint32_t namespaces; /* a row of perf_activity's table; ID_NONE: unknown */
    uint32_t first_wait; /* rows of perf_waits; ID_NONE: none */
    uint32_t last_wait;
    uint64_t cgroup;                 /* 0: unknown */
    int64_t last_time_ns;            /* time of its last sample; TIME_NONE until there is one */
    int64_t last_switch_ns;          /* time of its last SWITCH record; TIME_NONE until there is one */
    struct perf_series *last_series; /* series of its last sample; NULL until there is one */
    struct perf_deferred *deferred;  /* samples that wait for their user stacks, newest first: see perf_deferred.h */
};

/* Another thread executed a program, and took the place of the main thread. */
struct perf_takeover {
    thread_id main;
    int64_t time_ns;
};

/* A tid that was looked up lately. */
struct perf_recent_tid {
    int64_t tid;
    uint32_t machine;
    uint32_t *slot; /* an element of perf_tasks.current; NULL: none was looked up */
};

enum { PERF_RECENT_TIDS = 64 };

struct perf_tasks {
    struct profile *profile;    /* borrowed */
    struct filter *filter;      /* borrowed; NULL: everything is kept */
    struct column rows;         /* struct perf_task */
    struct column forgotten;    /* uint32_t: rows that other threads may have, see perf_tasks_forget */
    struct column comms;        /* struct perf_comm by thread, with filters: names until perf_tasks_keep_names */
    struct value_table current; /* uint32_t by struct tid_key: row of the task that has the tid now; ID_NONE: none */
    struct perf_recent_tid recent_tids[PERF_RECENT_TIDS]; /* by tid modulo their number */
    struct value_table processes;     /* process_id by struct tid_key with a pid: the process that has it now */
    struct value_table former_counts; /* uint32_t by struct task_key: how many tasks no longer have that tid */
    struct column takeovers;          /* struct perf_takeover, in any order until perf_tasks_end_replacing */
    struct row_table series_keys;     /* struct series_key */
    struct column series;             /* struct perf_series */
    uint32_t payload_count;           /* payloads of all series */
    uint32_t deferred_count;          /* samples that wait for their user stacks, over all tasks */
    uint64_t comparison_count;        /* how often the name of a program was compared with that of a file */
    uint16_t rename_schema;
    bool has_forgotten;
    bool has_records; /* there are records of tasks, so tasks without a start began before the recording */
};

static inline int64_t perf_tasks_tid(const struct perf_tasks *tasks, const struct perf_task *task) {
    return profile_thread_at(tasks->profile, task->thread)->tid;
}

void perf_tasks_init(struct perf_tasks *tasks, struct profile *profile, struct filter *filter);
void perf_tasks_fini(struct perf_tasks *tasks);

/* Returns the task that has the tid now. Adds it if it is new. pid may be PID_UNKNOWN. NULL if memory ran out
 * (latched). */
struct perf_task *perf_tasks_find(struct perf_tasks *tasks, uint32_t machine, int64_t pid, int64_t tid);

/* Returns the task that has the tid now; NULL if it is not known yet. */
struct perf_task *perf_tasks_known(const struct perf_tasks *tasks, uint32_t machine, int64_t tid);

/* Returns whether a thread of a process with the pid is known. */
bool perf_tasks_has_process(const struct perf_tasks *tasks, uint32_t machine, int64_t pid);

/* Returns whether the recording has the main thread of the task's process. */
bool perf_tasks_has_main(const struct perf_tasks *tasks, const struct perf_task *task);

/* Names the task from now on. If the name changes after the first sample, a marker is added. */
void perf_tasks_rename(struct perf_tasks *tasks, struct perf_task *task, struct text comm, int64_t time_ns);

/* Tells the parent of a task that began before the recording. parent may be NULL. */
void perf_tasks_adopt(struct perf_tasks *tasks, uint32_t machine, int64_t pid, int64_t tid,
                      const struct perf_task *parent);

/* Begins the task at that time. Its process gets the parent's as its own parent. parent may be NULL. */
void perf_tasks_fork(struct perf_tasks *tasks, uint32_t machine, int64_t pid, int64_t tid,
                     const struct perf_task *parent, int64_t time_ns);

/* Ends the task at that time, and returns its row; ID_NONE if memory ran out (latched). */
uint32_t perf_tasks_exit(struct perf_tasks *tasks, uint32_t machine, int64_t pid, int64_t tid, int64_t time_ns);

/* The task executes a program. Returns true if it had ended: another thread of the process has executed the program,
 * and has the main thread's id now. No record tells of the end of that thread. */
bool perf_tasks_execute(struct perf_tasks *tasks, struct perf_task *task, int64_t time_ns);

/* Returns whether the task is a thread that has ended, is not the main one, and has no content besides waits. */
bool perf_tasks_can_forget(const struct perf_tasks *tasks, const struct perf_task *task);

/* Forgets a task of which perf_tasks_can_forget is true, so that another thread can have its row. */
void perf_tasks_forget(struct perf_tasks *tasks, uint32_t row);

/* Gives the names of threads to the profile. Call it when all records were used. */
void perf_tasks_keep_names(struct perf_tasks *tasks);

/* Makes starts and ends of threads without content unknown, apart from main threads, so that they are in no crowd. */
void perf_tasks_forget_lives(struct perf_tasks *tasks);

/* Ends the threads that have taken the places of main threads. Call it when all records were used. */
void perf_tasks_end_replacing(struct perf_tasks *tasks);

/* Returns the samples of the event in the task: those without stacks, or the others. NULL if memory ran out
 * (latched). */
struct perf_series *perf_tasks_series(struct perf_tasks *tasks, struct perf_task *task, uint32_t event, bool is_bare);

/* Gives each thread its process, its samples and its tracks. */
void perf_tasks_finish(struct perf_tasks *tasks, const struct perf_events *events);
