/* The text of a batch's report as documents that threads can parse at a time: one for some of its inputs each, and one
 * for all else. */
#ifndef GECKO_MANIFEST_PARTS_H
#define GECKO_MANIFEST_PARTS_H

#include <stdatomic.h>

#include "cli/document.h"

/* Has nodes of its own, of keys that have their numbers in all parts. */
struct manifest_part {
    struct failure failure;
    struct document document;
    struct text blocks[3]; /* borrowed from the input; the JSON text, one behind the other */
    size_t next_block;
};

struct manifest_parts {
    struct input *input; /* owned */
    struct column parts; /* struct manifest_part; behind the report lists of the inputs that it has not itself */
    atomic_size_t next;
};

/* Takes the text apart, whatever it is. The first keys of each document are those. Failures are latched: of the file,
 * and of memory. The failure is borrowed until the end. */
void manifest_parts_init(struct manifest_parts *parts, const char *path, const struct text *keys, size_t key_count,
                         struct failure *failure);
void manifest_parts_fini(struct manifest_parts *parts);

/* Parses what no other thread has taken. For any number of threads; all is parsed when all of them have returned. */
void manifest_parts_parse(struct manifest_parts *parts);

/* The first failure of a part; NULL when there is none. */
const struct failure *manifest_parts_failure(const struct manifest_parts *parts);

#endif
