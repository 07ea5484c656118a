#include "table_of_rows.h"

void table_of_rows_begin(struct json *json, const char *key, const char *const columns[], size_t column_count) {
    json_key(json, key);
    json_object_begin(json);
    json_key(json, "schema");
    json_object_begin(json);
    for (size_t i = 0; i < column_count; i++) json_key_int(json, columns[i], (int64_t)i);
    json_object_end(json);
    json_key(json, "data");
    json_array_begin(json);
}

void table_of_rows_end(struct json *json) {
    json_array_end(json);
    json_object_end(json);
}
