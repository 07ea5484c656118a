/* The results of an earlier batch, from its manifest. They show which conversions need not be repeated. */
#pragma once

#include "batch_plan.h"

struct manifest_records;

/* The path is borrowed. Returns NULL if there is no such file, and if memory ran out (latched). */
struct manifest_records *manifest_records_create(const char *path, struct failure *failure);
void manifest_records_destroy(struct manifest_records *records); /* NULL is allowed */

/* Reads the report; call it once, before any of the functions below. Returns NULL, or the reason why the
 * records cannot be used, for example that the file is not a report or was written with other options. The records own
 * that text. */
const char *manifest_records_read(struct manifest_records *records, const struct options *options);

/* If the file still has the stamp of its record, sets the digest from the record and returns true. Otherwise returns
 * false: the file must be read. Any thread may call this. */
bool manifest_records_know(const struct batch_plan *plan, const struct batch_source *source,
                           struct input_digest *digest);

/* Returns true if the source and its profiles are as the earlier batch left them, and fills the source's entries. The
 * digest of the source must be known. Entries that failed because of their content fail again. Any thread may call
 * it. */
bool manifest_records_reuse(struct batch_plan *plan, struct batch_source *source);

/* Returns true if the archive of profiles is the one that the earlier batch wrote, and sets its digest. */
bool manifest_records_have_archive(const struct manifest_records *records, const char *path,
                                   struct input_digest *digest);

/* Returns the number of profiles that the earlier batch had. */
size_t manifest_records_output_count(const struct manifest_records *records);
