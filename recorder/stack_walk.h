/* Return addresses on the stack that a thread runs on, walked from a signal handler in that thread or from a call of it.
 *
 * By unwind tables where the code is known, by frame pointers where it is not (generated code, hand-written assembly).
 * Neither is trusted: every load lies between the current sp and the stack's end, and sp grows with every frame, so
 * what is wrong ends the walk early, or at worst shows a wrong frame, and is never a fault or a loop. */
#ifndef GREC_STACK_WALK_H
#define GREC_STACK_WALK_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "unwind_table.h"

/* Memory that a stack is on: [low, high). The main thread's, which grows, counts from where it may grow to. All zero: not
 * known. */
struct stack_limits {
    uint64_t low;
    uint64_t high;
};

struct walked_frame {
    uint64_t address;
    /* Where this frame's part of the stack ends and its caller's begins. A label whose frame address is A belongs to
     * the innermost frame with stack_end > A. Of the last frame of a truncated stack it is not known: its sp. On an
     * alternate signal stack the addresses are anywhere. */
    uint64_t stack_end;
    bool is_exact; /* the instruction that was about to run, not the one behind a call */
};

/* Walks from where a signal interrupted the calling thread; the first frame, which is exact, is always there if
 * capacity is. The innermost frame comes first. `snapshot` may be NULL: frame pointers alone. `own` is the thread's own
 * stack; the alternate stack is taken from the context, and any other stack, as a coroutine has, from mappings.h.
 * *is_truncated: outermost frames are missing, or may be. A coroutine begins where no more callers are found: its stack
 * is whole. Returns the count of frames. [signal-safe] */
size_t stack_walk(const struct unwind_snapshot *snapshot, const ucontext_t *context, struct stack_limits own,
                  struct walked_frame *frames, size_t capacity, bool *is_truncated);

/* The same from the call itself: the first frame is the caller's, by its return address. The alternate stack is asked
 * from the kernel if the call is not on the thread's own. [signal-safe] */
size_t stack_walk_here(const struct unwind_snapshot *snapshot, struct stack_limits own, struct walked_frame *frames,
                       size_t capacity, bool *is_truncated);

/* Of another thread's stack what lies at `start` and above, in memory of the caller's. Both are multiples of 8. */
struct stack_copy {
    uint64_t start;
    size_t bytes_count;
    const void *bytes;
};

/* By how many bytes sp is below the CFA behind the instruction that ends at that address, where the frame pointer is
 * fp_bytes below it; false: not known. */
typedef bool stack_find_depth(const struct unwind_snapshot *snapshot, uint64_t end, uint32_t fp_bytes,
                              uint32_t *sp_bytes);

/* Walks a copy of the stack of a thread that waits in a system call, from its sp on. Of its registers sp and pc are
 * known, and others once a function is found to have saved them. The frame pointer of a function that has one is then
 * where find_depth says; where that does not know either the stack ends. *is_cut: more of it would be needed. */
size_t stack_walk_copy(const struct unwind_snapshot *snapshot, uint64_t pc, uint64_t sp, const struct stack_copy *copy,
                       stack_find_depth *find_depth, struct walked_frame *frames, size_t capacity, bool *is_truncated,
                       bool *is_cut);

#endif
