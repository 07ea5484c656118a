/* Threads that share work. The calling thread waits for them and handles signals.
 *
 * From batch_threads_init to batch_threads_fini, SIGINT, SIGTERM and SIGHUP are blocked in the calling thread and in
 * the threads it starts, unless the process ignores them. Only the calling thread takes them, in batch_threads_run. */
#pragma once

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "libconvert/base/failure.h"

struct batch_threads {
    int signals;  /* a signalfd */
    int finished; /* an eventfd that counts finished threads */
    sigset_t blocked;
    atomic_bool is_stopping; /* the work should return as soon as it can */
    int ended_by;            /* the signal; 0: none */
};

/* The work of one thread. `number` counts from 0. */
typedef void batch_threads_work(void *context, unsigned number);

/* Called by the waiting thread several times a second. */
typedef void batch_threads_tick(void *context);

void batch_threads_init(struct batch_threads *threads, struct failure *failure);
void batch_threads_fini(struct batch_threads *threads);

/* Runs the work in `count` threads, or in fewer if the system cannot start that many, and waits for them. Returns true
 * when all have finished.
 *
 * After a signal, is_stopping is set, and the threads have a short time to finish. If some have not finished by then,
 * returns false: they keep running, and everything that they use must stay valid until the process ends.
 *
 * Does nothing after a failure or a signal. If no thread can be started, that is latched. `tick` may be NULL. */
bool batch_threads_run(struct batch_threads *threads, unsigned count, batch_threads_work *work, void *context,
                       batch_threads_tick *tick, void *tick_context, struct failure *failure);
