/* A stack in the caller's memory (struct grec_backtrace) that a marker can show later. */
#pragma once

#include <stdint.h>

#include "packed_stack.h"
#include "recorder/gecko_recorder.h"

/* The bytes of the stack fill the rest of the caller's memory. */
struct backtrace {
    uint32_t magic;      /* TRACE_CHUNK_MAGIC; 0: nothing was taken */
    uint32_t generation; /* the recording that it is of */
    uint64_t taken_ticks;
    uint64_t thread_uid;
    uint32_t tid;
    uint32_t pid;
    uint64_t process_start_ns;
    struct packed_stack stack;
};

/* Returns the stack if it was taken in this recording, in any thread; else NULL. [signal-safe] */
const struct backtrace *backtrace_find(const struct grec_backtrace *memory);

/* Returns the id of the last mapping that the stack's addresses refer to. A forked child cannot refer to mappings that
 * its parent defined, but to those that it has inherited. Call this in a recording call. [signal-safe] */
uint32_t backtrace_mapping_id(const struct backtrace *backtrace);

enum { BACKTRACE_ORIGIN_BYTES_MAX = 5 * LEB128_BYTES_MAX };

/* Writes into an entry with the current time when and where the stack was taken. Returns where that ends.
 * [signal-safe] */
unsigned char *backtrace_write_origin(unsigned char *at, const struct backtrace *backtrace,
                                      const struct writer *writer);
