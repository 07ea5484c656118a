/* The stacks of samples: gathers the addresses of one, and makes a stack row of data_code of them.
 *
 * Most outer frames of a sample are those of the thread's previous sample. They are compared, and not looked up again.
 */
#ifndef GECKO_DATA_STACKS_H
#define GECKO_DATA_STACKS_H

#include "data_code.h"

struct data_stacks {
    struct data_code *code;    /* borrowed */
    struct perf_place *places; /* places of the stack that is being gathered, innermost first */
    uint32_t *rows;            /* room for one per place */
    size_t count;
    size_t capacity;
    struct recent_stack *recents; /* the last stacks of some threads; NULL before the first one */
};

void data_stacks_init(struct data_stacks *stacks, struct data_code *code);
void data_stacks_fini(struct data_stacks *stacks);

/* Begins a stack without addresses. */
static inline void data_stacks_clear(struct data_stacks *stacks) { stacks->count = 0; }

/* Adds the caller of what was added before. Running out of memory is latched. */
void data_stacks_push(struct data_stacks *stacks, uint64_t address, uint32_t flags);

/* Returns the stack row of the gathered stack in a thread. Returns ID_NONE if it is empty or memory ran out (latched).
 */
uint32_t data_stacks_row(struct data_stacks *stacks, int64_t pid, int64_t tid);

#endif
