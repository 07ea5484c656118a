/* What an earlier batch did, by its manifest: what needs not be done again. */
#ifndef GECKO_MANIFEST_RECORDS_H
#define GECKO_MANIFEST_RECORDS_H

#include "batch_plan.h"

struct manifest_records;

/* NULL when there is no such file, and when memory ran out (latched). What else is wrong with it is told in the end. */
struct manifest_records *manifest_records_open(const char *path, struct failure *failure);
void manifest_records_destroy(struct manifest_records *records); /* NULL is fine */

/* First some threads parse them: more than there are parts have nothing to do. Then one finishes them, before anything
 * else is asked: NULL, or the reason why they are of no use (no report, or one of other options or of another version).
 * It is theirs. */
size_t manifest_records_part_count(const struct manifest_records *records);
void manifest_records_parse(struct manifest_records *records);
const char *manifest_records_finish(struct manifest_records *records, const struct options *options);

/* The digest and the salted hash of a file that has the stamp that it had. False when it must be read: then *salted is
 * the one that the record has, whose salt is 0 when there is none. For any number of threads. */
bool manifest_records_know(const struct batch_plan *plan, const struct batch_source *source,
                           struct input_digest *digest, struct salted_xxh3 *salted);

/* True when the source, whose digest is known, is as an earlier batch had it, and so are its profiles: its entries are
 * filled then. *salted is the hash of the file as it is now, by the salt of the record. What failed for a reason that
 * lies in the file has failed again. For any number of threads. */
bool manifest_records_reuse(struct batch_plan *plan, struct batch_source *source, struct salted_xxh3 salted);

/* The archive of profiles is the one that was written. */
bool manifest_records_have_archive(const struct manifest_records *records, const char *path,
                                   struct input_digest *digest);

/* Profiles that there were. */
size_t manifest_records_output_count(const struct manifest_records *records);

#endif
