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

/* Returns whether the suffix is in the name of a file, or of a member of an archive, perhaps before that of a
 * compression: "app.folded.gz". */
static bool has_suffix(struct text name, struct text suffix) {
    for (size_t at = 1; at + suffix.bytes_count <= name.bytes_count; at++) {
        struct text rest = text_from(name, at);
        bool is_end = rest.bytes_count == suffix.bytes_count || rest.bytes[suffix.bytes_count] == '.';
        if (is_end && text_starts_with(rest, suffix)) return true;
    }
    return false;
}

static bool is_named_for(const struct reader *reader, const struct input *input) {
    struct text name = text_base_name(text_of(input_name(input)));
    struct text member = text_base_name(input_wrapping(input));
    for (const char *const *suffix = reader->suffixes; suffix && *suffix; suffix++)
        if (has_suffix(name, text_of(*suffix)) || has_suffix(member, text_of(*suffix))) return true;
    return false;
}

struct choice {
    const struct reader *reader; /* NULL: none */
    enum probe_score score;
};

static struct choice best_reader(struct text start, bool is_whole) {
    struct choice best = {NULL, PROBE_NO};
    for (const struct reader *const *reader = readers; *reader; reader++) {
        enum probe_score score = (*reader)->probe(start, is_whole);
        if (score > best.score) best = (struct choice){*reader, score};
    }
    return best;
}

const struct reader *reader_detect(struct input *input, struct failure *failure) {
    /* One byte more than a reader sees shows whether the trace goes on. */
    struct text window = input_peek(input, PROBE_BYTES + 1);
    if (failure_is_set(failure)) return NULL;
    bool is_whole = window.bytes_count <= PROBE_BYTES;
    struct text start = text_slice(window, 0, PROBE_BYTES);
    struct choice best = {NULL, PROBE_NO};
    if (start.bytes_count) best = best_reader(start, is_whole);
    /* If a reader is not sure, a known format of another program is the better guess. */
    bool is_other = !best.reader || (best.score <= PROBE_MAYBE && foreign_is_known(start));
    if (is_other) {
        foreign_explain(input, start, is_whole, failure);
        return NULL;
    }
    if (best.score > PROBE_IF_NAMED || is_named_for(best.reader, input)) return best.reader;
    failure_set(failure, FAILURE_INPUT, "%s: this is %s; --from %s reads it as %s", input_name(input),
                best.reader->doubt, best.reader->name, best.reader->title);
    return NULL;
}
