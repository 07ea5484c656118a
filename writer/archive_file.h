/* Packs files into one archive with libarchive. Archives of equal files under equal names in equal order are equal,
 * whenever and by whomever they are written.
 *
 * A child process packs the files, since libarchive's writers crash when memory runs out. */
#pragma once

#include "libconvert/base/failure.h"
#include "libconvert/base/text.h"

struct archive_file;

/* Returns the suffix of the archive kind with that number, for instance ".tar.zst"; NULL if there is no such kind. */
const char *archive_file_suffix(size_t number);

/* Creates the file at `path`, replacing an old one. The suffix of `name` determines the kind of archive; messages use
 * `name`, which is borrowed. Returns NULL after a failure: FAILURE_USAGE if `name` has no such suffix, FAILURE_IO,
 * FAILURE_MEMORY. */
struct archive_file *archive_file_create(const char *path, const char *name, struct failure *failure);

/* Adds the file at `path` under the name `member`. Latches failures. */
void archive_file_add(struct archive_file *archive, const char *member, const char *path);

/* Writes the end of the archive, flushes the file to the disk and frees `archive`, even after a failure. Latches
 * failures. NULL is allowed. */
void archive_file_close(struct archive_file *archive);
