/* A growable array in chunks of doubling size. It grows by adding a chunk and never moves an element, so
 * pointers to elements stay valid. Element i lives in chunk log2(i / FIRST + 1).
 *
 * Some profiles have a million threads, each with several columns that stay empty or nearly so: an empty column is 32
 * bytes and owns nothing, and the first chunk is small. */
#ifndef GECKO_COLUMN_H
#define GECKO_COLUMN_H

#include <stddef.h>
#include <stdint.h>

#include "failure.h"

enum { COLUMN_FIRST_CHUNK_LOG2 = 3, COLUMN_CHUNKS_MAX = 31 - COLUMN_FIRST_CHUNK_LOG2 };

struct column {
    struct failure *failure; /* borrowed */
    char **chunks;           /* owned */
    uint32_t count;          /* below 2^31: element numbers fit an id */
    uint32_t capacity;       /* elements in the chunks there are */
    uint32_t element_bytes;
    uint16_t chunk_count;
    uint16_t chunk_limit; /* no more chunks than these */
};

void column_init(struct column *column, uint32_t element_bytes, struct failure *failure);
void column_fini(struct column *column);

/* Adds the next chunk; false when memory ran out (latched). */
bool column_grow(struct column *column);

/* Sorts the elements, equal ones in the order that they had; failures (memory) are latched. */
void column_sort(struct column *column, int (*compare)(const void *left, const void *right));

/* Pointer to element `index`, which must be less than the count. */
static inline void *column_at(const struct column *column, size_t index) {
    size_t shifted = index + (1u << COLUMN_FIRST_CHUNK_LOG2);
    unsigned top = 63u - (unsigned)__builtin_clzll(shifted);
    return column->chunks[top - COLUMN_FIRST_CHUNK_LOG2] + (shifted - ((size_t)1 << top)) * column->element_bytes;
}

/* Pointer to a new last element, uninitialised; NULL when memory ran out (latched). */
static inline void *column_push(struct column *column) {
    if (column->count == column->capacity && !column_grow(column)) return NULL;
    return column_at(column, column->count++);
}

/* The elements from `index` on that lie side by side: a pointer, and in *run_count how many. */
static inline void *column_run(const struct column *column, size_t index, size_t *run_count) {
    size_t shifted = index + (1u << COLUMN_FIRST_CHUNK_LOG2);
    unsigned top = 63u - (unsigned)__builtin_clzll(shifted);
    size_t in_chunk = ((size_t)2 << top) - shifted;
    size_t left = column->count - index;
    *run_count = left < in_chunk ? left : in_chunk;
    return column_at(column, index);
}

#endif
