/* Files, pipes and devices as sources of input. */
#ifndef GECKO_INPUT_FILE_H
#define GECKO_INPUT_FILE_H

#include "input_source.h"

/* Opens `path` ("-" is standard input) as a source. `name` is used in messages and borrowed until the source is closed.
 * Returns false after a failure (FAILURE_IO, FAILURE_MEMORY; latched). */
bool input_file_open(struct input_source *source, const char *path, const char *name, struct failure *failure);

#endif
