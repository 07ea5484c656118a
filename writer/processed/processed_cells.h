/* Writes columns whose cells are numbers, booleans or null. Room is reserved for many cells at once, since a profile
 * has millions of them. */
#ifndef GECKO_PROCESSED_CELLS_H
#define GECKO_PROCESSED_CELLS_H

#include "libconvert/base/column.h"
#include "writer/json.h"
#include "writer/json_put.h"

/* Puts the cell that one column has for the row: at most JSON_MS_BYTES_MAX bytes. */
typedef char *cell_putter(char *out, const void *row);

/* Writes the cells of the rows from `first` up to but not including `end`. It is inline, so that a loop over one known
 * column calls no function for each cell. */
static inline void processed_cells_write(struct json *json, const struct column *rows, size_t first, size_t end,
                                         cell_putter *put) {
    enum { CELLS_AT_ONCE = 64 };
    for (size_t row = first, run_count; row < end; row += run_count) {
        const char *run = column_run(rows, row, &run_count);
        if (run_count > end - row) run_count = end - row;
        if (run_count > CELLS_AT_ONCE) run_count = CELLS_AT_ONCE;
        char *out = json_reserve(json, run_count * (JSON_MS_BYTES_MAX + 1));
        if (!out) return;
        for (size_t i = 0; i < run_count; i++) out = json_put_comma(put(out, run + i * rows->element_bytes));
        json_commit(json, out - 1); /* without the last comma */
    }
}

#endif
