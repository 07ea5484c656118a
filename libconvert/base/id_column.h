/* Columns that hold one element for each id of a string table. */
#pragma once

#include <string.h>

#include "libconvert/base/column.h"

/* Returns the element at `index`. If the column is shorter, it grows, and new elements are zeroed. Returns NULL when
 * memory ran out (latched). */
static inline void *id_column_at(struct column *column, size_t index) {
    while (column->count <= index) {
        void *added = column_push(column);
        if (!added) return NULL;
        memset(added, 0, column->element_bytes);
    }
    return column_at(column, index);
}
