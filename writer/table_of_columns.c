#include "table_of_columns.h"

void table_column_begin(struct json *column, struct failure *failure) {
    json_init(column, failure);
    json_array_begin(column);
}

void table_column_end(struct json *column, const char *name, struct json *into) {
    json_array_end(column);
    json_key(into, name);
    json_splice(into, column);
}

void table_of_columns_begin(struct table_of_columns *table, const char *const names[], size_t column_count,
                            struct failure *failure) {
    table->names = names;
    table->column_count = column_count;
    for (size_t i = 0; i < column_count; i++) table_column_begin(&table->columns[i], failure);
}

void table_of_columns_splice(struct table_of_columns *table, struct json *into) {
    for (size_t i = 0; i < table->column_count; i++) table_column_end(&table->columns[i], table->names[i], into);
}

void table_of_columns_end(struct table_of_columns *table, const char *key, size_t row_count, struct json *into) {
    json_key(into, key);
    json_object_begin(into);
    table_of_columns_splice(table, into);
    json_key_int(into, "length", (int64_t)row_count);
    json_object_end(into);
}
