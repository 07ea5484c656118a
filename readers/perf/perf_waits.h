/* When threads did not run: what a recording tells of that by PERF_RECORD_SWITCH, by the tracepoint sched:sched_switch,
 * and by samples, which show that a thread runs. perf_off_cpu.h makes samples of it. */
#pragma once

#include "perf_activity.h"

/* Letters of the states in which a thread stops, as ps shows them, besides those of the kernel's waits. */
enum { PERF_STATE_UNKNOWN = 0, PERF_STATE_PREEMPTED = 'R', PERF_STATE_ENDED = 'X', PERF_STATE_ZOMBIE = 'Z' };

/* Records of one switch are closer together, unless the kernel was slow to copy a stack between them. */
static const int64_t PERF_SWITCH_NS_MAX = 50000;

/* A time in which a thread did not run. */
struct perf_wait {
    int64_t start_ns;           /* TIME_NONE: since the thread began, or since the recording did */
    int64_t end_ns;             /* TIME_NONE: until the thread or the recording ended */
    struct perf_series *series; /* where the sample is that has the stack; NULL: the stack is unknown */
    union {
        uint32_t sample; /* its row in the series */
        stack_id stack;  /* see perf_waits_take_stacks */
    };
    uint32_t next;        /* row of the thread's next wait; ID_NONE: it has none yet */
    int16_t processor;    /* on which the thread ran before; -1: unknown */
    char state;           /* PERF_STATE_UNKNOWN: unknown */
    bool is_guessed : 1;  /* the recording does not tell the end, only when the thread was seen again */
    bool is_left_out : 1; /* by a filter other than that of times */
};

/* Returns a wait of which nothing else is known. */
static inline struct perf_wait perf_wait_since(int64_t start_ns, int32_t processor) {
    return (struct perf_wait){
        .start_ns = start_ns, .end_ns = TIME_NONE, .processor = processor <= INT16_MAX ? (int16_t)processor : -1};
}

struct perf_running {
    int64_t tid;
    int64_t since_ns;
};

struct perf_waits {
    struct profile *profile;        /* borrowed */
    struct filter *filter;          /* borrowed; NULL: everything is kept */
    struct perf_activity *activity; /* borrowed; gets a marker of each wait that PERF_RECORD_SWITCH tells of */
    struct perf_tallies *tallies;   /* borrowed */
    struct value_table unseen_ends; /* int64_t by tid: when threads that were not known were first told to run */
    struct value_table running;     /* struct perf_running by uint64_t, a processor: what its last switch told to run */
    uint32_t link_counts[2];        /* switches of another thread than that one, and of that one */
    struct column rows;             /* struct perf_wait; those of a thread are in order of time */
    uint32_t first_forgotten;       /* a row that is free, whose `next` is the next one; ID_NONE: there is none */
    bool has_records;               /* PERF_RECORD_SWITCH, of all switches */
    bool are_of_processors;         /* those records are of all threads of a processor */
    bool misses_switches;           /* sched_switch was recorded for some switches only */
    bool has_ends;                  /* the recording tells of every thread when it runs again */
};

/* Borrows all. */
void perf_waits_init(struct perf_waits *waits, struct perf_activity *activity, struct perf_tallies *tallies);
void perf_waits_fini(struct perf_waits *waits);

/* The thread stops. Two records can tell of one switch: what the first one does not know is taken from the second. */
void perf_waits_begin(struct perf_waits *waits, struct perf_task *task, const struct perf_wait *wait,
                      struct position position);

/* The thread runs again. */
void perf_waits_end(struct perf_waits *waits, struct perf_task *task, int64_t time_ns, struct position position);

/* A thread runs again that the recording may tell nothing else of. */
void perf_waits_end_unseen(struct perf_waits *waits, uint32_t machine, int64_t tid, int64_t time_ns);

/* A sample finds the thread running on the processor, which may be unknown (negative). */
void perf_waits_see_running(struct perf_waits *waits, struct perf_task *task, int32_t processor, int64_t time_ns);

/* Forgets what was counted of switches that tell of no wait, for a profile without waits. */
void perf_waits_forget_tallies(struct perf_waits *waits);

/* Returns the tid that the last switch on the processor told to run there; PID_UNKNOWN if there was none. */
int64_t perf_waits_running(const struct perf_waits *waits, int32_t processor);

/* A switch from one thread to another on a processor, which may be unknown (negative). Returns what the switch before
 * told to run there; its tid is PID_UNKNOWN if there was none, or if that was another record of this switch. */
struct perf_running perf_waits_link(struct perf_waits *waits, int32_t processor, int64_t from_tid,
                                    struct perf_running to);

/* The task leaves a processor which the switch before, at since_ns, told to run another thread: the switch to the task
 * is lost, and it did not run there before. */
void perf_waits_miss_start(struct perf_waits *waits, struct perf_task *task, int64_t since_ns, int64_t time_ns);

/* The switch before told the task to run, and another thread leaves the processor: the switch from the task is lost. */
void perf_waits_miss_stop(struct perf_waits *waits, struct perf_task *task, struct perf_running before);

/* Forgets the waits of a task that has ended, if filters keep nothing of it. Returns false if they may. */
bool perf_waits_forget(struct perf_waits *waits, struct perf_task *task);

/* Decides whether the recording tells of every thread when it runs again. Call it when all records were used. */
void perf_waits_judge_ends(struct perf_waits *waits);

/* Ends threads that stopped for good. */
void perf_waits_end_threads(const struct perf_waits *waits, const struct perf_tasks *tasks);

/* Adds markers for waits that still last when the recording ends, and leaves out those of threads that are left out.
 * Call it when threads have their ends. */
void perf_waits_finish(const struct perf_waits *waits, const struct perf_tasks *tasks, int64_t end_ns);

/* Replaces series and sample of all waits by their stacks. Call it when those are the profile's. */
void perf_waits_take_stacks(struct perf_waits *waits);

/* Returns whether the recording has told of any wait so far. */
static inline bool perf_waits_are_told(const struct perf_waits *waits) {
    return waits->rows.count || value_table_count(&waits->unseen_ends);
}

/* Returns whether the thread has ended with the wait. */
static inline bool perf_wait_is_end(const struct perf_wait *wait) {
    return wait->state == PERF_STATE_ENDED || wait->state == PERF_STATE_ZOMBIE;
}

static inline struct perf_wait *perf_waits_at(const struct perf_waits *waits, uint32_t row) {
    return column_at(&waits->rows, row);
}
