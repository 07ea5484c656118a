#include "shared_sections.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "libconvert/base/memory.h"

enum { SECTION_COUNT_MAX = 1024 };
static const size_t PAGE_BYTES = 64 * 1024; /* the largest page that the kernel uses */
static const size_t AREA_BYTES_MAX = 64 << 20;

struct shared_section {
    pthread_mutex_t mutex; /* held while the section is uncompressed */
    struct section_key key;
    uint64_t start;         /* in the area */
    atomic_bool is_claimed; /* the key is set */
    bool is_good;           /* guarded by the mutex */
};

/* The start of the shared memory. The area follows. */
struct table {
    atomic_uint count;
    atomic_size_t used_bytes; /* those reserved in the area; may be more than there are */
    struct shared_section sections[SECTION_COUNT_MAX];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the making of the table */
static _Atomic(struct table *) shared_table;              /* NULL: not made */
static char *area;
static size_t area_bytes;

static size_t whole_pages(size_t bytes_count) { return (bytes_count + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1); }

static bool init_mutexes(struct table *table) {
    pthread_mutexattr_t attributes;
    if (pthread_mutexattr_init(&attributes) != 0) return false;
    bool is_good = pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0 &&
                   pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0;
    for (size_t i = 0; i < SECTION_COUNT_MAX && is_good; i++)
        is_good = pthread_mutex_init(&table->sections[i].mutex, &attributes) == 0;
    pthread_mutexattr_destroy(&attributes);
    return is_good;
}

static void make_table(size_t capacity_bytes) {
    size_t table_bytes = whole_pages(sizeof(struct table));
    char *bytes = mmap(NULL, table_bytes + capacity_bytes, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bytes == MAP_FAILED) return;
    area = bytes + table_bytes;
    area_bytes = capacity_bytes;
    struct table *table = (struct table *)(void *)bytes;
    if (init_mutexes(table) && mprotect(area, area_bytes, PROT_READ) == 0) atomic_store(&shared_table, table);
}

void shared_sections_prepare(const struct memory_limit *limit) {
    size_t capacity_bytes = AREA_BYTES_MAX;
    if (limit && limit->limit_bytes / 8 < capacity_bytes) capacity_bytes = (size_t)limit->limit_bytes / 8;
    pthread_mutex_lock(&mutex);
    if (!atomic_load(&shared_table) && capacity_bytes > PAGE_BYTES) make_table(capacity_bytes & ~(PAGE_BYTES - 1));
    pthread_mutex_unlock(&mutex);
}

static bool fits(uint64_t start, uint64_t bytes_count) {
    return start <= area_bytes && bytes_count <= area_bytes - start;
}

/* Returns false if the section is not to be used. */
static bool await(struct shared_section *section) {
    int result = pthread_mutex_lock(&section->mutex);
    if (result == EOWNERDEAD) pthread_mutex_consistent(&section->mutex);
    bool is_good = (result == 0 || result == EOWNERDEAD) && section->is_good;
    if (result == 0 || result == EOWNERDEAD) pthread_mutex_unlock(&section->mutex);
    return is_good;
}

const char *shared_sections_find(const struct section_key *key) {
    struct table *table = atomic_load(&shared_table);
    unsigned count = table ? atomic_load(&table->count) : 0;
    for (unsigned i = 0; i < count && i < SECTION_COUNT_MAX; i++) {
        struct shared_section *section = &table->sections[i];
        if (!atomic_load(&section->is_claimed) || memcmp(&section->key, key, sizeof *key) != 0) continue;
        return await(section) && fits(section->start, key->bytes_count) ? area + section->start : NULL;
    }
    return NULL;
}

char *shared_section_begin(const struct section_key *key, struct shared_section **section) {
    struct table *table = atomic_load(&shared_table);
    if (!table || key->bytes_count > area_bytes) return NULL;
    size_t taken_bytes = whole_pages((size_t)key->bytes_count);
    size_t start = atomic_fetch_add(&table->used_bytes, taken_bytes);
    if (!fits(start, taken_bytes)) {
        atomic_fetch_sub(&table->used_bytes, taken_bytes);
        return NULL;
    }
    unsigned row = atomic_fetch_add(&table->count, 1);
    if (row >= SECTION_COUNT_MAX || mprotect(area + start, taken_bytes, PROT_READ | PROT_WRITE) != 0) return NULL;
    *section = &table->sections[row];
    if (pthread_mutex_lock(&(*section)->mutex) != 0) return NULL;
    (*section)->key = *key;
    (*section)->start = start;
    atomic_store(&(*section)->is_claimed, true);
    return area + start;
}

void shared_section_end(struct shared_section *section, bool is_good) {
    mprotect(area + section->start, whole_pages((size_t)section->key.bytes_count), PROT_READ);
    section->is_good = is_good;
    pthread_mutex_unlock(&section->mutex);
}
