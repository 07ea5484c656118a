/* Unwind tables of the loaded objects, used to find callers. A table is a copy of what an object has for that: its call
 * frame information, and a list of its functions. One thread, the sampler, makes the copies outside signal handlers.
 * Handlers of all threads read them through a snapshot of the loaded objects, and interpret the entry of a function
 * when a walk reaches it. So a program that starts and ends quickly, like a compiler, does not wait for tables of all
 * that it could run. The table of an object is made when a walk has reached the object, because most programs run only
 * a small part of what they load.
 *
 * When objects were loaded or unloaded, a new snapshot replaces the old one, which stays valid until the sampler has
 * made sure that no handler reads it. Tables may outlive their objects. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind_cfi.h"

/* The memory budget of all tables. An object whose table does not fit is walked by frame pointers. */
#define UNWIND_BYTES_MAX ((uint64_t)128 << 20)

struct unwind_table;
struct unwind_snapshot;

/* What tests check of tables. */
struct unwind_figures {
    uint64_t object_count;
    uint64_t function_count;
    uint64_t bytes_count; /* mapped bytes */
};

/* ---- One object. ---- */

/* Returns NULL if the object has no functions, if its table would be larger than bytes_max, or if there is no memory.
 * unwind_object.h says when this may be called. */
struct unwind_table *unwind_table_create(const struct unwind_image *image, uint64_t bytes_max);
void unwind_table_destroy(struct unwind_table *table);

/* Finds the rule for the address image->base + offset. If there is none, it is of kind UNKNOWN. [signal-safe] */
void unwind_table_find(const struct unwind_table *table, uint64_t offset, struct unwind_rule *rule);

void unwind_table_measure(const struct unwind_table *table, struct unwind_figures *figures);

/* ---- All objects. ---- */

/* Publishes a snapshot of the loaded objects, if objects were loaded or unloaded since the last one. Keeps the tables
 * of objects that are still loaded. Marks those of new objects as wanted, unless this is the first snapshot. If there
 * is no memory, the last snapshot stays. Call this, and the functions that build, in one thread at a time. */
void unwind_snapshot_refresh(void);

/* Returns whether a walk has ended at an object whose table is not built. [signal-safe] */
bool unwind_snapshot_has_wanted(void);

/* Makes the tables of all objects wanted, because a thread that captures its own stack has only one try.
 * [signal-safe] */
void unwind_snapshot_want_all(void);

/* Builds the wanted tables into the published snapshot. Holds the dynamic linker's lock meanwhile: about 5 ms for an
 * object of 100 MB. */
void unwind_snapshot_build_wanted(void);

/* Returns how often tables were built. If the count has changed, a walk that ended early may now find more frames.
 * [signal-safe] */
uint32_t unwind_snapshot_build_count(void);

/* Returns the published snapshot; NULL: none. Read it once for each walk. The walk must be visible to the sampler, as a
 * recording call or as a handler that is answering. [signal-safe] */
const struct unwind_snapshot *unwind_snapshot_current(void);

/* Frees replaced snapshots. The caller guarantees that no walk is running that began before the last refresh returned.
 */
void unwind_snapshot_reclaim(void);

/* Frees all snapshots. The caller guarantees that no walk is running, and that none begins before the next refresh has
 * returned. */
void unwind_snapshot_forget(void);

/* Finds the rule for an address. Returns false if the address is in no object. If the object's table is not built, the
 * rule is of kind TO_COME, and the table becomes wanted. [signal-safe] */
bool unwind_snapshot_find(const struct unwind_snapshot *snapshot, uint64_t address, struct unwind_rule *rule);

/* Finds the function that contains an address. Returns false if it is unknown, or if it is not entered by a call. */
bool unwind_snapshot_find_function(const struct unwind_snapshot *snapshot, uint64_t address, uint64_t *start,
                                   uint64_t *end);

/* Returns a number that no other snapshot has. */
uint64_t unwind_snapshot_number(const struct unwind_snapshot *snapshot);

void unwind_snapshot_measure(const struct unwind_snapshot *snapshot, struct unwind_figures *figures);
