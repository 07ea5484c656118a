/* The stack that a thread began on, of the C library's threads. Found by mappings.h, whose rules hold. */
#ifndef GREC_THREAD_STACK_H
#define GREC_THREAD_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "stack_walk.h"

/* By the thread's control block, which lies at the top of its stack, or, of the process's first thread, by where the
 * process began. Where the kernel's list of mappings cannot be read stacks are taken to have the usual size. False: it
 * is not known. [signal-safe] */
bool thread_stack_find(uint64_t control_block, bool is_first, struct stack_limits *limits);

/* The calling thread's, if `sp` is on it; else all zero. [signal-safe] */
struct stack_limits thread_stack_of_self(uint64_t sp);

#endif
