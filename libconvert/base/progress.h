/* Progress as a tree of ranges: a stage reports a part of its own range and knows nothing of the whole. */
#pragma once

#include "failure.h"

struct progress_root {
    gecko_convert_progress_callback *callback; /* NULL: progress is not reported */
    void *context;
    /* Where FAILURE_CANCELLED is latched when the callback returns false. While a failure is latched there, the
     * callback is not called. Borrowed; NULL: the callback cannot cancel. */
    struct failure *failure;
    struct gecko_convert_progress told; /* the numbers that the last call of the callback got */
};

/* A range of the whole: [from, to] in 0..1. A zeroed range reports nothing. */
struct progress {
    struct progress_root *root; /* borrowed */
    double from;
    double to;
};

struct progress progress_whole(struct progress_root *root);

/* Returns the part of the range from the proportion `from` to the proportion `to`. */
struct progress progress_part(struct progress range, double from, double to);

/* Reports that `done` of `total` of the range is done; does nothing if total is 0. */
void progress_report(struct progress range, uint64_t done, uint64_t total);

/* Notes how many bytes of its source an input has read, and how large the source is. If the size is unknown
 * (total_bytes is 0), reports the number of bytes at once, since progress_report cannot report a share. */
void progress_tell_source(struct progress range, uint64_t done_bytes, uint64_t total_bytes);
