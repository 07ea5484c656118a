/* Threads that share work, and the one that waits for them and for signals.
 *
 * While there is a crew, SIGINT, SIGTERM and SIGHUP are blocked in the thread that made it and in all that it starts;
 * it alone takes them. One that is ignored stays ignored. */
#ifndef GECKO_CREW_H
#define GECKO_CREW_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "libconvert/failure.h"

struct crew {
    int signals; /* descriptors */
    int endings;
    sigset_t blocked;
    atomic_bool is_stopping; /* members end as soon as they can */
    int ended_by;            /* the signal; 0: none */
};

/* A member's work. `number` counts from 0. */
typedef void crew_work(void *context, unsigned number);

/* Called by the waiting thread several times a second. */
typedef void crew_tick(void *context);

void crew_init(struct crew *crew, struct failure *failure);
void crew_fini(struct crew *crew);

/* Has `count` threads do the work, and waits for them; fewer when the system has no more. True when all have ended.
 * After a signal they are told to stop and get a moment to do so; false when some have not: they go on, and what they
 * use must stay until the process ends. Nothing is done after a failure, when a signal has come, or when there is no
 * thread at all (latched). `tick` may be NULL. */
bool crew_run(struct crew *crew, unsigned count, crew_work *work, void *context, crew_tick *tick, void *tick_context,
              struct failure *failure);

/* Has up to so many threads, the caller among them, do the same short work, and waits for them, whatever comes: signals
 * are taken later. */
void crew_share(unsigned count, void (*work)(void *context), void *context);

/* The number of processors that the process may use; at least 1. */
unsigned crew_size_of_machine(void);

#endif
