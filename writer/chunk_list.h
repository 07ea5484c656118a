/* A list of byte chunks, 64 KiB and up: output under construction. Appending copies bytes once; splicing a
 * list into another moves its chunks and copies none but small ones. */
#ifndef GECKO_CHUNK_LIST_H
#define GECKO_CHUNK_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "libconvert/failure.h"

struct chunk {
    struct chunk *next;
    size_t used_bytes;
    size_t capacity_bytes;
    char bytes[];
};

struct chunk_list {
    struct failure *failure; /* borrowed */
    struct chunk *first;
    struct chunk *last;
    uint64_t total_bytes;
};

void chunk_list_init(struct chunk_list *list, struct failure *failure);
void chunk_list_fini(struct chunk_list *list);

/* Adds a chunk with room for at least bytes_count; false when memory ran out (latched). */
bool chunk_list_grow(struct chunk_list *list, size_t bytes_count);

/* Room for bytes_count bytes side by side; write them, then commit how many were used. NULL when memory ran out
 * (latched). */
static inline char *chunk_list_reserve(struct chunk_list *list, size_t bytes_count) {
    struct chunk *last = list->last;
    if (!last || last->capacity_bytes - last->used_bytes < bytes_count) {
        if (!chunk_list_grow(list, bytes_count)) return NULL;
        last = list->last;
    }
    return last->bytes + last->used_bytes;
}

static inline void chunk_list_commit(struct chunk_list *list, size_t bytes_count) {
    list->last->used_bytes += bytes_count;
    list->total_bytes += bytes_count;
}

void chunk_list_append(struct chunk_list *list, const void *bytes, size_t bytes_count);

/* Moves all chunks of `from` behind those of `into`; `from` is empty after. What fits behind the last byte of `into`
 * is copied there instead, so that small fragments share chunks. */
void chunk_list_splice(struct chunk_list *into, struct chunk_list *from);

/* Frees the first chunk, which there must be, and takes its bytes off the total. */
void chunk_list_drop_first(struct chunk_list *list);

#endif
