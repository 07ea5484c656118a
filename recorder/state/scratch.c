#include "scratch.h"

#include <stdbool.h>
#include <sys/mman.h>

static bool take(uint32_t *is_taken) {
    uint32_t free = 0;
    return __atomic_compare_exchange_n(is_taken, &free, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

void *scratch_take(struct scratch *scratch) {
    for (size_t i = 0; i < SCRATCH_COUNT; i++)
        if (take(&scratch->are_taken[i])) return scratch->buffers + i * scratch->buffer_bytes;
    void *mapped = mmap(NULL, scratch->buffer_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mapped == MAP_FAILED ? NULL : mapped;
}

void scratch_give(struct scratch *scratch, void *buffer) {
    uintptr_t offset = (uintptr_t)buffer - (uintptr_t)scratch->buffers;
    if (offset < SCRATCH_COUNT * scratch->buffer_bytes)
        __atomic_store_n(&scratch->are_taken[offset / scratch->buffer_bytes], 0, __ATOMIC_RELEASE);
    else
        munmap(buffer, scratch->buffer_bytes);
}

void scratch_enter_child(struct scratch *scratch) {
    for (size_t i = 0; i < SCRATCH_COUNT; i++) __atomic_store_n(&scratch->are_taken[i], 0, __ATOMIC_RELAXED);
}
