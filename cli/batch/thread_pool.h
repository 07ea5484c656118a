/* Threads that share work. The calling thread waits for them and takes signals.
 *
 * From thread_pool_init to thread_pool_fini, SIGINT, SIGTERM and SIGHUP are blocked in the calling thread and in the
 * threads it starts, unless the process ignores them. Only the calling thread takes them, in thread_pool_run. */
#ifndef GECKO_THREAD_POOL_H
#define GECKO_THREAD_POOL_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "libconvert/base/failure.h"

struct thread_pool {
    int signals; /* a signalfd, and an eventfd that counts finished threads */
    int finished;
    sigset_t blocked;
    atomic_bool is_stopping; /* the work should return as soon as it can */
    int ended_by;            /* the signal; 0: none */
};

/* The work of one thread. `number` counts from 0. */
typedef void thread_pool_work(void *context, unsigned number);

/* Called by the waiting thread several times a second. */
typedef void thread_pool_tick(void *context);

void thread_pool_init(struct thread_pool *pool, struct failure *failure);
void thread_pool_fini(struct thread_pool *pool);

/* Runs the work in `count` threads, or in fewer if the system cannot start that many, and waits for them. Returns true
 * when all have finished.
 *
 * After a signal, is_stopping is set, and the threads have a short time to finish. If some have not finished by then,
 * returns false: they keep running, and everything that they use must stay valid until the process ends.
 *
 * Does nothing after a failure or a signal. If no thread can be started, that is latched. `tick` may be NULL. */
bool thread_pool_run(struct thread_pool *pool, unsigned count, thread_pool_work *work, void *context,
                     thread_pool_tick *tick, void *tick_context, struct failure *failure);

#endif
