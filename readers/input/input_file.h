/* Files, pipes and devices as sources of input. */
#ifndef GECKO_INPUT_FILE_H
#define GECKO_INPUT_FILE_H

#include "input_source.h"

/* Opens `path` ("-" is standard input) as a source. `name` is used in messages and borrowed until the source is closed.
 * Returns false after a failure (FAILURE_IO, FAILURE_MEMORY; latched). */
bool input_file_open(struct input_source *source, const char *path, const char *name, struct failure *failure);

/* Some bytes of an open file. */
struct input_slice {
    int descriptor;  /* borrowed while the slice is opened */
    uint64_t offset; /* place in the file; a page must begin there */
    uint64_t bytes_count;
};

/* Opens the slice as input_file_open opens a file. */
bool input_file_open_slice(struct input_source *source, const struct input_slice *slice, const char *name,
                           struct failure *failure);

#endif
