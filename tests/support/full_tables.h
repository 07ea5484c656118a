/* Makes a column that cannot grow, to test how a module behaves when memory runs out. No special allocator is needed,
 * so the tests can run under sanitizers. */
#pragma once

#include "libconvert/base/column.h"

/* Makes the next push fail, as if the column had 2^31 rows. The elements stay unchanged. To undo this, restore a
 * copy of the struct. */
static inline void column_make_full(struct column *column) {
    column->capacity = column->capacity_limit = column->count;
}
