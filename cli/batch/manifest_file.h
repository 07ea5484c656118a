/* Reads the manifest of an earlier batch: to reuse its results, or to merge it with others. */
#pragma once

#include "libconvert/base/arena.h"
#include "libconvert/base/column.h"
#include "libconvert/gecko_convert.h"

enum { MANIFEST_VERSION = 1 };

/* The record of a file or of a member of an archive. Texts are terminated. A missing or null text is empty, and
 * a missing number is 0. Raw texts are JSON as it is in the manifest. */
struct manifest_record {
    struct text raw;
    struct text path, member, status;
    struct text xxh3, stamp;
    int64_t bytes_count;
    struct text format, wrapping;
    int64_t trace_bytes;
    int64_t milliseconds;
    struct {
        struct text path; /* empty: there is none */
        struct text format, xxh3, stamp;
        int64_t bytes_count;
    } output;
    struct {
        struct text code; /* empty: there is none */
        struct text message;
        int64_t line;
        int64_t offset; /* negative: the error has no place */
    } error;
    struct text raw_counts, raw_missing_names, raw_ledger;
    int64_t sample_count, marker_count;
    int64_t lost_counts[GECKO_CONVERT_UNIT_COUNT];
};

/* The totals, in the order of the manifest. */
enum total {
    TOTAL_CONVERTED,
    TOTAL_UNCHANGED,
    TOTAL_LOSSY,
    TOTAL_FAILED,
    TOTAL_NO_TRACE,
    TOTAL_EMPTY,
    TOTAL_ARCHIVES,
    TOTAL_INTERRUPTED,
    TOTAL_BYTES_READ,
    TOTAL_BYTES_WRITTEN,
    TOTAL_SAMPLES,
    TOTAL_MARKERS,
    TOTAL_MILLISECONDS,
    TOTAL_COUNT
};
const char *manifest_total_name(enum total total);

/* A file or an archive: its record, and those of its members. */
struct manifest_group {
    struct text path;
    uint32_t first; /* among the records */
    uint32_t count;
};

/* Texts are in the memory that was passed to manifest_file_init. */
struct manifest_file {
    const char *path;     /* borrowed */
    struct arena *memory; /* borrowed */
    int64_t version;
    struct text type, tool, raw_options, options_xxh3, output_dir, interrupted_by;
    struct {
        int64_t bytes_count;
        struct text xxh3; /* empty: there is no archive of profiles */
    } archive;
    struct {
        int64_t number;      /* from 1 */
        int64_t count;       /* 0: this is the manifest of a whole batch */
        int64_t input_count; /* inputs of all shards */
        struct text inputs_xxh3;
        struct column positions; /* int64_t, one for each file, among the inputs of all shards */
    } shard;
    struct column records; /* struct manifest_record: of a file, then of its members */
    struct column groups;  /* struct manifest_group, in the order of the records */
    bool has_stray_member; /* a member does not follow its file; it is in the group before it, if there is one */
    int64_t totals[TOTAL_COUNT];
};

void manifest_file_init(struct manifest_file *manifest, const char *path, struct arena *memory);
void manifest_file_fini(struct manifest_file *manifest);

/* Reads the file. If it cannot be read or is not JSON, that is latched in the arena's failure. A member of the wrong
 * type counts as missing. Nothing else is checked. */
void manifest_file_read(struct manifest_file *manifest);

/* Returns NULL if the file is the manifest of a shard, otherwise what it is instead. The manifest of a shard has a
 * position for each of its groups. */
const char *manifest_file_shard_error(const struct manifest_file *manifest);

static inline const struct manifest_record *manifest_record_at(const struct manifest_file *manifest, size_t number) {
    return column_at(&manifest->records, number);
}
