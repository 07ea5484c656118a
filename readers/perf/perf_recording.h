/* What is known of a perf recording, in whatever form it is read, while its records are used (perf_records.h) and until
 * the profile is made of it (perf_finish.h). */
#pragma once

#include "perf_activity.h"
#include "perf_events.h"
#include "perf_header.h"
#include "perf_record.h"
#include "perf_tasks.h"
#include "perf_tracing.h"
#include "perf_waits.h"
#include "readers/reader.h"

/* Gives stacks their meaning: stacks of lines (perf_stack.h), or of addresses. */
struct perf_code {
    void *context;
    /* Uses any record but samples and user stacks. */
    void (*use)(void *context, const struct perf_record *record);
    /* Returns the stack of a sample or user stack in a process, a row of `stacks`; none if it has none, or if memory
     * ran out (latched). */
    stack_id (*add_stack)(void *context, const struct perf_record *record, int64_t pid);
    /* Returns an array of the profile's stacks, by row of `stacks`; free it with memory_free. Called when all records
     * have been used, but after a failure. NULL: the stacks are the profile's, or memory ran out (latched). */
    stack_id *(*finish)(void *context);
    struct stack_table *stacks;
};

/* How many tasks end until it is decided whether one is forgotten. */
enum { PERF_ENDED_TASKS = 1024 };

struct perf_recording {
    struct profile *profile; /* borrowed */
    struct filter *filter;   /* borrowed; NULL: everything is kept */
    struct perf_code code;
    struct perf_header header;
    struct perf_tasks tasks;
    struct perf_events events;
    struct perf_activity activity;
    struct perf_waits waits;
    struct perf_tallies tallies;
    bool keeps_processors;  /* samples get their processor */
    bool has_times;         /* some sample had a time */
    bool has_stacks;        /* samples have stacks, not only an address */
    bool has_copies;        /* perf copied stacks */
    bool has_32_bit_copies; /* some of 32-bit programs, whose callers are not found in them */
    bool has_libraries;     /* it is known which addresses are in no library */
    bool has_named_clock;   /* the clock is one that -k names, not perf's own */
    bool has_raw_payloads;  /* payloads are laid out as the formats say, not text */
    bool is_of_processors;  /* it has what only recordings of whole processors have: events of the idle thread, or the
                               first thread of the kernel among the tasks that perf found running */
    stack_id last_stack;    /* stack of the previous sample */
    struct perf_tracing tracing;
    int64_t first_event_ns;  /* the earliest time of a sample or a switch; TIME_NONE: none */
    int64_t first_time_ns;   /* the earliest time above 0, which records of what was before have; TIME_NONE: none */
    int64_t last_time_ns;    /* time of the last record that has one, or time that was made up; 0 until there is one */
    uint64_t lost_counts[2]; /* by LOST records; by LOST_SAMPLES records, which count the same losses */
    struct position first_lost;
    int64_t last_loss_ns; /* when it was told; TIME_NONE until it is */
    uint32_t
        ended_rows[PERF_ENDED_TASKS]; /* the last tasks that ended, with filters: rows of `tasks`, round and round */
    uint64_t ended_count;
};

/* A sample without its stack. */
struct perf_occurrence {
    struct perf_task *task;
    struct perf_event *event; /* NULL: the sample counts for no event */
    uint32_t event_row;       /* in the recording's events */
    int64_t time_ns;
    int32_t processor; /* -1: unknown */
    bool has_period;
    uint64_t period;
    struct position position;
};

/* The filter of the options is borrowed. */
void perf_recording_init(struct perf_recording *recording, struct profile *profile,
                         const struct reader_options *options);
void perf_recording_fini(struct perf_recording *recording);

/* Returns the task of the record; NULL if memory ran out (latched). */
static inline struct perf_task *perf_recording_task(struct perf_recording *recording,
                                                    const struct perf_record *record) {
    return perf_tasks_find(&recording->tasks, record->machine, record->pid, record->tid);
}

/* Returns the record's time, or that of the last record if it has none. */
static inline int64_t perf_recording_time(const struct perf_recording *recording, const struct perf_record *record) {
    return record->time_ns == TIME_NONE ? recording->last_time_ns : record->time_ns;
}

/* Returns the time of a sample that has none. */
int64_t perf_recording_made_up_time(const struct perf_recording *recording);
