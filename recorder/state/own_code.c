#include "own_code.h"

/* The three libraries, and the one for allocations. */
enum { LIBRARY_COUNT_MAX = 4 };

/* A library is added before the count says so. Libraries are loaded one after the other, and never unloaded. */
static struct { uint64_t start, end; } libraries[LIBRARY_COUNT_MAX];
static uint32_t library_count;

void own_code_add(const void *start, const void *end) {
    uint64_t first = (uint64_t)(uintptr_t)start;
    if (own_code_has(first) || library_count == LIBRARY_COUNT_MAX) return;
    libraries[library_count].start = first;
    libraries[library_count].end = (uint64_t)(uintptr_t)end;
    __atomic_store_n(&library_count, library_count + 1, __ATOMIC_RELEASE);
}

bool own_code_has(uint64_t address) {
    uint32_t count = __atomic_load_n(&library_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count; i++)
        if (address >= libraries[i].start && address < libraries[i].end) return true;
    return false;
}
