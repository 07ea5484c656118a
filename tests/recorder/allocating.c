/* Allocates and frees memory, and prints how many of the allocated bytes are still in use: "kept BYTES, allocated
 * BYTES". tests/unit/recorder/test_sampler_preload.c runs this program with the memory library preloaded. The
 * program itself does not use the recorder. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUND_COUNT = 10000, KEPT_COUNT = 500 };

static size_t kept_bytes, allocated_bytes;

static void *take(void *memory) {
    if (!memory) abort();
    kept_bytes += malloc_usable_size(memory);
    allocated_bytes += malloc_usable_size(memory);
    return memory;
}

static void drop(void *memory) {
    kept_bytes -= memory ? malloc_usable_size(memory) : 0;
    free(memory);
}

static void *move(void *memory, size_t bytes_count) {
    kept_bytes -= memory ? malloc_usable_size(memory) : 0;
    return take(realloc(memory, bytes_count));
}

__attribute__((noinline)) void *allocate_somehow(size_t i) {
    void *memory = NULL;
    size_t bytes_count = 100 + i * 7919 % 100000;
    switch (i % 5) {
        case 0: return take(calloc(3, bytes_count / 3));
        case 1: return take(aligned_alloc(64, (bytes_count + 63) / 64 * 64));
        case 2: return posix_memalign(&memory, 256, bytes_count) ? NULL : take(memory);
        case 3: return move(take(malloc(10)), bytes_count);
        default: return take(malloc(bytes_count));
    }
}

/* Uses processor time without allocating, so that the sampler takes many samples. The sampler samples a program
 * while it uses processor time. */
static void work(void) {
    struct timespec from, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000 < 400);
}

int main(void) {
    static void *kept[KEPT_COUNT];
    char line[100];
    work();
    for (size_t i = 0; i < ROUND_COUNT; i++) {
        drop(kept[i % KEPT_COUNT]);
        kept[i % KEPT_COUNT] = allocate_somehow(i);
    }
    for (int i = 0; i < KEPT_COUNT; i += 2) {
        drop(kept[i]);
        kept[i] = NULL;
    }
    work();
    int count = snprintf(line, sizeof line, "kept %zu, allocated %zu\n", kept_bytes, allocated_bytes);
    return fwrite(line, 1, (size_t)count, stdout) == (size_t)count ? 0 : 1;
}
