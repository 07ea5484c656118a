/* The pool of chunks as its processes share it: a mapping of the trace, in a file or in memory.
 *
 *     trace header | bookkeeping | table | definition slots | chunk 0 | chunk 1 …
 *
 * chunk_pool.h has the functions that create the pool, and take chunks from it. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "recorder/trace_format.h"

enum {
    POOL_PARTIAL_COUNT = 64,
    POOL_PATH_BYTES = 1024,
    /* Raise this when the layout or the meaning of struct pool_bookkeeping changes. */
    POOL_BOOKKEEPING_VERSION = 7,
    POOL_FILTER_BYTES = 512,
};

/* The group word holds the commands for all processes. It has a field for each kind of command: the lowest two bits are
 * the last command, and the other bits count the commands. */
enum pool_group_field { POOL_GROUP_RECORDING = 0, POOL_GROUP_SAMPLING, POOL_GROUP_SETTINGS };
enum { POOL_GROUP_FIELD_BITS = 20, POOL_GROUP_COMMAND_BITS = 2 };
enum pool_group_command { POOL_GROUP_RUNS = 0, POOL_GROUP_IS_PAUSED, POOL_GROUP_HAS_STOPPED };

static inline uint32_t pool_group_field(uint64_t word, enum pool_group_field field) {
    return (uint32_t)(word >> ((unsigned)field * POOL_GROUP_FIELD_BITS)) & ((1u << POOL_GROUP_FIELD_BITS) - 1);
}

static inline enum pool_group_command pool_group_command(uint64_t word, enum pool_group_field field) {
    return (enum pool_group_command)(pool_group_field(word, field) & ((1u << POOL_GROUP_COMMAND_BITS) - 1));
}

static inline uint64_t pool_group_with(uint64_t word, enum pool_group_field field, enum pool_group_command command) {
    uint32_t count = (pool_group_field(word, field) >> POOL_GROUP_COMMAND_BITS) + 1;
    uint64_t mask = (((uint64_t)1 << POOL_GROUP_FIELD_BITS) - 1) << ((unsigned)field * POOL_GROUP_FIELD_BITS);
    uint64_t value = ((uint64_t)count << POOL_GROUP_COMMAND_BITS | command)
                     << ((unsigned)field * POOL_GROUP_FIELD_BITS);
    return (word & ~mask) | (value & mask);
}

/* How the processes of the trace record. A process that joins takes these settings. */
struct pool_settings {
    uint32_t flags; /* enum grec_option_flag; GREC_GROUP: forked children have helpers */
    uint32_t interval_us;
    uint32_t duration_s;             /* 0: no limit */
    char threads[POOL_FILTER_BYTES]; /* terminated; empty: all threads */
};

/* The state of a chunk, in the low byte of its entry in the table of a limited pool. The bits above hold the chunk's
 * global index. */
enum pool_entry_state { POOL_NEW = 0, POOL_LIVE, POOL_SEALED, POOL_PINNED };

/* A slot of the hash table that finds equal definitions. */
struct pool_definition_slot {
    uint64_t hash; /* the hash of the definition's body */
    uint64_t id;   /* 0 until it is known */
};

/* Follows the trace header. All processes of the trace change the counts and words by atomic operations. */
struct pool_bookkeeping {
    uint64_t version;        /* a library with another version does not join */
    uint64_t reserved_count; /* chunks whose disk space is allocated */
    uint64_t process_count;  /* processes that have the pool open; 0: closed for good */
    uint32_t helper_word;    /* a futex; it changes when the helper has something to do */
    uint32_t entry_count;    /* how many entries the table has; 0: the pool is unlimited */
    uint64_t max_chunk_count;
    uint64_t table_offset;       /* where uint64_t[entry_count] is, from the start of the file */
    uint64_t definitions_offset; /* where struct pool_definition_slot[definition_slot_count] is */
    uint64_t definition_slot_count;
    uint64_t definition_chunk_count;
    /* Chunks whose threads have ended, with room left for other threads. A value has the low half of the chunk's global
       index in its high half, and the chunk's number plus 1 in its low half. */
    uint64_t partial[POOL_PARTIAL_COUNT];
    uint64_t machine;          /* identifies this run of the machine and its clocks: see pool_join. 0: unknown */
    uint64_t group_word;       /* see enum pool_group_field */
    uint64_t duration_ticks;   /* chunks that ended longer ago are used again; 0: there is no such limit */
    uint64_t unseen_ns;        /* what processes have used that ended without a sample, until another one's has it */
    uint64_t settings_version; /* odd while the settings change */
    struct pool_settings settings;
};

/* Records which pages of the trace this process has touched. The kernel clears this memory in forked children, which
 * have touched none. */
struct pool_pages {
    uint64_t all_count;
    uint32_t counts[]; /* each chunk's: how many of its first pages were touched */
};

#define POOL_CLOSED ((struct pool){.file = -1, .memory_file = -1})

struct pool {
    unsigned char *base; /* NULL: closed */
    size_t mapped_bytes;
    int file;          /* -1: the pool is in memory. The program may have closed the descriptor: see pool_file */
    int memory_file;   /* the descriptor by which other processes can join a pool in memory; -1: none */
    dev_t file_device; /* the file of either descriptor */
    ino_t file_number;
    uint32_t chunk_bytes;
    struct trace_header *header;
    struct pool_bookkeeping *shared;
    uint64_t *table; /* NULL: the pool is unlimited */
    struct pool_definition_slot *definitions;
    unsigned char *chunks;      /* chunk 0 */
    struct pool_pages *pages;   /* NULL: there was no memory for it */
    char path[POOL_PATH_BYTES]; /* absolute; empty if this process has created the pool in memory */
};

static inline struct trace_chunk_header *pool_chunk(const struct pool *pool, uint64_t number) {
    return (struct trace_chunk_header *)(pool->chunks + number * pool->chunk_bytes);
}
static inline uint64_t pool_chunk_number(const struct pool *pool, const struct trace_chunk_header *chunk) {
    return (uint64_t)((const unsigned char *)chunk - pool->chunks) / pool->chunk_bytes;
}
