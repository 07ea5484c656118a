/* A column of a table in a document, whether the table is an object of columns, as in processed profiles, or a list of
 * rows, as in Gecko profiles. */
#pragma once

#include "document.h"

struct column_view {
    const struct node *table; /* NULL: there is no such column, and count is 0 */
    const struct node *list;  /* the values or, if is_of_rows, the rows */
    const char *name;
    size_t number; /* position of the value in its row, if is_of_rows */
    bool is_of_rows;
    size_t count;
};

struct column_view column_view_find(const struct document *document, const struct node *table, const char *name);

/* Returns a null node if there is no such row, or if it is too short. */
const struct node *column_view_at(const struct column_view *view, size_t row);
