/* The threads that a sampler samples in one chunk, and their stacks. A sample may continue its thread's previous
 * stack. */
#pragma once

#include "libconvert/base/value_table.h"
#include "libconvert/profile/stack_path.h"
#include "trace_tasks.h"

struct trace_sampled_thread {
    bool is_named;
    struct trace_thread *thread; /* NULL if it exceeds the limit on threads */
    bool has_stack;              /* the thread's last full sample is known */
    uint64_t flags;              /* enum trace_sample_flag, of the last full sample */
    stack_id stack;
    struct stack_path path;  /* frames of `stack` */
    int64_t last_idle_ticks; /* when a sample last found that the thread had not run; TIME_NONE: never in this chunk */
    int64_t interval_ns;     /* interval of its samples while it runs; 0: unknown */
    int64_t uncounted_ns;    /* CPU time for which too few samples were added so far; negative: too many */
};

struct trace_sampled {
    struct profile *profile;    /* borrowed */
    struct value_table threads; /* struct trace_sampled_thread for each uid, a uint64_t */
};

/* Returns NULL if memory ran out (latched). */
struct trace_sampled *trace_sampled_create(struct profile *profile);

/* NULL is allowed. */
void trace_sampled_destroy(struct trace_sampled *sampled);

/* Returns the thread of that uid. Adds it with is_named unset if the chunk has not named it. NULL if memory ran out
 * (latched). */
struct trace_sampled_thread *trace_sampled_thread(struct trace_sampled *sampled, uint64_t uid);
