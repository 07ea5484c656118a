/* The signal by which the sampler asks threads for their stacks: which signal that is now, which threads can be asked,
 * and the requests under way. own_signal.h says how the program keeps the use of the signal. Call these in the
 * sampler's thread alone, unless said otherwise. */
#ifndef GREC_THREAD_SIGNAL_H
#define GREC_THREAD_SIGNAL_H

#include <stdbool.h>
#include <stdint.h>

struct thread_record;
struct thread_writers;

/* Takes a signal. Call this in the thread that starts the sampler, before the sampler's thread exists: the program's
 * next instruction may block all signals for good. */
void thread_signal_take(void);

/* Call this in the sampler's thread before its first round. */
void thread_signal_begin(void);

/* Looks whether the program has taken the signal for itself, and changes to another one then. Reports that. */
void thread_signal_refresh(void);

/* Whether there is a signal to ask by. */
bool thread_signal_is_available(void);

/* Whether the thread can be asked now: no request is under way, the thread does not block the signal, and its handler
 * would have room and thread-local storage. */
bool thread_signal_can_ask(const struct thread_writers *writers, struct thread_record *record, uint64_t now_ticks);

/* Asks the thread: it leaves its stack in its slot before the next round. A thread that has ended is not asked. */
void thread_signal_ask(struct thread_record *record);

/* Whether the thread runs, but has not answered or could not be asked for half a second. */
bool thread_signal_is_overdue(const struct thread_record *record, uint64_t now_ticks);

/* Reports, once for each thread, that its samples have no stack, or that one of them has none because the thread's
 * stack had too little room for a handler. */
void thread_signal_report_unreached(struct thread_record *record);
void thread_signal_report_refused(struct thread_record *record);

/* Takes back all requests, and waits for handlers that have begun: they read what sampler_forget frees. */
void thread_signal_take_back_all(void);

/* Whether a handler did not end: its thread was stopped in the middle of it. [any thread] */
bool thread_signal_has_stuck_handler(void);

#endif
