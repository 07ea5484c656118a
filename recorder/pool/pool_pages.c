/* The pages of the trace that this process has touched: its resident memory includes them. */
#include <sys/mman.h>

#include "pool_internal.h"
#include "recorder/state/process.h"

static size_t table_bytes(const struct pool *pool) {
    return sizeof(struct pool_pages) + pool->shared->max_chunk_count * sizeof(uint32_t);
}

void pool_pages_open(struct pool *pool) { pool->pages = process_map_wiped(table_bytes(pool)); }

void pool_pages_close(struct pool *pool) {
    if (pool->pages) munmap(pool->pages, table_bytes(pool));
}

void pool_pages_touch(const struct pool *pool, uint64_t number, uint64_t bytes_count) {
    if (!pool->pages) return;
    uint32_t *count = &pool->pages->counts[number], seen = __atomic_load_n(count, __ATOMIC_RELAXED);
    uint32_t touched = (uint32_t)((bytes_count + POOL_PAGE_BYTES - 1) / POOL_PAGE_BYTES);
    while (seen < touched) {
        if (!__atomic_compare_exchange_n(count, &seen, touched, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) continue;
        __atomic_fetch_add(&pool->pages->all_count, touched - seen, __ATOMIC_RELAXED);
        return;
    }
}
