/* What system call a thread waits in, as the kernel tells it without disturbing the thread. Of the sampler's thread
 * alone. */
#ifndef GREC_TASK_WAIT_H
#define GREC_TASK_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "gecko_recorder.h"

struct task_wait {
    bool is_told; /* by the kernel; else nothing of the rest is */
    /* A signal handler could cut short what it waits in, SA_RESTART or not: sleeping, polling, a transfer with a time
     * limit or half done. Such a thread is left in peace. */
    bool is_left_in_peace;
    /* A signal cuts the wait short even after its time limit has passed, as long as the thread has not run again. */
    bool is_cut_when_late;
    /* Of the call, its arguments, sp and pc: a thread that has the same one again waits at the same place. 0: it runs.
     */
    uint64_t fingerprint;
    struct grec_label *label; /* says what it waits in, where that is sleeping or polling; else NULL */
    uint64_t sp;              /* the thread's own, where it is left in peace */
    uint64_t pc;
};

struct task_wait task_wait_find(uint32_t tid);

/* Whether the kernel tells it of a thread that is there; else errno says why. */
bool task_wait_is_told(uint32_t tid);

#endif
