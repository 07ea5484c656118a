#include "check_common.h"

#include <ctype.h>

#include "check_markers.h"

static void check_category(struct check *check, const struct node *category, const struct node_path *path) {
    const struct node *subcategories = check_member(check, category, "subcategories");
    if (!node_is(subcategories, NODE_LIST) || !subcategories->count) return;
    if (!node_is_text(&subcategories->nodes[0], TEXT("Other")))
        check_warning(check, RULE_BROKEN_VALUE, AT_ELEMENT(AT_MEMBER(path, "subcategories"), 0), "%s must be \"Other\"",
                      SHOWN(&subcategories->nodes[0]));
}

static void check_paused_range(struct check *check, const struct node *range, const struct node_path *path) {
    const struct node *start = check_member(check, range, "startTime"), *end = check_member(check, range, "endTime");
    if (node_is(start, NODE_NUMBER) && node_is(end, NODE_NUMBER) && end->number < start->number)
        check_error(check, RULE_BROKEN_ORDER, AT_MEMBER(path, "endTime"), "%s: it must not end before its start at %s",
                    SHOWN(end), SHOWN(start));
}

/* ---- Meta. ---- */

static void check_profiling_times(struct check *check, const struct node *meta, const struct node_path *path) {
    const struct node *start = check_member(check, meta, "profilingStartTime");
    const struct node *end = check_member(check, meta, "profilingEndTime");
    if (!start != !end)
        check_error(check, RULE_BROKEN_CONSISTENCY, path,
                    "profilingStartTime and profilingEndTime must both be present, or neither");
    else if (node_is(start, NODE_NUMBER) && node_is(end, NODE_NUMBER) && end->number <= start->number)
        check_error(check, RULE_BROKEN_ORDER, AT_MEMBER(path, "profilingEndTime"), "must be after profilingStartTime");
}

static void check_categories(struct check *check, const struct node *categories, const struct node_path *path) {
    enum { CATEGORIES_MAX = 256 };
    if (!node_is(categories, NODE_LIST)) return;
    if (!categories->count)
        check_error(check, RULE_BROKEN_LENGTH, path, "the array is empty: it must have at least one element");
    if (categories->count > CATEGORIES_MAX)
        check_error(check, RULE_BROKEN_LENGTH, path, "there are %u categories: at most %d are allowed",
                    categories->count, CATEGORIES_MAX);
    for (size_t i = 0; i < categories->count; i++)
        if (node_is_text(check_member(check, &categories->nodes[i], "color"), TEXT("grey"))) return;
    check_warning(check, RULE_BROKEN_CONSISTENCY, path,
                  "no category is grey: the viewer uses the grey one as the default");
}

static void check_meta(struct check *check, const struct node *meta, const struct node_path *path) {
    check_profiling_times(check, meta, path);
    check_categories(check, check_member(check, meta, "categories"), AT_MEMBER(path, "categories"));
}

/* ---- Libraries. ---- */

static const char HEX_DIGITS[] = "0123456789ABCDEFabcdef";

enum { ID_DIGITS = 32, AGE_DIGITS_MAX = 8 };

static bool is_breakpad_id(struct text id) {
    return id.bytes_count > ID_DIGITS && id.bytes_count <= ID_DIGITS + AGE_DIGITS_MAX &&
           text_has_only(text_slice(id, 0, ID_DIGITS), "0123456789ABCDEF") &&
           text_has_only(text_from(id, ID_DIGITS), HEX_DIGITS);
}

/* Writes the Breakpad id: the first 16 bytes of the build id as a GUID, in the byte order of the machine, and the age
 * 0. */
static void breakpad_id_of(struct text build_id, bool is_little_endian, char id[ID_DIGITS + 2]) {
    static const unsigned char order[] = {3, 2, 1, 0, 5, 4, 7, 6};
    for (size_t i = 0; i < ID_DIGITS / 2; i++) {
        size_t from = is_little_endian && i < sizeof order ? order[i] : i;
        id[2 * i] = (char)toupper((unsigned char)build_id.bytes[2 * from]);
        id[2 * i + 1] = (char)toupper((unsigned char)build_id.bytes[2 * from + 1]);
    }
    id[ID_DIGITS] = '0';
    id[ID_DIGITS + 1] = '\0';
}

static void check_breakpad_id(struct check *check, struct text id, const struct node *code_id,
                              const struct node_path *path) {
    if (!id.bytes_count) return;
    if (!is_breakpad_id(id)) {
        check_warning(check, RULE_BROKEN_VALUE, path, "must be 32 upper-case hexadecimal digits and an age");
        return;
    }
    if (!node_is(code_id, NODE_TEXT) || code_id->count < ID_DIGITS || code_id->count % 2 ||
        !text_has_only(node_text(code_id), HEX_DIGITS))
        return;
    char little[ID_DIGITS + 2], big[ID_DIGITS + 2];
    breakpad_id_of(node_text(code_id), true, little);
    breakpad_id_of(node_text(code_id), false, big);
    if (!text_equal(id, text_of(little)) && !text_equal(id, text_of(big)))
        check_warning(check, RULE_BROKEN_CONSISTENCY, path, "does not match the build id in codeId, which gives %s",
                      little);
}

void check_lib(struct check *check, const struct node *lib, const struct node_path *path) {
    const struct node *id = check_member(check, lib, "breakpadId"), *name = check_member(check, lib, "debugName");
    if (node_is(name, NODE_TEXT) && text_find(node_text(name), '/') < name->count)
        check_warning(check, RULE_BROKEN_VALUE, AT_MEMBER(path, "debugName"),
                      "must not contain a slash: it is one part of a key");
    if (node_is(id, NODE_TEXT))
        check_breakpad_id(check, node_text(id), check_member(check, lib, "codeId"), AT_MEMBER(path, "breakpadId"));
}

/* ---- Frames. ---- */

/* Returns 0 if the number is not known. */
static size_t count_subcategories(const struct check *check, const struct node *categories,
                                  const struct node *category) {
    if (!node_is(categories, NODE_LIST) || !node_is_index(category, categories->count)) return 0;
    const struct node *list = check_member(check, &categories->nodes[(size_t)category->number], "subcategories");
    return node_is(list, NODE_LIST) ? list->count : 0;
}

void check_subcategories(struct check *check, const struct node *frames, const struct node_path *path) {
    struct column_view categories = check_column(check, frames, "category");
    struct column_view subcategories = check_column(check, frames, "subcategory");
    const struct node *list = check_member(check, check_member(check, check->root, "meta"), "categories");
    for (size_t row = 0; row < categories.count && row < subcategories.count; row++) {
        const struct node *category = column_view_at(&categories, row);
        const struct node *subcategory = column_view_at(&subcategories, row);
        size_t count = count_subcategories(check, list, category);
        if (!count || node_is_index(subcategory, count)) continue;
        const struct node_path *at = AT_CELL(&subcategories, row, path);
        if (node_is(subcategory, NODE_NULL))
            check_warning(check, RULE_BROKEN_INDEX, at, "null must be an index, because the frame has a category");
        else if (node_is_integer(subcategory) && subcategory->number >= 0)
            check_error(check, RULE_BROKEN_INDEX, at,
                        "%s is not an index of the subcategories (length %zu) of category %.0f", SHOWN(subcategory),
                        count, category->number);
    }
}

/* ---- Counters. ---- */

void check_rates(struct check *check, const struct node *samples, const struct node_path *path) {
    struct column_view times = check_column(check, samples, "time"),
                       deltas = check_column(check, samples, "timeDeltas");
    struct column_view counts = check_column(check, samples, "count");
    const struct column_view *view = times.table ? &times : &deltas;
    for (size_t row = 1; row < view->count && row < counts.count; row++) {
        const struct node *time = column_view_at(view, row), *before = column_view_at(view, row - 1);
        const struct node *count = column_view_at(&counts, row);
        if (!node_is(time, NODE_NUMBER) || !node_is(before, NODE_NUMBER) || !node_is(count, NODE_NUMBER)) continue;
        bool is_same_time = view == &times ? time->number == before->number : time->number == 0;
        if (is_same_time && count->number != 0)
            check_error(check, RULE_BROKEN_ORDER, AT_CELL(view, row, path),
                        "equals the time of the previous sample: the rate between them is infinite");
    }
}

/* ---- All. ---- */

shape_check *const check_common_shapes[SHAPE_COUNT] = {
    [SHAPE_CATEGORY] = check_category,
    [SHAPE_PAUSED_RANGE] = check_paused_range,
    [SHAPE_META] = check_meta,
    [SHAPE_LIB] = check_lib,
    [SHAPE_FRAMES] = check_subcategories,
    [SHAPE_MARKERS] = check_markers,
    [SHAPE_SCHEMA] = check_schema,
    [SHAPE_FIELD] = check_field,
};
