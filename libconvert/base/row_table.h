/* A table of unique rows of one size: a column owns the rows, and an index set finds them. Rows are compared as bytes,
 * so they must have no padding. The tables of frames, functions and sources are row tables with typed functions around
 * them. */
#pragma once

#include "column.h"
#include "ids.h"
#include "index_set.h"

struct row_table {
    struct column rows;
    struct index_set index;
};

void row_table_init(struct row_table *table, uint32_t row_bytes, struct failure *failure);
void row_table_fini(struct row_table *table);

/* Returns the number of the row with these bytes, which is added if it is new; ID_NONE if memory ran out (latched). */
uint32_t row_table_intern(struct row_table *table, const void *row);

/* Frees the index. From now on only row_table_at, row_table_count and row_table_append may be called. */
void row_table_seal(struct row_table *table);

/* Removes all rows. They can still be read until others take their places. */
void row_table_clear(struct row_table *table);

/* Adds a row that a sealed, cleared or new table does not have, without looking it up, and returns its number; ID_NONE
 * if memory ran out (latched). No row of the table can be found from then on. */
uint32_t row_table_append(struct row_table *table, const void *row);

/* Returns the number of the row with these bytes, or ID_NONE if there is none. */
uint32_t row_table_find(const struct row_table *table, const void *row);

static inline const void *row_table_at(const struct row_table *table, uint32_t row) {
    return column_at(&table->rows, row);
}

static inline uint32_t row_table_count(const struct row_table *table) { return (uint32_t)table->rows.count; }
