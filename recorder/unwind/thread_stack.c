#include "thread_stack.h"

#include <pthread.h>

#include "mappings.h"

/* Start of the stack of the process's first thread; ld.so sets this. */
extern void *__libc_stack_end __attribute__((weak));

static uint64_t first_stack_end(void) { return &__libc_stack_end ? (uint64_t)(uintptr_t)__libc_stack_end : 0; }

/* The assumed size of a stack whose mapping is unknown. */
static const uint64_t USUAL_BYTES = 8 * 1024 * 1024;

bool thread_stack_find(uint64_t control_block, bool is_first, struct stack_limits *limits) {
    uint64_t end = is_first ? first_stack_end() : control_block;
    if (!end) return false;
    *limits = (struct stack_limits){.low = end > USUAL_BYTES ? end - USUAL_BYTES : 0, .high = end};
    if (!mappings_are_known()) return true;
    if (!mappings_find(end, limits)) return false;
    if (!is_first) limits->high = end;
    return true;
}

static bool is_within(struct stack_limits limits, uint64_t address) {
    return address >= limits.low && address < limits.high;
}

struct stack_limits thread_stack_of_self(uint64_t sp) {
    const struct stack_limits none = {0, 0};
    struct stack_limits limits;
    uint64_t control_block = (uint64_t)(uintptr_t)pthread_self();
    if (thread_stack_find(control_block, false, &limits) && is_within(limits, sp)) return limits;
    if (thread_stack_find(0, true, &limits) && is_within(limits, sp)) return limits;
    if (mappings_find(sp, &limits)) return none;
    /* The stack of a new thread is not yet in the list. */
    limits = (struct stack_limits){.low = control_block - USUAL_BYTES, .high = control_block};
    return is_within(limits, sp) ? limits : none;
}
