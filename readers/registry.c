/* The list of readers, and the choice of one by content. */
#include <stddef.h>
#include <string.h>

#include "reader.h"
#include "readers/input/foreign.h"

#define READER_ADDRESS(name) &reader_##name,
const struct reader *const readers[] = {READERS(READER_ADDRESS) NULL};

const struct reader *reader_by_name(const char *name) {
    for (const struct reader *const *reader = readers; *reader; reader++)
        if (strcmp((*reader)->name, name) == 0 || ((*reader)->alias && strcmp((*reader)->alias, name) == 0))
            return *reader;
    return NULL;
}

/* A known format of other programs is more certain than a reader that is not. */
static const struct reader *best_reader(struct text start, bool is_whole) {
    const struct reader *best = NULL;
    enum probe_score best_score = PROBE_NO;
    for (const struct reader *const *reader = readers; *reader; reader++) {
        enum probe_score score = (*reader)->probe(start, is_whole);
        if (score <= best_score) continue;
        best = *reader;
        best_score = score;
    }
    return best_score == PROBE_MAYBE && foreign_is_known(start) ? NULL : best;
}

const struct reader *reader_detect(struct input *input, struct failure *failure) {
    /* One byte more than a reader sees shows whether the trace goes on. */
    struct text window = input_peek(input, PROBE_BYTES + 1);
    if (failure_is_set(failure)) return NULL;
    bool is_whole = window.bytes_count <= PROBE_BYTES;
    struct text start = text_slice(window, 0, PROBE_BYTES);
    const struct reader *reader = start.bytes_count ? best_reader(start, is_whole) : NULL;
    if (!reader) foreign_explain(input, start, is_whole, failure);
    return reader;
}
