#include "progress.h"

struct progress progress_whole(struct progress_root *root) {
    return (struct progress){.root = root, .from = 0, .to = 1};
}

struct progress progress_part(struct progress range, double from, double to) {
    double width = range.to - range.from;
    return (struct progress){.root = range.root, .from = range.from + width * from, .to = range.from + width * to};
}

static void tell(struct progress_root *root) {
    struct failure *failure = root->failure;
    if (failure && failure_is_set(failure)) return;
    bool continues = root->callback(root->context, &root->told);
    if (!continues && failure) failure_set(failure, FAILURE_CANCELLED, "the conversion was cancelled");
}

void progress_report(struct progress range, uint64_t done, uint64_t total) {
    if (!range.root || !range.root->callback || !total) return;
    if (done > total) done = total;
    double part = range.from + (range.to - range.from) * ((double)done / (double)total);
    unsigned permille = (unsigned)(part * 1000);
    if (permille <= range.root->told.permille) return;
    range.root->told.permille = permille;
    tell(range.root);
}

void progress_tell_source(struct progress range, uint64_t done_bytes, uint64_t total_bytes) {
    if (!range.root || !range.root->callback) return;
    bool is_news = !total_bytes && done_bytes != range.root->told.read_bytes;
    range.root->told.read_bytes = done_bytes;
    range.root->told.total_bytes = total_bytes;
    if (is_news) tell(range.root);
}
