#include "thread_stack.h"

#include <pthread.h>

#include "mappings.h"

/* Where the process's first thread began; in ld.so. */
extern void *__libc_stack_end __attribute__((weak));

static uint64_t first_stack_end(void) { return &__libc_stack_end ? (uint64_t)(uintptr_t)__libc_stack_end : 0; }

bool thread_stack_find(uint64_t control_block, bool is_first, struct stack_limits *limits) {
    if (is_first) return first_stack_end() && mappings_find(first_stack_end(), limits);
    if (!mappings_find(control_block, limits)) return false;
    limits->high = control_block;
    return true;
}

static bool is_within(struct stack_limits limits, uint64_t address) {
    return address >= limits.low && address < limits.high;
}

/* A stack that begins so near above the address is taken to be the one that the address is on. Calls of this call's
 * caller are right below. */
static bool guess(uint64_t sp, uint64_t end, struct stack_limits *limits) {
    enum { BYTES_MAX = 8 * 1024 * 1024, CALLS_BYTES_MAX = 65536 };
    *limits = (struct stack_limits){.low = sp - CALLS_BYTES_MAX, .high = end};
    return end > sp && end - sp < BYTES_MAX;
}

struct stack_limits thread_stack_of_self(uint64_t sp) {
    struct stack_limits limits;
    uint64_t control_block = (uint64_t)(uintptr_t)pthread_self();
    if (thread_stack_find(control_block, false, &limits) && is_within(limits, sp)) return limits;
    if (thread_stack_find(0, true, &limits) && is_within(limits, sp)) return limits;
    if (mappings_find(sp, &limits)) return (struct stack_limits){0, 0};
    if (guess(sp, control_block, &limits) || guess(sp, first_stack_end(), &limits)) return limits;
    return (struct stack_limits){0, 0};
}
