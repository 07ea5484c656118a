/* Divides the processor time of a thread among its samples.
 *
 * A sample of the thread's event stands for one interval of the thread's own code. The event is silent while the thread
 * is in the kernel, so that time stays owed. A clock tick that finds the thread in a system call takes it. Only chance
 * decides whether a tick finds a call: what is owed goes up and down. A tick that finds the thread's own code takes
 * only what no tick in a call has taken for long.
 *
 * The kernel may also work for a thread outside of system calls, above all in page faults. A tick at that time looks as
 * if it had found the thread's own code. Then more ticks find code than the event tells of, and the event's samples
 * would show the wrong functions. So then, and where there are no events, each tick takes all that is owed, and the
 * event's samples are dropped. A thread whose work keeps time with the ticks looks the same, but has few faults. */
#ifndef GREC_CPU_SHARE_H
#define GREC_CPU_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "sample_ring.h"

/* From all zero. */
struct cpu_share {
    int64_t owed_ns; /* processor time that no sample stands for yet */
    /* Of the last seconds: */
    int64_t used_ns;      /* all processor time */
    int64_t code_ns;      /* time in the thread's own code, by its event */
    int64_t seen_ns;      /* time outside of calls, by clock ticks */
    int64_t fault_ns_max; /* time in page faults at most, as far as they were counted */
};

/* A sample that is to be counted. */
struct shared_sample {
    enum sample_origin origin;
    bool has_event;       /* the thread has an event besides its timer */
    uint64_t interval_ns; /* of the event and the timer */
    uint64_t tick_ns;     /* between clock ticks */
    uint64_t passed_ns;   /* processor time since the timer's last signal */
};

/* Adds processor time that the thread has used. */
void cpu_share_add(struct cpu_share *share, uint64_t used_ns);

/* Returns whether ticks find more code than the event. Then cpu_share_add_faults decides whether that is because of
 * page faults. tick_ns: see struct shared_sample. */
bool cpu_share_has_excess(const struct cpu_share *share, uint64_t tick_ns);

/* Adds page faults that the thread has had. */
void cpu_share_add_faults(struct cpu_share *share, uint64_t count);

/* Returns the processor time that the thread's next sample stands for, and takes it from what is owed. 0: the sample is
 * not needed. */
uint64_t cpu_share_take(struct cpu_share *share, const struct shared_sample *sample);

#endif
