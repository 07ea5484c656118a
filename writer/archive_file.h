/* Files packed into one archive, through libarchive: this is its sole user for writing. Equal files under equal names
 * in equal order are equal archives, whenever and by whomever they are written.
 *
 * A child process packs the files, since libarchive's writers crash when memory runs out. */
#ifndef GECKO_ARCHIVE_FILE_H
#define GECKO_ARCHIVE_FILE_H

#include "libconvert/failure.h"
#include "libconvert/text.h"

struct archive_file;

/* The suffixes that tell of a kind of archive, by number: ".tar.zst"…; NULL past the last. */
const char *archive_file_suffix(size_t number);

/* Loads what writing archives needs. False when that is missing (latched: FAILURE_IO, FAILURE_MEMORY). `name` is the
 * archive's, for messages. archive_file_create does this too. */
bool archive_file_load(const char *name, struct failure *failure);

/* Creates the file at `path`, in place of an old one. Its kind is that of the suffix of `name`, what messages call it;
 * borrowed. NULL after a failure: FAILURE_USAGE for a name without such a suffix, FAILURE_IO, FAILURE_MEMORY. */
struct archive_file *archive_file_create(const char *path, const char *name, struct failure *failure);

/* Adds the file at `path` as `member`. A failure is latched. */
void archive_file_add(struct archive_file *archive, const char *member, const char *path);

/* Writes the end, and flushes the file to the disk; frees, after a failure too, which is latched. NULL is fine. */
void archive_file_close(struct archive_file *archive);

#endif
