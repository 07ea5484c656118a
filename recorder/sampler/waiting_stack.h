/* Reads the stack of another thread that waits in a system call, without disturbing the thread. Call this in the
 * sampler's thread alone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "merged_stack.h"
#include "recorder/write/thread_registry.h"
#include "task_wait.h"

enum waiting_stack_result {
    WAITING_STACK_TAKEN,
    WAITING_STACK_MOVED,     /* the thread woke up meanwhile, so the bytes may be from different times */
    WAITING_STACK_FORBIDDEN, /* the kernel does not let this process read its own memory */
};

/* Takes the native frames and labels of the thread with that id and record, without the frame that names the wait.
 * wait: what task_wait_find has just returned for the thread. Most of the thread's registers are unknown, which may end
 * the stack early. */
enum waiting_stack_result waiting_stack_take(struct merged_stack *stack, const struct thread_record *record,
                                             uint32_t tid, const struct task_wait *wait);
