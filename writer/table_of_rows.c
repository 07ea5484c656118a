#include "table_of_rows.h"

static bool is_written(const struct member *column, const char *omitted) {
    if (column->cell == CELL_NONE) return false;
    return !omitted || column->name[0] != omitted[0] || strcmp(column->name, omitted) != 0;
}

void table_of_rows_begin(struct json *json, const char *key, const struct shape *shape, const char *omitted) {
    int64_t number = 0;
    json_key_object_begin(json, key);
    json_key_object_begin(json, "schema");
    for (size_t i = 0; i < shape->member_count; i++) {
        if (!is_written(&shape->members[i], omitted)) continue;
        json_plain_key(json, member_name(&shape->members[i]));
        json_int(json, number++);
    }
    json_object_end(json);
    json_key_array_begin(json, "data");
}

void table_of_rows_end(struct json *json) {
    json_array_end(json);
    json_object_end(json);
}

void table_row_write(struct json *json, const struct shape *shape, const char *omitted, const void *row) {
    json_array_begin(json);
    for (size_t i = 0; i < shape->member_count; i++)
        if (is_written(&shape->members[i], omitted)) cell_write(json, &shape->members[i], row);
    json_array_end(json);
}
