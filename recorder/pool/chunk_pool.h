/* Chunks of the pool (pool.h), which the threads of all processes of a trace take and write into. Taking a chunk is
 * lock-free: it happens in signal handlers, and a process may be killed in the middle of it. One atomic store brings
 * the pool from each valid state to the next.
 *
 * A chunk's disk space is allocated before the chunk is given out, so a full disk is an error of fallocate and never a
 * SIGBUS. A helper allocates ahead of need: the sampler's thread, of any process. Without one, the thread that takes a
 * chunk allocates it. At the limit, the oldest sealed chunk is used again. Chunks of definitions are never sealed, so
 * they stay. A thread that ends leaves the rest of its chunk to later threads, which may be those of another process: a
 * build has thousands of processes that record little. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "recorder/state/pool.h"
#include "recorder/state/shared.h"

struct pool_options {
    const char *path;     /* NULL: in memory */
    uint64_t limit_bytes; /* UINT64_MAX: none */
    uint32_t chunk_bytes;
    const struct pool *own; /* the recording that this process is part of; NULL: none */
};

/* Creates a trace. Its file has a temporary name until pool_publish. Returns false with errno set; EBUSY: another
 * process, which may be a forked child of this one, records into the file at that path, or was told to stop and has not
 * yet left. */
bool pool_create(struct pool *pool, const struct pool_options *options);

/* Renames the file to its path, where it replaces an older file. A process that is killed before this leaves the older
 * file as it was. Returns false with errno set, after discarding the pool. */
bool pool_publish(struct pool *pool);

/* Closes a pool that was not published, and removes its file. Leaves errno as it is. */
void pool_discard(struct pool *pool);

/* Opens the trace at `path`, if another process is recording into it in that session (0: in any). Returns false if it
 * cannot be opened (errno says why), or if it is not that recording, no longer on, or one of another machine, which has
 * other clocks (errno is 0). */
bool pool_join(struct pool *pool, const char *path, uint64_t session_id);

/* Writes a path by which other processes can open the pool. Returns false if there is none. */
bool pool_locate(const struct pool *pool, char path[POOL_PATH_BYTES]);

/* Changes or reads the settings for processes that join. Two processes must not change them at once; a process may be
 * killed while it does. */
void pool_write_settings(struct pool *pool, const struct pool_settings *settings);
void pool_read_settings(const struct pool *pool, struct pool_settings *settings);

/* Counts one more process of the open pool. Returns false if the pool is closed for good. [signal-safe] */
bool pool_enter(struct pool *pool);

/* Shows others that a forked child, which was counted, uses the pool. [signal-safe] */
void pool_enter_child(const struct pool *pool);

/* Ends the use of the pool by this process. The last process seals the chunks that are kept, and truncates the file to
 * the chunks in use. The mapping stays. */
void pool_leave(struct pool *pool);

/* Unmaps the pool and closes its file. */
void pool_close(struct pool *pool);

/* Copies chunks and counts into an empty pool with the same chunk size. Other processes may write into `from`
 * meanwhile, but no thread of this one. Returns false with errno set. */
bool pool_copy(const struct pool *from, struct pool *to);

/* Writes a copy of the trace to a file, which replaces `path` once it is complete. Other threads may write into the
 * pool meanwhile. The copy has all that was recorded before the call, except what was recycled, which it counts.
 * Returns false with errno set. */
bool pool_save(const struct pool *pool, const char *path);

/* Renames the file, on the same file system. Returns false with errno set. */
bool pool_rename(struct pool *pool, const char *path);

/* ---- Chunks. These functions are [signal-safe]. ---- */

struct pool_owner {
    uint32_t pid;
    uint32_t tid;
    uint64_t thread_uid;
    uint64_t sequence;
};

/* Whether all chunks have been used: the next one that is taken loses its contents. */
static inline bool pool_is_at_limit(const struct pool *pool) {
    return __atomic_load_n(&pool->header->chunk_count, __ATOMIC_RELAXED) >= pool->shared->max_chunk_count;
}

/* Takes a chunk for events, with its header filled in and its state live. Returns NULL if there is none; the caller
 * counts the loss. */
struct trace_chunk_header *pool_take(struct pool *pool, const struct pool_owner *owner);

/* Takes a chunk for definitions, the first one or a later one. Returns NULL when the definitions' part of the limit is
 * used up. */
struct trace_chunk_header *pool_take_pinned(struct pool *pool, uint32_t pid, uint64_t first_definition);
/* Gives back a definitions chunk, if another thread has added the next one first. */
void pool_return_pinned(struct pool *pool, struct trace_chunk_header *chunk);

/* Seals a chunk that is complete. */
void pool_seal(struct pool *pool, struct trace_chunk_header *chunk);

/* Keeps a chunk with room left for the next thread, of this or another process, or seals it if too many are kept
 * already. */
void pool_put_partial(struct pool *pool, struct trace_chunk_header *chunk);
/* Takes a chunk that a process in the same pid namespace has kept, with its earlier contents; NULL if there is none.
 * *is_of_other: the last process that wrote into it was another one. */
struct trace_chunk_header *pool_take_partial(struct pool *pool, uint32_t pid, bool *is_of_other);
/* Seals all chunks that are kept. Returns false if there is none. */
bool pool_seal_partial(struct pool *pool);

/* Frees the chunks that ended longer ago than the pool keeps any. Reads the header of each chunk. */
void pool_drop_old(struct pool *pool) GREC_SHARED(pool_drop_old);

/* ---- For the helper, which is in the sampler's library. ---- */

/* Allocates disk space for chunks ahead of need. Returns false when all chunks have theirs, or with errno set when
 * there is no space. */
bool pool_reserve_ahead(struct pool *pool);

/* Whether pool_reserve_ahead should be called soon. */
bool pool_is_low(const struct pool *pool) GREC_SHARED(pool_is_low);

/* Wakes the helpers of all processes of the trace. */
void pool_wake_all_helpers(struct pool *pool) GREC_SHARED(pool_wake_all_helpers);

/* Waits until a helper is woken after `seen` was read from helper_word, or the timeout (less than a second) has passed.
 */
void pool_wait_for_wake(struct pool *pool, uint32_t seen, uint32_t timeout_ns);

/* Returns how many bytes of this process's resident memory are pages of the trace. Reads a word for each chunk, and the
 * headers of those that are not full. */
uint64_t pool_resident_bytes(const struct pool *pool);
