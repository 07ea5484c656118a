/* The slabs of a profile that is written as JsonSlabs. Columns are written straight from the profile when the document
 * is complete, because the sizes of all slabs come before them in the file. */
#pragma once

#include "libconvert/base/column.h"
#include "libconvert/format/format.h"
#include "writer/json.h"

struct slabs {
    struct column list; /* struct slab */
};

void slabs_init(struct slabs *slabs, struct failure *failure);
void slabs_fini(struct slabs *slabs);

/* Add a slab of the cells of those rows, which are borrowed until slabs_write, or of JSON, whose chunks are moved.
 * Return the number of the slab. */
uint32_t slabs_add_column(struct slabs *slabs, const struct member *column, const struct column *rows, size_t first,
                          size_t end);
uint32_t slabs_add_json(struct slabs *slabs, struct chunk_list *json);

/* Writes the value that refers to the slab. */
void slabs_write_reference(struct json *json, uint32_t number);

/* Appends the whole file. The last slab is the document. Latches a FAILURE_INPUT if a slab or the file is larger than
 * the front-end can read. */
void slabs_write(struct slabs *slabs, struct chunk_list *out);
