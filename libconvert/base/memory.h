/* Allocation against a limit. Memory that grows with the input is taken from here.
 *
 * The limit is that of the failure latch (failure.memory), so all stages of a conversion share one. Each block
 * remembers its limit and can be freed anywhere. Blocks are not counted if the latch has no limit. What libraries
 * allocate is not counted either; memory_check_resident covers that. Thread-safe: several conversions may share a
 * limit. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "failure.h"
#include "order.h"

struct memory_limit {
    uint64_t limit_bytes;
    bool is_default;                /* the user set no limit: it is half of the machine's memory */
    uint64_t resident_before_bytes; /* resident memory of the process when counting began */
    _Atomic(uint64_t) held_bytes;   /* size of the blocks that have not been freed */
};

/* Begins to count. If limit_bytes is 0, the limit is half of machine_memory_bytes. The limit must not move until all of
 * its blocks are freed. */
void memory_limit_init(struct memory_limit *limit, uint64_t limit_bytes);

/* Returns a block that is aligned for any type; free it with memory_free. Returns NULL if it would exceed the limit or
 * if memory ran out (latched). bytes_count may be 0. */
void *memory_allocate(struct failure *failure, size_t bytes_count);

/* Returns a zeroed array; otherwise as memory_allocate. */
void *memory_allocate_zeroed(struct failure *failure, size_t element_count, size_t element_bytes);

/* Resizes the block, which may move; NULL: allocates a new one. After a failure (latched) returns NULL and leaves the
 * block as it was. */
void *memory_resize(struct failure *failure, void *block, size_t bytes_count);

/* Enlarges an array that has too little room for `count` elements. `array` is the address of the pointer to it, which
 * may be NULL, and *capacity is the number of elements for which there is room. Returns false if memory ran out
 * (latched), and leaves the array as it was. */
bool memory_grow(struct failure *failure, void *array, size_t *capacity, size_t count, size_t element_bytes);

/* Makes room for `count` elements as memory_grow does, if there is too little. */
static inline bool memory_reserve(struct failure *failure, void *array, size_t *capacity, size_t count,
                                  size_t element_bytes) {
    return count <= *capacity || memory_grow(failure, array, capacity, count, element_bytes);
}

void memory_free(void *block); /* accepts NULL */
/* Frees several blocks, each of which may be NULL: MEMORY_FREE_ALL(rows, names). */
#define MEMORY_FREE_ALL(...) \
    memory_free_all((void *const[]){__VA_ARGS__}, sizeof((void *const[]){__VA_ARGS__}) / sizeof(void *))
void memory_free_all(void *const *blocks, size_t count);

/* Sorts as qsort does, and counts the copy of the rows that qsort makes. If that exceeds the limit (latched), leaves
 * the rows as they are. */
void memory_sort(struct failure *failure, void *rows, size_t row_count, size_t row_bytes,
                 int (*compare)(const void *left, const void *right));

/* Returns freed memory that the allocator still holds to the system, so that it does not count as resident. */
void memory_give_back_freed(void);

/* Returns false if the process has grown beyond the limit since counting began (latched). Call it where a library,
 * whose memory is not counted, may have allocated much. Takes some microseconds. */
bool memory_check_resident(struct failure *failure);
