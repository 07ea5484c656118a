/* Numbers of one's own for those rows of a shared table that are used: dense, in order of first use.
 *
 * Starting over forgets all numbers at once, by counting up an epoch, so many owners of few rows each cost what they
 * use and not the size of the shared table. */
#ifndef GECKO_NUMBERING_H
#define GECKO_NUMBERING_H

#include "libconvert/column.h"

struct numbered_row {
    uint32_t epoch; /* the number counts only in this one */
    uint32_t number;
};

struct numbering {
    struct numbered_row *rows; /* as many as the shared table has */
    size_t row_count;
    uint32_t epoch;
    struct column used; /* uint32_t: the shared row of each number */
};

/* Failures are latched; numbering_fini is due in any case. */
void numbering_init(struct numbering *numbering, size_t row_count, struct failure *failure);
void numbering_fini(struct numbering *numbering);

/* Forgets all numbers. */
void numbering_restart(struct numbering *numbering);

static inline bool numbering_has(const struct numbering *numbering, uint32_t row) {
    return row >= numbering->row_count || numbering->rows[row].epoch == numbering->epoch;
}

/* The number of the row, a new one on its first use. 0 for a row that is not in the table, as after a failure. */
uint32_t numbering_of(struct numbering *numbering, uint32_t row);

static inline uint32_t numbering_count(const struct numbering *numbering) { return (uint32_t)numbering->used.count; }

static inline uint32_t numbering_row(const struct numbering *numbering, uint32_t number) {
    return *(const uint32_t *)column_at(&numbering->used, number);
}

#endif
