/* What the helper, which is the sampler's thread, does with the pool. */
#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "pool_file.h"
#include "pool_internal.h"
#include "recorder/state/process.h"

/* Faults pages in for writing, so that recording threads do not. */
static void populate(unsigned char *bytes, size_t bytes_count) {
#ifndef MADV_POPULATE_WRITE
    enum { MADV_POPULATE_WRITE = 23 };
#endif
    if (madvise(bytes, bytes_count, MADV_POPULATE_WRITE) == 0) return;
    for (size_t at = 0; at < bytes_count; at += POOL_PAGE_BYTES)
        __atomic_fetch_or((uint32_t *)(void *)(bytes + at), 0, __ATOMIC_RELAXED);
}

bool pool_reserve_ahead(struct pool *pool) {
    uint64_t max_count = pool->shared->max_chunk_count;
    uint64_t reserved = __atomic_load_n(&pool->shared->reserved_count, __ATOMIC_ACQUIRE);
    uint64_t target = __atomic_load_n(&pool->header->chunk_count, __ATOMIC_RELAXED) + pool_ahead_count(pool);
    if (target > max_count) target = max_count;
    errno = 0;
    while (reserved < target) {
        /* Prepare a few at a time, so that threads get the first chunks while the last ones are being prepared. */
        uint64_t next = reserved + POOL_BATCH_COUNT < target ? reserved + POOL_BATCH_COUNT : target;
        if (!pool_file_reserve(pool, pool_chunk_offset(pool, reserved), pool_chunk_offset(pool, next))) return false;
        populate(pool->base + pool_chunk_offset(pool, reserved), (size_t)(next - reserved) * pool->chunk_bytes);
        for (uint64_t i = reserved; i < next; i++) pool_pages_touch(pool, i, pool->chunk_bytes);
        uint64_t seen = reserved;
        bool is_ours = __atomic_compare_exchange_n(&pool->shared->reserved_count, &seen, next, false, __ATOMIC_ACQ_REL,
                                                   __ATOMIC_ACQUIRE);
        reserved = is_ours ? next : seen;
    }
    return reserved < max_count;
}

void pool_wait_for_wake(struct pool *pool, uint32_t seen, uint32_t timeout_ns) {
    const struct timespec timeout = {.tv_nsec = timeout_ns};
    syscall(SYS_futex, &pool->shared->helper_word, FUTEX_WAIT, seen, &timeout, NULL, 0);
}

/* Counts what the threads of this process have written by now into the chunks that they have. */
static void touch_live(const struct pool *pool) {
    uint64_t chunk_count = __atomic_load_n(&pool->header->chunk_count, __ATOMIC_RELAXED);
    uint32_t pid = process_self()->pid;
    for (uint64_t i = 0; i < chunk_count; i++) {
        uint32_t count = __atomic_load_n(&pool->pages->counts[i], __ATOMIC_RELAXED);
        if (!count || count >= pool->chunk_bytes / POOL_PAGE_BYTES) continue;
        const struct trace_chunk_header *chunk = pool_chunk(pool, i);
        if (__atomic_load_n(&chunk->owner, __ATOMIC_ACQUIRE) == pid)
            pool_pages_touch(pool, i, (uint32_t)__atomic_load_n(&chunk->commit, __ATOMIC_RELAXED));
    }
}

uint64_t pool_resident_bytes(const struct pool *pool) {
    if (!pool->pages) return 0;
    touch_live(pool);
    uint64_t page_count = __atomic_load_n(&pool->pages->all_count, __ATOMIC_RELAXED);
    return pool->header->chunks_offset + page_count * POOL_PAGE_BYTES;
}
