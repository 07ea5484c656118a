/* The memory of this process that can hold stacks: all that is mapped readable and writable. The sampler's thread reads
 * the kernel's list and publishes a copy. Handlers in all threads use the copy to look up where their stack ends.
 *
 * A copy may be out of date. It is made when the sampler starts, once a second, and after a lookup of an address that
 * it does not have. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The memory of a stack: [low, high). The main thread's stack, which grows, begins at the lowest address to which it
 * may grow. All zero: unknown. */
struct stack_limits {
    uint64_t low;
    uint64_t high;
};

/* Finds the mapping that contains an address. The mapping of the main thread's stack begins at the lowest address to
 * which the stack may grow. Returns false if there is none; the sampler then reads the list again. Call this in a
 * recording call, or in a handler that answers the sampler. [signal-safe] */
bool mappings_find(uint64_t address, struct stack_limits *limits);

/* Returns whether the list was read. [signal-safe] */
bool mappings_are_known(void);

/* Returns whether a lookup has failed since the list was last read. [signal-safe] */
bool mappings_are_wanted(void);

/* Returns how often the list was read. [signal-safe] */
uint32_t mappings_read_count(void);

/* ---- For the sampler's thread alone. ---- */

/* A part of a file that is mapped at [start, end). */
struct mapped_file {
    uint64_t start;
    uint64_t end;
    uint64_t offset; /* offset of `start` in the file */
    uint64_t device; /* this and the inode tell the file from a later one of its path */
    uint64_t inode;
    bool is_executable;
    const char *path;
};

/* Reads the list, and calls `visit` (unless it is NULL) for the files in it. They are valid only during the call.
 * Returns whether it has read the whole list. */
bool mappings_read(void (*visit)(const struct mapped_file *file));

/* Reads the list if a lookup has failed, unless reading takes too much of the sampler's time. */
void mappings_read_wanted(uint64_t now_ns);

/* Returns whether there are replaced copies to reclaim. */
bool mappings_are_replaced(void);

/* Frees replaced copies. The caller guarantees that no lookup is running that began before the last read. */
void mappings_reclaim(void);

/* Frees all copies. The caller guarantees that no lookup is running. */
void mappings_forget(void);
