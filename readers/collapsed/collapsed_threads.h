/* The threads and processes that stacks belong to. */
#pragma once

#include "collapsed_dialect.h"
#include "libconvert/base/value_table.h"
#include "libconvert/profile/profile.h"

/* A thread costs memory even with one sample, so the number of threads is bounded. */
enum { COLLAPSED_THREAD_COUNT_MAX = 65536 };

/* The thread of a stack. */
struct collapsed_owner {
    thread_id thread;
    bool has_tid;   /* the trace has the tid; others are invented */
    bool is_beyond; /* the thread is that of all stacks whose own threads are beyond the limit */
};

struct collapsed_threads {
    struct profile *profile;         /* borrowed */
    const struct dialect *dialect;   /* borrowed */
    struct strings texts;            /* what names threads */
    struct column owners;            /* struct collapsed_owner for each text, up to the limit */
    thread_id others;                /* for all texts beyond the limit; none: there are none */
    struct row_table pids;           /* int64_t; the row numbers equal the profile's process_ids */
    struct value_table last_threads; /* thread_id for each struct thread_key: the last thread with it */
    int64_t invented_tid;            /* the last tid given to a thread without one */
};

void collapsed_threads_init(struct collapsed_threads *threads, struct profile *profile, const struct dialect *dialect);
void collapsed_threads_fini(struct collapsed_threads *threads);

/* Adds the only thread, which has all stacks. */
void collapsed_threads_add_whole(struct collapsed_threads *threads);

/* Takes what names the thread off the stack and returns the thread. Beyond the limit, leaves it on the stack, and
 * returns one thread for all. The thread is none if memory ran out (latched). */
struct collapsed_owner collapsed_threads_take(struct collapsed_threads *threads, struct text *stack);
