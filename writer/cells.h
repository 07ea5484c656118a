/* Writes values of the profile's rows as the description of the format says: see libconvert/format/format.h. */
#pragma once

#include "json.h"
#include "libconvert/base/column.h"
#include "libconvert/format/format.h"

/* Returns whether the member is written from rows. Others are left to code. */
static inline bool member_has_cell(const struct member *member) {
    return member->cell > CELL_CODE && !(member->flags & IS_APART);
}

/* Writes the column's cells of the rows from `first` up to but not including `end`, each as a value. */
void cells_write(struct json *json, const struct member *column, const struct column *rows, size_t first, size_t end);

/* Appends the cells of those rows as the elements of the column's slab. Where a cell is null, the element is 0. */
void cells_append_slab(struct chunk_list *out, const struct member *column, const struct column *rows, size_t first,
                       size_t end);

/* Returns whether the elements of the slab say exactly what the text would say: a double cannot tell nanoseconds of
 * times that are months apart. */
bool cells_fit_slab(const struct member *column, const struct column *rows, size_t first, size_t end);

/* Writes the row's cell as a value. CELL_MS_DELTA and CELL_DISTANCE need other rows, so they are not allowed. */
void cell_write(struct json *json, const struct member *member, const void *row);

/* Writes the members of the object that the row has: keys and values, in the order of the description. */
void members_write(struct json *json, const struct shape *shape, const void *row);
