/* Packs files into one archive with libarchive. Archives are reproducible: the same files under the same names in the
 * same order make the same archive.
 *
 * A child process packs the files, since libarchive's writers crash when memory runs out. */
#pragma once

#include "libconvert/base/column.h"

/* Returns whether the name ends as that of an archive that can be written, such as ".tar.zst". */
bool archive_file_is_name(const char *name);

/* Writes the files of those names (char *) below the folder into an archive at `path`, which replaces an old one, and
 * flushes it to the disk. `name` is that of an archive, and determines its kind; messages use it. Latches failures:
 * FAILURE_IO, FAILURE_MEMORY. */
void archive_file_write(const char *path, const char *name, const char *folder, const struct column *members,
                        struct failure *failure);
