#include "scratch.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

enum { SCRATCH_COUNT = 16 };

static _Alignas(16) unsigned char buffers[SCRATCH_COUNT][SCRATCH_BYTES];
static uint32_t are_taken[SCRATCH_COUNT];

void *scratch_take(void) {
    for (size_t i = 0; i < SCRATCH_COUNT; i++)
        if (!__atomic_exchange_n(&are_taken[i], 1, __ATOMIC_ACQUIRE)) return buffers[i];
    void *mapped = mmap(NULL, SCRATCH_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mapped == MAP_FAILED ? NULL : mapped;
}

void scratch_give(void *buffer) {
    uintptr_t offset = (uintptr_t)buffer - (uintptr_t)buffers;
    if (offset < sizeof buffers)
        __atomic_store_n(&are_taken[offset / SCRATCH_BYTES], 0, __ATOMIC_RELEASE);
    else if (buffer)
        munmap(buffer, SCRATCH_BYTES);
}
