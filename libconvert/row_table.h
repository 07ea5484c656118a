/* A table of unique rows of one fixed size: a column owns the rows, an index set finds them.
 * Rows are compared as bytes, so they must have no padding. The tables of frames, stacks, funcs… are this
 * one with a typed face. */
#ifndef GECKO_ROW_TABLE_H
#define GECKO_ROW_TABLE_H

#include "column.h"
#include "ids.h"
#include "index_set.h"

struct row_table {
    struct column rows;
    struct index_set index;
};

void row_table_init(struct row_table *table, uint32_t row_bytes, struct failure *failure);
void row_table_fini(struct row_table *table);

/* Number of the row with these bytes, added when it is new; ID_NONE when memory ran out (latched). */
uint32_t row_table_intern(struct row_table *table, const void *row);

static inline const void *row_table_at(const struct row_table *table, uint32_t row) {
    return column_at(&table->rows, row);
}

static inline uint32_t row_table_count(const struct row_table *table) { return (uint32_t)table->rows.count; }

#endif
