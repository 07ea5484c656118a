/* Has an allocator of its own, as programs that are linked with jemalloc have, and moves a block by reallocarray, which
 * that allocator lacks. tests/unit/recorder/test_sampler_preload.c runs this program with the memory library preloaded.
 * The program itself does not use the recorder. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_BYTES = 1 << 24, ALIGNMENT = 16 };

static _Alignas(ALIGNMENT) unsigned char arena[ARENA_BYTES];
static size_t taken_bytes;

static bool is_own(const void *memory) { return (uintptr_t)memory - (uintptr_t)arena < ARENA_BYTES; }

/* The size lies before the block. */
void *malloc(size_t bytes_count) {
    size_t needed = ALIGNMENT + (bytes_count + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    size_t at = __atomic_fetch_add(&taken_bytes, needed, __ATOMIC_RELAXED);
    if (at + needed > ARENA_BYTES) return NULL;
    memcpy(arena + at, &bytes_count, sizeof bytes_count);
    return arena + at + ALIGNMENT;
}

void free(void *memory) {
    if (memory && !is_own(memory)) abort();
}

void *calloc(size_t count, size_t bytes_count) { return malloc(count * bytes_count); }

void *realloc(void *memory, size_t bytes_count) {
    size_t before = 0;
    void *moved = malloc(bytes_count);
    if (memory) memcpy(&before, (unsigned char *)memory - ALIGNMENT, sizeof before);
    if (moved && before) memcpy(moved, memory, before < bytes_count ? before : bytes_count);
    free(memory);
    return moved;
}

int main(void) {
    char *text = malloc(8);
    strcpy(text, "text");
    text = reallocarray(text, 100, 100);
    return is_own(text) && strcmp(text, "text") == 0 ? 0 : 1;
}
