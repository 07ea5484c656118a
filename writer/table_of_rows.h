/* Tables of the Gecko format. Rows are arrays whose values belong to the columns in order; trailing columns that a row
 * leaves out are null. Write the rows between the two calls. */
#pragma once

#include "cells.h"

/* Begins the table as the value of `key`. Its columns are those of the shape that the profile has a value for, without
 * the one called `omitted` (NULL: none). */
void table_of_rows_begin(struct json *json, const char *key, const struct shape *shape, const char *omitted);
void table_of_rows_end(struct json *json);

/* Writes a row of a table all of whose columns are cells of the row. */
void table_row_write(struct json *json, const struct shape *shape, const char *omitted, const void *row);
