/* Categories and their subcategories, by which the viewer colours stacks. Row 0 is "Other" in grey, which the front-end
 * needs as its default. Subcategory 0 of each category is "Other". */
#pragma once

#include "libconvert/base/column.h"
#include "libconvert/base/strings.h"

enum { CATEGORY_COUNT_MAX = 256, SUBCATEGORY_COUNT_MAX = 256 };

/* The colours that the front-end knows (src/utils/colors.ts). */
enum category_color {
    COLOR_GREY,
    COLOR_TRANSPARENT,
    COLOR_PURPLE,
    COLOR_GREEN,
    COLOR_ORANGE,
    COLOR_YELLOW,
    COLOR_LIGHTBLUE,
    COLOR_BLUE,
    COLOR_BROWN,
    COLOR_MAGENTA,
    COLOR_RED,
    COLOR_LIGHTRED,
    COLOR_DARKGREY,
    COLOR_COUNT
};

extern const char *const category_color_names[COLOR_COUNT + 1]; /* ends with NULL */

struct category {
    struct text name;
    enum category_color color;
    struct column subcategories; /* struct text; [0] is "Other" */
};

/* A category and one of its subcategories, as frames refer to them. */
struct category_pair {
    uint8_t category;
    uint8_t subcategory;
};

struct categories {
    struct strings names;
    struct column rows;      /* struct category */
    struct strings left_out; /* names that did not fit */
};

void categories_init(struct categories *categories, struct failure *failure);
void categories_fini(struct categories *categories);

/* Returns the category of that name and its subcategory of that name (empty text: "Other"). Adds them if they are new,
 * the category with that colour. If a table is full, returns row 0 in its place. */
struct category_pair categories_intern(struct categories *categories, struct text name, enum category_color color,
                                       struct text subcategory);

/* The kinds of code that all readers distinguish. Each is a category with the same name and colour in every profile. */
enum code_kind { CODE_USER, CODE_KERNEL, CODE_JIT, CODE_SCRIPT, CODE_PREEMPTED, CODE_IDLE, CODE_KIND_COUNT };

/* Does what categories_intern does, for a kind of code. */
struct category_pair categories_intern_code(struct categories *categories, enum code_kind kind,
                                            struct text subcategory);

static inline const struct text *category_subcategory_at(const struct category *category, size_t i) {
    return column_at(&category->subcategories, i);
}

static inline const struct category *categories_at(const struct categories *categories, size_t row) {
    return column_at(&categories->rows, row);
}
