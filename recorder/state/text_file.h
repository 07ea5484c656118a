/* Short text files of the kernel. */
#pragma once

#include <stddef.h>

#include "shared.h"

/* Reads a file's text from its start, and terminates it. Returns its length; 0 with errno set if it cannot be read.
 * [signal-safe] */
size_t text_file_read(const char *absolute_path, char *text, size_t bytes_max) GREC_SHARED(text_file_read);
