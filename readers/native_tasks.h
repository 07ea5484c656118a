/* Processes and threads of a native trace. A process is one life of a pid, told by the time at which it began; a thread
 * is told by its uid, which no other thread of the trace has. */
#ifndef GECKO_NATIVE_TASKS_H
#define GECKO_NATIVE_TASKS_H

#include "libconvert/stack_path.h"

/* A thread costs memory even when it has a single event, so an input must not make any number of them. */
enum { NATIVE_TASK_COUNT_MAX = 524288 };

struct native_process {
    process_id id;
    uint64_t start_ns;  /* of CLOCK_MONOTONIC */
    int64_t name_ticks; /* when it had its name */
    bool has_name;
    bool has_live_chunk; /* one that it never gave back */
    bool has_ended;      /* in an orderly way */
};

/* What a name of a thread is worth: the sampler may write down an older one later. */
enum native_name_rank { NATIVE_NAME_NONE, NATIVE_NAME_OF_SYSTEM, NATIVE_NAME_SAMPLED, NATIVE_NAME_OWN };

struct native_thread {
    thread_id id;
    uint64_t uid;
    int64_t name_ticks;
    enum native_name_rank name_rank;
    struct stack_path path;
};

struct native_tasks {
    struct profile *profile;       /* borrowed */
    struct row_table process_keys; /* row numbers are those of `processes`, and the profile's process_ids */
    struct column processes;       /* struct native_process */
    struct row_table thread_keys;  /* as well */
    struct column threads;         /* struct native_thread */
};

void native_tasks_init(struct native_tasks *tasks, struct profile *profile);
void native_tasks_fini(struct native_tasks *tasks);

/* The process, added when it is new; NULL when there are too many, and when memory ran out (latched). */
struct native_process *native_tasks_process(struct native_tasks *tasks, int64_t pid, uint64_t start_ns);

/* The thread, added when it is new. */
struct native_thread *native_tasks_thread(struct native_tasks *tasks, const struct native_process *process,
                                          uint64_t uid, int64_t tid);

/* A name at a time; the latest one stays, of threads that of the highest rank. */
void native_tasks_name_process(struct native_tasks *tasks, struct native_process *process, struct text name,
                               int64_t ticks);
void native_tasks_name_thread(struct native_tasks *tasks, struct native_thread *thread, struct text name,
                              enum native_name_rank rank, int64_t ticks);

/* When all are known: starts of processes, and which life of its pid or tid each is. */
void native_tasks_settle(struct native_tasks *tasks);

#endif
