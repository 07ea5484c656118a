#include "chunk_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "clock.h"
#include "hash.h"
#include "own_files.h"
#include "own_thread.h"
#include "process.h"

enum {
    PAGE_BYTES = 4096,
    /* What a taker reserves at once where no helper was ahead of it: a file system takes about as long for several. */
    TAKER_BATCH_COUNT = 4,
    AHEAD_BYTES = 2 * 1024 * 1024, /* about four milliseconds of the fastest recording */
    AHEAD_COUNT_MIN = 2,
    /* How often the chunks of dead processes are looked for: each look costs a system call a live chunk. */
    DEAD_LOOK_PERIOD = 64,
    DEFINITION_SLOT_BYTES = sizeof(struct pool_definition_slot),
};

static const uint64_t UNLIMITED_MAPPING_BYTES = (uint64_t)1 << 40;
static const uint64_t UNLIMITED_MAPPING_BYTES_MIN = (uint64_t)1 << 28;

/* ---- The table. ---- */

static uint64_t entry_of(enum pool_entry_state state, uint64_t global_index) {
    return (uint64_t)state | global_index << 8;
}
static enum pool_entry_state entry_state(uint64_t entry) { return (enum pool_entry_state)(entry & 0xff); }

static uint64_t table_load(const struct pool *pool, uint64_t number) {
    return pool->table ? __atomic_load_n(&pool->table[number], __ATOMIC_ACQUIRE) : 0;
}

static void table_store(struct pool *pool, uint64_t number, uint64_t entry) {
    if (pool->table) __atomic_store_n(&pool->table[number], entry, __ATOMIC_RELEASE);
}

static bool table_change(struct pool *pool, uint64_t number, uint64_t from, uint64_t to) {
    return __atomic_compare_exchange_n(&pool->table[number], &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* ---- The file. ---- */

/* Out of the way of programs that close the descriptors that they do not know, or that expect the lowest one. */
static int move_away(int file) {
    enum { HIGH = 500, BEHIND_STANDARD_ERROR = 3 };
    int moved = fcntl(file, F_DUPFD_CLOEXEC, HIGH);
    if (moved < 0) moved = fcntl(file, F_DUPFD_CLOEXEC, BEHIND_STANDARD_ERROR);
    int saved_errno = errno;
    close(file);
    errno = saved_errno;
    return moved;
}

/* Who looks whether there is a lock holds one for a moment. */
static void lock_file(int file) {
    enum { TRIES = 5, NAP_US = 1000 };
    for (int i = 0; i < TRIES && flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK; i++) usleep(NAP_US);
}

/* Reading, so that all processes of the recording can have it. */
static void lock_for_process(const struct pool *pool) {
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
    fcntl(pool->file, F_SETLK, &lock);
}

/* Both locks are for is_recorded_by_others. */
static bool adopt_file(struct pool *pool, int file) {
    struct stat status;
    pool->file = file < 0 ? -1 : move_away(file);
    if (pool->file < 0 || fstat(pool->file, &status) != 0) return false;
    pool->file_device = status.st_dev;
    pool->file_number = status.st_ino;
    lock_file(pool->file);
    lock_for_process(pool);
    return true;
}

/* The descriptor, if it still is the trace's: a program may close what it does not know, and open something else. -1
 * with errno set otherwise. */
static int pool_file(const struct pool *pool) {
    struct stat status;
    bool is_ours =
        fstat(pool->file, &status) == 0 && status.st_dev == pool->file_device && status.st_ino == pool->file_number;
    if (is_ours) return pool->file;
    errno = EBADF;
    return -1;
}

/* In the calling thread's table, where nothing else can have the number. */
void pool_restore_file(const struct pool *pool) {
    struct stat status;
    if (pool->file < 0 || pool_file(pool) >= 0 || !own_files_are_private()) return;
    int file = open(pool->path, O_RDWR | O_CLOEXEC);
    if (file < 0) return;
    bool is_ours =
        fstat(file, &status) == 0 && status.st_dev == pool->file_device && status.st_ino == pool->file_number;
    if (is_ours && file != pool->file) dup3(file, pool->file, O_CLOEXEC);
    if (!is_ours || file != pool->file) close(file);
}

/* ---- Disk space. ---- */

/* Growing beyond this limit would end the process by SIGXFSZ. */
static bool is_beyond_file_size_limit(uint64_t end) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || end <= limit.rlim_cur) return false;
    errno = EFBIG;
    return true;
}

/* Zeros behind the end of the file, wherever that is by then: the place may have been reserved by another thread
 * meanwhile, and given out. */
static ssize_t append_zeros(int file, uint64_t bytes_count) {
    static const unsigned char zeros[16 * 1024];
    struct iovec part = {(void *)(uintptr_t)zeros, bytes_count < sizeof zeros ? (size_t)bytes_count : sizeof zeros};
    return pwritev2(file, &part, 1, 0, RWF_APPEND);
}

static bool grow_to(int file, uint64_t end) {
    struct stat status;
    while (fstat(file, &status) == 0) {
        if ((uint64_t)status.st_size >= end) return true;
        if (append_zeros(file, end - (uint64_t)status.st_size) < 0 && errno != EINTR) return false;
    }
    return false;
}

/* Where several threads append at once the file may come to its size limit all the same; the signal of that is the
 * thread's own. */
static bool write_zeros(int file, uint64_t end) {
    sigset_t signals, before;
    struct timespec now = {0, 0};
    sigemptyset(&signals);
    sigaddset(&signals, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signals, &before);
    bool is_good = grow_to(file, end);
    int saved_errno = errno;
    if (!is_good && saved_errno == EFBIG && !sigismember(&before, SIGXFSZ)) sigtimedwait(&signals, NULL, &now);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved_errno;
    return is_good;
}

/* The bytes exist on disk, as zeros where they are new. */
static bool reserve_bytes(const struct pool *pool, uint64_t from, uint64_t end) {
    if (pool->file < 0) return true;
    if (is_beyond_file_size_limit(end)) return false;
    int result, file = pool_file(pool);
    if (file < 0) return false;
    do {
        result = fallocate(file, 0, (off_t)from, (off_t)(end - from));
    } while (result != 0 && errno == EINTR);
    if (result == 0) return true;
    return errno == EOPNOTSUPP && write_zeros(file, end);
}

static uint64_t chunk_offset(const struct pool *pool, uint64_t number) {
    return pool->header->chunks_offset + number * pool->chunk_bytes;
}

static bool reserve_chunks(struct pool *pool, uint64_t target_count) {
    uint64_t *reserved = &pool->shared->reserved_count;
    uint64_t count = __atomic_load_n(reserved, __ATOMIC_ACQUIRE);
    while (count < target_count) {
        if (!reserve_bytes(pool, chunk_offset(pool, count), chunk_offset(pool, target_count))) return false;
        if (__atomic_compare_exchange_n(reserved, &count, target_count, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return true;
    }
    return true;
}

static uint64_t ahead_count(const struct pool *pool) {
    uint64_t count = AHEAD_BYTES / pool->chunk_bytes;
    return count < AHEAD_COUNT_MIN ? AHEAD_COUNT_MIN : count;
}

/* Faults pages in for writing, so that recording threads do not. */
static void populate(unsigned char *bytes, size_t bytes_count) {
#ifndef MADV_POPULATE_WRITE
    enum { MADV_POPULATE_WRITE = 23 };
#endif
    if (madvise(bytes, bytes_count, MADV_POPULATE_WRITE) == 0) return;
    for (size_t at = 0; at < bytes_count; at += PAGE_BYTES)
        __atomic_fetch_or((uint32_t *)(void *)(bytes + at), 0, __ATOMIC_RELAXED);
}

bool pool_reserve_ahead(struct pool *pool) {
    uint64_t max_count = pool->shared->max_chunk_count;
    uint64_t reserved = __atomic_load_n(&pool->shared->reserved_count, __ATOMIC_ACQUIRE);
    uint64_t target = __atomic_load_n(&pool->header->chunk_count, __ATOMIC_RELAXED) + ahead_count(pool);
    if (target > max_count) target = max_count;
    errno = 0;
    while (reserved < target) {
        /* Piece by piece: takers get the first chunks while the last ones are prepared. */
        uint64_t next = reserved + TAKER_BATCH_COUNT < target ? reserved + TAKER_BATCH_COUNT : target;
        if (!reserve_bytes(pool, chunk_offset(pool, reserved), chunk_offset(pool, next))) return false;
        populate(pool->base + chunk_offset(pool, reserved), (size_t)(next - reserved) * pool->chunk_bytes);
        uint64_t seen = reserved;
        bool is_ours = __atomic_compare_exchange_n(&pool->shared->reserved_count, &seen, next, false, __ATOMIC_ACQ_REL,
                                                   __ATOMIC_ACQUIRE);
        reserved = is_ours ? next : seen;
    }
    return reserved < max_count;
}

void pool_wake_helper(struct pool *pool) {
    int saved_errno = errno;
    __atomic_fetch_add(&pool->shared->helper_word, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &pool->shared->helper_word, FUTEX_WAKE, 1, NULL, NULL, 0);
    errno = saved_errno;
}

void pool_wait_for_wake(struct pool *pool, uint32_t seen, uint32_t timeout_ns) {
    const struct timespec timeout = {.tv_nsec = timeout_ns};
    syscall(SYS_futex, &pool->shared->helper_word, FUTEX_WAIT, seen, &timeout, NULL, 0);
}

/* ---- Taking. ---- */

enum {
    NO_CHUNK = -1,
    LATE_CHUNK = -2, /* there will be one soon */
};

static uint64_t take_global_index(struct pool *pool) {
    return __atomic_fetch_add(&pool->header->next_global_index, 1, __ATOMIC_RELAXED);
}

static bool is_low(const struct pool *pool, uint64_t taken_count) {
    uint64_t reserved = __atomic_load_n(&pool->shared->reserved_count, __ATOMIC_RELAXED);
    return reserved < taken_count + ahead_count(pool) / 2 && reserved < pool->shared->max_chunk_count;
}

bool pool_is_low(const struct pool *pool) {
    return is_low(pool, __atomic_load_n(&pool->header->chunk_count, __ATOMIC_RELAXED));
}

/* The program has closed the trace's descriptor, which the recorder's threads have in tables of their own. */
static bool is_file_elsewhere(void) { return errno == EBADF && own_thread_file_count(); }

/* A chunk that was never used; NO_CHUNK at the limit, or LATE_CHUNK. */
static int64_t take_new(struct pool *pool) {
    uint64_t max_count = pool->shared->max_chunk_count;
    uint64_t count = __atomic_load_n(&pool->header->chunk_count, __ATOMIC_RELAXED);
    do {
        if (count >= max_count) return NO_CHUNK;
        uint64_t target = count + TAKER_BATCH_COUNT < max_count ? count + TAKER_BATCH_COUNT : max_count;
        if (count >= __atomic_load_n(&pool->shared->reserved_count, __ATOMIC_ACQUIRE) &&
            !reserve_chunks(pool, target) && !reserve_chunks(pool, count + 1)) {
            if (is_file_elsewhere()) {
                pool_wake_helper(pool);
                return LATE_CHUNK;
            }
            session_storage_failed(errno);
            return NO_CHUNK;
        }
    } while (!__atomic_compare_exchange_n(&pool->header->chunk_count, &count, count + 1, true, __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED));
    if (is_low(pool, count + 1)) pool_wake_helper(pool);
    return (int64_t)count;
}

static void raise_to(uint64_t *place, uint64_t value) {
    uint64_t old = __atomic_load_n(place, __ATOMIC_RELAXED);
    while (old < value && !__atomic_compare_exchange_n(place, &old, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

/* Entries of equal state compare as their global indexes do. */
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

/* A process of another pid namespace cannot be asked for. */
static bool is_process_dead(uint32_t pid) { return pid && kill((pid_t)pid, 0) != 0 && errno == ESRCH; }

/* Whoever has the chunk has the pid that its header names, in the pid namespace that this process is in. */
static bool is_of_own_namespace(const struct trace_chunk_header *chunk) {
    bool is_new;
    return __atomic_load_n(&chunk->pid_namespace, __ATOMIC_RELAXED) == process_self(&is_new)->pid_namespace;
}

/* The header's pid is written before its global index, so with the table's index the pid is that of the owner. */
static bool is_owner_dead(const struct pool *pool, uint64_t number, uint64_t entry) {
    const struct trace_chunk_header *chunk = pool_chunk(pool, number);
    if (__atomic_load_n(&chunk->global_index, __ATOMIC_ACQUIRE) != entry >> 8 || !is_of_own_namespace(chunk))
        return false;
    return is_process_dead(__atomic_load_n(&chunk->pid, __ATOMIC_RELAXED));
}

/* Chunks that died with their process can be used again like sealed ones; their contents stay readable until then. */
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

static void count_recycled(struct pool *pool, const struct trace_chunk_header *chunk) {
    if (__atomic_load_n(&chunk->state, __ATOMIC_RELAXED) == TRACE_CHUNK_FREE) return;
    __atomic_fetch_add(&pool->header->recycled_chunk_count, 1, __ATOMIC_RELAXED);
    raise_to(&pool->header->complete_from_ticks, chunk->end_ticks ? chunk->end_ticks : clock_ticks());
}

static int64_t take_oldest(struct pool *pool, enum pool_entry_state state, uint64_t global_index) {
    if (!pool->table) return NO_CHUNK;
    if (global_index % DEAD_LOOK_PERIOD == 0) release_chunks_of_dead(pool);
    for (;;) {
        uint64_t entry;
        int64_t number = find_oldest_sealed(pool, &entry);
        if (number == NO_CHUNK) {
            if (!release_chunks_of_dead(pool)) return NO_CHUNK;
            continue;
        }
        if (!table_change(pool, (uint64_t)number, entry, entry_of(state, global_index))) continue;
        count_recycled(pool, pool_chunk(pool, (uint64_t)number));
        return number;
    }
}

/* What is there is to be kept then. */
static bool has_stopped(const struct pool *pool) {
    return __atomic_load_n(&pool->header->stop_reason, __ATOMIC_ACQUIRE) != TRACE_STOP_NONE;
}

static struct trace_chunk_header *take(struct pool *pool, enum pool_entry_state state, uint64_t *global_index) {
    *global_index = take_global_index(pool);
    int64_t number = take_new(pool);
    if (number >= 0)
        table_store(pool, (uint64_t)number, entry_of(state, *global_index));
    else if (number == NO_CHUNK && !has_stopped(pool))
        number = take_oldest(pool, state, *global_index);
    return number < 0 ? NULL : pool_chunk(pool, (uint64_t)number);
}

/* At every instant the header is that of a free chunk or a whole one. */
static void begin_chunk(struct trace_chunk_header *chunk, const struct trace_chunk_header *values) {
    __atomic_store_n(&chunk->state, (uint32_t)TRACE_CHUNK_FREE, __ATOMIC_RELEASE);
    bool is_new;
    __atomic_store_n(&chunk->pid, values->pid, __ATOMIC_RELAXED);
    __atomic_store_n(&chunk->pid_namespace, process_self(&is_new)->pid_namespace, __ATOMIC_RELAXED);
    __atomic_store_n(&chunk->global_index, values->global_index, __ATOMIC_RELEASE);
    chunk->hash = 0;
    chunk->magic = TRACE_CHUNK_MAGIC;
    chunk->version = TRACE_VERSION;
    __atomic_store_n(&chunk->kind, values->kind, __ATOMIC_RELAXED); /* who saves the trace looks at it */
    chunk->tid = values->tid;
    chunk->thread_uid = values->thread_uid;
    chunk->sequence = values->sequence;
    chunk->first_block = TRACE_CHUNK_HEADER_BYTES;
    chunk->next_chunk = 0;
    chunk->first_definition = values->first_definition;
    chunk->end_ticks = 0;
    chunk->end_ns = 0;
    struct clock_pair now = clock_read_pair();
    chunk->base_ticks = now.ticks;
    __atomic_store_n(&chunk->base_ns, now.monotonic_ns, __ATOMIC_RELAXED); /* who looks for a kept chunk looks at it */
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
    /* A word of 0 ends the log, so what an earlier use has left must go. */
    __atomic_store_n(&chunk->state, (uint32_t)TRACE_CHUNK_FREE, __ATOMIC_RELEASE);
    memset((unsigned char *)chunk + TRACE_CHUNK_HEADER_BYTES, 0, pool->chunk_bytes - TRACE_CHUNK_HEADER_BYTES);
    struct trace_chunk_header values = {.kind = TRACE_CHUNK_DEFINITIONS,
                                        .pid = pid,
                                        .global_index = global_index,
                                        .first_definition = first_definition};
    begin_chunk(chunk, &values);
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
    /* Of a child that was forked in the middle of this there is no chunk any more, but zeros: see detach_child. */
    if (end < hashed_from) return;
    chunk->hash = hash_bytes((const unsigned char *)chunk + hashed_from, end - hashed_from);
    __atomic_store_n(&chunk->state, (uint32_t)TRACE_CHUNK_SEALED, __ATOMIC_RELEASE);
    if (pool->table) table_change(pool, number, entry_of(POOL_LIVE, global_index), entry_of(POOL_SEALED, global_index));
}

/* The use of the chunk that a kept one is of: a chunk that was used again since has another index. */
static uint64_t partial_value(const struct pool *pool, const struct trace_chunk_header *chunk) {
    uint64_t global_index = __atomic_load_n(&chunk->global_index, __ATOMIC_ACQUIRE);
    return global_index << 32 | (pool_chunk_number(pool, chunk) + 1);
}

void pool_put_partial(struct pool *pool, struct trace_chunk_header *chunk) {
    uint64_t value = partial_value(pool, chunk);
    for (int i = 0; i < POOL_PARTIAL_COUNT; i++) {
        uint64_t empty = 0;
        if (__atomic_compare_exchange_n(&pool->shared->partial[i], &empty, value, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
            return;
    }
    pool_seal(pool, chunk);
}

/* An earlier process may have had the same pid, and another one may have it in its own pid namespace. */
static bool is_of_this_process(const struct trace_chunk_header *chunk) {
    bool is_new;
    const struct process_state *process = process_self(&is_new);
    return __atomic_load_n(&chunk->pid, __ATOMIC_RELAXED) == process->pid && is_of_own_namespace(chunk) &&
           __atomic_load_n(&chunk->base_ns, __ATOMIC_RELAXED) >= process->start_ns;
}

static bool clear_partial(struct pool *pool, int place, uint64_t value) {
    return __atomic_compare_exchange_n(&pool->shared->partial[place], &value, 0, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

struct trace_chunk_header *pool_take_partial(struct pool *pool) {
    for (int i = 0; i < POOL_PARTIAL_COUNT; i++) {
        uint64_t value = __atomic_load_n(&pool->shared->partial[i], __ATOMIC_ACQUIRE);
        if (!value) continue;
        struct trace_chunk_header *chunk = pool_chunk(pool, (value & UINT32_MAX) - 1);
        bool is_stale = partial_value(pool, chunk) != value;
        if (!is_stale && !is_of_this_process(chunk)) continue;
        if (clear_partial(pool, i, value) && !is_stale) return chunk;
    }
    return NULL;
}

void pool_seal_partial(struct pool *pool) {
    struct trace_chunk_header *chunk;
    while ((chunk = pool_take_partial(pool))) pool_seal(pool, chunk);
}

/* ---- Opening. ---- */

static uint64_t round_up(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

/* What lies where before the chunks, for so many entries of the table. */
struct layout {
    uint64_t table_offset, definitions_offset, definition_slot_count, chunks_offset;
};

static struct layout lay_out(uint64_t entry_count, uint32_t chunk_bytes) {
    struct layout layout;
    layout.table_offset = TRACE_HEADER_BYTES + sizeof(struct pool_bookkeeping);
    layout.definitions_offset = round_up(layout.table_offset + entry_count * sizeof(uint64_t), DEFINITION_SLOT_BYTES);
    layout.definition_slot_count = chunk_bytes / 32;
    layout.chunks_offset =
        round_up(layout.definitions_offset + layout.definition_slot_count * DEFINITION_SLOT_BYTES, PAGE_BYTES);
    return layout;
}

static void point_into_mapping(struct pool *pool) {
    pool->header = (struct trace_header *)pool->base;
    pool->shared = (struct pool_bookkeeping *)(pool->base + TRACE_HEADER_BYTES);
    pool->chunk_bytes = pool->header->chunk_bytes;
    pool->table = pool->shared->entry_count ? (uint64_t *)(pool->base + pool->shared->table_offset) : NULL;
    pool->definitions = (struct pool_definition_slot *)(pool->base + pool->shared->definitions_offset);
    pool->chunks = pool->base + pool->header->chunks_offset;
}

static bool map_bytes(struct pool *pool, uint64_t bytes_count) {
    int flags = MAP_SHARED | MAP_NORESERVE | (pool->file < 0 ? MAP_ANONYMOUS : 0);
    size_t mapped_bytes = (size_t)bytes_count;
    if (mapped_bytes != bytes_count) {
        errno = ENOMEM; /* not in 32 bits */
        return false;
    }
    void *base = mmap(NULL, mapped_bytes, PROT_READ | PROT_WRITE, flags, pool->file, 0);
    if (base == MAP_FAILED) return false;
    pool->base = base;
    pool->mapped_bytes = mapped_bytes;
    return true;
}

/* Addresses for all that the pool may come to; what lies behind the end of the file is not touched before it is
 * reserved. Address space can be limited, so an unlimited pool takes what it gets. */
static bool map_pool(struct pool *pool, const struct layout *layout, uint64_t entry_count) {
    if (entry_count) return map_bytes(pool, layout->chunks_offset + entry_count * pool->chunk_bytes);
    for (uint64_t bytes = UNLIMITED_MAPPING_BYTES; bytes >= UNLIMITED_MAPPING_BYTES_MIN; bytes /= 4)
        if (map_bytes(pool, bytes)) return true;
    return false;
}

static uint64_t random_number(void) {
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != (ssize_t)sizeof number)
        number = clock_ns_of(CLOCK_REALTIME) * 0x9e3779b97f4a7c15u ^ (uint64_t)getpid() << 32;
    return number ? number : 1;
}

static void hash_header(struct trace_header *header) {
    header->hash = hash_bytes(header, offsetof(struct trace_header, hash));
}

static void fill_header(struct pool *pool, const struct layout *layout, uint64_t limit_bytes) {
    struct trace_header *header = pool->header;
    struct clock_pair now = clock_read_pair();
    memcpy(header->magic, TRACE_MAGIC, TRACE_MAGIC_BYTES);
    header->version = TRACE_VERSION;
    header->header_bytes = TRACE_HEADER_BYTES;
    header->chunks_offset = layout->chunks_offset;
    header->chunk_bytes = pool->chunk_bytes;
    header->clock = recorder_clock.kind;
    header->ticks_per_second = recorder_clock.ticks_per_second;
    header->start_ticks = now.ticks;
    header->start_monotonic_ns = now.monotonic_ns;
    header->start_realtime_ns = clock_ns_of(CLOCK_REALTIME);
    header->session_id = random_number();
    header->creator_pid = (uint32_t)getpid();
    hash_header(header);
    header->limit_bytes = limit_bytes == UINT64_MAX ? 0 : limit_bytes;
    header->next_thread_uid = 1;
}

static uint64_t count_entries(const struct pool_options *options) {
    if (options->limit_bytes == UINT64_MAX) return 0;
    uint64_t count = options->limit_bytes / options->chunk_bytes;
    uint64_t offset = lay_out(count, options->chunk_bytes).chunks_offset;
    return options->limit_bytes > offset ? (options->limit_bytes - offset) / options->chunk_bytes : 0;
}

static bool fill_pool(struct pool *pool, const struct pool_options *options) {
    uint64_t entry_count = count_entries(options);
    struct layout layout = lay_out(entry_count, options->chunk_bytes);
    pool->chunk_bytes = options->chunk_bytes;
    if (!reserve_bytes(pool, 0, layout.chunks_offset) || !map_pool(pool, &layout, entry_count)) return false;
    pool->header = (struct trace_header *)pool->base;
    fill_header(pool, &layout, options->limit_bytes);
    struct pool_bookkeeping *shared = (struct pool_bookkeeping *)(pool->base + TRACE_HEADER_BYTES);
    shared->version = POOL_BOOKKEEPING_VERSION;
    shared->process_count = 1;
    shared->entry_count = (uint32_t)entry_count;
    shared->max_chunk_count =
        entry_count ? entry_count : (pool->mapped_bytes - layout.chunks_offset) / options->chunk_bytes;
    shared->table_offset = layout.table_offset;
    shared->definitions_offset = layout.definitions_offset;
    shared->definition_slot_count = layout.definition_slot_count;
    point_into_mapping(pool);
    return true;
}

/* A path that still means the same when the program has changed its directory. False with errno set. */
static bool make_absolute(const char *path, char absolute[POOL_PATH_BYTES]) {
    char directory[POOL_PATH_BYTES] = "";
    if (*path != '/' && !getcwd(directory, sizeof directory)) return false;
    int bytes = snprintf(absolute, POOL_PATH_BYTES, "%s%s%s", directory, *path == '/' ? "" : "/", path);
    if (bytes >= 0 && bytes < POOL_PATH_BYTES) return true;
    errno = ENAMETOOLONG;
    return false;
}

/* ---- Whether somebody else records into a file. Each process of a recording holds two locks. The one is of the open
 * file, which forked children share: it is there as long as any of them lives and has not stopped. The other one is of
 * the process, which does not see its own. Both end with the process, however it ends, and when it executes another
 * program. ---- */

static bool is_locked_by_others(const struct pool *pool) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
    return fcntl(pool->file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* A child that is about to execute another program still has its parent's file for a moment. */
static bool is_locked(int file) {
    enum { TRIES = 20, NAP_US = 1000 };
    for (int i = 0; i < TRIES; i++) {
        if (flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return false;
        usleep(NAP_US);
    }
    return true;
}

/* A process that has left the recording may have the file open all the same: a child that does not record. */
static bool has_processes(int file) {
    struct pool_bookkeeping shared;
    bool is_known = pread(file, &shared, sizeof shared, TRACE_HEADER_BYTES) == (ssize_t)sizeof shared &&
                    shared.version == POOL_BOOKKEEPING_VERSION;
    return !is_known || shared.process_count > 0;
}

/* What it records from then on would be in a file without a name. `own`: the recording of this process; NULL: none. Its
 * file must not be opened here, since closing it would end the lock of the process. */
static bool is_recorded_by_others(const char *path, const struct stat *status, const struct pool *own) {
    struct trace_header header;
    bool is_own = own && own->file >= 0 && status->st_dev == own->file_device && status->st_ino == own->file_number;
    if (is_own) return is_locked_by_others(own);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return false;
    bool is_trace = pread(file, &header, sizeof header, 0) == (ssize_t)sizeof header &&
                    !memcmp(header.magic, TRACE_MAGIC, TRACE_MAGIC_BYTES);
    bool is_recorded = is_trace && has_processes(file) && is_locked(file);
    close(file);
    return is_recorded;
}

/* A new file is renamed into place, so that one of that name stays whole until then. What is no file must not be
 * replaced by one. */
static bool is_replaceable(const char *path, const struct pool *own) {
    struct stat status;
    if (stat(path, &status) != 0) return true;
    if (!S_ISREG(status.st_mode)) {
        errno = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
        return false;
    }
    if (!is_recorded_by_others(path, &status, own)) return true;
    errno = EBUSY;
    return false;
}

enum { TEMPORARY_PATH_BYTES = POOL_PATH_BYTES + 32 };

static void name_temporary(const char *path, char temporary[TEMPORARY_PATH_BYTES]) {
    snprintf(temporary, TEMPORARY_PATH_BYTES, "%s.%ld.part", path, (long)getpid());
}

/* A trace holds arguments, texts and addresses of its program: only its owner may read it, as with perf.data. */
static int create_beside(const char *path, char temporary[TEMPORARY_PATH_BYTES]) {
    name_temporary(path, temporary);
    unlink(temporary);
    return open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
}

bool pool_create(struct pool *pool, const struct pool_options *options) {
    char temporary[TEMPORARY_PATH_BYTES];
    *pool = (struct pool){.file = -1};
    if (options->path) {
        if (!make_absolute(options->path, pool->path) || !is_replaceable(pool->path, options->own)) return false;
        int file = create_beside(pool->path, temporary);
        if (file < 0) return false;
        if (!adopt_file(pool, file)) {
            pool_discard(pool);
            return false;
        }
    }
    if (fill_pool(pool, options)) return true;
    pool_discard(pool);
    return false;
}

bool pool_publish(struct pool *pool) {
    char temporary[TEMPORARY_PATH_BYTES];
    name_temporary(pool->path, temporary);
    if (!*pool->path || rename(temporary, pool->path) == 0) return true;
    pool_discard(pool);
    return false;
}

void pool_discard(struct pool *pool) {
    int saved_errno = errno;
    char temporary[TEMPORARY_PATH_BYTES];
    name_temporary(pool->path, temporary);
    if (*pool->path) unlink(temporary);
    pool_close(pool);
    errno = saved_errno;
}

bool pool_enter(struct pool *pool) {
    uint64_t count = __atomic_load_n(&pool->shared->process_count, __ATOMIC_RELAXED);
    do {
        if (count == 0) return false;
    } while (!__atomic_compare_exchange_n(&pool->shared->process_count, &count, count + 1, true, __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED));
    int saved_errno = errno;
    if (pool->file >= 0 && pool_file(pool) >= 0) lock_for_process(pool);
    errno = saved_errno;
    return true;
}

static bool is_session(const struct trace_header *header, uint64_t session_id) {
    return !memcmp(header->magic, TRACE_MAGIC, TRACE_MAGIC_BYTES) && header->version == TRACE_VERSION &&
           header->session_id == session_id && header->hash == hash_bytes(header, offsetof(struct trace_header, hash)) &&
           clock_adopt(header->clock, header->ticks_per_second);
}

/* The first page, and then, when it is the right trace, all. */
static bool map_joined(struct pool *pool, uint64_t session_id) {
    struct stat status;
    if (fstat(pool->file, &status) != 0 || status.st_size < 2 * PAGE_BYTES || !map_bytes(pool, 2 * PAGE_BYTES))
        return false;
    if (!is_session((const struct trace_header *)pool->base, session_id)) return false;
    const struct trace_header *header = (const struct trace_header *)pool->base;
    const struct pool_bookkeeping *shared = (const struct pool_bookkeeping *)(pool->base + TRACE_HEADER_BYTES);
    if (shared->version != POOL_BOOKKEEPING_VERSION) return false;
    uint64_t bytes = header->chunks_offset + shared->max_chunk_count * header->chunk_bytes;
    munmap(pool->base, pool->mapped_bytes);
    pool->base = NULL;
    return map_bytes(pool, bytes);
}

bool pool_join(struct pool *pool, const char *path, uint64_t session_id) {
    *pool = (struct pool){.file = -1};
    if (!make_absolute(path, pool->path)) return false;
    if (!adopt_file(pool, open(pool->path, O_RDWR | O_CLOEXEC))) return false;
    if (map_joined(pool, session_id)) {
        point_into_mapping(pool);
        if (pool_enter(pool)) return true;
    }
    pool_close(pool);
    errno = 0;
    return false;
}

void pool_leave(struct pool *pool) {
    if (__atomic_sub_fetch(&pool->shared->process_count, 1, __ATOMIC_ACQ_REL) > 0 || pool->file < 0) return;
    uint64_t count = pool->header->chunk_count;
    pool->shared->reserved_count = count;
    /* Nothing depends on it: a file that stays long has free chunks at its end. */
    int file = pool_file(pool);
    if (file >= 0 && ftruncate(file, (off_t)chunk_offset(pool, count)) != 0) return;
}

void pool_close(struct pool *pool) {
    if (pool->base) munmap(pool->base, pool->mapped_bytes);
    if (pool->file >= 0 && pool_file(pool) >= 0) close(pool->file);
    *pool = (struct pool){.file = -1};
}

bool pool_rename(struct pool *pool, const char *path) {
    char absolute[POOL_PATH_BYTES];
    if (!make_absolute(path, absolute) || !is_replaceable(absolute, pool) || rename(pool->path, absolute) != 0)
        return false;
    memcpy(pool->path, absolute, sizeof absolute);
    return true;
}

/* ---- Copies. ---- */

static bool write_all(int file, const void *bytes, size_t bytes_count, uint64_t offset) {
    const unsigned char *next = bytes;
    if (is_beyond_file_size_limit(offset + bytes_count)) return false;
    while (bytes_count) {
        ssize_t written = pwrite(file, next, bytes_count, (off_t)offset);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        next += written;
        offset += (uint64_t)written;
        bytes_count -= (size_t)written;
    }
    return true;
}

/* A chunk that is being written has what is published so far and no end. Where its owner gives it to another one
 * meanwhile, the copy is a free chunk. The bytes are read while others may write behind and, in that last case, among
 * them: what is read of those is dropped. */
#if defined(__clang__) || defined(__GNUC__)
__attribute__((no_sanitize("thread")))
#endif
static void
copy_chunk(const struct pool *pool, uint64_t number, unsigned char *copy) {
    const struct trace_chunk_header *chunk = pool_chunk(pool, number);
    struct trace_chunk_header *header = (struct trace_chunk_header *)copy;
    uint64_t entry = table_load(pool, number);
    memset(copy, 0, pool->chunk_bytes);
    uint32_t state = __atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE);
    /* Given to its next owner, and its header is still the last one's. */
    bool is_between = pool->table && __atomic_load_n(&chunk->global_index, __ATOMIC_ACQUIRE) != entry >> 8;
    if (state == TRACE_CHUNK_FREE || is_between) return;
    uint64_t commit = __atomic_load_n(&chunk->commit, __ATOMIC_ACQUIRE);
    uint32_t end = (uint32_t)commit;
    if (chunk->kind == TRACE_CHUNK_DEFINITIONS || end > pool->chunk_bytes) end = pool->chunk_bytes;
    for (uint32_t i = 0; i < end; i++) copy[i] = ((const volatile unsigned char *)chunk)[i];
    header->commit = commit;
    header->state = state;
    if (state == TRACE_CHUNK_LIVE) {
        header->hash = 0;
        header->end_ticks = header->end_ns = 0;
    }
    uint64_t entry_after = table_load(pool, number);
    if (entry_after >> 8 != entry >> 8) memset(copy, 0, pool->chunk_bytes);
}

static bool write_chunk_copy(const struct pool *pool, uint64_t number, unsigned char *buffer, int file) {
    copy_chunk(pool, number, buffer);
    return write_all(file, buffer, pool->chunk_bytes, TRACE_HEADER_BYTES + number * pool->chunk_bytes);
}

#if defined(__clang__) || defined(__GNUC__)
__attribute__((no_sanitize("thread")))
#endif
static bool
write_header_copy(const struct pool *pool, uint64_t chunk_count, unsigned char *buffer, int file) {
    struct trace_header *header = (struct trace_header *)buffer;
    memset(buffer, 0, TRACE_HEADER_BYTES);
    *header = *pool->header;
    header->chunks_offset = TRACE_HEADER_BYTES;
    header->chunk_count = chunk_count;
    hash_header(header);
    return write_all(file, buffer, TRACE_HEADER_BYTES, 0);
}

static bool is_definitions_chunk(const struct pool *pool, uint64_t number) {
    const struct trace_chunk_header *chunk = pool_chunk(pool, number);
    return __atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE) != TRACE_CHUNK_FREE &&
           __atomic_load_n(&chunk->kind, __ATOMIC_RELAXED) == TRACE_CHUNK_DEFINITIONS;
}

/* Definitions are copied again when all events are: what those refer to was there before them. The header is last, so
 * that its counts tell of what was recycled meanwhile. */
static bool write_copy(const struct pool *pool, int file) {
    unsigned char *buffer = malloc(pool->chunk_bytes);
    if (!buffer) return false;
    bool is_good = true;
    uint64_t event_end = __atomic_load_n(&pool->header->chunk_count, __ATOMIC_ACQUIRE);
    for (uint64_t i = 0; i < event_end && is_good; i++) is_good = write_chunk_copy(pool, i, buffer, file);
    uint64_t end = __atomic_load_n(&pool->header->chunk_count, __ATOMIC_ACQUIRE);
    for (uint64_t i = 0; i < end && is_good; i++)
        if (is_definitions_chunk(pool, i)) is_good = write_chunk_copy(pool, i, buffer, file);
    is_good = is_good && write_header_copy(pool, end, buffer, file) &&
              ftruncate(file, (off_t)(TRACE_HEADER_BYTES + end * pool->chunk_bytes)) == 0;
    free(buffer);
    return is_good;
}

/* The recording's own file: to replace it would leave the recording without a name. */
static bool is_own_file(const struct pool *pool, const char *path) {
    struct stat own, other;
    if (pool->file < 0 || fstat(pool->file, &own) != 0 || stat(path, &other) != 0) return false;
    return own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

bool pool_save(const struct pool *pool, const char *path) {
    char absolute[POOL_PATH_BYTES], temporary[TEMPORARY_PATH_BYTES];
    if (!make_absolute(path, absolute)) return false;
    if (is_own_file(pool, absolute)) {
        errno = EINVAL;
        return false;
    }
    if (!is_replaceable(absolute, pool)) return false;
    int file = create_beside(absolute, temporary);
    if (file < 0) return false;
    bool is_good = write_copy(pool, file);
    int saved_errno = errno;
    is_good = close(file) == 0 && is_good;
    if (is_good && rename(temporary, absolute) == 0) return true;
    if (is_good) saved_errno = errno;
    unlink(temporary);
    errno = saved_errno;
    return false;
}

static int compare_descending(const void *left, const void *right) {
    const uint64_t *a = left, *b = right;
    return (*a < *b) - (*a > *b);
}

static bool is_event_chunk(const struct trace_chunk_header *chunk) {
    return chunk->state != TRACE_CHUNK_FREE && chunk->kind == TRACE_CHUNK_EVENTS;
}

/* The global index from which on chunks are copied: all, or those of the newest that there is room for. */
static bool choose_first_index(const struct pool *from, uint64_t room_count, uint64_t *first_index) {
    size_t count = (size_t)from->header->chunk_count, event_count = 0;
    uint64_t *indexes = malloc((count ? count : 1) * sizeof *indexes);
    if (!indexes) return false;
    for (size_t i = 0; i < count; i++)
        if (is_event_chunk(pool_chunk(from, i))) indexes[event_count++] = pool_chunk(from, i)->global_index;
    qsort(indexes, event_count, sizeof *indexes, compare_descending);
    *first_index = event_count > room_count ? (room_count ? indexes[room_count - 1] : UINT64_MAX) : 0;
    free(indexes);
    return true;
}

static bool append_chunk(struct pool *to, const struct trace_chunk_header *chunk, enum pool_entry_state state) {
    uint64_t number = to->header->chunk_count;
    if (!reserve_chunks(to, number + 1)) return false;
    memcpy(pool_chunk(to, number), chunk, to->chunk_bytes);
    to->header->chunk_count = number + 1;
    table_store(to, number, entry_of(state, chunk->global_index));
    return true;
}

/* Definitions go first and keep their order; their links are changed to where they come to stand. */
static bool copy_definitions(const struct pool *from, struct pool *to) {
    uint64_t number = 0;
    for (;;) {
        const struct trace_chunk_header *chunk = pool_chunk(from, number);
        uint64_t place = to->header->chunk_count;
        if (!append_chunk(to, chunk, POOL_PINNED)) return false;
        to->shared->definition_chunk_count++;
        if (!chunk->next_chunk) return true;
        pool_chunk(to, place)->next_chunk = (uint32_t)(place + 2);
        number = chunk->next_chunk - 1;
    }
}

static bool copy_events(const struct pool *from, struct pool *to, uint64_t first_index) {
    for (uint64_t i = 0; i < from->header->chunk_count; i++) {
        const struct trace_chunk_header *chunk = pool_chunk(from, i);
        if (!is_event_chunk(chunk)) continue;
        if (chunk->global_index < first_index)
            count_recycled(to, chunk);
        else if (!append_chunk(to, chunk, POOL_SEALED))
            return false;
    }
    return true;
}

static void copy_counts(const struct trace_header *from, struct trace_header *to) {
    to->next_global_index = from->next_global_index;
    to->next_thread_uid = from->next_thread_uid;
    to->recycled_chunk_count = from->recycled_chunk_count;
    to->complete_from_ticks = from->complete_from_ticks;
    to->lost_event_count = from->lost_event_count;
    to->cut_text_count = from->cut_text_count;
    to->lost_definition_count = from->lost_definition_count;
    to->mismatched_value_count = from->mismatched_value_count;
    to->stale_marker_count = from->stale_marker_count;
    to->start_ticks = from->start_ticks;
    to->start_monotonic_ns = from->start_monotonic_ns;
    to->start_realtime_ns = from->start_realtime_ns;
    hash_header(to);
}

bool pool_copy(const struct pool *from, struct pool *to) {
    copy_counts(from->header, to->header);
    if (!copy_definitions(from, to)) return false;
    /* One chunk more than none must be left for what comes. */
    uint64_t definition_count = to->header->chunk_count, first_index;
    uint64_t room_count =
        to->shared->max_chunk_count > definition_count + 1 ? to->shared->max_chunk_count - definition_count - 1 : 0;
    return choose_first_index(from, room_count, &first_index) && copy_events(from, to, first_index);
}
