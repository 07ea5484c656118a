/* Tables of the Gecko format. Rows are arrays whose values belong to the columns in order; trailing columns that a row
 * leaves out are null. Write the rows between the two calls. */
#ifndef GECKO_TABLE_OF_ROWS_H
#define GECKO_TABLE_OF_ROWS_H

#include "json.h"

/* Begins the table as the value of `key`. */
void table_of_rows_begin(struct json *json, const char *key, const char *const columns[], size_t column_count);
#define TABLE_OF_ROWS_BEGIN(json, key, columns) \
    table_of_rows_begin(json, key, columns, sizeof(columns) / sizeof *(columns))

void table_of_rows_end(struct json *json);

#endif
