/* libgecko_recorder_memory.so: if preloaded, it reports to the recorder all memory that the program allocates and
 * frees.
 *
 *     LD_PRELOAD=libgecko_recorder_memory.so GECKO_RECORDER=1 program */
#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "recorder/gecko_recorder.h"
#include "recorder/preload/next_function.h"
#include "recorder/state/own_code.h"

/* The allocator that the program would use without this library. */
static struct {
    void *(*malloc)(size_t bytes_count);
    void (*free)(void *memory);
    void *(*calloc)(size_t count, size_t bytes_count);
    void *(*realloc)(void *memory, size_t bytes_count);
    void *(*memalign)(size_t alignment, size_t bytes_count);
    void *(*aligned_alloc)(size_t alignment, size_t bytes_count);
    int (*posix_memalign)(void **memory, size_t alignment, size_t bytes_count);
    void *(*valloc)(size_t bytes_count);
    void *(*pvalloc)(size_t bytes_count);
    size_t (*usable_size)(void *memory);
    bool is_known;
} next;

/* Memory that the dynamic linker allocates while it looks up those functions. It is never freed. */
enum { EARLY_BYTES = 16384, EARLY_ALIGNMENT = 16 };
static _Alignas(EARLY_ALIGNMENT) unsigned char early[EARLY_BYTES];
static size_t early_bytes;

static void *allocate_early(size_t bytes_count) {
    size_t taken = (bytes_count + EARLY_ALIGNMENT - 1) / EARLY_ALIGNMENT * EARLY_ALIGNMENT;
    size_t at = __atomic_fetch_add(&early_bytes, taken, __ATOMIC_RELAXED);
    if (taken < bytes_count || at + taken > EARLY_BYTES) {
        errno = ENOMEM;
        return NULL;
    }
    return early + at;
}

static bool is_early(const void *memory) {
    const unsigned char *at = memory;
    return at >= early && at < early + EARLY_BYTES;
}

/* Looks up the functions, once. Returns false during the lookup: allocate early memory then. */
static bool find_next(void) {
    static uint32_t is_looking_up; /* a word, since some machines cannot exchange bytes */
    if (__builtin_expect(__atomic_load_n(&next.is_known, __ATOMIC_ACQUIRE), 1)) return true;
    if (__atomic_exchange_n(&is_looking_up, 1, __ATOMIC_ACQ_REL)) return false;
    find_next_function(&next.malloc, "malloc");
    find_next_function(&next.free, "free");
    find_next_function(&next.calloc, "calloc");
    find_next_function(&next.realloc, "realloc");
    find_next_function(&next.memalign, "memalign");
    find_next_function(&next.aligned_alloc, "aligned_alloc");
    find_next_function(&next.posix_memalign, "posix_memalign");
    find_next_function(&next.valloc, "valloc");
    find_next_function(&next.pvalloc, "pvalloc");
    find_next_function(&next.usable_size, "malloc_usable_size");
    __atomic_store_n(&next.is_known, true, __ATOMIC_RELEASE);
    return true;
}

/* The constructor runs before there are other threads, so only the lookup itself allocates early memory. */
__attribute__((constructor)) static void begin(void) {
    own_code_register();
    find_next();
}

static void *count(void *memory) {
    if (memory && grec_is_counting_()) {
        int saved_errno = errno;
        grec_memory_allocated(memory, next.usable_size(memory));
        errno = saved_errno;
    }
    return memory;
}

static void discount(void *memory) {
    if (memory && grec_is_counting_()) {
        int saved_errno = errno;
        grec_memory_freed(memory, next.usable_size(memory));
        errno = saved_errno;
    }
}

GREC_API void *malloc(size_t bytes_count) {
    return find_next() ? count(next.malloc(bytes_count)) : allocate_early(bytes_count);
}

GREC_API void free(void *memory) {
    if (!memory || is_early(memory) || !find_next()) return;
    discount(memory);
    next.free(memory);
}

GREC_API void *calloc(size_t item_count, size_t bytes_count) {
    size_t all_bytes;
    if (find_next()) return count(next.calloc(item_count, bytes_count));
    return __builtin_mul_overflow(item_count, bytes_count, &all_bytes) ? NULL : allocate_early(all_bytes);
}

/* The size of early memory is not stored, so this copies up to the end of all early memory. */
static void *move_early(void *memory, size_t bytes_count) {
    size_t left = (size_t)(early + EARLY_BYTES - (unsigned char *)memory);
    void *moved = malloc(bytes_count);
    if (moved) memcpy(moved, memory, bytes_count < left ? bytes_count : left);
    return moved;
}

GREC_API void *realloc(void *memory, size_t bytes_count) {
    if (memory && is_early(memory)) return move_early(memory, bytes_count);
    if (!find_next()) return allocate_early(bytes_count);
    /* Count this first: once the memory is freed, another thread may be given its address. */
    discount(memory);
    void *moved = next.realloc(memory, bytes_count);
    if (!moved && bytes_count) count(memory);
    return count(moved);
}

/* The C library's reallocarray calls the realloc that the program has, which may be another library's. */

GREC_API void *memalign(size_t alignment, size_t bytes_count) {
    return find_next() ? count(next.memalign(alignment, bytes_count)) : NULL;
}

GREC_API void *aligned_alloc(size_t alignment, size_t bytes_count) {
    return find_next() ? count(next.aligned_alloc(alignment, bytes_count)) : NULL;
}

GREC_API int posix_memalign(void **memory, size_t alignment, size_t bytes_count) {
    if (!find_next()) return ENOMEM;
    int error = next.posix_memalign(memory, alignment, bytes_count);
    if (!error) count(*memory);
    return error;
}

GREC_API void *valloc(size_t bytes_count) { return find_next() ? count(next.valloc(bytes_count)) : NULL; }

GREC_API void *pvalloc(size_t bytes_count) { return find_next() ? count(next.pvalloc(bytes_count)) : NULL; }
