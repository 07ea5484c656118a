/* The plan of a batch: the files, the traces in them, and the name of each profile. The plan is complete before
 * anything is written.
 *
 * A source is a file that was named on the command line or found in a folder. Its entries appear in the report: the
 * file itself and, if the file is an archive, each member. */
#pragma once

#include <stdatomic.h>

#include "batch_entry.h"
#include "cli/options.h"
#include "file_digest.h"
#include "libconvert/base/column.h"
#include "libconvert/base/failure.h"
#include "shard.h"

struct manifest_records;

struct batch_source {
    char *path;          /* owned */
    char *name;          /* owned; output paths are made from it; still has its suffixes */
    size_t input_number; /* number of the input to which it belongs */
    bool is_named;       /* named on the command line, not found in a folder */
    bool is_folder;
    bool is_own;      /* found in a folder, but written by this batch */
    bool is_left_out; /* not reported: another shard has it, or this batch writes it */
    bool is_done;     /* needs no further work */
    size_t position;  /* among the inputs of all shards */
    uint64_t file_bytes;
    uint64_t stamp;         /* file_stamp; 0: none that can be relied on later */
    struct failure failure; /* failure to read this source */
    atomic_bool is_known;   /* all entries are there; until then, only the identifying thread reads them */
    struct batch_entry own; /* the entry of the file itself */
    struct arena texts;     /* paths of members, and errors; only the thread that works on the source adds to it */
    struct column members;  /* struct batch_entry, in the order of the archive */
};

struct batch_plan {
    const struct options *options;          /* borrowed */
    const struct manifest_records *records; /* borrowed; records of the earlier batch; NULL: none */
    const char *output_folder;              /* borrowed */
    const char *const *own_paths;           /* borrowed; files that the batch writes; elements may be NULL */
    size_t own_path_count;
    const atomic_bool *is_stopping; /* borrowed */
    struct memory_limit *memory;    /* borrowed; limits the whole batch */
    struct failure failure;         /* failure of the whole plan */
    struct column sources;          /* struct batch_source, in the order of the report */
    struct shard shard;             /* selects the sources that are converted */
    size_t input_count;             /* number of inputs of all shards; 0: the batch is not divided */
    uint64_t inputs_xxh3;           /* hash of their names and sizes */
    uint64_t total_bytes;           /* size of all files that were found so far */
    atomic_size_t next_source;
    _Atomic(uint64_t) identified_bytes;
};

/* Setting *is_stopping ends the steps early. All pointers are borrowed until batch_plan_fini. */
void batch_plan_init(struct batch_plan *plan, const struct options *options, const char *output_folder,
                     const atomic_bool *is_stopping, struct memory_limit *memory);
void batch_plan_fini(struct batch_plan *plan);

/* Call the steps in this order. After a failure, each does nothing.
 *
 * Step 1: finds the sources: the named files, and all files below the named folders, sorted. Leaves out those of other
 * shards. */
void batch_plan_find(struct batch_plan *plan);

/* The end of step 1: leaves out the sources of other shards. */
void batch_plan_select_shard(struct batch_plan *plan);

/* Step 2: identifies sources until none is left: their digests, formats and members. Any number of threads may call it
 * at the same time. */
void batch_plan_identify(struct batch_plan *plan);

/* Resets the sources whose identification ran out of memory, so that they can be tried again with all memory to
 * themselves. Returns true if there are any: one thread must then call batch_plan_identify again. Call it after all
 * threads have returned from batch_plan_identify. */
bool batch_plan_requeue_out_of_memory(struct batch_plan *plan);

/* Drops the records of the earlier batch and resets the sources that were taken from them. Returns true if there are
 * any: any number of threads may then call batch_plan_identify again. */
bool batch_plan_requeue_reused(struct batch_plan *plan);

/* Step 3: checks rules across sources. Fails with FAILURE_USAGE if the batch would overwrite a trace, if two profiles
 * would have the same name, or if a profile would have the name of a file or folder that the batch itself writes. A
 * named input without a trace fails alone. Sources that the batch itself writes are left out. */
void batch_plan_check(struct batch_plan *plan);

/* Return a source or an entry by its number. Entry 0 is that of the file itself. After the last entry, returns NULL. */
static inline struct batch_source *batch_source_at(const struct batch_plan *plan, size_t number) {
    return column_at(&plan->sources, number);
}
static inline struct batch_entry *batch_entry_at(struct batch_source *source, size_t number) {
    if (number == 0) return &source->own;
    return number <= source->members.count ? column_at(&source->members, number - 1) : NULL;
}

/* Steps through the entries of all sources that are not left out, in order. While a worker still adds members to a
 * source, those are left out, so a report can be written at any time.
 *
 *     for (struct batch_cursor at = {0}; batch_cursor_next(plan, &at);) use(at.source, at.entry); */
struct batch_cursor {
    struct batch_source *source;
    struct batch_entry *entry;
    size_t next_source;
    size_t next_entry;
};

/* Returns false after the last entry. */
bool batch_cursor_next(const struct batch_plan *plan, struct batch_cursor *cursor);

/* ---- For code that works on entries. ---- */

/* Returns a new source for the caller to fill; NULL if memory ran out (latched). */
struct batch_source *batch_plan_add_source(struct batch_plan *plan, const char *path, const char *name);

/* Returns a new member; its path is copied. NULL if memory ran out (latched in the source). */
struct batch_entry *batch_source_add_member(struct batch_source *source, struct text path);

/* The functions below return texts for the caller to free; NULL if memory ran out.
 *
 * Returns "logs.tar > app.txt", the name that messages use for an entry. */
char *batch_entry_name(const struct batch_source *source, const char *member);

/* Returns the full path of an output, which is relative to the output folder. */
char *batch_output_path(const struct batch_plan *plan, const char *output);

/* Returns the path of `name` in `folder`, which may be empty. */
char *batch_join(struct text folder, const char *name);
