/* What the report tells of: a file, or a member of an archive. Archives may hold a million members that are no traces,
 * so an entry is small, and what only traces have is apart. */
#ifndef GECKO_BATCH_ENTRY_H
#define GECKO_BATCH_ENTRY_H

#include <stdatomic.h>

#include "cli/gecko_convert.h"
#include "libconvert/arena.h"
#include "libconvert/failure.h"
#include "libconvert/strings.h"
#include "readers/input_members.h"

enum batch_status {
    BATCH_PENDING, /* a trace, not converted yet; in the end: not before the batch was interrupted */
    BATCH_CONVERTED,
    BATCH_UNCHANGED, /* converted before; its profile is there */
    BATCH_ARCHIVE,   /* its members are entries of their own */
    BATCH_FOLDER,    /* its files are sources of their own; not in the report */
    BATCH_NO_TRACE,
    BATCH_EMPTY, /* a trace of which nothing was lost, without a sample or a marker */
    BATCH_FAILED,
    BATCH_STATUS_COUNT
};

/* What a trace has. */
struct batch_trace {
    char *output; /* owned; below the output folder. NULL: it has none */
    struct input_digest output_digest;
    uint64_t output_stamp;  /* file_stamp of a profile with that digest; 0: none */
    const char *error_code; /* static; NULL: by the status of the result */
    struct gecko_convert_result result;
};

struct short_error;

struct batch_entry {
    const char *member; /* the path in the archive, in the texts of its entries. NULL: the file itself */
    union {
        struct batch_trace *trace;       /* owned; NULL: it is none, or not known to be one yet */
        const struct short_error *error; /* if has_short_error; in the texts, or static */
    };
    struct input_digest digest; /* as it is in the file system or the archive */
    atomic_bool has_digest;
    bool has_short_error;
    bool is_archive;

    /* The one who works on an entry stores the rest of it before its status; others read it after. */
    _Atomic(enum batch_status) status;
};

/* Texts of the entries of one source. They are added by the thread that works on the source alone. */
struct entry_texts {
    const char *path; /* of the source; borrowed */
    struct arena bytes;
    struct strings phrases; /* parts of messages that many members share */
};

/* `failure` is borrowed: memory that runs out is latched in it. */
void entry_texts_init(struct entry_texts *texts, const char *path, struct failure *failure);
void entry_texts_fini(struct entry_texts *texts);

/* The member's path is copied into the texts; without bytes it is the file's own entry. False when memory ran out
 * (latched). */
bool batch_entry_init(struct batch_entry *entry, struct entry_texts *texts, struct text member);
void batch_entry_fini(struct batch_entry *entry);

/* What the entry has as a trace; NULL when it has nothing. */
static inline struct batch_trace *batch_entry_trace(const struct batch_entry *entry) {
    return entry->has_short_error ? NULL : entry->trace;
}

/* The same, made if there is none yet; NULL when memory ran out. Forgets a short error. */
struct batch_trace *batch_entry_make_trace(struct batch_entry *entry);

/* The entry has failed, or (BATCH_NO_TRACE) is none. `code` (static) NULL: by the failure. Of a member without a trace,
 * to be called by the thread that works on its source alone. */
void batch_entry_fail(struct batch_entry *entry, struct entry_texts *texts, enum batch_status status, const char *code,
                      const struct failure *failure);

/* As it was added: a trace that is not converted. */
void batch_entry_reset(struct batch_entry *entry);

void batch_entry_set_digest(struct batch_entry *entry, struct input_digest digest);

/* ---- For any thread, once the status is stored. ---- */

/* What the conversion did; an empty result where there was none. */
const struct gecko_convert_result *batch_entry_result(const struct batch_entry *entry);

/* The output's path, below the output folder; NULL when there is none. */
static inline char *batch_entry_output(const struct batch_entry *entry) {
    const struct batch_trace *trace = batch_entry_trace(entry);
    return trace ? trace->output : NULL;
}

/* GECKO_CONVERT_GOOD when the entry has not failed. */
enum gecko_convert_status batch_entry_outcome(const struct batch_entry *entry);

/* An error in full. */
struct batch_error {
    const char *code; /* as the manifest has it; static */
    bool has_place;
    uint64_t line, offset; /* as gecko_convert_result has them */
    char message[sizeof((struct failure *)NULL)->message];
};

/* False when the entry has none. */
bool batch_entry_error(const struct batch_entry *entry, const struct entry_texts *texts, struct batch_error *error);

/* Error codes that are no failure_code's. */
extern const char batch_code_refused[], batch_code_no_trace[], batch_code_empty[];

#endif
