/* How to find callers, for every loaded object. Built in normal context by one thread, the sampler; read by signal
 * handlers of all threads through a snapshot, which never changes.
 *
 * A snapshot is replaced as a whole when objects were loaded or unloaded. The one before it stays valid until the
 * sampler says that no handler reads it any more. Tables are copies: they may outlive their object. A row costs 6
 * bytes; rows share rules of 24 bytes. */
#ifndef GREC_UNWIND_TABLE_H
#define GREC_UNWIND_TABLE_H

#include <link.h>
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

void unwind_table_measure(const struct unwind_table *table, struct unwind_figures *figures);

/* ---- All objects. ---- */

/* Publishes a snapshot of what is loaded now, if anything was loaded or unloaded since the last one; tables of what
 * stayed are kept. Holds the dynamic linker's lock while tables are built, some 100 ms for a program of 100 MB. When
 * there is no memory the snapshot before stays. One thread at a time. */
void unwind_snapshot_refresh(void);

/* The published snapshot; NULL: none. To be read once for a walk, in which it must be counted as a handler that runs.
 * [signal-safe] */
const struct unwind_snapshot *unwind_snapshot_current(void);

/* The caller promises that no handler runs that began before the last refresh returned: frees the snapshots that were
 * replaced. */
void unwind_snapshot_reclaim(void);

/* The caller promises that no handler runs, nor begins until the next refresh has returned: frees all. */
void unwind_snapshot_forget(void);

/* The rule for an address; NULL: it lies in no object. [signal-safe] */
const struct unwind_rule *unwind_snapshot_find(const struct unwind_snapshot *snapshot, uint64_t address);

void unwind_snapshot_measure(const struct unwind_snapshot *snapshot, struct unwind_figures *figures);

#endif
