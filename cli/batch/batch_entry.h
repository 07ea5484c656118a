/* An entry of the report: a file, or a member of an archive. An archive may hold a million members that are not traces,
 * so an entry is small, and what only traces need is allocated separately. */
#pragma once

#include <stdatomic.h>

#include "libconvert/base/arena.h"
#include "libconvert/base/failure.h"
#include "libconvert/gecko_convert.h"
#include "readers/input/input_members.h"

enum batch_status {
    BATCH_PENDING, /* a trace that is not converted yet; in a report, the batch was interrupted */
    BATCH_CONVERTED,
    BATCH_UNCHANGED, /* converted by an earlier batch; its profile still exists */
    BATCH_ARCHIVE,   /* its members have entries of their own */
    BATCH_FOLDER,    /* its files have sources of their own; left out of the report */
    BATCH_NO_TRACE,
    BATCH_EMPTY, /* a trace without samples and markers, of which nothing was lost */
    BATCH_FAILED
};

struct manifest_record;

/* The members that only an entry for a trace needs. */
struct batch_trace {
    char *output; /* owned; path below the output folder; NULL: the entry has no output */
    struct input_digest output_digest;
    uint64_t output_stamp;  /* file_stamp of the profile that has output_digest; 0: none */
    bool may_have_parts;    /* begins like the header of a recording in several files */
    const char *error_code; /* static; NULL: derived from the status of the result */
    struct gecko_convert_result result;
    const struct manifest_record
        *record; /* the record of the earlier batch, if the result is reused; borrowed; NULL: none */
};

struct short_error;

struct batch_entry {
    const char *member; /* path within the archive, owned by the source's texts; NULL: the entry is the file itself */
    union {
        struct batch_trace *trace;       /* owned; NULL: the entry is not a trace, or is not known to be one yet */
        const struct short_error *error; /* set if has_short_error; owned by the source's texts, or static */
    };
    struct input_digest digest; /* digest of the bytes in the file system or the archive */
    atomic_bool has_digest;
    bool has_short_error;
    bool is_archive;

    /* A worker stores this after all other members; other threads read those only after reading this. */
    _Atomic(enum batch_status) status;
};

/* Copies the member's path into the texts. If `member` is empty, the entry is that of the file itself. Returns false if
 * memory ran out (latched). */
bool batch_entry_init(struct batch_entry *entry, struct arena *texts, struct text member);
void batch_entry_fini(struct batch_entry *entry);

/* Returns the trace data of the entry; NULL if it has none. */
static inline struct batch_trace *batch_entry_trace(const struct batch_entry *entry) {
    return entry->has_short_error ? NULL : entry->trace;
}

/* Returns the trace data of the entry, after creating it if needed; NULL if memory ran out. Drops a short error. */
struct batch_trace *batch_entry_make_trace(struct batch_entry *entry);

/* Marks the entry as failed or, with BATCH_NO_TRACE, as no trace. `code` is static; NULL derives it from the failure.
 * If the entry is a member without trace data, only the thread that works on its source may call this. */
void batch_entry_fail(struct batch_entry *entry, struct arena *texts, enum batch_status status, const char *code,
                      const struct failure *failure);

/* Makes the entry a trace that is not converted yet. */
void batch_entry_reset(struct batch_entry *entry);

void batch_entry_set_digest(struct batch_entry *entry, struct input_digest digest);

/* ---- For any thread that has read the final status. ---- */

/* Returns the result of the conversion; an empty result if there was none. */
const struct gecko_convert_result *batch_entry_result(const struct batch_entry *entry);

/* Returns the path of the output below the output folder; NULL if there is none. */
static inline char *batch_entry_output(const struct batch_entry *entry) {
    const struct batch_trace *trace = batch_entry_trace(entry);
    return trace ? trace->output : NULL;
}

/* Returns GECKO_CONVERT_GOOD if the entry has not failed. */
enum gecko_convert_status batch_entry_outcome(const struct batch_entry *entry);

/* The error of an entry. */
struct batch_error {
    const char *code; /* as written to the manifest; static */
    bool has_place;
    uint64_t line, offset; /* as in gecko_convert_result */
    const char *message;   /* borrowed from the entry */
};

/* Returns false if the entry has no error. */
bool batch_entry_error(const struct batch_entry *entry, struct batch_error *error);

/* Error codes that are not names of a failure_code. */
extern const char batch_code_refused[], batch_code_no_trace[], batch_code_empty[];
