/* Binary search. */
#pragma once

#include <stddef.h>

/* Returns the first of the rows 0..count-1 for which the condition holds, or count if there is none. The rows must be
 * sorted by the condition: false for the first ones, true for the rest. The condition is an expression of `row`, which
 * the macro declares:
 *
 *     size_t next = FIRST_ROW(row, table->count, table->rows[row].start > address); */
#define FIRST_ROW(row, count, condition)                           \
    ({                                                             \
        size_t first_row_ = 0, end_row_ = (count);                 \
        while (first_row_ < end_row_) {                            \
            size_t row = first_row_ + (end_row_ - first_row_) / 2; \
            if (condition)                                         \
                end_row_ = row;                                    \
            else                                                   \
                first_row_ = row + 1;                              \
        }                                                          \
        first_row_;                                                \
    })
