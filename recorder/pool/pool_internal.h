/* What the files of the pool share: the table of chunks, and the functions that keep its counts. */
#pragma once

#include "chunk_pool.h"

enum {
    POOL_PAGE_BYTES = 4096,
    /* How many chunks are allocated at once: a file system takes about as long for several as for one. */
    POOL_BATCH_COUNT = 4,
    POOL_AHEAD_BYTES = 2 * 1024 * 1024, /* about four milliseconds of the fastest recording */
};

static inline uint64_t entry_of(enum pool_entry_state state, uint64_t global_index) {
    return (uint64_t)state | global_index << 8;
}
static inline enum pool_entry_state entry_state(uint64_t entry) { return (enum pool_entry_state)(entry & 0xff); }

static inline uint64_t table_load(const struct pool *pool, uint64_t number) {
    return pool->table ? __atomic_load_n(&pool->table[number], __ATOMIC_ACQUIRE) : 0;
}

static inline void table_store(struct pool *pool, uint64_t number, uint64_t entry) {
    if (pool->table) __atomic_store_n(&pool->table[number], entry, __ATOMIC_RELEASE);
}

static inline bool table_change(struct pool *pool, uint64_t number, uint64_t from, uint64_t to) {
    return __atomic_compare_exchange_n(&pool->table[number], &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static inline uint64_t pool_chunk_offset(const struct pool *pool, uint64_t number) {
    return pool->header->chunks_offset + number * pool->chunk_bytes;
}

/* Returns how many chunks are prepared ahead of those that are taken: about as many, so that a program that ends soon,
 * or records little, does not pay for megabytes. */
static inline uint64_t pool_ahead_count(const struct pool *pool) {
    uint64_t count_max = POOL_AHEAD_BYTES / pool->chunk_bytes;
    uint64_t count = __atomic_load_n(&pool->header->chunk_count, __ATOMIC_RELAXED);
    if (count > count_max) count = count_max;
    return count < POOL_BATCH_COUNT ? POOL_BATCH_COUNT : count;
}

/* Allocates disk space for the first target_count chunks. Returns false with errno set. [signal-safe] */
bool pool_reserve_chunks(struct pool *pool, uint64_t target_count);

/* Counts a chunk whose contents are lost, unless it is free. [signal-safe] */
void pool_count_recycled(struct pool *pool, const struct trace_chunk_header *chunk);

/* Makes the table of touched pages, for a pool that is mapped. */
void pool_pages_open(struct pool *pool);
void pool_pages_close(struct pool *pool);

/* Notes that this process has touched the first bytes of a chunk. [signal-safe] */
void pool_pages_touch(const struct pool *pool, uint64_t number, uint64_t bytes_count) GREC_SHARED(pool_pages_touch);

void pool_hash_header(struct trace_header *header);
