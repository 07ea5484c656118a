/* What the sampler does with the threads in each round: it takes the stacks that they have left when their clocks
 * interrupted them, finds out which have run, and writes samples. A thread that has not run since it was found waiting
 * waits in the same place. The stack of a thread in a new wait is read from outside, so that no signal cuts the wait
 * short. Call these in the sampler's thread alone, unless said otherwise. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct thread_writers;
struct thread_record;

/* The thread that has started the sampler, and the processor time that it had used then. The thread may have executed
 * another program before, and is not always found in the first round. */
struct thread_observer_starter {
    uint32_t tid;
    uint64_t cpu_ns;
    uint64_t unseen_ns; /* what other processes have used, for the first sample "(between samples)" */
};

/* Frees the records of threads that have ended, and those that are held for threads. Call this before the sampler's
 * thread starts: the thread of the sampler before, for instance, has ended after its last round. [any thread] */
void thread_observer_drop_records(void);

/* Writes what threads have used since the sampler's start as samples "(between samples)", in place of all rounds. Call
 * thread_observer_begin and thread_observer_limit before. [any thread, if the sampler makes no rounds] */
void thread_observer_write_rests(void);

/* Less than half an interval is not worth a sample. It is left to the next process that ends like this, until all have
 * used an interval: then the sample of one process stands for it. Returns what a sample of this process stands for; 0:
 * there is none. [any thread] */
uint64_t thread_observer_gather_unseen(uint64_t used_ns, uint64_t interval_ns);

/* Forgets what is known of all threads. Call this before the first round, and again after thread_observer_finish. */
void thread_observer_begin(const struct thread_observer_starter *starter);

/* Call this in the sampler's thread, before its first round. Reports which facts about threads the kernel withholds. */
void thread_observer_open(void);

/* How the next rounds sample. */
struct thread_observer_rules {
    uint64_t interval_ns;
    bool finds_new_threads;    /* a thread that was not known before has begun since */
    bool takes_no_stacks;      /* processor time alone, so that no thread is interrupted */
    bool only_opens_clocks;    /* no stacks are written yet */
    bool writes_rest;          /* what threads have used so far becomes samples "(between samples)" */
    bool looks_at_all;         /* also at threads that have been idle for long */
    bool takes_demanded_alone; /* threads that grec_sample_thread waits for. Those have stacks in any case */
};
void thread_observer_limit(const struct thread_observer_rules *rules);

/* Makes a round. Returns how many threads have run since the previous one. Call this outside recording calls. */
uint32_t thread_observer_round(void);

/* Call this in place of a round while nothing is sampled: stops the clocks of all threads. */
void thread_observer_pause(void);

/* Reads the names of threads again, which decide whether threads are wanted. Reading costs some microseconds a thread.
 */
void thread_observer_refresh_names(void);

/* Stops the clocks, writes the samples that threads have left, and gives back the records that are held for threads. */
void thread_observer_finish(void);

/* Whether the thread may be in its handler, which reads tables of the unwinder. [any thread] */
bool thread_observer_is_walking(const struct thread_record *record);

/* Whether a handler did not end: its thread was stopped in the middle of it. [any thread] */
bool thread_observer_has_stuck_handler(void);
