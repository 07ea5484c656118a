/* What a batch is to do: files, the traces in them, and the name of each profile. All of it is known before anything is
 * written.
 *
 * A source is a file that was named, or found in a folder. Its entries are what the report tells of: the file itself,
 * and each member when it is an archive. */
#ifndef GECKO_BATCH_PLAN_H
#define GECKO_BATCH_PLAN_H

#include <stdatomic.h>

#include "batch_entry.h"
#include "cli/options.h"
#include "file_digest.h"
#include "libconvert/column.h"
#include "libconvert/failure.h"

struct manifest_records;

struct batch_source {
    char *path;          /* owned */
    char *name;          /* owned; of its outputs, below the output folder, with its suffixes */
    size_t input_number; /* of the input that it was found for */
    bool is_named;       /* on the command line, not found in a folder */
    bool is_folder;
    bool is_own;     /* found in a folder, but what the batch writes */
    bool is_settled; /* nothing is left to be done */
    uint64_t file_bytes;
    uint64_t stamp;         /* file_stamp; 0: none that lasts */
    struct salted_xxh3 salted; /* of the file's bytes, as far as has_digest says; the salt is a file_stamp of it */
    struct failure failure; /* of what is being read */
    atomic_bool is_known;   /* what its entries are; nobody but its worker looks at them before */
    struct batch_entry own; /* the file's */
    struct entry_texts texts;
    struct column members;  /* struct batch_entry, in the order of the archive */
};

struct batch_plan {
    const struct options *options;          /* borrowed */
    const struct manifest_records *records; /* borrowed; what was done before, for the look. NULL: nothing */
    const char *output_folder;              /* borrowed */
    const char *const *own_paths; /* borrowed; what the batch writes, and does not convert. Some may be NULL */
    size_t own_path_count;
    const atomic_bool *is_stopping; /* borrowed */
    struct memory_limit *memory;    /* borrowed; of the whole batch */
    struct failure failure;         /* of the plan as a whole */
    struct column sources;          /* struct batch_source, in the order of the report */
    uint64_t total_bytes;           /* of all files, as far as they are found */
    atomic_size_t next_source;
    _Atomic(uint64_t) looked_bytes;
};

/* `is_stopping` ends the steps early. All is borrowed until the plan is finished. */
void batch_plan_init(struct batch_plan *plan, const struct options *options, const char *output_folder,
                     const atomic_bool *is_stopping, struct memory_limit *memory);
void batch_plan_fini(struct batch_plan *plan);

/* The steps, in this order; each does nothing after a failure.
 *
 * 1. Finds the sources: files as they are named, folders with all that is below them, sorted. */
void batch_plan_find(struct batch_plan *plan);

/* 2. Looks at one source after the other until none is left: digests, formats, members. For any number of threads. */
void batch_plan_look(struct batch_plan *plan);

/* After all of them have ended: what failed because memory ran out may have room when it is alone. True when some
 * sources are to be looked at again, by one thread. */
bool batch_plan_look_again(struct batch_plan *plan);

/* Where what was done before is of no use after all: what was taken from its records is forgotten. True when some
 * sources are to be looked at anew, by any number of threads. */
bool batch_plan_look_anew(struct batch_plan *plan);

/* 3. Checks what must hold among all: no trace where the batch writes something and no two profiles of one name
 * (FAILURE_USAGE), a trace in every named input (which fails otherwise). Sources that are the batch's own are gone
 * then. */
void batch_plan_check(struct batch_plan *plan);

/* Sources and their entries by number; an entry NULL past the last. The file's own is the first. */
static inline struct batch_source *batch_source_at(const struct batch_plan *plan, size_t number) {
    return column_at(&plan->sources, number);
}
static inline struct batch_entry *batch_entry_at(struct batch_source *source, size_t number) {
    if (number == 0) return &source->own;
    return number <= source->members.count ? column_at(&source->members, number - 1) : NULL;
}

/* The same for the report, at any time: members only once they are known, and NULL past the last. */
struct batch_entry *batch_entry_known_at(struct batch_source *source, size_t number);

/* ---- For those who work on entries. ---- */

/* Adds a source, to be filled; NULL when memory ran out (latched). */
struct batch_source *batch_plan_add_source(struct batch_plan *plan, const char *path, const char *name);

/* Adds a member, whose path is copied; NULL when memory ran out (latched in the source). */
struct batch_entry *batch_source_add_member(struct batch_source *source, struct text path);

/* Texts that are to be freed; NULL when memory ran out.
 *
 * "logs.tar > app.txt": what messages call an entry. */
char *batch_entry_name(const struct batch_source *source, const char *member);

/* The path of an output below the output folder, and of one in a folder, which may be empty. */
char *batch_output_path(const struct batch_plan *plan, const char *output);
char *batch_join(struct text folder, const char *name);

#endif
