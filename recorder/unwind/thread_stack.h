/* Finds the stack that the C library or the kernel gave a thread at its start. mappings.h says where these functions
 * may be called. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "mappings.h"

/* Finds the stack from the thread's control block, which is at the top of the stack. For the process's first thread,
 * finds it from the place where the process started. If the kernel's list of mappings cannot be read, stacks are
 * assumed to have the usual size. Returns false if the stack is unknown. [signal-safe] */
bool thread_stack_find(uint64_t control_block, bool is_first, struct stack_limits *limits);

/* Returns the calling thread's stack if `sp` is on it; otherwise returns all zeros. [signal-safe] */
struct stack_limits thread_stack_of_self(uint64_t sp);
