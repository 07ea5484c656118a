/* What an earlier batch did, by its manifest: what needs not be done again. */
#ifndef GECKO_MANIFEST_RECORDS_H
#define GECKO_MANIFEST_RECORDS_H

#include "batch_plan.h"

struct manifest_records;

/* Reads the manifest. NULL when it is of no use: `reason` says why, and is empty when there is no such file. A file
 * that is no manifest is of no use, and one of other options or of another version is neither. */
struct manifest_records *manifest_records_read(const char *path, const struct options *options, char *reason,
                                               size_t reason_bytes);
void manifest_records_destroy(struct manifest_records *records); /* NULL is fine */

/* The digest of a file that has the stamp that it had. False when it must be read. For any number of threads. */
bool manifest_records_know(const struct batch_plan *plan, const struct batch_source *source,
                           struct input_digest *digest);

/* True when the source, whose digest is known, is as an earlier batch had it, and so are its profiles: its entries are
 * filled then. What failed for a reason that lies in the file has failed again. For any number of threads. */
bool manifest_records_reuse(struct batch_plan *plan, struct batch_source *source);

/* The archive of profiles is the one that was written. */
bool manifest_records_have_archive(const struct manifest_records *records, const char *path,
                                   struct input_digest *digest);

/* Profiles that there were. */
size_t manifest_records_output_count(const struct manifest_records *records);

#endif
