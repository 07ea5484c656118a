/* Tables of the processed format: objects of columns. Each column is a fragment of its own, so that one pass over the
 * rows fills all columns. The finished columns are spliced one after the other. */
#ifndef GECKO_TABLE_OF_COLUMNS_H
#define GECKO_TABLE_OF_COLUMNS_H

#include "json.h"
#include "libconvert/base/ids.h"

enum { TABLE_COLUMNS_MAX = 11 };

struct table_of_columns {
    const char *const *names;
    size_t column_count;
    struct json columns[TABLE_COLUMNS_MAX];
};

void table_of_columns_begin(struct table_of_columns *table, const char *const names[], size_t column_count,
                            struct failure *failure);

/* Writes the table as the value of `key`. */
void table_of_columns_end(struct table_of_columns *table, const char *key, size_t row_count, struct json *into);

/* Writes only the columns, as keys of the object under construction. */
void table_of_columns_splice(struct table_of_columns *table, struct json *into);

static inline void table_index_or_null(struct json *column, uint32_t index) {
    if (index == ID_NONE)
        json_null(column);
    else
        json_int(column, index);
}

static inline void table_index_or_minus_one(struct json *column, uint32_t index) {
    json_int(column, index == ID_NONE ? -1 : (int64_t)index);
}

#endif
