/* A bump allocator for bytes that live as long as the profile: strings, causes in the ledger, schemas of markers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "failure.h"
#include "text.h"

struct arena_chunk;

struct arena {
    struct failure *failure;   /* borrowed */
    struct arena_chunk *first; /* the oldest chunk that requests share; NULL: there is none */
    struct arena_chunk *last;
    struct arena_chunk *large; /* the newest chunk for a single large request */
    uint32_t chunk_bytes;      /* size of `last` */
    uint32_t left_bytes;       /* free at the end of `last` */
};

void arena_init(struct arena *arena, struct failure *failure);
void arena_fini(struct arena *arena);

/* Frees the chunks that hold only what was taken before `bytes`, which must be in the arena. */
void arena_forget(struct arena *arena, const char *bytes);

/* Returns uninitialised bytes without alignment, or NULL if memory ran out (latched). bytes_count may be 0. */
char *arena_take_bytes(struct arena *arena, size_t bytes_count);

/* Returns zeroed memory that is aligned for any type, or NULL if memory ran out (latched). bytes_count may be 0. */
void *arena_take_aligned(struct arena *arena, size_t bytes_count);

/* Returns the arena's copy of the text, or an empty text if memory ran out (latched). */
struct text arena_copy(struct arena *arena, struct text text);

/* Returns the arena's copy, NUL-terminated; NULL if memory ran out (latched). */
char *arena_copy_terminated(struct arena *arena, struct text text);
