#include "chunk_pool.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pool_file.h"
#include "pool_internal.h"
#include "recorder/state/clock.h"
#include "recorder/state/hash.h"
#include "recorder/state/process.h"
#include "recorder/state/recording_state.h"
#include "recorder/state/sampler_hooks.h"

/* Chunks of dead processes are searched for once in this many times that a chunk is taken. The search costs a system
 * call for each live chunk. */
enum { DEAD_LOOK_PERIOD = 64 };

/* In a chunk's owner word: that process is done with the chunk, which is kept for others. A pid has 22 bits. */
static const uint32_t OWNER_HAS_LEFT = (uint32_t)1 << 31;

/* ---- Disk space. ---- */

bool pool_reserve_chunks(struct pool *pool, uint64_t target_count) {
    uint64_t *reserved = &pool->shared->reserved_count;
    uint64_t count = __atomic_load_n(reserved, __ATOMIC_ACQUIRE);
    while (count < target_count) {
        if (!pool_file_reserve(pool, pool_chunk_offset(pool, count), pool_chunk_offset(pool, target_count)))
            return false;
        if (__atomic_compare_exchange_n(reserved, &count, target_count, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return true;
    }
    return true;
}

/* Helpers run in all processes of the trace: to prepare room, any one of them will do. */
static void wake_helpers(struct pool *pool, int count_max) {
    int saved_errno = errno;
    __atomic_fetch_add(&pool->shared->helper_word, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &pool->shared->helper_word, FUTEX_WAKE, count_max, NULL, NULL, 0);
    errno = saved_errno;
}

void pool_wake_all_helpers(struct pool *pool) { wake_helpers(pool, INT_MAX); }

/* ---- Taking. ---- */

enum {
    NO_CHUNK = -1,
    LATE_CHUNK = -2, /* the helper will have one soon */
};

static uint64_t take_global_index(struct pool *pool) {
    return __atomic_fetch_add(&pool->header->next_global_index, 1, __ATOMIC_RELAXED);
}

static bool is_low(const struct pool *pool, uint64_t taken_count) {
    uint64_t reserved = __atomic_load_n(&pool->shared->reserved_count, __ATOMIC_RELAXED);
    return reserved < taken_count + pool_ahead_count(pool) / 2 && reserved < pool->shared->max_chunk_count;
}

bool pool_is_low(const struct pool *pool) {
    return is_low(pool, __atomic_load_n(&pool->header->chunk_count, __ATOMIC_RELAXED));
}

/* Whether the program has closed the trace's descriptor, but the sampler's thread still has it in a table of its own.
 */
static bool is_file_elsewhere(void) { return errno == EBADF && sampler_table() && sampler_table()->has_trace_file(); }

/* Takes a chunk that was never used. Returns its number; NO_CHUNK at the limit; or LATE_CHUNK. */
static int64_t take_new(struct pool *pool) {
    uint64_t max_count = pool->shared->max_chunk_count;
    uint64_t count = __atomic_load_n(&pool->header->chunk_count, __ATOMIC_RELAXED);
    do {
        if (count >= max_count) return NO_CHUNK;
        uint64_t target = count + POOL_BATCH_COUNT < max_count ? count + POOL_BATCH_COUNT : max_count;
        if (count >= __atomic_load_n(&pool->shared->reserved_count, __ATOMIC_ACQUIRE) &&
            !pool_reserve_chunks(pool, target) && !pool_reserve_chunks(pool, count + 1)) {
            if (is_file_elsewhere()) {
                wake_helpers(pool, 1);
                return LATE_CHUNK;
            }
            recording_stop_for_storage(errno);
            return NO_CHUNK;
        }
    } while (!__atomic_compare_exchange_n(&pool->header->chunk_count, &count, count + 1, true, __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED));
    if (is_low(pool, count + 1)) wake_helpers(pool, 1);
    return (int64_t)count;
}

static void raise_to(uint64_t *place, uint64_t value) {
    uint64_t old = __atomic_load_n(place, __ATOMIC_RELAXED);
    while (old < value && !__atomic_compare_exchange_n(place, &old, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

/* Entries with equal states compare like their global indexes. */
static int64_t find_oldest_sealed(const struct pool *pool, uint64_t *oldest_entry) {
    uint64_t count = __atomic_load_n(&pool->header->chunk_count, __ATOMIC_ACQUIRE);
    int64_t oldest = NO_CHUNK;
    *oldest_entry = UINT64_MAX;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t entry = __atomic_load_n(&pool->table[i], __ATOMIC_RELAXED);
        if (entry_state(entry) != POOL_SEALED || entry >= *oldest_entry) continue;
        *oldest_entry = entry;
        oldest = (int64_t)i;
    }
    return oldest;
}

/* The pid must be one of this process's pid namespace. */
static bool is_process_dead(uint32_t pid) { return pid && kill((pid_t)pid, 0) != 0 && errno == ESRCH; }

/* Whether the chunk's owner is in this process's pid namespace, so that the pid in the chunk's header is valid here. */
static bool is_of_own_namespace(const struct trace_chunk_header *chunk) {
    return __atomic_load_n(&chunk->pid_namespace, __ATOMIC_RELAXED) == process_self()->pid_namespace;
}

/* Returns a chunk whose header will be read. If that page is not mapped yet, the kernel maps up to 64 KiB around it. */
static struct trace_chunk_header *look_at(const struct pool *pool, uint64_t number) {
    pool_pages_touch(pool, number, pool->chunk_bytes);
    return pool_chunk(pool, number);
}

/* The owner is stored before the global index. So if the header has the table's index, it has that owner, or a later
 * one. A process may keep its chunk for others and end while this one looks at it: then the second look finds another
 * owner. */
static bool is_owner_dead(const struct pool *pool, uint64_t number, uint64_t entry) {
    const struct trace_chunk_header *chunk = look_at(pool, number);
    if (__atomic_load_n(&chunk->global_index, __ATOMIC_ACQUIRE) != entry >> 8 || !is_of_own_namespace(chunk))
        return false;
    uint32_t owner = __atomic_load_n(&chunk->owner, __ATOMIC_ACQUIRE);
    if (owner & OWNER_HAS_LEFT || !is_process_dead(owner)) return false;
    return __atomic_load_n(&chunk->owner, __ATOMIC_ACQUIRE) == owner;
}

/* Makes the live chunks of dead processes available like sealed ones. Their contents stay readable until they are
 * taken.
 */
static bool release_chunks_of_dead(struct pool *pool) {
    uint64_t count = __atomic_load_n(&pool->header->chunk_count, __ATOMIC_ACQUIRE);
    bool is_any_released = false;
    int saved_errno = errno;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t entry = table_load(pool, i);
        if (entry_state(entry) != POOL_LIVE || !is_owner_dead(pool, i, entry)) continue;
        is_any_released |= table_change(pool, i, entry, entry_of(POOL_SEALED, entry >> 8));
    }
    errno = saved_errno;
    return is_any_released;
}

void pool_count_recycled(struct pool *pool, const struct trace_chunk_header *chunk) {
    if (__atomic_load_n(&chunk->state, __ATOMIC_RELAXED) == TRACE_CHUNK_FREE) return;
    __atomic_fetch_add(&pool->header->recycled_chunk_count, 1, __ATOMIC_RELAXED);
    raise_to(&pool->header->complete_from_ticks, chunk->end_ticks ? chunk->end_ticks : clock_ticks());
}

/* ---- Chunks that ended longer ago than the pool keeps any. ---- */

static bool is_old(const struct pool *pool, const struct trace_chunk_header *chunk, uint64_t now_ticks) {
    uint64_t duration_ticks = __atomic_load_n(&pool->shared->duration_ticks, __ATOMIC_RELAXED);
    if (!duration_ticks) return false;
    if (__atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE) == TRACE_CHUNK_FREE) return true;
    uint64_t end_ticks = __atomic_load_n(&chunk->end_ticks, __ATOMIC_RELAXED);
    return end_ticks && end_ticks + duration_ticks < now_ticks;
}

/* Takes the oldest chunk if it is old enough. */
static int64_t take_old(struct pool *pool, enum pool_entry_state state, uint64_t global_index) {
    uint64_t entry;
    if (!pool->table || !__atomic_load_n(&pool->shared->duration_ticks, __ATOMIC_RELAXED)) return NO_CHUNK;
    int64_t number = find_oldest_sealed(pool, &entry);
    if (number == NO_CHUNK) return NO_CHUNK;
    struct trace_chunk_header *chunk = pool_chunk(pool, (uint64_t)number);
    if (!is_old(pool, chunk, clock_ticks())) return NO_CHUNK;
    if (!table_change(pool, (uint64_t)number, entry, entry_of(state, global_index))) return NO_CHUNK;
    pool_count_recycled(pool, chunk);
    return number;
}

/* The chunk is live in the table meanwhile, so that no other thread takes it. */
static void drop_chunk(struct pool *pool, uint64_t number, uint64_t entry) {
    struct trace_chunk_header *chunk = pool_chunk(pool, number);
    uint64_t live = entry_of(POOL_LIVE, entry >> 8);
    if (!table_change(pool, number, entry, live)) return;
    pool_count_recycled(pool, chunk);
    __atomic_store_n(&chunk->state, (uint32_t)TRACE_CHUNK_FREE, __ATOMIC_RELEASE);
    table_change(pool, number, live, entry);
}

void pool_drop_old(struct pool *pool) {
    uint64_t now_ticks = clock_ticks(), count = __atomic_load_n(&pool->header->chunk_count, __ATOMIC_ACQUIRE);
    if (!pool->table || !__atomic_load_n(&pool->shared->duration_ticks, __ATOMIC_RELAXED)) return;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t entry = table_load(pool, i);
        const struct trace_chunk_header *chunk = look_at(pool, i);
        bool is_dropped =
            entry_state(entry) != POOL_SEALED || __atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE) == TRACE_CHUNK_FREE;
        if (!is_dropped && is_old(pool, chunk, now_ticks)) drop_chunk(pool, i, entry);
    }
}

/* ---- Taking at the limit. ---- */

static int64_t take_oldest(struct pool *pool, enum pool_entry_state state, uint64_t global_index) {
    if (!pool->table) return NO_CHUNK;
    if (global_index % DEAD_LOOK_PERIOD == 0) release_chunks_of_dead(pool);
    for (;;) {
        uint64_t entry;
        int64_t number = find_oldest_sealed(pool, &entry);
        if (number == NO_CHUNK) {
            if (!release_chunks_of_dead(pool) && !pool_seal_partial(pool)) return NO_CHUNK;
            continue;
        }
        if (!table_change(pool, (uint64_t)number, entry, entry_of(state, global_index))) continue;
        pool_count_recycled(pool, pool_chunk(pool, (uint64_t)number));
        return number;
    }
}

/* A stopped recording must not recycle chunks: the user wants what it holds. */
static bool has_stopped(const struct pool *pool) {
    return __atomic_load_n(&pool->header->stop_reason, __ATOMIC_ACQUIRE) != TRACE_STOP_NONE;
}

static struct trace_chunk_header *take(struct pool *pool, enum pool_entry_state state, uint64_t *global_index) {
    *global_index = take_global_index(pool);
    int64_t number = has_stopped(pool) ? NO_CHUNK : take_old(pool, state, *global_index);
    if (number >= 0) return pool_chunk(pool, (uint64_t)number);
    number = take_new(pool);
    if (number >= 0)
        table_store(pool, (uint64_t)number, entry_of(state, *global_index));
    else if (number == NO_CHUNK && !has_stopped(pool))
        number = take_oldest(pool, state, *global_index);
    return number < 0 ? NULL : pool_chunk(pool, (uint64_t)number);
}

/* A thread that copies the chunk sees nothing of a new use before it sees that the chunk is free. */
static void free_chunk(struct trace_chunk_header *chunk) {
    __atomic_store_n(&chunk->state, (uint32_t)TRACE_CHUNK_FREE, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Fills in the header. At every instant it is that of a free chunk, or complete. */
static void begin_chunk(struct trace_chunk_header *chunk, const struct trace_chunk_header *values) {
    free_chunk(chunk);
    chunk->pid = values->pid;
    __atomic_store_n(&chunk->owner, values->pid, __ATOMIC_RELAXED);
    __atomic_store_n(&chunk->pid_namespace, process_self()->pid_namespace, __ATOMIC_RELAXED);
    __atomic_store_n(&chunk->global_index, values->global_index, __ATOMIC_RELEASE);
    chunk->hash = 0;
    chunk->magic = TRACE_CHUNK_MAGIC;
    chunk->version = TRACE_VERSION;
    __atomic_store_n(&chunk->kind, values->kind, __ATOMIC_RELAXED); /* a thread that saves the trace may read it */
    chunk->tid = values->tid;
    chunk->thread_uid = values->thread_uid;
    chunk->sequence = values->sequence;
    chunk->first_block = TRACE_CHUNK_HEADER_BYTES;
    chunk->next_chunk = 0;
    chunk->first_definition = values->first_definition;
    chunk->end_ticks = 0;
    chunk->end_ns = 0;
    struct clock_pair now = clock_read_pair();
    /* Threads that copy the chunk, or look for a kept one, may read these. */
    __atomic_store_n(&chunk->base_ticks, now.ticks, __ATOMIC_RELAXED);
    __atomic_store_n(&chunk->base_ns, now.monotonic_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&chunk->commit, values->commit, __ATOMIC_RELAXED);
    __atomic_store_n(&chunk->state, (uint32_t)TRACE_CHUNK_LIVE, __ATOMIC_RELEASE);
}

struct trace_chunk_header *pool_take(struct pool *pool, const struct pool_owner *owner) {
    uint64_t global_index;
    struct trace_chunk_header *chunk = take(pool, POOL_LIVE, &global_index);
    if (!chunk) return NULL;
    struct trace_chunk_header values = {.kind = TRACE_CHUNK_EVENTS,
                                        .pid = owner->pid,
                                        .tid = owner->tid,
                                        .thread_uid = owner->thread_uid,
                                        .sequence = owner->sequence,
                                        .global_index = global_index,
                                        .commit = TRACE_CHUNK_HEADER_BYTES};
    begin_chunk(chunk, &values);
    pool_pages_touch(pool, pool_chunk_number(pool, chunk), values.commit);
    return chunk;
}

struct trace_chunk_header *pool_take_pinned(struct pool *pool, uint32_t pid, uint64_t first_definition) {
    uint64_t max_count = pool->shared->max_chunk_count / 4 ? pool->shared->max_chunk_count / 4 : 1;
    uint64_t *count = &pool->shared->definition_chunk_count;
    uint64_t global_index;
    struct trace_chunk_header *chunk = NULL;
    if (__atomic_fetch_add(count, 1, __ATOMIC_RELAXED) < max_count) chunk = take(pool, POOL_PINNED, &global_index);
    if (!chunk) {
        __atomic_fetch_sub(count, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    /* A word of 0 ends the log, so clear what an earlier use has left. */
    free_chunk(chunk);
    memset((unsigned char *)chunk + TRACE_CHUNK_HEADER_BYTES, 0, pool->chunk_bytes - TRACE_CHUNK_HEADER_BYTES);
    struct trace_chunk_header values = {.kind = TRACE_CHUNK_DEFINITIONS,
                                        .pid = pid,
                                        .global_index = global_index,
                                        .first_definition = first_definition};
    begin_chunk(chunk, &values);
    pool_pages_touch(pool, pool_chunk_number(pool, chunk), pool->chunk_bytes);
    return chunk;
}

void pool_return_pinned(struct pool *pool, struct trace_chunk_header *chunk) {
    uint64_t global_index = chunk->global_index;
    __atomic_store_n(&chunk->state, (uint32_t)TRACE_CHUNK_FREE, __ATOMIC_RELEASE);
    table_store(pool, pool_chunk_number(pool, chunk), entry_of(POOL_SEALED, global_index));
    __atomic_fetch_sub(&pool->shared->definition_chunk_count, 1, __ATOMIC_RELAXED);
}

/* ---- Giving back. ---- */

void pool_seal(struct pool *pool, struct trace_chunk_header *chunk) {
    uint64_t number = pool_chunk_number(pool, chunk), global_index = chunk->global_index;
    struct clock_pair now = clock_read_pair();
    chunk->end_ticks = now.ticks;
    chunk->end_ns = now.monotonic_ns;
    size_t hashed_from = offsetof(struct trace_chunk_header, magic);
    uint32_t end = (uint32_t)__atomic_load_n(&chunk->commit, __ATOMIC_RELAXED);
    /* In a child that was forked in the middle of this function, the chunk has become zeros: see detach_child. */
    if (end < hashed_from) return;
    pool_pages_touch(pool, number, end);
    chunk->hash = hash_bytes((const unsigned char *)chunk + hashed_from, end - hashed_from);
    __atomic_store_n(&chunk->state, (uint32_t)TRACE_CHUNK_SEALED, __ATOMIC_RELEASE);
    if (pool->table) table_change(pool, number, entry_of(POOL_LIVE, global_index), entry_of(POOL_SEALED, global_index));
}

/* Identifies one use of the chunk: a chunk that was taken again since has another index. */
static uint64_t partial_value(const struct pool *pool, const struct trace_chunk_header *chunk) {
    uint64_t global_index = __atomic_load_n(&chunk->global_index, __ATOMIC_ACQUIRE);
    return global_index << 32 | (pool_chunk_number(pool, chunk) + 1);
}

void pool_put_partial(struct pool *pool, struct trace_chunk_header *chunk) {
    uint64_t value = partial_value(pool, chunk);
    pool_pages_touch(pool, pool_chunk_number(pool, chunk), (uint32_t)chunk->commit);
    __atomic_or_fetch(&chunk->owner, OWNER_HAS_LEFT, __ATOMIC_RELEASE);
    for (int i = 0; i < POOL_PARTIAL_COUNT; i++) {
        uint64_t empty = 0;
        if (__atomic_compare_exchange_n(&pool->shared->partial[i], &empty, value, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
            return;
    }
    __atomic_and_fetch(&chunk->owner, ~OWNER_HAS_LEFT, __ATOMIC_RELEASE);
    pool_seal(pool, chunk);
}

/* Takes a chunk out of the kept ones. It has no owner then: if the process is killed now, the chunk stays in the trace,
 * and no other process uses it again. */
static struct trace_chunk_header *remove_partial(struct pool *pool, bool is_any_namespace_good) {
    for (int i = 0; i < POOL_PARTIAL_COUNT; i++) {
        uint64_t value = __atomic_load_n(&pool->shared->partial[i], __ATOMIC_ACQUIRE);
        if (!value) continue;
        struct trace_chunk_header *chunk = look_at(pool, (value & UINT32_MAX) - 1);
        if (!is_any_namespace_good && !is_of_own_namespace(chunk)) continue;
        if (__atomic_compare_exchange_n(&pool->shared->partial[i], &value, 0, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
            return chunk;
    }
    return NULL;
}

/* The chunk gets a new place in the order of age: when it is full, it has some of the newest events. */
struct trace_chunk_header *pool_take_partial(struct pool *pool, uint32_t pid, bool *is_of_other) {
    struct trace_chunk_header *chunk = remove_partial(pool, false);
    if (!chunk) return NULL;
    *is_of_other = __atomic_exchange_n(&chunk->owner, pid, __ATOMIC_ACQ_REL) != (pid | OWNER_HAS_LEFT);
    uint64_t global_index = take_global_index(pool);
    __atomic_store_n(&chunk->global_index, global_index, __ATOMIC_RELEASE);
    table_store(pool, pool_chunk_number(pool, chunk), entry_of(POOL_LIVE, global_index));
    return chunk;
}

bool pool_seal_partial(struct pool *pool) {
    bool is_any_sealed = false;
    struct trace_chunk_header *chunk;
    while ((chunk = remove_partial(pool, true))) {
        pool_seal(pool, chunk);
        is_any_sealed = true;
    }
    return is_any_sealed;
}
