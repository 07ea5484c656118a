/* Divides the processor time of a thread among its samples.
 *
 * A sample of the thread's event stands for one interval of the thread's own code, or for several if others before it
 * did not fit into the ring. The event is silent while the thread is in the kernel, so that time stays owed. A clock
 * tick that finds the thread in a system call takes it. Only chance decides whether a tick finds a call: what is owed
 * goes up and down. A tick that finds the thread's own code takes only what no tick in a call has taken for long.
 *
 * The kernel also works outside of system calls, in interrupts and page faults. A tick at that time looks as if it had
 * found the thread's own code. So more ticks find code than the event tells of. Interrupts hit all code alike: samples
 * of the event stand for a little more than the interval. Page faults do not, and the event's samples would show the
 * wrong functions. So if faults take much, and where there are no events, each tick takes the time since the last one,
 * and the event's samples are dropped. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sample_ring.h"

/* All members begin as zero. */
struct cpu_share {
    int64_t owed_ns;  /* processor time that no sample stands for yet */
    int64_t aside_ns; /* the part of owed_ns that samples of the event will stand for: the time of interrupts */
    /* Sums over the last seconds: */
    int64_t used_ns; /* all processor time */
    int64_t code_ns; /* time in the thread's own code, by its event */
    int64_t seen_ns; /* time outside of calls, by clock ticks */
    int64_t call_ns; /* time in calls, by clock ticks */
    /* How often the thread has begun to wait, and how often it had to leave its processor to others, as far as that was
     * counted. */
    int64_t wait_count, preemption_count;
    int64_t fault_ns_max; /* time in page faults at most, as far as they were counted */
};

/* A sample that is to be counted. */
struct shared_sample {
    enum sample_origin origin;
    bool has_event;       /* the thread has an event besides its timer */
    bool is_of_ended;     /* the thread has ended since its processor time was read, so its event tells of more */
    uint64_t interval_ns; /* interval of the event and the timer */
    uint64_t tick_ns;     /* between clock ticks */
    uint64_t passed_ns;   /* processor time since the timer's last sample, or time in code since the event's */
};

/* Adds processor time that the thread has used. */
void cpu_share_add(struct cpu_share *share, uint64_t used_ns);

/* Adds how often the thread has begun to wait, and how often it had to leave its processor to others. */
void cpu_share_add_switches(struct cpu_share *share, uint64_t wait_count, uint64_t preemption_count);

/* Returns whether ticks find so much more code than the event that it is not by chance. Then cpu_share_add_faults
 * decides whether that is because of page faults. tick_ns: see struct shared_sample. */
bool cpu_share_has_excess(const struct cpu_share *share, uint64_t tick_ns);

/* Adds page faults that the thread has had. */
void cpu_share_add_faults(struct cpu_share *share, uint64_t count);

/* Returns whether the thread begins and ends waits so often that it does better without an event. was_switching: what
 * this has returned before. */
bool cpu_share_is_switching(const struct cpu_share *share, bool was_switching);

/* Returns the processor time that the thread's next sample stands for, and takes it from what is owed. 0: the sample is
 * not needed. */
uint64_t cpu_share_take(struct cpu_share *share, const struct shared_sample *sample);
