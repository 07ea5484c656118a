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

#include "recorder/state/clock.h"
#include "recorder/state/hash.h"
#include "recorder/state/own_files.h"
#include "recorder/state/process.h"
#include "recorder/state/recording_state.h"

enum {
    PAGE_BYTES = 4096,
    /* How many chunks a thread allocates at once if no helper was ahead of it: a file system takes about as long for
       several as for one. */
    TAKER_BATCH_COUNT = 4,
    AHEAD_BYTES = 2 * 1024 * 1024, /* about four milliseconds of the fastest recording */
    AHEAD_COUNT_MIN = 2,
    /* Chunks of dead processes are searched for once in this many times that a chunk is taken. The search costs a
       system call for each live chunk. */
    DEAD_LOOK_PERIOD = 64,
    DEFINITION_SLOT_BYTES = sizeof(struct pool_definition_slot),
};

/* Programs that join must be able to map as much as the one that started. The thread sanitizer leaves them little more
 * than a terabyte, and the system places the mapping anywhere in it. */
static const uint64_t UNLIMITED_MAPPING_BYTES = (uint64_t)1 << 38;
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

/* Moves the descriptor to a high number, since some programs close descriptors that they do not know, or expect the
 * lowest number for their next file. */
static int move_away(int file) {
    enum { HIGH = 500, AFTER_STANDARD_ERROR = 3 };
    int moved = fcntl(file, F_DUPFD_CLOEXEC, HIGH);
    if (moved < 0) moved = fcntl(file, F_DUPFD_CLOEXEC, AFTER_STANDARD_ERROR);
    int saved_errno = errno;
    close(file);
    errno = saved_errno;
    return moved;
}

/* Retries, because a process that tests for the lock holds one for a moment. */
static void lock_file(int file) {
    enum { TRIES = 5, NAP_US = 1000 };
    for (int i = 0; i < TRIES && flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK; i++) usleep(NAP_US);
}

/* A read lock on the byte at the offset of the process's pid, so that others can tell which processes record. Processes
 * of several pid namespaces may have one pid, and all of them can have a read lock. */
static void lock_for_process(const struct pool *pool) {
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = getpid(), .l_len = 1};
    fcntl(pool->file, F_SETLK, &lock);
}

/* The file of a pool in memory has no name. */
static int mapped_file(const struct pool *pool) { return pool->file >= 0 ? pool->file : pool->memory_file; }

/* Whether the status is that of the pool's file. A program may close descriptors that it does not know, and get their
 * numbers for files of its own. */
static bool is_pool_file(const struct pool *pool, const struct stat *status) {
    return mapped_file(pool) >= 0 && status->st_dev == pool->file_device && status->st_ino == pool->file_number;
}

static bool remember_file(struct pool *pool) {
    struct stat status;
    if (fstat(mapped_file(pool), &status) != 0) return false;
    pool->file_device = status.st_dev;
    pool->file_number = status.st_ino;
    return true;
}

/* Takes over the descriptor, and takes the two locks that is_recorded_by_others looks for. */
static bool adopt_file(struct pool *pool, int file) {
    pool->file = file < 0 ? -1 : move_away(file);
    if (pool->file < 0 || !remember_file(pool)) return false;
    lock_file(pool->file);
    lock_for_process(pool);
    return true;
}

/* Returns the descriptor if it is still the trace's, else -1 with errno set. */
static int pool_file(const struct pool *pool) {
    struct stat status;
    int file = mapped_file(pool);
    if (fstat(file, &status) == 0 && is_pool_file(pool, &status)) return file;
    errno = EBADF;
    return -1;
}

/* In a table of the thread's own, no other file can have the number. */
void pool_restore_file(const struct pool *pool) {
    struct stat status;
    if (pool->file < 0 || pool_file(pool) >= 0 || !own_files_are_private()) return;
    int file = open(pool->path, O_RDWR | O_CLOEXEC);
    if (file < 0) return;
    bool is_ours = fstat(file, &status) == 0 && is_pool_file(pool, &status);
    if (is_ours && file != pool->file) dup3(file, pool->file, O_CLOEXEC);
    if (!is_ours || file != pool->file) close(file);
}

/* ---- Disk space. ---- */

/* A file that grows beyond this limit ends the process by SIGXFSZ. */
static bool is_beyond_file_size_limit(uint64_t end) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || end <= limit.rlim_cur) return false;
    errno = EFBIG;
    return true;
}

/* Zero-fills from the current end of the file, which other threads may have moved: they may already write where the end
 * was before. */
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

/* If several threads append at once, the file may reach its size limit although each of them has checked. The kernel
 * then signals the thread, which takes the signal here. */
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

/* Allocates the bytes on disk. New ones are zero. */
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
        /* Prepare a few at a time, so that threads get the first chunks while the last ones are being prepared. */
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

static void wake_helpers(struct pool *pool, int count_max) {
    int saved_errno = errno;
    __atomic_fetch_add(&pool->shared->helper_word, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &pool->shared->helper_word, FUTEX_WAKE, count_max, NULL, NULL, 0);
    errno = saved_errno;
}

void pool_wake_helper(struct pool *pool) { wake_helpers(pool, 1); }

void pool_wake_all_helpers(struct pool *pool) { wake_helpers(pool, INT_MAX); }

void pool_wait_for_wake(struct pool *pool, uint32_t seen, uint32_t timeout_ns) {
    const struct timespec timeout = {.tv_nsec = timeout_ns};
    syscall(SYS_futex, &pool->shared->helper_word, FUTEX_WAIT, seen, &timeout, NULL, 0);
}

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
    return reserved < taken_count + ahead_count(pool) / 2 && reserved < pool->shared->max_chunk_count;
}

bool pool_is_low(const struct pool *pool) {
    return is_low(pool, __atomic_load_n(&pool->header->chunk_count, __ATOMIC_RELAXED));
}

/* Whether the program has closed the trace's descriptor, but the recorder's threads still have it in tables of their
 * own. */
static bool is_file_elsewhere(void) { return errno == EBADF && own_files_table_count(); }

/* Takes a chunk that was never used. Returns its number; NO_CHUNK at the limit; or LATE_CHUNK. */
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
            recording_stop_for_storage(errno);
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

/* The header's pid is stored before its global index. So if the header has the table's index, it has the owner's pid.
 */
static bool is_owner_dead(const struct pool *pool, uint64_t number, uint64_t entry) {
    const struct trace_chunk_header *chunk = pool_chunk(pool, number);
    if (__atomic_load_n(&chunk->global_index, __ATOMIC_ACQUIRE) != entry >> 8 || !is_of_own_namespace(chunk))
        return false;
    return is_process_dead(__atomic_load_n(&chunk->pid, __ATOMIC_RELAXED));
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

static void count_recycled(struct pool *pool, const struct trace_chunk_header *chunk) {
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
    count_recycled(pool, chunk);
    return number;
}

/* The chunk is live in the table meanwhile, so that no other thread takes it. */
static void drop_chunk(struct pool *pool, uint64_t number, uint64_t entry) {
    struct trace_chunk_header *chunk = pool_chunk(pool, number);
    uint64_t live = entry_of(POOL_LIVE, entry >> 8);
    if (!table_change(pool, number, entry, live)) return;
    count_recycled(pool, chunk);
    __atomic_store_n(&chunk->state, (uint32_t)TRACE_CHUNK_FREE, __ATOMIC_RELEASE);
    table_change(pool, number, live, entry);
}

void pool_drop_old(struct pool *pool) {
    uint64_t now_ticks = clock_ticks(), count = __atomic_load_n(&pool->header->chunk_count, __ATOMIC_ACQUIRE);
    if (!pool->table || !__atomic_load_n(&pool->shared->duration_ticks, __ATOMIC_RELAXED)) return;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t entry = table_load(pool, i);
        const struct trace_chunk_header *chunk = pool_chunk(pool, i);
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
            if (!release_chunks_of_dead(pool)) return NO_CHUNK;
            continue;
        }
        if (!table_change(pool, (uint64_t)number, entry, entry_of(state, global_index))) continue;
        count_recycled(pool, pool_chunk(pool, (uint64_t)number));
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

/* Fills in the header. At every instant it is that of a free chunk, or complete. */
static void begin_chunk(struct trace_chunk_header *chunk, const struct trace_chunk_header *values) {
    __atomic_store_n(&chunk->state, (uint32_t)TRACE_CHUNK_FREE, __ATOMIC_RELEASE);
    __atomic_store_n(&chunk->pid, values->pid, __ATOMIC_RELAXED);
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
    chunk->base_ticks = now.ticks;
    /* A thread that looks for a kept chunk may read this. */
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
    /* In a child that was forked in the middle of this function, the chunk has become zeros: see detach_child. */
    if (end < hashed_from) return;
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
    for (int i = 0; i < POOL_PARTIAL_COUNT; i++) {
        uint64_t empty = 0;
        if (__atomic_compare_exchange_n(&pool->shared->partial[i], &empty, value, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
            return;
    }
    pool_seal(pool, chunk);
}

/* An earlier process may have had the same pid, and another process may have it in another pid namespace. */
static bool is_of_this_process(const struct trace_chunk_header *chunk) {
    const struct process_state *process = process_self();
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

/* Offsets in the trace. */
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
    int file = mapped_file(pool), flags = MAP_SHARED | MAP_NORESERVE | (file < 0 ? MAP_ANONYMOUS : 0);
    size_t mapped_bytes = (size_t)bytes_count;
    if (mapped_bytes != bytes_count) {
        errno = ENOMEM; /* not in 32 bits */
        return false;
    }
    void *base = mmap(NULL, mapped_bytes, PROT_READ | PROT_WRITE, flags, file, 0);
    if (base == MAP_FAILED) return false;
    pool->base = base;
    pool->mapped_bytes = mapped_bytes;
    return true;
}

static void close_memory(struct pool *pool) {
    if (pool->memory_file >= 0 && pool_file(pool) >= 0) close(pool->memory_file);
    pool->memory_file = -1;
}

/* Gives a pool in memory a file without a name, so that other processes can join it. Without one, the pool is as good
 * for this process alone. */
static void open_memory(struct pool *pool, uint64_t bytes_count) {
    if (is_beyond_file_size_limit(bytes_count)) return;
    int file = memfd_create("gecko-recorder", MFD_CLOEXEC);
    pool->memory_file = file < 0 ? -1 : move_away(file);
    if (pool->memory_file < 0 || (ftruncate(pool->memory_file, (off_t)bytes_count) == 0 && remember_file(pool))) return;
    close_memory(pool);
}

static bool map_memory(struct pool *pool, uint64_t bytes_count) {
    open_memory(pool, bytes_count);
    if (map_bytes(pool, bytes_count)) return true;
    close_memory(pool);
    return false;
}

static bool map_new(struct pool *pool, uint64_t bytes_count) {
    return pool->file < 0 ? map_memory(pool, bytes_count) : map_bytes(pool, bytes_count);
}

/* Maps all that the pool can grow to. Bytes after the end of the file are not touched before they are allocated. The
 * system may limit address space, so an unlimited pool tries smaller mappings. */
static bool map_pool(struct pool *pool, const struct layout *layout, uint64_t entry_count) {
    if (entry_count) return map_new(pool, layout->chunks_offset + entry_count * pool->chunk_bytes);
    for (uint64_t bytes = UNLIMITED_MAPPING_BYTES; bytes >= UNLIMITED_MAPPING_BYTES_MIN; bytes /= 4)
        if (map_new(pool, bytes)) return true;
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

/* Clocks are the same in all processes with this number: since one start of one machine, in one time namespace. */
static uint64_t identify_machine(void) {
    struct {
        char boot[40];
        uint64_t time_namespace;
    } machine = {.time_namespace = 0};
    struct stat status;
    memset(&machine, 0, sizeof machine);
    if (!own_file_read_from("/proc/sys/kernel/random/boot_id", machine.boot, sizeof machine.boot)) return 0;
    if (stat("/proc/self/ns/time", &status) == 0) machine.time_namespace = (uint64_t)status.st_ino;
    return hash_bytes(&machine, sizeof machine);
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
    shared->machine = identify_machine();
    point_into_mapping(pool);
    return true;
}

/* Makes a path that stays valid when the program changes its directory. Returns false with errno set. */
static bool make_absolute(const char *path, char absolute[POOL_PATH_BYTES]) {
    char directory[POOL_PATH_BYTES] = "";
    if (*path != '/' && !getcwd(directory, sizeof directory)) return false;
    int bytes = snprintf(absolute, POOL_PATH_BYTES, "%s%s%s", directory, *path == '/' ? "" : "/", path);
    if (bytes >= 0 && bytes < POOL_PATH_BYTES) return true;
    errno = ENAMETOOLONG;
    return false;
}

/* ---- Whether another process records into a file. ----
 *
 * Each process of a recording holds two locks on the file. The first belongs to the open file, which forked children
 * share: it is held as long as one of them lives and has not stopped. The second belongs to the process: a process does
 * not see its own. The kernel releases both when a process ends in any way or executes another program. */

static bool is_locked_by_others(const struct pool *pool) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET}; /* all bytes */
    return fcntl(pool->file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* A network file system grants this lock only to those who may write. */
static int open_for_lock(const char *path) {
    int file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    return file < 0 ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : file;
}

/* Retries, because a child that is about to execute another program has its parent's file for a moment. If the file may
 * not be tested for the lock, it counts as locked. */
static bool is_locked(int file) {
    enum { TRIES = 20, NAP_US = 1000 };
    for (int i = 0; i < TRIES; i++) {
        if (flock(file, LOCK_EX | LOCK_NB) == 0) return false;
        if (errno != EWOULDBLOCK) return errno == EBADF;
        usleep(NAP_US);
    }
    return true;
}

/* A process that is not part of the recording may have the file open too: a child that does not record, or one that has
 * not yet noticed that all were told to stop. */
static bool has_processes(int file) {
    struct pool_bookkeeping shared;
    bool is_known = pread(file, &shared, sizeof shared, TRACE_HEADER_BYTES) == (ssize_t)sizeof shared &&
                    shared.version == POOL_BOOKKEEPING_VERSION;
    return !is_known || (shared.process_count > 0 &&
                         pool_group_command(shared.group_word, POOL_GROUP_RECORDING) != POOL_GROUP_HAS_STOPPED);
}

/* If such a file were replaced, the other process would record into a file without a name. own: the recording of this
 * process; NULL: none. Its file must not be opened here, because closing it would release the lock of the process. */
static bool is_recorded_by_others(const char *path, const struct stat *status, const struct pool *own) {
    struct trace_header header;
    if (own && is_pool_file(own, status)) return is_locked_by_others(own);
    int file = open_for_lock(path);
    if (file < 0) return false;
    bool is_trace = pread(file, &header, sizeof header, 0) == (ssize_t)sizeof header &&
                    !memcmp(header.magic, TRACE_MAGIC, TRACE_MAGIC_BYTES);
    bool is_recorded = is_trace && has_processes(file) && is_locked(file);
    close(file);
    return is_recorded;
}

/* Only regular files may be replaced. A new file is renamed into place, so an older one stays whole until then. */
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

/* A trace holds arguments, texts and addresses of its program, so only its owner may read it, as with perf.data. */
static int create_beside(const char *path, char temporary[TEMPORARY_PATH_BYTES]) {
    name_temporary(path, temporary);
    unlink(temporary);
    return open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
}

bool pool_create(struct pool *pool, const struct pool_options *options) {
    char temporary[TEMPORARY_PATH_BYTES];
    *pool = POOL_CLOSED;
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
           (!session_id || header->session_id == session_id) &&
           header->hash == hash_bytes(header, offsetof(struct trace_header, hash)) &&
           clock_adopt(header->clock, header->ticks_per_second);
}

/* Maps the first pages, and then, if they are of the right trace, all of it. */
static bool map_joined(struct pool *pool, uint64_t session_id) {
    struct stat status;
    if (fstat(pool->file, &status) != 0 || status.st_size < 2 * PAGE_BYTES || !map_bytes(pool, 2 * PAGE_BYTES))
        return false;
    if (!is_session((const struct trace_header *)pool->base, session_id)) return false;
    const struct trace_header *header = (const struct trace_header *)pool->base;
    const struct pool_bookkeeping *shared = (const struct pool_bookkeeping *)(pool->base + TRACE_HEADER_BYTES);
    if (shared->version != POOL_BOOKKEEPING_VERSION) return false;
    uint64_t machine = identify_machine();
    if (machine && shared->machine && machine != shared->machine) return false;
    uint64_t bytes = header->chunks_offset + shared->max_chunk_count * header->chunk_bytes;
    munmap(pool->base, pool->mapped_bytes);
    pool->base = NULL;
    return map_bytes(pool, bytes);
}

/* Opens nothing but regular files, because opening another kind of file may have effects. */
static int open_trace(const char *path) {
    struct stat status;
    if (stat(path, &status) != 0) return -1;
    if (S_ISREG(status.st_mode)) return open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    errno = EINVAL;
    return -1;
}

/* All processes of a recording may have been killed. Those that know its number continue it anyway. */
static bool is_left_alone(int file) {
    bool is_unlocked = flock(file, LOCK_EX | LOCK_NB) == 0;
    flock(file, LOCK_UN);
    return is_unlocked;
}

bool pool_join(struct pool *pool, const char *path, uint64_t session_id) {
    *pool = POOL_CLOSED;
    if (!make_absolute(path, pool->path)) return false;
    int file = open_trace(pool->path);
    if (file >= 0 && !session_id && is_left_alone(file)) {
        close(file);
        errno = 0;
        return false;
    }
    if (!adopt_file(pool, file)) return false;
    if (map_joined(pool, session_id)) {
        point_into_mapping(pool);
        if (pool_enter(pool)) return true;
    }
    pool_close(pool);
    errno = 0;
    return false;
}

bool pool_locate(const struct pool *pool, char path[POOL_PATH_BYTES]) {
    memcpy(path, pool->path, sizeof pool->path);
    if (*path) return true;
    if (pool->memory_file < 0 || pool_file(pool) < 0) return false;
    snprintf(path, POOL_PATH_BYTES, "/proc/%ld/fd/%d", (long)getpid(), pool->memory_file);
    return true;
}

void pool_write_settings(struct pool *pool, const struct pool_settings *settings) {
    uint64_t *version = &pool->shared->settings_version;
    __atomic_store_n(version, __atomic_load_n(version, __ATOMIC_RELAXED) | 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    pool->shared->settings = *settings;
    __atomic_add_fetch(version, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&pool->shared->duration_ticks, settings->duration_s * recorder_clock.ticks_per_second,
                     __ATOMIC_RELAXED);
}

/* If the version stays odd, the process that changed the settings was killed meanwhile. */
__attribute__((no_sanitize("thread"))) void pool_read_settings(const struct pool *pool,
                                                               struct pool_settings *settings) {
    enum { TRIES = 10, NAP_US = 100 };
    const uint64_t *version = &pool->shared->settings_version;
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = __atomic_load_n(version, __ATOMIC_ACQUIRE);
        *settings = pool->shared->settings;
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        if (!(before & 1) && __atomic_load_n(version, __ATOMIC_RELAXED) == before) break;
        usleep(NAP_US);
    }
    settings->threads[sizeof settings->threads - 1] = '\0';
}

void pool_leave(struct pool *pool) {
    if (__atomic_sub_fetch(&pool->shared->process_count, 1, __ATOMIC_ACQ_REL) > 0 || pool->file < 0) return;
    uint64_t count = pool->header->chunk_count;
    pool->shared->reserved_count = count;
    /* A failure does no harm: the file then ends in free chunks. */
    int file = pool_file(pool);
    if (file >= 0 && ftruncate(file, (off_t)chunk_offset(pool, count)) != 0) return;
}

void pool_close(struct pool *pool) {
    if (pool->base) munmap(pool->base, pool->mapped_bytes);
    if (pool->file >= 0 && pool_file(pool) >= 0) close(pool->file);
    close_memory(pool);
    *pool = POOL_CLOSED;
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

/* Copies a chunk that its thread may be writing into: the copy has what was published so far, and no end time. If the
 * chunk is given to another thread meanwhile, the bytes that were read are worthless, and the copy becomes a free
 * chunk.
 */
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
    /* The chunk has a new owner, but its header is still the old one's. */
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

/* Copies definitions once more after all events, because an event may refer to a definition that was added meanwhile.
 * The header is last, so that its counts include what was recycled meanwhile. */
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

/* A copy must not replace the recording's own file, which would then have no name. */
static bool is_own_file(const struct pool *pool, const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && is_pool_file(pool, &status);
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

/* Finds the global index of the oldest chunk that there is room to copy. Returns false if there is no memory. */
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

/* Copies the chunks of definitions first, in their order, and sets their links to the new numbers. */
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
    to->shared->group_word = __atomic_load_n(&from->shared->group_word, __ATOMIC_RELAXED);
    to->shared->settings = from->shared->settings;
    if (!copy_definitions(from, to)) return false;
    /* Leave at least one chunk for new events. */
    uint64_t definition_count = to->header->chunk_count, first_index;
    uint64_t room_count =
        to->shared->max_chunk_count > definition_count + 1 ? to->shared->max_chunk_count - definition_count - 1 : 0;
    return choose_first_index(from, room_count, &first_index) && copy_events(from, to, first_index);
}
