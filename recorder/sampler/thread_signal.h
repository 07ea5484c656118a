/* The signal by which threads interrupt themselves: which one that is now, which threads can get it, and their clocks.
 * own_signal.h says how the program keeps the use of the signal. Call these in the sampler's thread alone, unless said
 * otherwise. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sampled_thread;
struct thread_record;
struct thread_writers;

/* Takes a signal. Call this in the thread that starts the sampler, before the sampler's thread exists: the program's
 * next instruction may block all signals for good. await_round: see own_signal_begin. */
void thread_signal_take(void (*await_round)(void));

/* Call this in the sampler's thread before its first round. */
void thread_signal_begin(void);

/* Looks whether the program has taken the signal for itself, and changes to another one then. Reports that. */
void thread_signal_refresh(void);

enum thread_reach {
    THREAD_IS_REACHED,  /* its clocks run */
    THREAD_IS_NEW,      /* it cannot be reached, but may be soon: a thread blocks all signals as it begins */
    THREAD_IS_UNREACHED /* it cannot be reached */
};

/* Opens the clocks of a thread if they can interrupt it, and closes them if not. */
enum thread_reach thread_signal_follow(const struct thread_writers *writers, struct thread_record *record,
                                       struct sampled_thread *thread, uint64_t interval_ns, uint64_t now_ticks);

/* Closes the clocks of a thread, if it has any. Its handler takes no stacks from now on. */
void thread_signal_leave(struct sampled_thread *thread);

/* Reports, once for each thread, that its samples have no stack, or that one of them has none because the thread's
 * stack had too little room for a handler. */
void thread_signal_report_unreached(const struct thread_record *record, struct sampled_thread *thread);
void thread_signal_report_refused(struct sampled_thread *thread);
