#include "check_common.h"

#include <ctype.h>
#include <string.h>

/* ---- Rules. ---- */

static const char *const category_colors[] = {"transparent", "purple",   "green", "orange",  "yellow",
                                              "lightblue",   "blue",     "brown", "magenta", "red",
                                              "lightred",    "darkgrey", "grey",  NULL};
static const char *const time_units[] = {"ms", "bytes", NULL};
static const char *const delay_units[] = {"ms", NULL};
static const char *const cpu_units[] = {"ns", "\xc2\xb5s", "variable CPU cycles", NULL};
static const char *const pause_reasons[] = {"profiler-paused", "collecting", NULL};

const struct rule text_items = ITEMS(TYPE_TEXT);

static void check_category(struct check *check, const struct node *category, const struct place *place) {
    const struct node *subcategories = check_member(check, category, "subcategories");
    struct place list = place_member(place, "subcategories");
    struct place first = place_element(&list, 0);
    char shown[NODE_SHOWN_BYTES];
    if (!node_is(subcategories, NODE_LIST) || !subcategories->count) return;
    if (!node_is_text(&subcategories->nodes[0], TEXT("Other")))
        check_warning(check, RULE_BROKEN_VALUE, &first, "%s must be \"Other\"",
                      node_show(&subcategories->nodes[0], shown));
}

static const struct rule category_rules[] = {
    RULE("name", TYPE_TEXT, IS_KEY),
    RULE("color", TYPE_CHOICE, IS_LENIENT, .choices = category_colors),
    RULE("subcategories", TYPE_LIST, IS_NOT_EMPTY, .items = &text_items),
};
static const struct shape category_shape = SHAPE(category_rules, .check = check_category);
const struct rule category_items = ITEMS(TYPE_OBJECT, .shape = &category_shape);

static const struct rule sample_units_rules[] = {
    RULE("time", TYPE_CHOICE, 0, .choices = time_units),
    RULE("eventDelay", TYPE_CHOICE, 0, .choices = delay_units),
    RULE("threadCPUDelta", TYPE_CHOICE, 0, .choices = cpu_units),
};
const struct shape sample_units_shape = SHAPE(sample_units_rules);

static const struct rule configuration_rules[] = {
    RULE("threads", TYPE_LIST, 0, .items = &text_items),
    RULE("features", TYPE_LIST, 0, .items = &text_items),
    RULE("capacity", TYPE_NUMBER, 0),
};
const struct shape configuration_shape = SHAPE(configuration_rules);

static const struct rule extension_columns[] = {
    RULE("baseURL", TYPE_ANY, 0),
    RULE("id", TYPE_ANY, 0),
    RULE("name", TYPE_ANY, 0),
};
const struct shape extension_table = SHAPE(extension_columns);

static const struct rule page_rules[] = {
    RULE("tabID", TYPE_NUMBER, 0),
    RULE("innerWindowID", TYPE_NUMBER, IS_KEY),
    RULE("url", TYPE_TEXT, 0),
    RULE("embedderInnerWindowID", TYPE_NUMBER, 0),
};
static const struct shape page_shape = SHAPE(page_rules);
const struct rule page_items = ITEMS(TYPE_OBJECT, .shape = &page_shape);

static const struct rule paused_range_rules[] = {
    RULE("startTime", TYPE_NUMBER, IS_NULLABLE),
    RULE("endTime", TYPE_NUMBER, IS_NULLABLE),
    RULE("reason", TYPE_CHOICE, 0, .choices = pause_reasons),
};
static void check_paused_range(struct check *check, const struct node *range, const struct place *place) {
    const struct node *start = check_member(check, range, "startTime"), *end = check_member(check, range, "endTime");
    struct place end_place = place_member(place, "endTime");
    char shown[NODE_SHOWN_BYTES], start_shown[NODE_SHOWN_BYTES];
    if (node_is(start, NODE_NUMBER) && node_is(end, NODE_NUMBER) && end->number < start->number)
        check_error(check, RULE_BROKEN_ORDER, &end_place, "%s: it must not end before its start at %s",
                    node_show(end, shown), node_show(start, start_shown));
}
static const struct shape paused_range_shape = SHAPE(paused_range_rules, .check = check_paused_range);
const struct rule paused_range_items = ITEMS(TYPE_OBJECT, .shape = &paused_range_shape);

/* ---- Meta. ---- */

static void check_profiling_times(struct check *check, const struct node *meta, const struct place *place) {
    const struct node *start = check_member(check, meta, "profilingStartTime");
    const struct node *end = check_member(check, meta, "profilingEndTime");
    struct place end_place = place_member(place, "profilingEndTime");
    if (!start != !end)
        check_error(check, RULE_BROKEN_CONSISTENCY, place,
                    "profilingStartTime and profilingEndTime must be there both, or none");
    else if (node_is(start, NODE_NUMBER) && node_is(end, NODE_NUMBER) && end->number <= start->number)
        check_error(check, RULE_BROKEN_ORDER, &end_place, "must be after profilingStartTime");
}

static void check_categories(struct check *check, const struct node *categories, const struct place *place) {
    enum { CATEGORIES_MAX = 256 };
    if (!node_is(categories, NODE_LIST)) return;
    if (!categories->count)
        check_error(check, RULE_BROKEN_LENGTH, place, "the array is empty: it must have an element");
    if (categories->count > CATEGORIES_MAX)
        check_error(check, RULE_BROKEN_LENGTH, place, "there are %u categories: %d are the most", categories->count,
                    CATEGORIES_MAX);
    for (size_t i = 0; i < categories->count; i++)
        if (node_is_text(check_member(check, &categories->nodes[i], "color"), TEXT("grey"))) return;
    check_warning(check, RULE_BROKEN_CONSISTENCY, place,
                  "none of the categories is grey: that is the default category");
}

void check_meta(struct check *check, const struct node *meta, const struct place *place) {
    struct place categories_place = place_member(place, "categories");
    check_profiling_times(check, meta, place);
    check_categories(check, check_member(check, meta, "categories"), &categories_place);
}

/* ---- Libraries. ---- */

static bool is_hex(struct text text) {
    for (size_t i = 0; i < text.bytes_count; i++)
        if (!isxdigit((unsigned char)text.bytes[i])) return false;
    return true;
}

enum { ID_DIGITS = 32, AGE_DIGITS_MAX = 8 };

static bool is_breakpad_id(struct text id) {
    for (size_t i = 0; i < id.bytes_count && i < ID_DIGITS; i++)
        if (islower((unsigned char)id.bytes[i])) return false;
    return is_hex(id) && id.bytes_count > ID_DIGITS && id.bytes_count <= ID_DIGITS + AGE_DIGITS_MAX;
}

/* The first 16 bytes of the build id as a GUID, of a little-endian machine or not, and the age 0. */
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
                              const struct place *place) {
    if (!id.bytes_count) return;
    if (!is_breakpad_id(id)) {
        check_warning(check, RULE_BROKEN_VALUE, place, "must be 32 upper-case hexadecimal digits and an age");
        return;
    }
    if (!node_is(code_id, NODE_TEXT) || code_id->count < ID_DIGITS || code_id->count % 2 || !is_hex(node_text(code_id)))
        return;
    char little[ID_DIGITS + 2], big[ID_DIGITS + 2];
    breakpad_id_of(node_text(code_id), true, little);
    breakpad_id_of(node_text(code_id), false, big);
    if (!text_equal(id, text_of(little)) && !text_equal(id, text_of(big)))
        check_warning(check, RULE_BROKEN_CONSISTENCY, place, "is not made of the build id in codeId, which gives %s",
                      little);
}

void check_lib(struct check *check, const struct node *lib, const struct place *place) {
    const struct node *id = check_member(check, lib, "breakpadId"), *name = check_member(check, lib, "debugName");
    struct place id_place = place_member(place, "breakpadId"), name_place = place_member(place, "debugName");
    if (node_is(name, NODE_TEXT) && text_find(node_text(name), '/') < name->count)
        check_warning(check, RULE_BROKEN_VALUE, &name_place, "must not have a slash: it is one part of a key");
    if (node_is(id, NODE_TEXT)) check_breakpad_id(check, node_text(id), check_member(check, lib, "codeId"), &id_place);
}

/* ---- Frames. ---- */

/* 0: not known. */
static size_t count_subcategories(const struct check *check, const struct node *categories,
                                  const struct node *category) {
    if (!node_is(categories, NODE_LIST) || !node_is_index(category, categories->count)) return 0;
    const struct node *list = check_member(check, &categories->nodes[(size_t)category->number], "subcategories");
    return node_is(list, NODE_LIST) ? list->count : 0;
}

void check_subcategories(struct check *check, const struct node *frames, const struct place *place) {
    struct column_view categories = check_column(check, frames, "category");
    struct column_view subcategories = check_column(check, frames, "subcategory");
    const struct node *list = check_member(check, check_member(check, check->root, "meta"), "categories");
    for (size_t row = 0; row < categories.count && row < subcategories.count; row++) {
        const struct node *category = column_view_at(&categories, row);
        const struct node *subcategory = column_view_at(&subcategories, row);
        size_t count = count_subcategories(check, list, category);
        struct place chain[3];
        char shown[NODE_SHOWN_BYTES];
        if (!count || node_is_index(subcategory, count)) continue;
        const struct place *at = column_view_place(&subcategories, row, place, chain);
        if (node_is(subcategory, NODE_NULL))
            check_warning(check, RULE_BROKEN_INDEX, at, "null must be an index where there is a category");
        else if (node_is_integer(subcategory) && subcategory->number >= 0)
            check_error(check, RULE_BROKEN_INDEX, at,
                        "%s is not an index of the subcategories (length %zu) of category %.0f",
                        node_show(subcategory, shown), count, category->number);
    }
}

/* ---- Counters. ---- */

void check_rates(struct check *check, const struct node *samples, const struct place *place) {
    struct column_view times = check_column(check, samples, "time"),
                       deltas = check_column(check, samples, "timeDeltas");
    struct column_view counts = check_column(check, samples, "count");
    const struct column_view *view = times.table ? &times : &deltas;
    for (size_t row = 1; row < view->count && row < counts.count; row++) {
        const struct node *time = column_view_at(view, row), *before = column_view_at(view, row - 1);
        const struct node *count = column_view_at(&counts, row);
        if (!node_is(time, NODE_NUMBER) || !node_is(before, NODE_NUMBER) || !node_is(count, NODE_NUMBER)) continue;
        bool is_same_time = view == &times ? time->number == before->number : time->number == 0;
        struct place chain[3];
        if (is_same_time && count->number != 0)
            check_error(check, RULE_BROKEN_ORDER, column_view_place(view, row, place, chain),
                        "is the time of the sample before: the rate between them is infinite");
    }
}
