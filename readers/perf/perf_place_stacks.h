/* Makes stack rows of perf_places from the addresses of samples.
 *
 * Most outer frames of a sample are those of the thread's previous sample. They are compared, and not looked up again.
 */
#pragma once

#include "perf_places.h"

struct perf_place_stacks {
    struct perf_places *code; /* borrowed */
    uint32_t *rows;           /* room for one per address */
    size_t capacity;
    struct recent_stack *recents; /* the last stacks of some threads; NULL before the first one */
};

void perf_place_stacks_init(struct perf_place_stacks *stacks, struct perf_places *code);
void perf_place_stacks_fini(struct perf_place_stacks *stacks);

/* Returns the stack row of a thread's stack, which has these addresses, innermost first. Returns ID_NONE if it is empty
 * or memory ran out (latched). */
uint32_t perf_place_stacks_row(struct perf_place_stacks *stacks, int64_t pid, int64_t tid,
                               const struct perf_place *places, size_t count);
