/* A table that finds the range of addresses in which an address lies. */
#pragma once

#include "libconvert/base/column.h"

struct address_range {
    uint64_t start;
    uint64_t end;
    uint32_t row; /* the number of what lies at these addresses */
};

/* Sorts a column of ranges. Where ranges overlap, the addresses go to the one that starts first. Call it once all
 * ranges have been pushed. Running out of memory is latched in the column's failure. */
void address_ranges_finish(struct column *ranges);

/* Returns the row of the range that has the address, or ID_NONE. */
uint32_t address_ranges_find(const struct column *ranges, uint64_t address);
