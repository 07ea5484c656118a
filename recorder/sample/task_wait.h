/* Finds what a thread waits in or for, without disturbing the thread. Call these in the sampler's thread alone. */
#ifndef GREC_TASK_WAIT_H
#define GREC_TASK_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/gecko_recorder.h"

struct task_wait {
    bool is_told; /* the kernel shows what the thread waits in; if not, no other member is set */
    /* A signal handler could cut the wait short, even with SA_RESTART: sleeping, polling, or a transfer that has a time
     * limit or is half done. Or it would run only after the wait: a page fault. The sampler must not signal the
     * thread. */
    bool forbids_signals;
    /* A signal cuts the wait short even after its time limit has passed, until the thread runs again. */
    bool is_cut_when_late;
    /* A hash of the call, its arguments, sp and pc. If it is the same again, the thread still waits in the same place.
     * 0: the thread runs. */
    uint64_t fingerprint;
    struct grec_label *label; /* names the wait; NULL: the thread runs, or is about to end */
    uint64_t sp;              /* the thread's registers while it waits; else 0 */
    uint64_t pc;
    uint64_t function; /* that is called at pc; 0: not known */
};

/* Returns what the thread waits in. */
struct task_wait task_wait_find(uint32_t tid);

/* Whether a thread still waited when a signal handler interrupted it there. label and pc: those of the wait before the
 * signal. The kernel restarts the call after the handler, so it has moved the thread back to the call's instruction,
 * which ends at pc. */
bool task_wait_was_interrupted(const struct grec_label *label, uint64_t pc, uint64_t interrupted_pc);

/* Returns whether the kernel shows what an existing thread waits in. If not, errno says why. */
bool task_wait_is_told(uint32_t tid);

#endif
