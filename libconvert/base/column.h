/* A growable array in chunks. Growing adds a chunk and never moves an element, so pointers to elements stay valid. The
 * size of the chunks doubles up to COLUMN_LARGE_CHUNK elements, and then stays, so that a large column wastes little
 * memory.
 *
 * A profile can have a million threads, each with several columns that are empty or nearly so. An empty column is
 * therefore 32 bytes and owns nothing, and the first chunk is small. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "failure.h"
#include "order.h"

enum {
    COLUMN_FIRST_CHUNK_LOG2 = 3,
    COLUMN_LARGE_CHUNK_LOG2 = 12,
    COLUMN_FIRST_CHUNK = 1 << COLUMN_FIRST_CHUNK_LOG2,
    COLUMN_LARGE_CHUNK = 1 << COLUMN_LARGE_CHUNK_LOG2,
    COLUMN_CAPACITY_MAX = INT32_MAX - COLUMN_FIRST_CHUNK + 1
};

struct column {
    struct failure *failure; /* borrowed */
    uintptr_t *chunks;       /* owned, as the chunks are: where element 0 would be if the chunk had it */
    uint32_t count;          /* below 2^31, so that every row number fits an id */
    uint32_t capacity;       /* the number of elements in all chunks together */
    uint32_t capacity_limit; /* the most elements that a column may have */
    uint32_t element_bytes;
};

void column_init(struct column *column, uint32_t element_bytes, struct failure *failure);
void column_fini(struct column *column);
/* Does the same to each of several columns: COLUMNS_FINI(&table->rows, &table->names). */
#define COLUMNS_FINI(...)                               \
    columns_fini((struct column *const[]){__VA_ARGS__}, \
                 sizeof((struct column *const[]){__VA_ARGS__}) / sizeof(struct column *))
void columns_fini(struct column *const *columns, size_t count);

/* Adds the next chunk. Returns false if memory ran out (latched). */
bool column_grow(struct column *column);

/* Appends copies of the elements. Returns false if memory ran out (latched). */
bool column_push_all(struct column *column, const void *elements, size_t count);

/* Appends copies of the elements of another column with elements of the same size. Running out of memory is latched. */
void column_append(struct column *column, const struct column *other);

/* Moves the elements of another column with elements of the same size to the end of this one. The other one is empty
 * afterwards. Running out of memory is latched, each column's in its own latch. */
void column_take(struct column *column, struct column *other);

/* Frees the chunks of which all elements are before `end`. Their elements must not be used any more. */
void column_forget(struct column *column, size_t end);

/* Sorts the elements, and keeps the order of equal ones. Running out of memory is latched. */
void column_sort(struct column *column, int (*compare)(const void *left, const void *right));

/* Returns which chunk has the element. Adding the size of the first chunk makes each chunk begin at a power of two, or
 * at a multiple of the large size. */
static inline size_t column_chunk_of(size_t index) {
    size_t shifted = index + COLUMN_FIRST_CHUNK;
    if (shifted >= COLUMN_LARGE_CHUNK)
        return shifted / COLUMN_LARGE_CHUNK - 1 + COLUMN_LARGE_CHUNK_LOG2 - COLUMN_FIRST_CHUNK_LOG2;
    return (63u ^ (unsigned)__builtin_clzll(shifted)) - COLUMN_FIRST_CHUNK_LOG2;
}

struct column_place {
    size_t offset;         /* in elements, from the start of the chunk */
    size_t chunk_elements; /* in the whole chunk */
};

static inline struct column_place column_place_of(size_t index) {
    size_t shifted = index + COLUMN_FIRST_CHUNK, chunk_elements = COLUMN_LARGE_CHUNK;
    if (shifted < COLUMN_LARGE_CHUNK) chunk_elements = (size_t)1 << (63u ^ (unsigned)__builtin_clzll(shifted));
    return (struct column_place){shifted & (chunk_elements - 1), chunk_elements};
}

/* Returns a pointer to element `index`, which must be less than the count. */
static inline void *column_at(const struct column *column, size_t index) {
    return (void *)(column->chunks[column_chunk_of(index)] + index * column->element_bytes);
}

/* Appends an uninitialised element and returns a pointer to it, or NULL if memory ran out (latched). */
static inline void *column_push(struct column *column) {
    if (column->count == column->capacity && !column_grow(column)) return NULL;
    return column_at(column, column->count++);
}

/* Appends a copy of the element. Returns false if memory ran out (latched). */
static inline bool column_add(struct column *column, const void *element) {
    void *added = column_push(column);
    if (added) memcpy(added, element, column->element_bytes);
    return added;
}

/* Returns a pointer to element `index`, and stores in *run_count how many elements lie contiguously from there. */
static inline void *column_run(const struct column *column, size_t index, size_t *run_count) {
    struct column_place place = column_place_of(index);
    size_t in_chunk = place.chunk_elements - place.offset, left = column->count - index;
    *run_count = left < in_chunk ? left : in_chunk;
    return column_at(column, index);
}

/* Returns a pointer to the element after this one, which must lie in the same run. */
static inline void *column_next(const struct column *column, const void *element) {
    return (char *)(uintptr_t)element + column->element_bytes;
}

/* Loops over the elements of a column, whose type may be that of their first member. break and continue work as in any
 * loop: the outer loop is over runs, and ends if something is left of one. Elements that the body appends are visited,
 * too. */
#define COLUMN_EACH(element_type, element, column)                                                          \
    for (size_t element##_row = 0, element##_left = 0; !element##_left && element##_row < (column)->count;) \
        for (element_type *element = column_run(column, element##_row, &element##_left); element##_left;    \
             element##_left--, element##_row++, element = column_next(column, element))
