/* Walks the return addresses on a thread's stack, from a signal handler or a call in that thread, or in a copy of the
 * stack.
 *
 * A walk uses unwind tables for known code, and frame pointers for other code (generated code, hand-written assembly).
 * It trusts neither: every load is between the current sp and the stack's end, and sp grows with every frame. So wrong
 * data end the walk early, or at worst add a wrong frame, but cause no fault and no endless loop. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "mappings.h"
#include "unwind_table.h"

/* No address of a stack has the highest bit. */
#define STACK_END_MAX (UINT64_MAX >> 1)

struct walked_frame {
    uint64_t address;
    /* Where this frame's part of the stack ends and its caller's begins. A label whose frame address is A belongs to
     * the innermost frame with stack_end > A. The last frame of a truncated stack has its sp instead. The addresses of
     * an alternate signal stack are not ordered with those of other stacks. */
    uint64_t stack_end : 63;
    uint64_t is_exact : 1; /* the address is that of the next instruction to run; 0: that of the one after a call */
};

/* Walks from where a signal interrupted the calling thread. Writes frames, innermost first, and returns their count. If
 * capacity is not 0, there is at least the interrupted frame, which is exact. If snapshot is NULL, the walk uses frame
 * pointers alone. `own` is the thread's own stack. The alternate stack comes from the context, and any other stack,
 * such as a coroutine's, from mappings.h. *is_truncated becomes true if outermost frames may be missing. A coroutine
 * ends where no more callers are found, and its stack is then complete. [signal-safe] */
size_t stack_walk(const struct unwind_snapshot *snapshot, const ucontext_t *context, struct stack_limits own,
                  struct walked_frame *frames, size_t capacity, bool *is_truncated);

/* Walks from this call, like stack_walk. The first frame is the caller's, with its return address. If the call is not
 * on the thread's own stack, this function asks the kernel for the alternate stack. [signal-safe] */
size_t stack_walk_here(const struct unwind_snapshot *snapshot, struct stack_limits own, struct walked_frame *frames,
                       size_t capacity, bool *is_truncated);

/* A copy of a part of another thread's stack, from the address `start` up. start and bytes_count are multiples of 8. */
struct stack_copy {
    uint64_t start;
    size_t bytes_count;
    const void *bytes;
};

/* Finds how many bytes sp is below the CFA, after the instruction that ends at the address `end`, in a function whose
 * frame pointer is fp_bytes below the CFA. Returns false if that is unknown. */
typedef bool stack_find_depth(const struct unwind_snapshot *snapshot, uint64_t end, uint32_t fp_bytes,
                              uint32_t *sp_bytes);

/* Walks a copy of the stack of a thread that is blocked in a system call, from its sp up. Only the thread's sp and pc
 * are known, and other registers once the walk has found where a function saved them. find_depth finds the frame
 * pointer of a function that has one; if it cannot, the walk ends. *is_cut becomes true if the walk needs more of the
 * stack than the copy has. */
size_t stack_walk_copy(const struct unwind_snapshot *snapshot, uint64_t pc, uint64_t sp, const struct stack_copy *copy,
                       stack_find_depth *find_depth, struct walked_frame *frames, size_t capacity, bool *is_truncated,
                       bool *is_cut);
