/* Progress as a tree of proportions: a stage reports a part of its own range and knows nothing of the whole. */
#ifndef GECKO_PROGRESS_H
#define GECKO_PROGRESS_H

#include <stdint.h>

/* Called with the part of the whole work that is done, 0..1000, never decreasing, and only when it changed. */
typedef void progress_callback(void *context, unsigned permille);

/* Called with how many bytes of what is read there have been, and how many it has; 0: nobody knows, of a pipe. */
typedef void progress_source_callback(void *context, uint64_t done_bytes, uint64_t total_bytes);

struct progress_root {
    progress_callback *callback;               /* NULL: nobody looks */
    progress_source_callback *source_callback; /* the same */
    void *context;
    unsigned last_permille;
};

/* A range of the whole: [from, to] in 0..1. A zeroed one reports to nobody. */
struct progress {
    struct progress_root *root; /* borrowed */
    double from;
    double to;
};

struct progress progress_whole(struct progress_root *root);

/* The part of the range from the proportion `from` to the proportion `to`. */
struct progress progress_part(struct progress range, double from, double to);

/* `done` of `total` of the range is done; a total of 0 counts as nothing known. */
void progress_report(struct progress range, uint64_t done, uint64_t total);

/* So many bytes of the source have been read, as progress_source_callback has them. */
void progress_tell_source(struct progress range, uint64_t done_bytes, uint64_t total_bytes);

#endif
