/* The first error of a conversion.
 *
 * One latch travels through all stages. The first failure sticks, later ones are ignored, and every stage that
 * finds the latch set does nothing more; so code may go on for a few steps after a failure and check at the
 * boundaries of its stage. Nothing here allocates: running out of memory can be reported too.
 * Not thread-safe: a latch belongs to one conversion. */
#ifndef GECKO_FAILURE_H
#define GECKO_FAILURE_H

#include <stdbool.h>
#include <stdint.h>

/* The values are the exit codes of the program. */
enum failure_code {
    FAILURE_NONE = 0,
    FAILURE_INPUT = 1,  /* the input is no good */
    FAILURE_USAGE = 2,  /* the command line or the options are no good */
    FAILURE_IO = 3,     /* reading or writing failed: disk, permission, pipe */
    FAILURE_MEMORY = 4, /* memory ran out */
    FAILURE_STRICT = 5  /* strict conversion, and something was lost */
};

/* A place in the input. Lines and offsets count from the start of the uncompressed trace. */
struct position {
    uint64_t line;   /* 1-based; 0: not a line-oriented place */
    uint64_t offset; /* bytes */
};

struct memory_limit;

struct failure {
    struct memory_limit *memory; /* what the memory of the same work is counted against; NULL: nothing. Borrowed */
    enum failure_code code;
    bool has_position;
    struct position position;
    bool is_of_many; /* one file was wanted, and these are several: a folder, an archive */
    char message[640];
};

/* A zeroed latch is a good one; this is for using one again. The limit of its memory stays. */
void failure_clear(struct failure *failure);

static inline bool failure_is_set(const struct failure *failure) { return failure->code != FAILURE_NONE; }

/* Latches a failure unless one is latched. The message says what is wrong and what to do about it; it is cut
 * to the size of the latch. */
void failure_set(struct failure *failure, enum failure_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same, with the place in the input where it happened. */
void failure_set_at(struct failure *failure, enum failure_code code, struct position position, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Memory ran out. */
void failure_set_memory(struct failure *failure);

#endif
