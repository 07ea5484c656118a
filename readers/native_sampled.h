/* The threads that a sampler tells of in one chunk: who they are, and their stacks, on which the next samples build. */
#ifndef GECKO_NATIVE_SAMPLED_H
#define GECKO_NATIVE_SAMPLED_H

#include "libconvert/stack_path.h"
#include "native_tasks.h"

struct native_sampled_thread {
    bool is_named;
    struct native_thread *thread; /* NULL: there is no room for it */
    bool has_stack;               /* its last full sample is known */
    uint64_t flags;               /* of that sample: enum trace_sample_flag */
    stack_id stack;
    struct stack_path path; /* the stack's frames */
};

struct native_sampled {
    struct profile *profile; /* borrowed */
    struct row_table uids;   /* uint64_t; row numbers are those of `threads` */
    struct column threads;   /* struct native_sampled_thread */
};

/* NULL when memory ran out (latched). */
struct native_sampled *native_sampled_create(struct profile *profile);

/* May be NULL. */
void native_sampled_destroy(struct native_sampled *sampled);

/* The thread of that uid, not named where nothing was said of it; NULL when memory ran out (latched). */
struct native_sampled_thread *native_sampled_thread(struct native_sampled *sampled, uint64_t uid);

#endif
