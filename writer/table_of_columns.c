#include "table_of_columns.h"

void table_of_columns_begin(struct table_of_columns *table, const char *const names[], size_t column_count,
                            struct failure *failure) {
    table->names = names;
    table->column_count = column_count;
    for (size_t i = 0; i < column_count; i++) {
        json_init(&table->columns[i], failure);
        json_array_begin(&table->columns[i]);
    }
}

void table_of_columns_splice(struct table_of_columns *table, struct json *into) {
    for (size_t i = 0; i < table->column_count; i++) {
        json_array_end(&table->columns[i]);
        json_key(into, table->names[i]);
        json_splice(into, &table->columns[i]);
    }
}

void table_of_columns_end(struct table_of_columns *table, const char *key, size_t row_count, struct json *into) {
    json_key(into, key);
    json_object_begin(into);
    table_of_columns_splice(table, into);
    json_key_int(into, "length", (int64_t)row_count);
    json_object_end(into);
}
