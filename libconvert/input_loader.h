/* Loads one input into a profile: opens it, finds its format, reads and symbolizes it. */
#pragma once

#include <signal.h>

#include "gecko_convert.h"
#include "libconvert/base/progress.h"
#include "libconvert/profile/profile.h"
#include "readers/reader.h"

/* How a command gives an input. Zero is the default of every member. All pointers are borrowed. */
struct given_input {
    /* Opens the trace, which the loader closes. Returns NULL after a failure. Failures of opening and reading are
     * latched in `latch`, or in `failure` if that is set. NULL: the input is opened by its path. */
    struct input *(*open)(void *context, struct failure *latch);
    void *context;
    bool opens_file; /* `open` gives the file of the options' input_path, not a part of it */
    const struct failure *failure;
    const volatile sig_atomic_t *has_lost_bytes; /* nonzero once the input was truncated; checked after reading */
};

struct input_loader {
    /* Set by the caller; pointers are borrowed. */
    const struct gecko_convert_options *options;
    const struct given_input *given;
    const char *path;        /* NULL: the input is not a file */
    const char *name;        /* what messages call the input */
    unsigned job_count;      /* most threads that work at a time */
    struct profile *profile; /* its latch gets all failures */
    /* Progress of reading and symbolizing. Its root must belong to this input alone, because a cancelled reading is
     * latched in input_failure. */
    struct progress progress;

    /* Set by input_loader_read. */
    const struct reader *reader; /* NULL: no format is known */
    struct text wrapping;        /* how the input is packed; one of the profile's texts */
    uint64_t bytes_count;        /* size of the input, unpacked */

    /* Private. */
    struct failure input_failure; /* failure of the input alone, until reading has ended */
    uint64_t given_bytes;         /* how much of an input in memory or from a read function the reader has got */
    char *read_buffer;            /* owned; the read function fills it. NULL: not needed yet */
};

/* Opens the input, finds its format and reads it. Does nothing if a failure is latched. */
void input_loader_read(struct input_loader *loader);

/* Finds functions, files and lines of what was read. Does nothing if a failure is latched. */
void input_loader_symbolize(struct input_loader *loader);

/* Writes the loader's finished profile to memory and reads it again. A merge of recordings then has the same bytes as a
 * merge of their profiles, so merges can be nested. Facts about the recording that a written profile cannot hold are
 * kept. Failures are latched. */
void input_loader_reread(struct input_loader *loader);
