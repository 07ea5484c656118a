/* Unwind tables of the loaded objects, used to find callers. One thread, the sampler, builds them outside signal
 * handlers. Handlers of all threads read them through a snapshot of the loaded objects. The table of an object is built
 * when a walk has reached the object, because most programs run only a small part of what they load, and short programs
 * are never sampled.
 *
 * When objects were loaded or unloaded, a new snapshot replaces the old one, which stays valid until the sampler has
 * made sure that no handler reads it. Tables are copies, and may outlive their objects. A row takes 6 bytes; rows share
 * rules of 24 bytes. */
#ifndef GREC_UNWIND_TABLE_H
#define GREC_UNWIND_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind_cfi.h"

/* The memory budget of all tables. Once it is used up, objects loaded later get rows for only some of their functions,
 * or none. Other functions are walked by frame pointers. */
#define UNWIND_BYTES_MAX ((uint64_t)128 << 20)

struct unwind_table;
struct unwind_snapshot;

struct unwind_figures {
    uint64_t object_count;
    uint64_t row_count;
    uint64_t rule_count;
    uint64_t bytes_count; /* mapped bytes */
};

/* ---- One object. ---- */

/* Returns NULL if there is no memory, or if no row fits. unwind_object.h says when this may be called. */
struct unwind_table *unwind_table_create(const struct unwind_image *image, uint64_t bytes_max);
void unwind_table_destroy(struct unwind_table *table);

/* Returns the rule for the address image->base + offset. Returns a rule of kind UNKNOWN, never NULL, if there is none.
 * [signal-safe] */
const struct unwind_rule *unwind_table_find(const struct unwind_table *table, uint64_t offset);

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

/* Builds the wanted tables into the published snapshot. Holds the dynamic linker's lock
 * meanwhile: about 100 ms for an object of 100 MB. */
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

/* Returns the rule for an address; NULL if the address is in no object. If the object's table is not built, returns a
 * rule of kind TO_COME, and marks the table as wanted. [signal-safe] */
const struct unwind_rule *unwind_snapshot_find(const struct unwind_snapshot *snapshot, uint64_t address);

/* Finds the function that contains an address. Returns false if it is unknown, or if it is not entered by a call. */
bool unwind_snapshot_find_function(const struct unwind_snapshot *snapshot, uint64_t address, uint64_t *start,
                                   uint64_t *end);

/* Returns a number that no other snapshot has. */
uint64_t unwind_snapshot_number(const struct unwind_snapshot *snapshot);

void unwind_snapshot_measure(const struct unwind_snapshot *snapshot, struct unwind_figures *figures);

#endif
