/* Opens and reads files whose paths come from a trace or a request. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "text.h"

/* Opens a regular file for reading and describes it in *status. Anything else is refused with EINVAL and, unless it
 * replaces a regular file at the same moment, is not opened: opening a device or a pipe may have an effect or wait.
 * Returns a descriptor to close, or -1 with errno set. */
int regular_file_open(const char *path, struct stat *status);

/* Returns the first bytes of the regular file, in `bytes`; an empty text if it cannot be read. */
struct text regular_file_start(const char *path, char *bytes, size_t capacity_bytes);

/* Reads at most *bytes_count bytes, and stores how many there were. Returns false with errno set. */
bool regular_file_read(int file, char *bytes, size_t *bytes_count);
