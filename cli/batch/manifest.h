/* The report of a batch: docs/report.md. */
#ifndef GECKO_MANIFEST_H
#define GECKO_MANIFEST_H

#include "batch_plan.h"
#include "writer/sink.h"

#define MANIFEST_NAME "gecko-convert.manifest.json"

enum { MANIFEST_VERSION = 1 };

struct batch_totals {
    uint64_t status_counts[BATCH_STATUS_COUNT];
    uint64_t lossy_count; /* profiles that do not carry all of their trace */
    uint64_t read_bytes;  /* of the files */
    uint64_t written_bytes;
    uint64_t samples;
    uint64_t markers;
};

struct batch_totals batch_totals_of(struct batch_plan *plan);

/* What the batch as a whole did. */
struct batch_outcome {
    uint64_t duration_ns;
    int ended_by;             /* a signal; 0: none */
    const char *archive_path; /* NULL: no archive was written */
    struct input_digest archive_digest;
};

/* Writes JSON with a line end after it into the sink, by up to so many threads; the same bytes whatever their number.
 * The failure is the sink's: running out of memory is latched there. Holds some megabytes of text at a time. */
void manifest_write(struct batch_plan *plan, const struct batch_outcome *outcome, unsigned thread_count,
                    struct sink *sink, struct failure *failure);

/* Of all options that change what is written, and of the version of the program. */
uint64_t manifest_options_xxh3(const struct options *options, struct failure *failure);

/* The name of a status as the manifest has it. Static. */
const char *manifest_status_name(enum batch_status status);

/* What the hash looks like: 16 hexadecimal digits, terminated. */
void manifest_format_xxh3(char out[17], uint64_t xxh3);

#endif
