/* A file with the bytes of the current input. The file is in memory. Its path is always the same, so messages do not
 * depend on it. */
#pragma once

#include <stdbool.h>

#include "libconvert/base/text.h"

extern const char source_file_path[];

/* Sets the content of the file to the bytes. */
void source_file_fill(struct text bytes);

/* Makes the path refer to the read end of a pipe that holds the bytes, until source_file_fill is called again. Returns
 * false if a pipe cannot hold that many. */
bool source_file_fill_pipe(struct text bytes);
