/* Numbers the rows of a shared table that an owner uses: densely, in order of first use.
 *
 * A restart forgets all numbers at once by incrementing an epoch. So an owner of few rows costs only what it uses,
 * whatever the size of the shared table. */
#pragma once

#include "libconvert/base/column.h"

struct numbered_row {
    uint32_t epoch; /* epoch in which the number is valid */
    uint32_t number;
};

struct numbering {
    struct numbered_row *rows; /* one per row of the shared table */
    size_t row_count;
    uint32_t epoch;
    struct column used; /* uint32_t: the shared row of each number */
};

/* Latches failures. Call numbering_fini in any case. */
void numbering_init(struct numbering *numbering, size_t row_count, struct failure *failure);
void numbering_fini(struct numbering *numbering);

/* Forgets all numbers. */
void numbering_restart(struct numbering *numbering);

static inline bool numbering_has(const struct numbering *numbering, uint32_t row) {
    return row >= numbering->row_count || numbering->rows[row].epoch == numbering->epoch;
}

/* Returns the number of the row, a new one on its first use. Returns 0 if the row is not in the table, for instance
 * after a failure. */
uint32_t numbering_of(struct numbering *numbering, uint32_t row);

static inline uint32_t numbering_count(const struct numbering *numbering) { return (uint32_t)numbering->used.count; }

static inline uint32_t numbering_row(const struct numbering *numbering, uint32_t number) {
    return *(const uint32_t *)column_at(&numbering->used, number);
}
