/* The manifest that a shard of a batch left, as it is read to be merged with others. */
#ifndef GECKO_SHARD_MANIFEST_H
#define GECKO_SHARD_MANIFEST_H

#include "libconvert/base/arena.h"
#include "libconvert/base/column.h"

/* The record of a file or of a member of an archive. */
struct record {
    struct text json; /* as it is in the manifest */
    struct text path;
    struct text status;
    struct text message; /* of its error; empty: there is none */
    struct text output;  /* path of its profile; empty: there is none */
    struct text xxh3;    /* of its profile */
    bool is_member;
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
extern const char *const total_names[TOTAL_COUNT];

/* Texts are in the memory that was passed to shard_manifest_init. */
struct shard_manifest {
    const char *path;     /* borrowed */
    struct arena *memory; /* borrowed */
    int64_t version;
    struct text type, tool, options, options_xxh3, output_dir, interrupted_by;
    int64_t number;      /* of the shard, from 1 */
    int64_t count;       /* of shards; 0: this is no manifest of a shard */
    int64_t input_count; /* of all shards */
    struct text inputs_xxh3;
    struct column positions; /* int64_t, one for each file, among the inputs of all shards */
    struct column records;   /* struct record: of a file, then of its members */
    int64_t totals[TOTAL_COUNT];
};

void shard_manifest_init(struct shard_manifest *manifest, const char *path, struct arena *memory);
void shard_manifest_fini(struct shard_manifest *manifest);

/* Reads the file. A file that is no manifest of a shard is a failure, latched in the memory's latch. */
void shard_manifest_read(struct shard_manifest *manifest);

#endif
