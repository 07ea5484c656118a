/* Memory whose sum is counted against a limit: what grows with the input is taken from here.
 *
 * The limit is that of the latch that failures go to (failure.memory), so every stage of a conversion takes from the
 * same one. Each block knows the limit that it is counted against, and can be given back from anywhere. Blocks of a
 * latch without a limit are counted nowhere. Memory that libraries take is not seen here: memory_check_resident is for
 * that. All of it is thread-safe: conversions side by side may share a limit. */
#ifndef GECKO_MEMORY_H
#define GECKO_MEMORY_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "failure.h"

struct memory_limit {
    uint64_t limit_bytes;
    bool is_default;                /* half of what the machine has: nobody asked for it */
    uint64_t resident_before_bytes; /* of the process, when the limit began to count */
    _Atomic(uint64_t) held_bytes;   /* in blocks that were not given back yet */
};

/* Begins to count. limit_bytes 0: half of what the machine has (machine_memory_bytes). The limit must stay where it is
 * until all of its blocks are given back. */
void memory_limit_init(struct memory_limit *limit, uint64_t limit_bytes);

/* A block that is aligned for any type, to be given back by memory_free. NULL when it would go beyond the limit or when
 * there is no memory (latched). bytes_count may be 0. */
void *memory_allocate(struct failure *failure, size_t bytes_count);

/* The same for an array, zeroed. */
void *memory_allocate_zeroed(struct failure *failure, size_t element_count, size_t element_bytes);

/* The block, or a new one for NULL, with another size; it may have moved. NULL after a failure (latched): then the block
 * is as it was. */
void *memory_resize(struct failure *failure, void *block, size_t bytes_count);

void memory_free(void *block); /* NULL is fine */

/* qsort, whose own copy of the rows counts while it works; failures (limit) are latched, and leave the rows as they are. */
void memory_sort(struct failure *failure, void *rows, size_t row_count, size_t row_bytes,
                 int (*compare)(const void *left, const void *right));

/* For places where a library, which counts nothing, may have taken much: false when the process has grown beyond the
 * limit since that began to count (latched). Costs some microseconds. */
bool memory_check_resident(struct failure *failure);

#endif
