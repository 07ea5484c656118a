/* The memory of this process that stacks can be on: what is mapped to be read and written. The sampler's thread reads the
 * kernel's list and publishes a copy, in which handlers of all threads look up where the stack ends that they run on.
 *
 * A copy may be out of date: it is made when the sampler starts, once a second, and when somebody has looked for an
 * address that it does not have. */
#ifndef GREC_MAPPINGS_H
#define GREC_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "stack_walk.h"

/* Finds the mapping that an address lies in. The main thread's stack counts from where it may grow to. Returns false
 * when there is none; the sampler then reads the list anew. Call it in a recording call, or while a request of the
 * sampler's is being answered. [signal-safe] */
bool mappings_find(uint64_t address, struct stack_limits *limits);

/* The list was read. [signal-safe] */
bool mappings_are_known(void);

/* Somebody looked for an address in vain, and the list has not been read since. [signal-safe] */
bool mappings_are_wanted(void);

/* How often the list was read. [signal-safe] */
uint32_t mappings_read_count(void);

/* ---- Of the sampler's thread alone. ---- */

/* Reads the list, and calls `visit` for the lines that have a path (NULL: nobody wants to know). The paths are valid
 * during the call alone. */
void mappings_read(void (*visit)(uint64_t start, uint64_t end, const char *path));

/* Reads it if that is wanted and reading does not take up too much of the time. */
void mappings_read_wanted(uint64_t now_ns);

/* Whether there are copies that were replaced. */
bool mappings_are_replaced(void);

/* The caller promises that nobody looks up anything that began before the last read: frees the copies before it. */
void mappings_reclaim(void);

/* The caller promises that nobody looks up anything: frees all. */
void mappings_forget(void);

/* The thread that had the list open has ended, or is not this process's. */
void mappings_forget_file(void);

#endif
