/* Where the bytes of an input come from: a file, memory, or another input that a source unwraps. */
#pragma once

#include <stdint.h>
#include <sys/stat.h>

#include "libconvert/base/failure.h"
#include "libconvert/base/text.h"

/* A source. The functions get `context`, which the source owns. Each one except `read` may be NULL. */
struct input_source {
    void *context;

    /* Returns the next bytes, valid until the next call; none at the end and after a failure (latched). */
    struct text (*read)(void *context);

    /* Makes the next read begin at that byte, at most total_bytes. NULL if the source can only be read forwards. */
    void (*seek)(void *context, uint64_t offset);

    /* Tells the source that bytes are read at `offset` now, and that those before `needed_offset` are not needed any
     * more, unless a seek follows. */
    void (*release)(void *context, uint64_t needed_offset, uint64_t offset);

    /* From now on, another thread makes bytes ready before they are read. */
    void (*make_ahead)(void *context);

    void (*close)(void *context);

    uint64_t total_bytes; /* 0 if unknown. If it is known, one read returns all bytes from the current one to the end */
    size_t window_bytes;  /* most bytes that a peek returns unless more are wanted; 0 for no limit */
    const char
        *wrapping; /* what the source unwraps, for instance "gzip" or "tar > app.txt"; owned by the source; NULL */
    const bool *has_more;      /* data follows the first member of a gzip file; owned by the source; NULL */
    const uint64_t *nan_count; /* elements of JsonSlabs that are no numbers; owned by the source; NULL */
    const struct stat *status; /* status of the regular file that is read; owned by the source; NULL */
};

/* Opens a file, pipe or device: `path` ("-" is standard input). `name` is used in messages and borrowed until the
 * source is closed. Returns false after a failure (FAILURE_IO, FAILURE_MEMORY; latched). */
bool input_file_open(struct input_source *source, const char *path, const char *name, struct failure *failure);

/* ---- For sources that read from another input. ---- */

struct input;

/* Returns the next bytes of the input, valid until the next call, and consumes those that the previous call returned.
 * Nobody else may read from the input meanwhile. Returns none at the end and after a failure (latched). */
struct text input_take_run(struct input *input);

/* Makes the next run begin at that byte, at most input_seekable_bytes. */
void input_seek(struct input *input, uint64_t offset);

/* Returns the size of the input, or 0 if input_seek cannot be used. */
uint64_t input_seekable_bytes(const struct input *input);

/* Returns the latch of the input's failures. Borrowed. */
struct failure *input_failure(const struct input *input);
