/* The first error of a conversion.
 *
 * One latch travels through all stages. It keeps the first failure and ignores later ones. Every stage that finds the
 * latch set does nothing more, so code may continue for a few steps after a failure and check at the end of its stage.
 * Nothing here allocates, so running out of memory can be reported as well. Not thread-safe: a latch belongs to one
 * conversion. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "libconvert/gecko_convert.h"

/* Short names of the public statuses, which are the codes of failures. */
#define FAILURE_NONE      GECKO_CONVERT_GOOD
#define FAILURE_INPUT     GECKO_CONVERT_BAD_INPUT
#define FAILURE_USAGE     GECKO_CONVERT_BAD_USAGE
#define FAILURE_IO        GECKO_CONVERT_IO_FAILED
#define FAILURE_MEMORY    GECKO_CONVERT_NO_MEMORY
#define FAILURE_STRICT    GECKO_CONVERT_LOST
#define FAILURE_CANCELLED GECKO_CONVERT_CANCELLED

/* A place in the input. Lines and offsets count from the start of the unpacked trace. */
struct position {
    uint64_t line;   /* from 1; 0: the trace has no lines */
    uint64_t offset; /* bytes */
};

struct memory_limit;

struct failure {
    struct memory_limit *memory; /* what this conversion's memory counts against; borrowed. NULL: none */
    enum gecko_convert_status code;
    bool has_position;
    struct position position;
    bool is_of_many; /* one file was expected, but the path leads to several: a folder or an archive */
    char message[640];
};

/* Clears the latch for reuse, and keeps its memory limit. A zeroed latch is clear. */
void failure_clear(struct failure *failure);

static inline bool failure_is_set(const struct failure *failure) { return failure->code != FAILURE_NONE; }

/* Latches a failure unless one is latched already. The message says what is wrong and what to do about it; it is cut to
 * the size of the latch. */
void failure_set(struct failure *failure, enum gecko_convert_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Latches a failure as failure_set does, with the place in the input where it happened. */
void failure_set_at(struct failure *failure, enum gecko_convert_status code, struct position position,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Latches that memory ran out, unless a failure is latched already. */
void failure_set_memory(struct failure *failure);

/* Returns the memory. NULL latches that memory ran out. */
static inline void *failure_check_memory(struct failure *failure, void *memory) {
    if (!memory) failure_set_memory(failure);
    return memory;
}
