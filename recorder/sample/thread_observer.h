/* What the sampler does with the threads in each round: it finds out which have run, asks those for their stacks, and
 * writes a sample of each thread. A thread that has not run since its last sample is where it was. A thread that waits
 * in a system call is not interrupted: its stack is read from outside. Call these in the sampler's thread
 * alone, unless said otherwise. */
#ifndef GREC_THREAD_OBSERVER_H
#define GREC_THREAD_OBSERVER_H

#include <stdbool.h>
#include <stdint.h>

/* Forgets what is known of all threads. Call this before the first round, and again after thread_observer_finish. */
void thread_observer_begin(void);

/* Call this in the sampler's thread, before its first round. Reports which facts about threads the kernel withholds. */
void thread_observer_open(void);

/* Limits the next rounds. takes_no_stacks: to processor time, so that no thread is interrupted. takes_demanded_alone:
 * to threads that grec_sample_thread waits for. Those have samples with stacks in any case. */
void thread_observer_limit(bool takes_no_stacks, bool takes_demanded_alone);

/* Makes a round. Returns how many threads have run since the previous one. *hides_thread: whether one of them was not
 * asked because the kernel does not tell what it waits in, and it was on no processor: the sampler may have taken its
 * processor. Call this outside recording calls. */
uint32_t thread_observer_round(bool *hides_thread);

/* Call this in place of a round while recording is paused. */
void thread_observer_pause(void);

/* Call this before the first round after a pause: the processor time that was used in the pause belongs to no sample.
 */
void thread_observer_resume(void);

/* Reads the names of threads again, which decide whether threads are wanted. Reading costs some microseconds a thread.
 */
void thread_observer_refresh_names(void);

/* Writes the answers to the last round, and gives back the records that are held for threads. */
void thread_observer_finish(void);

#endif
