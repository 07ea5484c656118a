/* What system call a thread waits in, as the kernel tells it without disturbing the thread. Of the sampler's thread
 * alone. */
#ifndef GREC_TASK_WAIT_H
#define GREC_TASK_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "gecko_recorder.h"

struct task_wait {
    /* Of the call, its arguments, sp and pc: a thread that has the same one again waits at the same place. 0: it runs,
     * or cannot be told. */
    uint64_t fingerprint;
    /* Says what it waits in, where a signal handler would cut that short, SA_RESTART or not: sleeping, polling. Such a
     * thread is left in peace. NULL: none of those. */
    struct grec_label *label;
    uint64_t sp; /* the thread's own, in the wait that the label tells */
    uint64_t pc;
};

struct task_wait task_wait_find(uint32_t tid);

/* The system call of that number is one of those. [any thread, signal-safe] */
bool task_wait_is_cut_short(long number);

/* Whether the kernel tells it of a thread that is there; else errno says why. */
bool task_wait_is_told(uint32_t tid);

#endif
