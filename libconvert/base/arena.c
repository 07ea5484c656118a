#include "arena.h"

#include "memory.h"

/* The size of the chunks doubles, so that a small arena wastes little memory. */
enum { FIRST_CHUNK_BYTES = 512, CHUNK_BYTES_MAX = 64 * 1024 };

struct arena_chunk {
    struct arena_chunk *next; /* the next newer one; if it is for one request, the next older one */
    size_t bytes_count;
    char bytes[];
};

void arena_init(struct arena *arena, struct failure *failure) { *arena = (struct arena){.failure = failure}; }

/* Frees the chunks before the end, and returns the end. */
static struct arena_chunk *free_until(struct arena_chunk *chunk, const struct arena_chunk *end) {
    while (chunk != end) {
        struct arena_chunk *next = chunk->next;
        memory_free(chunk);
        chunk = next;
    }
    return chunk;
}

void arena_fini(struct arena *arena) {
    free_until(arena->first, NULL);
    free_until(arena->large, NULL);
    *arena = (struct arena){0};
}

static bool has_bytes(const struct arena_chunk *chunk, const char *bytes) {
    return (uintptr_t)bytes - (uintptr_t)chunk->bytes < chunk->bytes_count;
}

void arena_forget(struct arena *arena, const char *bytes) {
    struct arena_chunk *chunk = arena->first;
    while (chunk && !has_bytes(chunk, bytes)) chunk = chunk->next;
    if (chunk) arena->first = free_until(arena->first, chunk);
}

static size_t next_chunk_bytes(const struct arena *arena, size_t least_bytes) {
    size_t bytes_count = arena->chunk_bytes ? 2 * arena->chunk_bytes : FIRST_CHUNK_BYTES;
    while (bytes_count < least_bytes) bytes_count *= 2;
    return bytes_count < CHUNK_BYTES_MAX ? bytes_count : CHUNK_BYTES_MAX;
}

static char *take_from_new_chunk(struct arena *arena, size_t bytes_count) {
    /* A large request gets a chunk of its own, so that the rest of the current chunk is not wasted. */
    bool is_large = bytes_count > CHUNK_BYTES_MAX / 4;
    size_t capacity = is_large ? bytes_count : next_chunk_bytes(arena, bytes_count);
    if (capacity > SIZE_MAX - sizeof(struct arena_chunk)) {
        failure_set_memory(arena->failure);
        return NULL;
    }
    struct arena_chunk *chunk = memory_allocate(arena->failure, sizeof *chunk + capacity);
    if (!chunk) return NULL;
    *chunk = (struct arena_chunk){.next = is_large ? arena->large : NULL, .bytes_count = capacity};
    if (is_large) {
        arena->large = chunk;
        return chunk->bytes;
    }
    *(arena->last ? &arena->last->next : &arena->first) = chunk;
    arena->last = chunk;
    arena->chunk_bytes = (uint32_t)capacity;
    arena->left_bytes = (uint32_t)(capacity - bytes_count);
    return chunk->bytes;
}

char *arena_take_bytes(struct arena *arena, size_t bytes_count) {
    if (bytes_count > arena->left_bytes || !arena->last) return take_from_new_chunk(arena, bytes_count);
    char *bytes = arena->last->bytes + (arena->chunk_bytes - arena->left_bytes);
    arena->left_bytes -= (uint32_t)bytes_count;
    return bytes;
}

void *arena_take_aligned(struct arena *arena, size_t bytes_count) {
    enum { ALIGNMENT_BYTES = _Alignof(max_align_t) };
    size_t padded_bytes;
    if (__builtin_add_overflow(bytes_count, ALIGNMENT_BYTES - 1, &padded_bytes)) {
        failure_set_memory(arena->failure);
        return NULL;
    }
    char *bytes = arena_take_bytes(arena, padded_bytes);
    if (!bytes) return NULL;
    bytes += -(uintptr_t)bytes % ALIGNMENT_BYTES;
    return memset(bytes, 0, bytes_count);
}

struct text arena_copy(struct arena *arena, struct text text) {
    char *bytes = arena_take_bytes(arena, text.bytes_count);
    if (!bytes) return (struct text){0};
    if (text.bytes_count) memcpy(bytes, text.bytes, text.bytes_count);
    return (struct text){bytes, text.bytes_count};
}

char *arena_copy_terminated(struct arena *arena, struct text text) {
    char *copy = arena_take_bytes(arena, text.bytes_count + 1);
    if (copy) text_copy(text, copy, text.bytes_count + 1);
    return copy;
}
