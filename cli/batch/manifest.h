/* The report of a batch, as described in docs/report.md. */
#pragma once

#include "batch_plan.h"
#include "libconvert/report.h"
#include "manifest_file.h"
#include "writer/json.h"
#include "writer/sink.h"

#define MANIFEST_STEM "gecko-convert.manifest"

/* Adds up the totals of the batch so far, except the time. */
void batch_totals_of(struct batch_plan *plan, int64_t totals[TOTAL_COUNT]);

/* Returns what messages call entries with the status; NULL: they have no line of their own. */
const char *manifest_status_label(enum batch_status status);

/* Writes the member "totals". */
void manifest_write_totals(struct json *json, const int64_t totals[TOTAL_COUNT]);

/* Appends how many inputs have each outcome: "3 converted, 1 failed". */
void manifest_append_counts(struct report_text *text, const int64_t totals[TOTAL_COUNT]);

/* The outcome of the batch as a whole. */
struct batch_outcome {
    uint64_t duration_ns;
    int ended_by;             /* number of a signal; 0: none */
    const char *archive_path; /* NULL: no archive was written */
    struct input_digest archive_digest;
};

/* Writes the report as JSON, followed by a line end, into the sink. `failure` is the sink's: running out of memory is
 * latched there. Holds about a megabyte of text at a time. */
void manifest_write(struct batch_plan *plan, const struct batch_outcome *outcome, struct sink *sink,
                    struct failure *failure);

/* Returns the hash of all options that affect the profiles, and of the build of the program: its version and, if /proc
 * is mounted, the bytes of its file. */
uint64_t manifest_options_xxh3(const struct options *options, struct failure *failure);

/* Writes text that is JSON already as one line. */
void manifest_write_raw(struct json *json, struct text raw);

/* Formats the hash as 16 hexadecimal digits, terminated. */
void manifest_format_xxh3(char out[17], uint64_t xxh3);
