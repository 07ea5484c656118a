/* A list of byte chunks of at least 64 KiB: output under construction. Appending copies bytes once. Splicing a list
 * into another one moves its chunks and copies only small ones. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "libconvert/base/failure.h"

struct chunk_list;

struct chunk {
    struct chunk *next;
    size_t used_bytes;
    size_t capacity_bytes;
    char bytes[];
};

/* Takes full chunks before the list is complete, so that a large output is never in memory as a whole. */
struct chunk_drain {
    void (*take)(void *context, struct chunk_list *chunks); /* empties the list that it is given */
    void *context;                                          /* borrowed */
};

struct chunk_list {
    struct failure *failure;         /* borrowed */
    const struct chunk_drain *drain; /* borrowed; NULL: the list keeps all chunks */
    struct chunk *first;
    struct chunk *last;
    uint64_t total_bytes;
};

void chunk_list_init(struct chunk_list *list, struct failure *failure);
void chunk_list_fini(struct chunk_list *list);

/* Adds a chunk with room for at least bytes_count bytes. Returns false if memory ran out (latched). */
bool chunk_list_grow(struct chunk_list *list, size_t bytes_count);

/* Returns room for bytes_count adjacent bytes. Write them, then commit how many were used. NULL if memory ran out
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

/* Appends text like printf. */
void chunk_list_format(struct chunk_list *list, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Copies all bytes to a place that has room for them. */
void chunk_list_copy(const struct chunk_list *list, char *out);

/* Moves all chunks of `from` to the end of `into` and leaves `from` empty. Bytes that fit into the last chunk of `into`
 * are copied there instead, so that small fragments share chunks. */
void chunk_list_splice(struct chunk_list *into, struct chunk_list *from);

/* Frees the first chunk, which must exist, and subtracts its bytes from the total. */
void chunk_list_drop_first(struct chunk_list *list);
