/* Blocks in a chunk, and where a thread writes them. A block is its length, its kind and its fields. Readers ignore a
 * block until recording_publish has stored the chunk's commit word.
 *
 * A short block has at most SHORT_BLOCK_BYTES_MAX bytes, and its length in one byte. A long block has its length in
 * LEB128_PADDED_BYTES bytes. A word block is a short one that begins in a register. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "recorder/state/leb128.h"
#include "recorder/trace_format.h"

enum { SHORT_BLOCK_BYTES_MAX = 127, COMMIT_BLOCK_SHIFT = 32 };

/* Where a thread writes, one for each level of nesting: a signal handler that interrupts a recording call has a chunk
 * of its own, so neither sees the other. */
struct writer {
    unsigned char *next; /* where the next block begins; equal to end: there is no chunk */
    unsigned char *end;
    uint64_t last_ticks;  /* the time of the chunk's last entry, from which the next one counts */
    uint64_t clock_ticks; /* from this time on a calibration is due */
    uint64_t commit;      /* as in the chunk */
    struct trace_chunk_header *chunk;
    uint64_t sequence;        /* how many chunks were taken before */
    uint64_t retry_ticks;     /* if no chunk was free: do not try again before this time */
    uint32_t is_abandoned;    /* the chunk stays as it is, and its pool may be closed: see writers_abandon */
    uint32_t mapping_id;      /* the last mapping that the chunk refers to: see own_stack_announce */
    uint64_t running_address; /* the last address in the chunk, from which the next one counts */
};

/* Makes the block from writer->next to `end` visible to readers of the trace. */
static inline void recording_publish(struct writer *writer, unsigned char *end) {
    writer->commit += (uint64_t)(end - writer->next) + ((uint64_t)1 << COMMIT_BLOCK_SHIFT);
    writer->next = end;
    __atomic_store_n(&writer->chunk->commit, writer->commit, __ATOMIC_RELEASE);
}

/* Returns where the fields of a short block go. */
static inline unsigned char *short_block_begin(struct writer *writer, enum trace_entry_kind kind) {
    writer->next[1] = (unsigned char)kind;
    return writer->next + 2;
}

static inline void short_block_end(struct writer *writer, unsigned char *end) {
    writer->next[0] = (unsigned char)(end - writer->next - 1);
    recording_publish(writer, end);
}

/* Begins a short block in a word, whose low byte is left for the length. */
static inline struct leb128_word word_block_begin(enum trace_entry_kind kind, uint64_t time) {
    struct leb128_word word = {(uint64_t)kind << 8, 16};
    leb128_append_small(&word, time);
    return word;
}

/* Writes the word and returns where the next field goes, for short_block_end. Eight bytes must be reserved. */
static inline unsigned char *word_block_write(struct writer *writer, struct leb128_word word) {
    memcpy(writer->next, &word.bytes, sizeof word.bytes);
    return writer->next + word.bits / 8;
}

/* Writes a block that fits in the word. */
static inline void word_block_end(struct writer *writer, struct leb128_word word) {
    word.bytes |= word.bits / 8 - 1;
    recording_publish(writer, word_block_write(writer, word));
}

/* Returns where the fields of a long block go. */
static inline unsigned char *long_block_begin(struct writer *writer, enum trace_entry_kind kind) {
    writer->next[LEB128_PADDED_BYTES] = (unsigned char)kind;
    return writer->next + LEB128_PADDED_BYTES + 1;
}

static inline void long_block_end(struct writer *writer, unsigned char *end) {
    leb128_write_padded(writer->next, (uint32_t)(end - writer->next - LEB128_PADDED_BYTES));
    recording_publish(writer, end);
}
