/* The pool of chunks: a shared mapping of the trace, in a file or in memory, from which the threads of all its
 * processes take chunks to write into. Taking is lock-free, since it happens in signal handlers and since a process may
 * be killed at any instant of it; what changes goes from one valid state to the next by one atomic store.
 *
 *     trace header | bookkeeping | chunk 0 | chunk 1 …
 *
 * New chunks have their disk space reserved before they are given out (a full disk is an error of fallocate, never a
 * SIGBUS), by the helper thread ahead of need or, where there is none, by the taker. When the limit is reached the
 * oldest sealed chunk is used again. Definitions chunks are never sealed, so they stay. */
#ifndef GREC_CHUNK_POOL_H
#define GREC_CHUNK_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "trace_format.h"

enum {
    POOL_PARTIAL_COUNT = 64,
    POOL_PATH_BYTES = 1024,
    /* To be raised when struct pool_bookkeeping, or what it says where, changes its meaning. */
    POOL_BOOKKEEPING_VERSION = 2,
};

/* Allocation state of a chunk, in the table of a limited pool: enum in the low byte, the global index above it. */
enum pool_entry_state { POOL_NEW = 0, POOL_LIVE, POOL_SEALED, POOL_PINNED };

/* Where equal definitions are found again: hash of the body, then its id (0 until it is known). */
struct pool_definition_slot {
    uint64_t hash;
    uint64_t id;
};

/* Shared by the processes of a trace, behind the trace header. Counts and words are changed by atomic operations. */
struct pool_bookkeeping {
    uint64_t version;        /* a library with another one does not join */
    uint64_t reserved_count; /* chunks whose disk space is there */
    uint64_t process_count;  /* that have the pool open; 0: closed for good */
    uint32_t helper_word;    /* changes when the helper has something to do; a futex */
    uint32_t entry_count;    /* of the table; 0: the pool is unlimited */
    uint64_t max_chunk_count;
    uint64_t table_offset;       /* of uint64_t[entry_count], from the start of the file */
    uint64_t definitions_offset; /* of struct pool_definition_slot[definition_slot_count] */
    uint64_t definition_slot_count;
    uint64_t definition_chunk_count;
    /* Chunks of threads that ended, with room left for other threads of the process: the low half of the chunk's global
       index << 32 | (1 + number of the chunk). */
    uint64_t partial[POOL_PARTIAL_COUNT];
};

struct pool {
    unsigned char *base; /* NULL: closed */
    size_t mapped_bytes;
    int file; /* -1: in memory; see pool_file */
    dev_t file_device;
    ino_t file_number;
    uint32_t chunk_bytes;
    struct trace_header *header;
    struct pool_bookkeeping *shared;
    uint64_t *table;
    struct pool_definition_slot *definitions;
    unsigned char *chunks;      /* chunk 0 */
    char path[POOL_PATH_BYTES]; /* absolute; empty in memory */
};

struct pool_options {
    const char *path;     /* NULL: in memory */
    uint64_t limit_bytes; /* UINT64_MAX: none */
    uint32_t chunk_bytes;
    const struct pool *own; /* the recording that this process is part of; NULL: none */
};

/* Creates the trace, its file under a name of its own until pool_publish. False with errno set: EBUSY when another
 * process, a forked child of this one too, records into the file of that name. */
bool pool_create(struct pool *pool, const struct pool_options *options);

/* Gives the file its name, in place of one that had it, so that whoever is killed before that leaves the old one. False
 * with errno set: the pool is discarded. */
bool pool_publish(struct pool *pool);

/* Removes what was created and not published, and closes it; errno stays. */
void pool_discard(struct pool *pool);

/* Opens the trace at `path` that another process is recording into, if it is the one of that session. False: it cannot
 * be opened, and errno says why; or, errno being 0, it is not that, or no more. */
bool pool_join(struct pool *pool, const char *path, uint64_t session_id);

/* One more process uses the open pool (a forked child). False when it has been closed. [signal-safe] */
bool pool_enter(struct pool *pool);

/* The process is done with it; the last one cuts off what was reserved and not used. The mapping stays. */
void pool_leave(struct pool *pool);

/* Unmaps and closes. */
void pool_close(struct pool *pool);

/* Copies the chunks and what is known of them into an empty pool of the same chunk size. Nobody writes meanwhile. False
 * with errno set. */
bool pool_copy(const struct pool *from, struct pool *to);

/* Writes the trace as it is, while others write on, to a file that replaces `path` when it is complete. False with
 * errno set. */
bool pool_save(const struct pool *pool, const char *path);

/* Another file name, on the same file system. False with errno set. */
bool pool_rename(struct pool *pool, const char *path);

/* ---- Chunks. All [signal-safe]. ---- */

struct pool_owner {
    uint32_t pid;
    uint32_t tid;
    uint64_t thread_uid;
    uint64_t sequence;
};

/* No chunk is left that was never used: the next one taken loses what it holds. */
static inline bool pool_is_at_limit(const struct pool *pool) {
    return __atomic_load_n(&pool->header->chunk_count, __ATOMIC_RELAXED) >= pool->shared->max_chunk_count;
}

/* An event chunk, its header filled in, its state live; NULL when none can be had: the caller counts the loss. */
struct trace_chunk_header *pool_take(struct pool *pool, const struct pool_owner *owner);

/* The first definitions chunk of a new pool, or the next one; NULL when their part of the limit is used up. */
struct trace_chunk_header *pool_take_pinned(struct pool *pool, uint32_t pid, uint64_t first_definition);
/* Gives back one that lost the race to be the next. */
void pool_return_pinned(struct pool *pool, struct trace_chunk_header *chunk);

/* The chunk is complete. */
void pool_seal(struct pool *pool, struct trace_chunk_header *chunk);

/* Keeps a chunk with room for the next thread of this process; seals it when there is no place for it. */
void pool_put_partial(struct pool *pool, struct trace_chunk_header *chunk);
/* Returns a chunk that this process has kept; NULL when there is none. */
struct trace_chunk_header *pool_take_partial(struct pool *pool);
/* Call this at the end of the process. */
void pool_seal_partial(struct pool *pool);

static inline struct trace_chunk_header *pool_chunk(const struct pool *pool, uint64_t number) {
    return (struct trace_chunk_header *)(pool->chunks + number * pool->chunk_bytes);
}
static inline uint64_t pool_chunk_number(const struct pool *pool, const struct trace_chunk_header *chunk) {
    return (uint64_t)((const unsigned char *)chunk - pool->chunks) / pool->chunk_bytes;
}

/* ---- For the helper. ---- */

/* Reserves, ahead of need, what is missing; false when there is never more to do, or no more room (errno). */
bool pool_reserve_ahead(struct pool *pool);

/* For a thread with a descriptor table of its own: opens the file again if the program had closed it before the table
 * was made. */
void pool_restore_file(const struct pool *pool);

/* Whether fewer chunks are left ahead than should be. */
bool pool_is_low(const struct pool *pool);

/* Tells the helper, in whatever process it runs, that it has something to do. [signal-safe] */
void pool_wake_helper(struct pool *pool);
/* Waits until pool_wake_helper is called again after helper_word was `seen`, less than a second at most. */
void pool_wait_for_wake(struct pool *pool, uint32_t seen, uint32_t timeout_ns);

/* How the pool tells that it cannot grow: called at most once a pool, by the thread that found out. [signal-safe] */
void session_storage_failed(int error);

#endif
