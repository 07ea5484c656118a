#include "memory.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

/* Precedes each block. */
struct header {
    struct memory_limit *limit; /* NULL: not counted */
    size_t bytes_count;         /* including the header */
    _Alignas(max_align_t) char bytes[];
};

static struct header *header_of(void *block) {
    return (struct header *)((char *)block - offsetof(struct header, bytes));
}

/* ---- Counting. ---- */

static void fail(struct failure *failure) {
    static const struct {
        const char *name;
        double bytes;
    } units[] = {{"GiB", 1024.0 * 1024 * 1024}, {"MiB", 1024.0 * 1024}, {"KiB", 1024}};
    const struct memory_limit *limit = failure->memory;
    double limit_bytes = (double)limit->limit_bytes;
    size_t unit = 0;
    while (unit + 1 < sizeof units / sizeof *units && limit_bytes < units[unit].bytes) unit++;
    failure_set(failure, FAILURE_MEMORY,
                "more memory is needed than the limit of %.3g %s%s: raise it with --max-memory, or split the input",
                limit_bytes / units[unit].bytes, units[unit].name,
                limit->is_default ? ", half of what this machine has" : "");
}

/* Counts bytes that are allocated. Returns false if they would exceed the limit (latched). */
static bool count(struct failure *failure, size_t bytes_count) {
    struct memory_limit *limit = failure->memory;
    if (!limit) return true;
    if (bytes_count <= limit->limit_bytes) {
        uint64_t held_bytes = atomic_fetch_add(&limit->held_bytes, bytes_count);
        if (held_bytes <= limit->limit_bytes - bytes_count) return true;
        atomic_fetch_sub(&limit->held_bytes, bytes_count);
    }
    fail(failure);
    return false;
}

static void discount(struct memory_limit *limit, size_t bytes_count) {
    if (limit) atomic_fetch_sub(&limit->held_bytes, bytes_count);
}

/* Adds the size of the header. Returns false on overflow (latched). */
static bool add_header(struct failure *failure, size_t bytes_count, size_t *whole_bytes) {
    if (!__builtin_add_overflow(bytes_count, sizeof(struct header), whole_bytes)) return true;
    failure_set_memory(failure);
    return false;
}

/* ---- Blocks. ---- */

/* Fills in the header of memory that has been counted, and returns the block after it. Returns NULL if `header` is NULL
 * (latched). */
static void *begin_block(struct failure *failure, struct header *header, size_t whole_bytes) {
    if (!header) {
        discount(failure->memory, whole_bytes);
        failure_set_memory(failure);
        return NULL;
    }
    *header = (struct header){failure->memory, whole_bytes};
    return header->bytes;
}

void *memory_allocate(struct failure *failure, size_t bytes_count) {
    size_t whole_bytes;
    if (!add_header(failure, bytes_count, &whole_bytes) || !count(failure, whole_bytes)) return NULL;
    return begin_block(failure, malloc(whole_bytes), whole_bytes);
}

void *memory_allocate_zeroed(struct failure *failure, size_t element_count, size_t element_bytes) {
    size_t bytes_count, whole_bytes;
    if (__builtin_mul_overflow(element_count, element_bytes, &bytes_count)) bytes_count = SIZE_MAX;
    if (!add_header(failure, bytes_count, &whole_bytes) || !count(failure, whole_bytes)) return NULL;
    return begin_block(failure, calloc(1, whole_bytes), whole_bytes);
}

void *memory_resize(struct failure *failure, void *block, size_t bytes_count) {
    if (!block) return memory_allocate(failure, bytes_count);
    struct header *header = header_of(block);
    size_t had_bytes = header->bytes_count, whole_bytes;
    if (!add_header(failure, bytes_count, &whole_bytes)) return NULL;
    size_t more_bytes = whole_bytes > had_bytes ? whole_bytes - had_bytes : 0;
    if (!count(failure, more_bytes)) return NULL;
    header = realloc(header, whole_bytes);
    if (!header) return begin_block(failure, NULL, more_bytes);
    header->bytes_count = whole_bytes;
    if (whole_bytes < had_bytes) discount(header->limit, had_bytes - whole_bytes);
    return header->bytes;
}

bool memory_grow(struct failure *failure, void *array, size_t *capacity, size_t count, size_t element_bytes) {
    enum { FIRST_COUNT = 4 };
    void *block;
    size_t wanted = *capacity ? 2 * *capacity : FIRST_COUNT;
    if (wanted < count) wanted = count;
    memcpy(&block, array, sizeof block);
    block = memory_resize(failure, block, wanted * element_bytes);
    if (!block) return false;
    memcpy(array, &block, sizeof block);
    *capacity = wanted;
    return true;
}

void memory_free(void *block) {
    if (!block) return;
    struct header *header = header_of(block);
    discount(header->limit, header->bytes_count);
    free(header);
}

void memory_free_all(void *const *blocks, size_t count) {
    for (size_t i = 0; i < count; i++) memory_free(blocks[i]);
}

void memory_sort(struct failure *failure, void *rows, size_t row_count, size_t row_bytes,
                 int (*compare)(const void *left, const void *right)) {
    size_t bytes_count = row_count * row_bytes;
    if (!count(failure, bytes_count)) return;
    qsort(rows, row_count, row_bytes, compare);
    discount(failure->memory, bytes_count);
}

/* ---- What the process holds. ---- */

static bool is_beyond(const struct memory_limit *limit) {
    uint64_t now_bytes = machine_resident_bytes();
    return now_bytes > limit->resident_before_bytes && now_bytes - limit->resident_before_bytes > limit->limit_bytes;
}

static void trim(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

/* If the program has another allocator, this may be the first use of glibc's, and that is not thread-safe. */
void memory_give_back_freed(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, trim);
    trim();
}

bool memory_check_resident(struct failure *failure) {
    const struct memory_limit *limit = failure->memory;
    if (!limit || !is_beyond(limit)) return true;
    memory_give_back_freed();
    if (!is_beyond(limit)) return true;
    fail(failure);
    return false;
}

void memory_limit_init(struct memory_limit *limit, uint64_t limit_bytes) {
    *limit = (struct memory_limit){.limit_bytes = limit_bytes ? limit_bytes : machine_memory_bytes("") / 2,
                                   .is_default = !limit_bytes,
                                   .resident_before_bytes = machine_resident_bytes()};
}
