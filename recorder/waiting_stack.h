/* The stack of another thread while that waits in a system call, read from outside: the thread is not disturbed. Of the
 * sampler's thread alone. */
#ifndef GREC_WAITING_STACK_H
#define GREC_WAITING_STACK_H

#include <stdint.h>

#include "merged_stack.h"
#include "task_wait.h"

enum waiting_stack_result {
    WAITING_STACK_TAKEN,
    WAITING_STACK_MOVED,     /* the thread woke up meanwhile, and what was read may be of two instants */
    WAITING_STACK_FORBIDDEN, /* this process may not read its memory */
};

/* Takes the native frames and the labels, of which `labels` are the thread's, without the frame that says what it waits
 * in. `wait` is what it was just found to wait in. depth: of the recording call. What of its registers is not known for
 * sure makes the stack short. */
enum waiting_stack_result waiting_stack_take(struct merged_stack *stack, uint32_t tid, const struct task_wait *wait,
                                             const struct grec_label_stack *labels, uint32_t depth);

/* The thread that took stacks has ended, or is not this process's. */
void waiting_stack_forget(void);

#endif
