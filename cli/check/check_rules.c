#include "check_rules.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libconvert/base/printable.h"

/* ---- Violations. ---- */

/* Reports what is wrong with the member. */
#define violate(check, member, ...) \
    violations_add((check)->violations, (member)->flags &IS_LENIENT ? VIOLATION_WARNING : VIOLATION_ERROR, __VA_ARGS__)

static void show_number(double number, char shown[NODE_SHOWN_BYTES]) {
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(shown, NODE_SHOWN_BYTES, "%.*g", digits, number);
        if (strtod(shown, NULL) == number) return;
    }
}

const char *node_show(const struct node *node, char shown[NODE_SHOWN_BYTES]) {
    static const char *const names[] = {[NODE_NULL] = "null",     [NODE_FALSE] = "false",      [NODE_TRUE] = "true",
                                        [NODE_LIST] = "an array", [NODE_OBJECT] = "an object", [NODE_KEY] = "a key"};
    if (!node) return "nothing";
    if (node->kind == NODE_NUMBER) {
        show_number(node->number, shown);
        return shown;
    }
    if (node->kind != NODE_TEXT) return names[node->kind];
    printable_copy(shown + 1, NODE_SHOWN_BYTES - 2, node_text(node));
    shown[0] = '"';
    size_t bytes_count = strlen(shown);
    shown[bytes_count] = '"';
    shown[bytes_count + 1] = '\0';
    return shown;
}

/* ---- Columns. ---- */

const struct node_path *column_view_path(const struct column_view *view, size_t row, const struct node_path *table,
                                         struct node_path chain[3]) {
    chain[0] = node_path_member(table, view->is_of_rows ? "data" : view->name);
    chain[1] = node_path_element(&chain[0], row);
    if (!view->is_of_rows) return &chain[1];
    chain[2] = node_path_element(&chain[1], view->number);
    return &chain[2];
}

/* ---- Counting rows, before checking. ---- */

static bool count_rows(const struct check *check, const struct member *member, const struct node *node,
                       uint64_t *count) {
    const struct node *length = check_member(check, node, "length");
    const struct node *data = check_member(check, node, "data");
    if (member->type == TYPE_LIST && node_is(node, NODE_LIST))
        *count = node->count;
    else if (member->type == TYPE_ROWS && node_is(data, NODE_LIST))
        *count = data->count;
    else if (member->type == TYPE_COLUMNS && node_is_index(length, UINT32_MAX))
        *count = (uint64_t)length->number;
    else
        return false;
    return true;
}

/* Counts the rows of tables in the object and in objects within it, but not those in lists: these are counted when the
 * elements are checked. */
static void count_tables(struct check *check, const struct shape *shape, const struct node *object) {
    for (size_t i = 0; i < shape_member_count(shape); i++) {
        const struct member *member = shape_member(shape, i);
        const struct node *node = check_member(check, object, member->name);
        if (member->type == TYPE_OBJECT && node && member->shape) count_tables(check, member->shape, node);
        if (member->table == TABLE_NONE || member->type == TYPE_INDEX || member->type == TYPE_TEXT_OR_INDEX) continue;
        if (!check->table_names[member->table]) check->table_names[member->table] = member->name;
        check->is_known[member->table] = count_rows(check, member, node, &check->row_counts[member->table]);
        if (member->table == TABLE_STRINGS) check->texts = node;
    }
}

/* ---- Single values. ---- */

struct range {
    double min;
    double max;
    const char *description;
};

static const struct range ranges[RANGE_COUNT] = {
    [RANGE_ANY] = {-INFINITY, INFINITY, ""},
    [RANGE_NOT_NEGATIVE] = {0, INFINITY, "0 or more"},
    [RANGE_POSITIVE] = {0x1p-1074, INFINITY, "more than 0"},
    [RANGE_ONE_BASED] = {1, INFINITY, "1 or more"},
    [RANGE_BYTE] = {0, 255, "0 to 255"},
    [RANGE_INT31] = {0, 0x7fffffff, "0 to 2147483647"},
    [RANGE_INT31_OR_NONE] = {-1, 0x7fffffff, "-1 (none) or 0 to 2147483647"},
    [RANGE_UINT32] = {0, 0xffffffff, "0 to 4294967295"},
    [RANGE_FLAG] = {0, 1, "0 or 1"},
};

static void check_range(struct check *check, const struct member *member, const struct node *node,
                        const struct node_path *path) {
    const struct range *range = &ranges[member->range];
    if (node->number >= range->min && node->number <= range->max) return;
    violate(check, member, RULE_BROKEN_VALUE, path, "%s must be %s", SHOWN(node), range->description);
}

static void check_index(struct check *check, const struct member *member, const struct node *node,
                        const struct node_path *path) {
    if (node->number == -1 && member->flags & HAS_NONE) return;
    bool is_known = check->is_known[member->table];
    uint64_t count = is_known ? check->row_counts[member->table] : UINT64_MAX;
    if (node_is_index(node, count)) return;
    if (is_known)
        violate(check, member, RULE_BROKEN_INDEX, path, "%s is not an index of %s (length %llu)", SHOWN(node),
                check->table_names[member->table], (unsigned long long)count);
    else
        violate(check, member, RULE_BROKEN_INDEX, path, "%s is not an index of %s", SHOWN(node),
                check->table_names[member->table]);
}

static void check_choice(struct check *check, const struct member *member, const struct node *node,
                         const struct node_path *path) {
    char allowed[256] = "";
    size_t used_bytes = 0;
    for (size_t i = 0; member->choices[i]; i++) {
        if (node_is_text(node, text_of(member->choices[i]))) return;
        if (used_bytes < sizeof allowed)
            used_bytes += (size_t)snprintf(allowed + used_bytes, sizeof allowed - used_bytes, "%s%s", i ? ", " : "",
                                           member->choices[i]);
    }
    violate(check, member, RULE_BROKEN_VALUE, path, "%s must be one of: %s", SHOWN(node), allowed);
}

static const char *type_name(const struct member *member) {
    static const char *const names[] = {
        [TYPE_ANY] = "anything",
        [TYPE_BOOL] = "true or false",
        [TYPE_TEXT] = "a string",
        [TYPE_CHOICE] = "a string",
        [TYPE_NUMBER] = "a finite number",
        [TYPE_INTEGER] = "an integer of at most 2^53",
        [TYPE_INDEX] = "an index",
        [TYPE_TID] = "an integer or a string",
        [TYPE_TEXT_OR_INDEX] = "a string or an index",
        [TYPE_OBJECT] = "an object",
        [TYPE_LIST] = "an array",
        [TYPE_COLUMNS] = "a table (an object with a length and arrays)",
        [TYPE_ROWS] = "a table (an object with schema and data)",
    };
    return names[member->type];
}

static bool has_type(const struct member *member, const struct node *node) {
    switch (member->type) {
        case TYPE_ANY: return true;
        case TYPE_BOOL: return node_is_bool(node);
        case TYPE_TEXT:
        case TYPE_CHOICE: return node_is(node, NODE_TEXT);
        case TYPE_NUMBER: return node_is(node, NODE_NUMBER) && isfinite(node->number);
        case TYPE_INTEGER: return node_is_integer(node);
        case TYPE_INDEX: return node_is(node, NODE_NUMBER);
        case TYPE_TID: return node_is_integer(node) || node_is(node, NODE_TEXT);
        case TYPE_TEXT_OR_INDEX: return node_is(node, NODE_NUMBER) || node_is(node, NODE_TEXT);
        case TYPE_LIST: return node_is(node, NODE_LIST);
        case TYPE_OBJECT:
        case TYPE_COLUMNS:
        case TYPE_ROWS: break;
    }
    return node_is(node, NODE_OBJECT);
}

static bool check_type(struct check *check, const struct member *member, const struct node *node,
                       const struct node_path *path) {
    bool is_allowed_null = node_is(node, NODE_NULL) && member->flags & IS_NULLABLE;
    if (is_allowed_null || has_type(member, node)) return !is_allowed_null;
    violate(check, member, RULE_BROKEN_TYPE, path, "%s must be %s%s", SHOWN(node), type_name(member),
            member->flags & IS_NULLABLE ? " or null" : "");
    return false;
}

static void check_value(struct check *check, const struct member *member, const struct node *node,
                        const struct node_path *path);

/* ---- Rows that must be unique. ---- */

/* Encodes a value as 8 bytes, which are equal if the values are. */
static uint64_t key_of(struct strings *texts, const struct node *node) {
    uint64_t bits;
    if (node->kind == NODE_TEXT) return (uint64_t)NODE_TEXT << 56 | strings_intern(texts, node_text(node)).index;
    if (node->kind != NODE_NUMBER)
        return (uint64_t)(0xfff8 | node->kind) << 48; /* the bits of a NaN, which JSON cannot contain */
    memcpy(&bits, &node->number, sizeof bits);
    return bits;
}

enum { KEY_COLUMNS_MAX = 12 };

struct keys {
    struct strings texts;
    struct row_table rows;
    size_t column_count;
};

static void keys_init(struct keys *keys, size_t column_count, struct failure *failure) {
    keys->column_count = column_count;
    strings_init(&keys->texts, failure);
    row_table_init(&keys->rows, (uint32_t)(column_count * sizeof(uint64_t)), failure);
}

static void keys_fini(struct keys *keys) {
    strings_fini(&keys->texts);
    row_table_fini(&keys->rows);
}

/* Returns true if the key is new. */
static bool keys_add(struct keys *keys, const uint64_t *key) {
    uint32_t count = row_table_count(&keys->rows);
    return row_table_intern(&keys->rows, key) == count;
}

static void check_unique_rows(struct check *check, const struct shape *shape, const struct node *table,
                              const struct node_path *path) {
    struct column_view columns[KEY_COLUMNS_MAX];
    size_t column_count = 0, row_count = SIZE_MAX;
    for (size_t i = 0; i < shape_member_count(shape) && column_count < KEY_COLUMNS_MAX; i++) {
        const struct member *member = shape_member(shape, i);
        if (!(member->flags & IS_KEY)) continue;
        struct column_view column = check_column(check, table, member->name);
        if (!column.table && member->flags & IS_OPTIONAL) continue;
        if (!column.table) return;
        if (column.count < row_count) row_count = column.count;
        columns[column_count++] = column;
    }
    if (!column_count) return;
    struct keys keys;
    keys_init(&keys, column_count, check->document->failure);
    for (size_t row = 0; row < row_count && !failure_is_set(check->document->failure); row++) {
        uint64_t key[KEY_COLUMNS_MAX];
        for (size_t i = 0; i < column_count; i++) key[i] = key_of(&keys.texts, column_view_at(&columns[i], row));
        if (keys_add(&keys, key)) continue;
        check_warning(check, RULE_BROKEN_UNIQUENESS,
                      AT_ELEMENT(AT_MEMBER(path, columns[0].is_of_rows ? "data" : columns[0].name), row),
                      "row %zu is the same %s as an earlier one", row, shape->row_noun ? shape->row_noun : "row");
    }
    keys_fini(&keys);
}

/* Sets the key to the values that must differ between elements: the element itself, or its members with IS_KEY. Returns
 * false if one of them is missing or invalid. */
static bool element_key(struct check *check, const struct shape *shape, const struct node *node, struct keys *keys,
                        uint64_t key[KEY_COLUMNS_MAX]) {
    size_t key_count = 0;
    if (node->kind == NODE_LIST) return false;
    if (node->kind != NODE_OBJECT) {
        key[key_count++] = key_of(&keys->texts, node);
        return keys->column_count == key_count;
    }
    for (size_t i = 0; shape && i < shape_member_count(shape); i++) {
        const struct member *member = shape_member(shape, i);
        const struct node *value = member->flags & IS_KEY ? check_member(check, node, member->name) : NULL;
        if (value && key_count < KEY_COLUMNS_MAX) key[key_count++] = key_of(&keys->texts, value);
    }
    return keys->column_count == key_count;
}

static size_t count_keys(const struct shape *shape) {
    size_t count = 0;
    for (size_t i = 0; shape && i < shape_member_count(shape); i++)
        count += (shape_member(shape, i)->flags & IS_KEY) != 0;
    return count;
}

/* Checks that the elements of a list differ: texts and numbers as such, objects in their members with IS_KEY. */
static void check_unique_elements(struct check *check, const struct member *member, const struct node *list,
                                  const struct node_path *path) {
    size_t key_count = count_keys(member->shape);
    struct keys keys;
    keys_init(&keys, key_count ? key_count : 1, check->document->failure);
    for (size_t i = 0; i < list->count && !failure_is_set(check->document->failure); i++) {
        const struct node *node = &list->nodes[i];
        uint64_t key[KEY_COLUMNS_MAX];
        if (!element_key(check, member->shape, node, &keys, key) || keys_add(&keys, key)) continue;
        struct node_path element = node_path_element(path, i);
        check_warning(check, RULE_BROKEN_UNIQUENESS, &element, "%s also occurs earlier in the list",
                      key_count ? "an element with the same identity" : SHOWN(node));
    }
    keys_fini(&keys);
}

/* ---- Lists and columns. ---- */

static bool is_less(const struct node *node, const struct node *before) {
    return node_is(node, NODE_NUMBER) && node_is(before, NODE_NUMBER) && node->number < before->number;
}

static void check_order(struct check *check, const struct member *member, const struct node *node,
                        const struct node *before, const struct node_path *path) {
    if (!(member->flags & IS_ASCENDING) || !before || !is_less(node, before)) return;
    violate(check, member, RULE_BROKEN_ORDER, path, "%s comes after %s: values must not decrease", SHOWN(node),
            SHOWN(before));
}

static void check_list(struct check *check, const struct member *member, const struct node *list,
                       const struct node_path *path) {
    if (member->flags & IS_NOT_EMPTY && list->count == 0)
        violate(check, member, RULE_BROKEN_LENGTH, path, "the array is empty: it must have at least one element");
    if (member->flags & IS_UNIQUE) check_unique_elements(check, member, list, path);
    const struct member object = {.type = TYPE_OBJECT, .shape = member->shape};
    const struct member *items = member->shape ? &object : member->items;
    for (size_t i = 0; items && i < list->count && !failure_is_set(check->document->failure); i++) {
        const struct node *node = &list->nodes[i];
        if (items->shape) count_tables(check, items->shape, node);
        check_value(check, items, node, AT_ELEMENT(path, i));
    }
}

/* Checks each value of the column against its description. */
static void check_column_values(struct check *check, const struct member *member, const struct column_view *view,
                                const struct node_path *table) {
    const struct node *before = NULL;
    for (size_t row = 0; row < view->count && !failure_is_set(check->document->failure); row++) {
        const struct node *node = column_view_at(view, row);
        struct node_path chain[3];
        const struct node_path *path = column_view_path(view, row, table, chain);
        check_value(check, member, node, path);
        check_order(check, member, node, before, path);
        before = node;
    }
}

static void check_missing(struct check *check, const struct member *member, const struct node_path *path) {
    if (member->flags & (IS_OPTIONAL | IS_UNREAD)) return;
    violate(check, member, RULE_BROKEN_PRESENCE, path, "missing: it must be %s", type_name(member));
}

static void check_length(struct check *check, const struct member *member, const struct node *list, uint64_t length,
                         const struct node_path *path) {
    if (list->count == length) return;
    static const char format[] = "the column has %u values, but the table has length %llu";
    if (member->flags & MAY_BE_EMPTY && list->count == 0)
        check_warning(check, RULE_BROKEN_LENGTH, path, format, list->count, (unsigned long long)length);
    else
        violate(check, member, RULE_BROKEN_LENGTH, path, format, list->count, (unsigned long long)length);
}

static void check_list_column(struct check *check, const struct member *member, const struct node *table,
                              bool has_length, uint64_t length, const struct node_path *table_path) {
    struct node_path path = node_path_member(table_path, member->name);
    const struct node *list = check_member(check, table, member->name);
    if (!list) {
        if (!(member->flags & IS_OPTIONAL))
            violate(check, member, RULE_BROKEN_PRESENCE, &path, "missing: it must be a column");
        return;
    }
    if (node_is(list, NODE_NULL) && member->flags & IS_NULLABLE_WHOLE) return;
    if (!node_is(list, NODE_LIST)) {
        violate(check, member, RULE_BROKEN_TYPE, &path, "%s must be a column (an array)", SHOWN(list));
        return;
    }
    if (has_length) check_length(check, member, list, length, &path);
    struct column_view view = check_column(check, table, member->name);
    check_column_values(check, member, &view, table_path);
}

static void check_described(struct check *check, const struct member *member, const struct node *object,
                            const struct node_path *object_path) {
    struct node_path path = node_path_member(object_path, member->name);
    const struct node *node = check_member(check, object, member->name);
    if (!node)
        check_missing(check, member, &path);
    else if (member->flags & IS_UNREAD)
        check_warning(check, RULE_BROKEN_PRESENCE, &path, "the front-end does not read it");
    else
        check_value(check, member, node, &path);
}

static void check_columns(struct check *check, const struct shape *shape, const struct node *table,
                          const struct node_path *path) {
    const struct node *length = check_member(check, table, "length");
    bool has_length = node_is_index(length, UINT32_MAX);
    if (!has_length)
        check_error(check, RULE_BROKEN_LENGTH, AT_MEMBER(path, "length"), "%s must be the number of rows",
                    SHOWN(length));
    for (size_t i = 0; i < shape_member_count(shape); i++) {
        const struct member *member = shape_member(shape, i);
        if (member->flags & IS_MEMBER)
            check_described(check, member, table, path);
        else
            check_list_column(check, member, table, has_length, has_length ? (uint64_t)length->number : 0, path);
    }
}

/* ---- Tables of rows. ---- */

static const struct member *find_member(const struct shape *shape, struct text name) {
    for (size_t i = 0; i < shape_member_count(shape); i++)
        if (text_equal(member_name(shape_member(shape, i)), name)) return shape_member(shape, i);
    return NULL;
}

enum { SCHEMA_COLUMNS_MAX = 64 };

/* Returns the number of columns; 0 if the schema is not valid. */
static size_t check_row_schema(struct check *check, const struct shape *shape, const struct node *schema,
                               const struct node_path *path) {
    uint64_t taken = 0;
    size_t width = 0;
    for (size_t i = 0; i < schema->count; i++) {
        struct text name;
        const struct node *number = document_member_at(check->document, schema, i, &name);
        struct node_path column = {.parent = path, .key = name};
        if (!node_is_index(number, SCHEMA_COLUMNS_MAX)) {
            check_error(check, RULE_BROKEN_TYPE, &column, "%s must be the number of a column", SHOWN(number));
            return 0;
        }
        size_t at = (size_t)number->number;
        if (taken >> at & 1)
            check_error(check, RULE_BROKEN_UNIQUENESS, &column, "%zu is also the number of another column", at);
        if (!find_member(shape, name))
            check_warning(check, RULE_BROKEN_PRESENCE, &column, "the front-end does not read it");
        taken |= (uint64_t)1 << at;
        if (at >= width) width = at + 1;
    }
    return width;
}

static void check_row_widths(struct check *check, const struct node *data, size_t width, const struct node_path *path) {
    for (size_t row = 0; row < data->count && !failure_is_set(check->document->failure); row++) {
        const struct node *node = &data->nodes[row];
        if (!node_is(node, NODE_LIST))
            check_error(check, RULE_BROKEN_TYPE, AT_ELEMENT(path, row), "%s must be a row (an array)", SHOWN(node));
        else if (node->count > width)
            check_error(check, RULE_BROKEN_LENGTH, AT_ELEMENT(path, row),
                        "the row has %u values, but the schema has %zu columns", node->count, width);
    }
}

static void check_rows(struct check *check, const struct shape *shape, const struct node *table,
                       const struct node_path *path) {
    struct node_path schema_path = node_path_member(path, "schema"), data_path = node_path_member(path, "data");
    const struct node *schema = check_member(check, table, "schema"), *data = check_member(check, table, "data");
    if (!node_is(schema, NODE_OBJECT))
        check_error(check, RULE_BROKEN_TYPE, &schema_path, "a table must have an object of column numbers here");
    if (!node_is(data, NODE_LIST))
        check_error(check, RULE_BROKEN_TYPE, &data_path, "a table must have an array of rows here");
    if (!node_is(schema, NODE_OBJECT) || !node_is(data, NODE_LIST)) return;
    size_t width = check_row_schema(check, shape, schema, &schema_path);
    if (width || !schema->count) check_row_widths(check, data, width, &data_path);
    for (size_t i = 0; i < shape_member_count(shape); i++) {
        const struct member *member = shape_member(shape, i);
        struct column_view view = check_column(check, table, member->name);
        if (view.table)
            check_column_values(check, member, &view, path);
        else if (!check_member(check, schema, member->name) && !(member->flags & IS_OPTIONAL))
            violate(check, member, RULE_BROKEN_PRESENCE, AT_MEMBER(&schema_path, member->name),
                    "missing: it must be a column");
    }
}

/* ---- The interpreter. ---- */

/* Reports members that only the other format has. */
static void check_unread(struct check *check, const struct shape *shape, const struct node *node,
                         const struct node_path *path) {
    for (size_t i = 0; shape->other && i < shape->other->member_count; i++) {
        const struct member *member = &shape->other->members[i];
        struct member unread = {.name = member->name, .flags = IS_UNREAD};
        if (!find_member(shape, member_name(member))) check_described(check, &unread, node, path);
    }
}

static void check_object(struct check *check, const struct shape *shape, const struct node *node,
                         const struct node_path *path) {
    for (size_t i = 0; i < shape_member_count(shape); i++) check_described(check, shape_member(shape, i), node, path);
    check_unread(check, shape, node, path);
}

static void check_by_code(struct check *check, const struct shape *shape, const struct node *node,
                          const struct node_path *path) {
    if (check->checks[shape->id]) check->checks[shape->id](check, node, path);
}

static void check_value(struct check *check, const struct member *member, const struct node *node,
                        const struct node_path *path) {
    if (!check_type(check, member, node, path)) return;
    switch (member->type) {
        case TYPE_NUMBER:
        case TYPE_INTEGER: check_range(check, member, node, path); return;
        case TYPE_INDEX: check_index(check, member, node, path); return;
        case TYPE_TEXT_OR_INDEX:
            if (node_is(node, NODE_NUMBER)) check_index(check, member, node, path);
            return;
        case TYPE_CHOICE: check_choice(check, member, node, path); return;
        case TYPE_LIST: check_list(check, member, node, path); return;
        case TYPE_OBJECT:
            if (member->shape) check_object(check, member->shape, node, path);
            break;
        case TYPE_COLUMNS:
            check_columns(check, member->shape, node, path);
            check_unique_rows(check, member->shape, node, path);
            break;
        case TYPE_ROWS:
            check_rows(check, member->shape, node, path);
            check_unique_rows(check, member->shape, node, path);
            break;
        case TYPE_ANY:
        case TYPE_BOOL:
        case TYPE_TEXT:
        case TYPE_TID: return;
    }
    if (member->shape) check_by_code(check, member->shape, node, path);
}

void check_shape(struct check *check, const struct shape *shape, const struct node *node,
                 const struct node_path *path) {
    count_tables(check, shape, node);
    check_object(check, shape, node, path);
    check_by_code(check, shape, node, path);
}
