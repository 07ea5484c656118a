/* This process, as its chunks tell it. A forked child is another one, and finds out by itself: what this module knows
 * lies in a page that the kernel clears in children. */
#ifndef GREC_PROCESS_H
#define GREC_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROCESS_NAME_BYTES = 64 };

struct process_state {
    uint32_t pid; /* 0: not yet filled in */
    uint32_t parent_pid;
    uint64_t start_ns;      /* of CLOCK_MONOTONIC: when it came to the recorder. Tells it from those that it was forked
                               from, which may have the same pid in another pid namespace */
    uint64_t pid_namespace; /* in which its pid is one; 0: not known */
    char name[PROCESS_NAME_BYTES];
};

/* Maps the page, once. False when there is no memory. */
bool process_init(void);

/* This process; is_new becomes true once in each. NULL before process_init. [signal-safe] */
const struct process_state *process_self(bool *is_new);

/* Memory that the kernel clears in forked children; NULL when there is none. [signal-safe] */
void *process_map_wiped(size_t bytes_count);

#endif
