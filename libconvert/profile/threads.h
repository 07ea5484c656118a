/* Processes, threads and their samples. */
#pragma once

#include "libconvert/base/column.h"
#include "libconvert/base/ids.h"
#include "libconvert/base/text.h"

#define TIME_NONE   INT64_MIN
#define PID_UNKNOWN INT64_MIN

/* Return the earlier and the later one of two times. If one is TIME_NONE, return the other one. */
static inline int64_t time_earlier(int64_t a, int64_t b) {
    if (a == TIME_NONE || b == TIME_NONE) return a == TIME_NONE ? b : a;
    return a < b ? a : b;
}
static inline int64_t time_later(int64_t a, int64_t b) { return a > b ? a : b; }
_Static_assert(TIME_NONE == INT64_MIN, "earlier than any time");

/* What only some traces record about samples. A column is empty if no sample of the thread has a value for it;
 * otherwise it has one row for each sample. */
struct sample_details {
    struct column cpu_ns;     /* int64_t: CPU time since the thread's previous sample; TIME_NONE: unknown */
    struct column delay_ns;   /* int64_t: how long an event sent to the thread would wait; TIME_NONE: unknown */
    struct column processors; /* int64_t: where the thread ran; TIME_NONE: unknown */
};

struct sample {
    union {
        int64_t time_ns; /* see profile.h on times */
        int64_t time_ticks;
    };
    stack_id stack;  /* none: no stack */
    uint32_t weight; /* see profile_weight_encode */
};

struct samples {
    struct column rows;             /* struct sample */
    struct sample_details *details; /* owned; NULL: no sample has any */
};

/* Memory that a thread allocated or freed. */
struct allocation {
    union {
        int64_t time_ns; /* see profile.h on times */
        int64_t time_ticks;
    };
    int64_t bytes;    /* how many it stands for; negative: freed */
    uint64_t address; /* links an allocation to its deallocation */
    stack_id stack;
    thread_id thread; /* the thread that allocated or freed; may differ from the one whose table has the row */
};

/* The command line of a process. All texts are valid UTF-8 and live as long as the profile. */
struct command_line {
    struct text arguments; /* each ends with a zero byte */
    struct text shown;     /* with blanks between them; empty: it is not shown. Set by profile_label_processes */
    struct text label;     /* "cc1 parse.c"; empty: the name of the process. Set by profile_label_processes */
};

struct process {
    int64_t pid;             /* PID_UNKNOWN if the trace does not have it */
    uint64_t pid_namespace;  /* the namespace in which the pid is valid; 0: unknown */
    uint64_t home_namespace; /* the namespace that the process is in; 0: unknown. In an outer one it has another pid */
    int64_t outer_pid;       /* the pid in an outer namespace; 0: it has none, or that is unknown */
    uint32_t generation;     /* 0 for the first process with this pid, 1 for the next one, and so on */
    process_id parent;       /* none if unknown or not in the trace */
    thread_id main_thread;   /* none if the trace has none; set by profile_finish */
    uint32_t number;         /* private to profile_finish */
    uint32_t place; /* place of its first thread among those to write; ID_NONE: it has none; set by profile_finish */
    uint32_t merged_count; /* how many other processes it has the rows of: see crowds.h */
    bool has_children;     /* a written process has it as parent; set by profile_finish */
    bool is_replaced;      /* the next process with its pid is a program that it has executed */
    bool lives_on;         /* end_ns is when it stopped recording; the process itself went on */
    bool has_lost_content; /* it is written even if it has nothing to show, because the trace has lost that */
    /* The pid as written: "123", or "123.2" for another process with it. Set by profile_finish unless the reader has
     * set it. */
    struct text pid_text;
    struct text name;                  /* set by profile_finish from the main thread unless the reader has set it */
    struct text type;                  /* the processType as written; empty: follows from the name */
    struct command_line *command_line; /* in the profile's memory; NULL: unknown */
    /* The label, "name", or "name (name of the main thread)"; set by profile_finish if there is a main thread. */
    struct text title;
    struct text ending; /* its end: "exited"; empty: unknown. Lives as long as the profile */
    int64_t start_ns;   /* TIME_NONE: it started before the trace */
    union {
        int64_t end_ns; /* TIME_NONE: it ended after the trace */
        int64_t end_ticks;
    };
};

static inline struct text process_label(const struct process *process) {
    return process->command_line ? process->command_line->label : (struct text){0};
}

/* Returns the command line as it is shown; empty if it is not. */
static inline struct text process_command(const struct process *process) {
    return process->command_line ? process->command_line->shown : (struct text){0};
}

/* The tid of the thread that tracks of processors belong to, in place of a number. */
#define PROCESSORS_TID "processors"

/* A track has samples beside those of threads: of an event of its own, whose weights count the event and have another
 * unit than those of threads, or of a processor, which threads have as well. */
struct event_track {
    struct text event; /* or the name of the processor, and of the track */
    bool counts_ns;    /* the weights are nanoseconds */
    bool is_processor;
    thread_id owner; /* the thread in which the samples were taken; of processors, one without samples */
};

struct thread {
    process_id process;
    uint32_t track; /* row of the profile's tracks; ID_NONE: this is not a track */
    int64_t tid;
    int64_t outer_tid;     /* the tid in the namespace of the process's outer_pid; 0: unknown */
    uint32_t generation;   /* 0 for the first thread of the process with this tid, 1 for the next one, and so on */
    bool is_made_up;       /* the trace has no threads: the reader has put all samples into this one */
    bool is_main;          /* its tid is the pid; set by profile_finish unless the trace is a profile */
    bool has_weights;      /* the trace is a profile that gives its samples weights, even if all are 1 */
    bool is_visible;       /* the trace is a profile that shows the thread at first */
    struct text tid_text;  /* "123.2" for the second thread with the tid; empty: the number; set by profile_finish */
    uint32_t merged_count; /* how many other threads it has the rows of: see crowds.h */
    struct text name;
    union {
        int64_t start_ns; /* TIME_NONE: it started before the trace */
        int64_t start_ticks;
    };
    union {
        int64_t end_ns; /* TIME_NONE: it ended after the trace */
        int64_t end_ticks;
    };
    int64_t executed_ns; /* when it last executed a program; TIME_NONE: never, or unknown */
    struct samples samples;
    struct column markers;     /* struct marker */
    struct column allocations; /* struct allocation; in any order until profile_finish */
};

static inline bool thread_is_track(const struct thread *thread) { return thread->track != ID_NONE; }

/* Returns when the process ended; TIME_NONE: it ended after the trace, or after it stopped recording. */
static inline int64_t process_shutdown_ns(const struct process *process) {
    return process->lives_on ? TIME_NONE : process->end_ns;
}

void samples_init(struct samples *samples, struct failure *failure);
void samples_fini(struct samples *samples);

/* Adds "unknown" to each column of details that is not empty. */
void samples_add_no_details(struct samples *samples);

/* Sets the details of the last sample, which must still be unknown. Running out of memory is latched. */
void samples_set_details(struct samples *samples, int64_t cpu_ns, int64_t delay_ns);

/* Sets the processor of the last sample, which must still be unknown, unless it is negative. Running out of memory is
 * latched. */
void samples_set_processor(struct samples *samples, int64_t processor);

/* Moves columns with one row for each sample, or none, into the samples, which must have no details. Both columns are
 * empty afterwards. Running out of memory is latched. */
void samples_take_details(struct samples *samples, struct column *cpu_ns, struct column *delay_ns);

/* Makes the CPU time of all samples unknown. */
void samples_forget_cpu(struct samples *samples);

/* Adds CPU time to the samples, in proportion to that which each of them has. Does nothing if they have none, or if
 * cpu_ns is at least little_ns and more than they have together: most of it then belongs to samples that are missing.
 * */
void samples_spread_cpu(struct samples *samples, int64_t cpu_ns, int64_t little_ns);

/* Moves the other samples, which share the tables of stacks and weights, to the end of these. There are no other
 * samples afterwards. Running out of memory is latched. */
void samples_take(struct samples *samples, struct samples *other);

static inline bool samples_have_cpu(const struct samples *samples) {
    return samples->details && samples->details->cpu_ns.count;
}
static inline bool samples_have_delays(const struct samples *samples) {
    return samples->details && samples->details->delay_ns.count;
}

/* Puts the samples in order of their times. Those with the same time keep their order. */
void samples_sort(struct samples *samples, struct failure *failure);

/* Return TIME_NONE if it is unknown. */
static inline int64_t samples_cpu_ns(const struct samples *samples, uint32_t row) {
    return samples_have_cpu(samples) ? *(const int64_t *)column_at(&samples->details->cpu_ns, row) : TIME_NONE;
}
static inline int64_t samples_delay_ns(const struct samples *samples, uint32_t row) {
    return samples_have_delays(samples) ? *(const int64_t *)column_at(&samples->details->delay_ns, row) : TIME_NONE;
}

/* Returns the processor on which the sample was taken; negative if it is unknown. */
static inline int64_t samples_processor(const struct samples *samples, uint32_t row) {
    const struct column *processors = samples->details ? &samples->details->processors : NULL;
    return processors && processors->count ? *(const int64_t *)column_at(processors, row) : TIME_NONE;
}

/* Adds a sample. Samples may come in any order. time: in nanoseconds or ticks, see profile.h on times. */
static inline void samples_add(struct samples *samples, int64_t time, stack_id stack, uint32_t weight) {
    struct sample *sample = column_push(&samples->rows);
    if (!sample) return;
    *sample = (struct sample){.time_ns = time, .stack = stack, .weight = weight};
    if (samples->details) samples_add_no_details(samples);
}

/* Returns whether the thread has anything to show: samples, markers or allocations. */
static inline bool thread_has_content(const struct thread *thread) {
    return thread->samples.rows.count > 0 || thread->markers.count > 0 || thread->allocations.count > 0;
}

static inline uint32_t samples_count(const struct samples *samples) { return samples->rows.count; }

/* Returns sample `row`, which must be less than the count. */
static inline struct sample *samples_at(const struct samples *samples, size_t row) {
    return column_at(&samples->rows, row);
}
