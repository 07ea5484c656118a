#include "categories.h"

const char *const category_color_names[COLOR_COUNT + 1] = {
    [COLOR_GREY] = "grey",
    [COLOR_TRANSPARENT] = "transparent",
    [COLOR_PURPLE] = "purple",
    [COLOR_GREEN] = "green",
    [COLOR_ORANGE] = "orange",
    [COLOR_YELLOW] = "yellow",
    [COLOR_LIGHTBLUE] = "lightblue",
    [COLOR_BLUE] = "blue",
    [COLOR_BROWN] = "brown",
    [COLOR_MAGENTA] = "magenta",
    [COLOR_RED] = "red",
    [COLOR_LIGHTRED] = "lightred",
    [COLOR_DARKGREY] = "darkgrey",
};

void categories_init(struct categories *categories, struct failure *failure) {
    strings_init(&categories->names, failure);
    strings_init(&categories->left_out, failure);
    column_init(&categories->rows, sizeof(struct category), failure);
    categories_intern(categories, TEXT("Other"), COLOR_GREY, TEXT("Other"));
}

void categories_fini(struct categories *categories) {
    COLUMN_EACH(struct category, category, &categories->rows) column_fini(&category->subcategories);
    column_fini(&categories->rows);
    strings_fini(&categories->names);
    strings_fini(&categories->left_out);
}

static uint8_t intern_subcategory(struct categories *categories, struct category *category, struct text name) {
    if (name.bytes_count == 0) return 0;
    size_t count = category->subcategories.count;
    for (size_t i = 0; i < count; i++)
        if (text_equal(*category_subcategory_at(category, i), name)) return (uint8_t)i;
    if (count == SUBCATEGORY_COUNT_MAX) strings_intern(&categories->left_out, name);
    if (count == SUBCATEGORY_COUNT_MAX) return 0;
    if (!column_add(&category->subcategories, &name)) return 0;
    return (uint8_t)count;
}

struct category_pair categories_intern(struct categories *categories, struct text name, enum category_color color,
                                       struct text subcategory) {
    /* The copies are valid UTF-8, as are the rows that they are compared with. */
    name = strings_copy(&categories->names, name);
    subcategory = strings_copy(&categories->names, subcategory);
    if (!name.bytes || !subcategory.bytes) return (struct category_pair){0, 0};
    size_t count = categories->rows.count;
    for (size_t i = 0; i < count; i++) {
        struct category *category = column_at(&categories->rows, i);
        if (text_equal(category->name, name))
            return (struct category_pair){(uint8_t)i, intern_subcategory(categories, category, subcategory)};
    }
    if (count == CATEGORY_COUNT_MAX) strings_intern(&categories->left_out, name);
    if (count == CATEGORY_COUNT_MAX) return (struct category_pair){0, 0};
    struct category *category = column_push(&categories->rows);
    if (!category) return (struct category_pair){0, 0};
    category->name = name;
    category->color = color;
    column_init(&category->subcategories, sizeof(struct text), categories->rows.failure);
    intern_subcategory(categories, category, TEXT("Other"));
    return (struct category_pair){(uint8_t)count, intern_subcategory(categories, category, subcategory)};
}

struct category_pair categories_intern_code(struct categories *categories, enum code_kind kind,
                                            struct text subcategory) {
    static const struct {
        struct text name;
        enum category_color color;
    } kinds[CODE_KIND_COUNT] = {
        [CODE_USER] = {TEXT("User"), COLOR_YELLOW},
        [CODE_KERNEL] = {TEXT("Kernel"), COLOR_ORANGE},
        [CODE_JIT] = {TEXT("JIT"), COLOR_BLUE},
        [CODE_SCRIPT] = {TEXT("Script"), COLOR_GREEN},
        [CODE_PREEMPTED] = {TEXT("Preempted"), COLOR_DARKGREY},
        /* The front-end counts samples in a category of this name as inactive. */
        [CODE_IDLE] = {TEXT("Idle"), COLOR_TRANSPARENT},
    };
    return categories_intern(categories, kinds[kind].name, kinds[kind].color, subcategory);
}
