/* How to find callers, for every loaded object. Built in normal context by one thread, the sampler; read by signal
 * handlers of all threads through a snapshot of what is loaded. An object's table is built when a walk has come to the
 * object: most programs run little of what they load, and short ones are never sampled.
 *
 * A snapshot is replaced as a whole when objects were loaded or unloaded. The one before it stays valid until the
 * sampler says that no handler reads it any more. Tables are copies: they may outlive their object. A row costs 6
 * bytes; rows share rules of 24 bytes. */
#ifndef GREC_UNWIND_TABLE_H
#define GREC_UNWIND_TABLE_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind_cfi.h"

/* What all tables may take. Objects that come to the linker's mind when it is used up have rows for their first
 * functions, or none, and are walked by frame pointers there. */
#define UNWIND_BYTES_MAX ((uint64_t)128 << 20)

struct unwind_table;
struct unwind_snapshot;

struct unwind_figures {
    uint64_t object_count;
    uint64_t row_count;
    uint64_t rule_count;
    uint64_t bytes_count; /* mapped */
};

/* ---- One object. ---- */

/* See unwind_cfi.h for when. NULL: no memory, or no row fits. */
struct unwind_table *unwind_table_create(const struct dl_phdr_info *object, const struct unwind_image *image,
                                         uint64_t bytes_max);
void unwind_table_destroy(struct unwind_table *table);

/* The rule at image->base + offset; never NULL: of kind UNKNOWN where there is none. [signal-safe] */
const struct unwind_rule *unwind_table_find(const struct unwind_table *table, uint64_t offset);

/* The function, entered by a call, that the code at that offset belongs to; false: it is not known, or part of one that
 * is entered otherwise. */
bool unwind_table_find_function(const struct unwind_table *table, uint64_t offset, uint64_t *start, uint64_t *end);

void unwind_table_measure(const struct unwind_table *table, struct unwind_figures *figures);

/* ---- All objects. ---- */

/* Publishes a snapshot of what is loaded now, if anything was loaded or unloaded since the last one; tables of what
 * stayed are kept, those of what is new are not built yet, but wanted if there was a snapshot before. When there is no
 * memory that one stays. One thread at a time, as of all that builds. */
void unwind_snapshot_refresh(void);

/* A walk came to an object whose table is not built, and ended there. [signal-safe] */
bool unwind_snapshot_has_wanted(void);

/* Whoever walks has one try at each stack: from the next call that builds on, all tables are to be there. [signal-safe]
 */
void unwind_snapshot_want_all(void);

/* Builds the tables that walks came to, or those of all objects, into the published snapshot. Holds the dynamic
 * linker's lock meanwhile, some 100 ms for an object of 100 MB. */
void unwind_snapshot_build_wanted(void);
void unwind_snapshot_build_all(void);

/* How often tables were built: a walk that was cut short before the last time may lead further now. [signal-safe] */
uint32_t unwind_snapshot_build_count(void);

/* The published snapshot; NULL: none. To be read once for a walk, in which it must be counted as a handler that runs.
 * [signal-safe] */
const struct unwind_snapshot *unwind_snapshot_current(void);

/* The caller promises that no handler runs that began before the last refresh returned: frees the snapshots that were
 * replaced. */
void unwind_snapshot_reclaim(void);

/* The caller promises that no handler runs, nor begins until the next refresh has returned: frees all. */
void unwind_snapshot_forget(void);

/* The rule for an address; NULL: it lies in no object. Of kind TO_COME where the object's table is not built, which is
 * wanted from then on. [signal-safe] */
const struct unwind_rule *unwind_snapshot_find(const struct unwind_snapshot *snapshot, uint64_t address);

/* The same for a function's addresses. */
bool unwind_snapshot_find_function(const struct unwind_snapshot *snapshot, uint64_t address, uint64_t *start,
                                   uint64_t *end);

/* Tells a snapshot from all others, before and after it. */
uint64_t unwind_snapshot_number(const struct unwind_snapshot *snapshot);

void unwind_snapshot_measure(const struct unwind_snapshot *snapshot, struct unwind_figures *figures);

#endif
