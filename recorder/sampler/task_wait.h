/* Finds what a thread waits in or for, without disturbing the thread. Call these in the sampler's thread alone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "recorder/gecko_recorder.h"

struct task_wait {
    bool is_told; /* the kernel shows what the thread waits in; if not, no other member is set */
    /* A hash of the call, its arguments, sp and pc. If it is the same again, the thread still waits in the same place.
     * 0: the thread runs. */
    uint64_t fingerprint;
    struct grec_label *label; /* names the wait; NULL: the thread runs, or is about to end */
    uint64_t sp;              /* the thread's registers while it waits; else 0 */
    uint64_t pc;
};

/* Returns what the thread waits in. */
struct task_wait task_wait_find(uint32_t tid);

/* Returns whether the kernel shows what an existing thread waits in. If not, errno says why. */
bool task_wait_is_told(uint32_t tid);
