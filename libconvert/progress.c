#include "progress.h"

#include <stddef.h>

struct progress progress_whole(struct progress_root *root) {
    return (struct progress){.root = root, .from = 0, .to = 1};
}

struct progress progress_part(struct progress range, double from, double to) {
    double width = range.to - range.from;
    return (struct progress){.root = range.root, .from = range.from + width * from, .to = range.from + width * to};
}

void progress_report(struct progress range, uint64_t done, uint64_t total) {
    if (!range.root || !range.root->callback || !total) return;
    if (done > total) done = total;
    double part = range.from + (range.to - range.from) * ((double)done / (double)total);
    unsigned permille = (unsigned)(part * 1000);
    if (permille <= range.root->last_permille) return;
    range.root->last_permille = permille;
    range.root->callback(range.root->context, permille);
}

void progress_tell_source(struct progress range, uint64_t done_bytes, uint64_t total_bytes) {
    if (!range.root || !range.root->source_callback) return;
    range.root->source_callback(range.root->context, done_bytes, total_bytes);
}
