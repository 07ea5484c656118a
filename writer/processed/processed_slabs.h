/* The slabs of a profile that is written as JsonSlabs. Columns are written straight from the profile when the document
 * is complete, because the sizes of all slabs come before them in the file. */
#pragma once

#include "libconvert/base/column.h"
#include "libconvert/base/decimal.h"
#include "libconvert/format/format.h"
#include "writer/json.h"

struct slabs {
    struct column list; /* struct slab */
};

void slabs_init(struct slabs *slabs, struct failure *failure);
void slabs_fini(struct slabs *slabs);

/* Returns the number in a row. */
typedef struct decimal number_source(const void *context, size_t row);

static const uint32_t SLABS_NONE = UINT32_MAX;

/* Add a slab of the cells of those rows, which are borrowed until slabs_write, or of JSON, whose chunks are moved.
 * Return the number of the slab. */
uint32_t slabs_add_column(struct slabs *slabs, const struct member *column, const struct column *rows, size_t first,
                          size_t end);
uint32_t slabs_add_json(struct slabs *slabs, struct chunk_list *json);

/* Adds a slab of the numbers, which are whole ones of 32 bits, or otherwise doubles. Returns SLABS_NONE if doubles do
 * not tell them exactly. */
uint32_t slabs_add_numbers(struct slabs *slabs, number_source *number_of, const void *context, size_t count);

/* Writes what stands for the slab as a value. */
void slabs_write_reference(struct json *json, uint32_t number);

/* Appends the whole file. The last slab is the document. Latches a FAILURE_INPUT if a slab or the file is larger than
 * the front-end can read. */
void slabs_write(struct slabs *slabs, struct chunk_list *out);
