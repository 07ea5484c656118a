/* Starts something in a child a little later, since most children of a shell end before that. A thread would take
 * longer to start and to end than such a child lives.
 *
 * A timer of the kernel sends the sampler's signal to the thread that arms it. What is started must be
 * async-signal-safe, and is started at once where the signal would do harm or the calls of its handler could be
 * forbidden. */
#ifndef GREC_LATE_START_H
#define GREC_LATE_START_H

#include <signal.h>
#include <stdbool.h>

/* Calls `start` in 10 ms, in the handler of the signal, which the calling thread must not block. Returns false if the
 * system has no timer. */
bool late_start_arm(int number, void (*start)(void));

/* Whether something waits for its start in this process. [signal-safe] */
bool late_start_is_armed(void);

/* Starts at once what waits, if anything does. errno stays as it is. [signal-safe] */
void late_start_now(void);

/* Forgets what waits. Returns whether anything did. If another thread is starting it, waits for that thread. */
bool late_start_cancel(void);

/* Returns whether a signal is the timer's, and if so starts what waits. [signal-safe] */
bool late_start_take(const siginfo_t *info);

/* Call this in a forked child: it has none of its parent's timers. */
void late_start_forget(void);

#endif
