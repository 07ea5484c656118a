#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libconvert/profile/categories.h"
#include "tests/support/assert_text.h"
#include "tests/support/full_tables.h"
#include "tests/support/unit_test.h"

static struct failure failure;
static struct categories categories;

static int begin(void **state) {
    failure_clear(&failure);
    categories_init(&categories, &failure);
    return 0;
}

static int end(void **state) {
    categories_fini(&categories);
    return 0;
}

static void assert_pair(struct category_pair pair, unsigned category, unsigned subcategory) {
    assert_int_equal(pair.category, category);
    assert_int_equal(pair.subcategory, subcategory);
}

static struct text subcategory_name(unsigned category, unsigned subcategory) {
    return *category_subcategory_at(categories_at(&categories, category), subcategory);
}

static struct text numbered(const char *name, unsigned number) {
    static char text[64];
    snprintf(text, sizeof text, "%s %u", name, number);
    return text_of(text);
}

static void the_colors_are_those_of_the_front_end(void **state) {
    static const struct {
        enum category_color color;
        const char *name;
    } colors[] = {
        {COLOR_GREY, "grey"},
        {COLOR_TRANSPARENT, "transparent"},
        {COLOR_PURPLE, "purple"},
        {COLOR_GREEN, "green"},
        {COLOR_ORANGE, "orange"},
        {COLOR_YELLOW, "yellow"},
        {COLOR_LIGHTBLUE, "lightblue"},
        {COLOR_BLUE, "blue"},
        {COLOR_BROWN, "brown"},
        {COLOR_MAGENTA, "magenta"},
        {COLOR_RED, "red"},
        {COLOR_LIGHTRED, "lightred"},
        {COLOR_DARKGREY, "darkgrey"},
    };
    assert_int_equal(sizeof colors / sizeof *colors, COLOR_COUNT);
    for (size_t i = 0; i < COLOR_COUNT; i++) assert_string_equal(category_color_name(colors[i].color), colors[i].name);
}

static void row_0_is_other_in_grey(void **state) {
    assert_int_equal(categories.rows.count, 1);
    const struct category *other = categories_at(&categories, 0);
    assert_text(other->name, "Other");
    assert_int_equal(other->color, COLOR_GREY);
    assert_int_equal(other->subcategories.count, 1);
    assert_text(subcategory_name(0, 0), "Other");
    assert_pair(categories_intern(&categories, TEXT("Other"), COLOR_RED, TEXT("")), 0, 0);
    assert_int_equal(categories_at(&categories, 0)->color, COLOR_GREY);
}

static void every_category_starts_with_other(void **state) {
    assert_pair(categories_intern(&categories, TEXT("Graphics"), COLOR_GREEN, TEXT("")), 1, 0);
    assert_pair(categories_intern(&categories, TEXT("Layout"), COLOR_PURPLE, TEXT("Style")), 2, 1);
    assert_pair(categories_intern(&categories, TEXT("Layout"), COLOR_PURPLE, TEXT("Other")), 2, 0);
    assert_text(subcategory_name(1, 0), "Other");
    assert_text(subcategory_name(2, 0), "Other");
    assert_text(subcategory_name(2, 1), "Style");
}

static void a_name_is_one_category_whatever_its_color(void **state) {
    assert_pair(categories_intern(&categories, TEXT("Layout"), COLOR_PURPLE, TEXT("Style")), 1, 1);
    assert_pair(categories_intern(&categories, TEXT("Layout"), COLOR_RED, TEXT("Reflow")), 1, 2);
    assert_pair(categories_intern(&categories, TEXT("Layout"), COLOR_RED, TEXT("Style")), 1, 1);
    assert_int_equal(categories_at(&categories, 1)->color, COLOR_PURPLE);
    assert_int_equal(categories_at(&categories, 1)->subcategories.count, 3);
    assert_int_equal(categories.rows.count, 2);
}

static void subcategories_belong_to_their_category(void **state) {
    assert_pair(categories_intern(&categories, TEXT("A"), COLOR_RED, TEXT("x")), 1, 1);
    assert_pair(categories_intern(&categories, TEXT("B"), COLOR_RED, TEXT("y")), 2, 1);
    assert_pair(categories_intern(&categories, TEXT("B"), COLOR_RED, TEXT("x")), 2, 2);
    assert_text(subcategory_name(1, 1), "x");
    assert_text(subcategory_name(2, 1), "y");
    assert_text(subcategory_name(2, 2), "x");
}

static void names_are_copied(void **state) {
    char name[] = "Layout", subcategory[] = "Style";
    categories_intern(&categories, text_of(name), COLOR_PURPLE, text_of(subcategory));
    memset(name, 'x', sizeof name - 1);
    memset(subcategory, 'x', sizeof subcategory - 1);
    assert_text(categories_at(&categories, 1)->name, "Layout");
    assert_text(subcategory_name(1, 1), "Style");
}

static void names_that_are_written_alike_are_one(void **state) {
    for (unsigned i = 0; i < 3; i++)
        assert_pair(categories_intern(&categories, TEXT("caf\xe9"), COLOR_RED, TEXT("lib\xff.so")), 1, 1);
    assert_pair(categories_intern(&categories, TEXT("caf\xef\xbf\xbd"), COLOR_RED, TEXT("lib\xfe.so")), 1, 1);
    assert_text(categories_at(&categories, 1)->name, "caf\xef\xbf\xbd");
    assert_text(subcategory_name(1, 1), "lib\xef\xbf\xbd.so");
    assert_int_equal(categories.rows.count, 2);
    assert_int_equal(categories_at(&categories, 1)->subcategories.count, 2);
}

static void row_0_stands_for_categories_that_do_not_fit(void **state) {
    for (unsigned i = 1; i < CATEGORY_COUNT_MAX; i++)
        assert_pair(categories_intern(&categories, numbered("category", i), COLOR_RED, TEXT("x")), i, 1);
    assert_pair(categories_intern(&categories, TEXT("one more"), COLOR_RED, TEXT("x")), 0, 0);
    assert_int_equal(categories.rows.count, CATEGORY_COUNT_MAX);
    assert_int_equal(categories_at(&categories, 0)->subcategories.count, 1);
    assert_pair(categories_intern(&categories, TEXT("category 255"), COLOR_RED, TEXT("y")), 255, 2);
    assert_false(failure_is_set(&failure));
}

static void row_0_stands_for_subcategories_that_do_not_fit(void **state) {
    for (unsigned i = 1; i < SUBCATEGORY_COUNT_MAX; i++)
        assert_pair(categories_intern(&categories, TEXT("User"), COLOR_YELLOW, numbered("lib", i)), 1, i);
    assert_pair(categories_intern(&categories, TEXT("User"), COLOR_YELLOW, TEXT("one more")), 1, 0);
    assert_int_equal(categories_at(&categories, 1)->subcategories.count, SUBCATEGORY_COUNT_MAX);
    assert_pair(categories_intern(&categories, TEXT("User"), COLOR_YELLOW, TEXT("lib 255")), 1, 255);
    assert_pair(categories_intern(&categories, TEXT("Kernel"), COLOR_ORANGE, TEXT("one more")), 2, 1);
    assert_false(failure_is_set(&failure));
}

static void kinds_of_code_have_one_name_and_color_each(void **state) {
    static const struct {
        enum code_kind kind;
        const char *name;
        enum category_color color;
    } kinds[] = {
        {CODE_USER, "User", COLOR_YELLOW},    {CODE_KERNEL, "Kernel", COLOR_ORANGE},  {CODE_JIT, "JIT", COLOR_BLUE},
        {CODE_SCRIPT, "Script", COLOR_GREEN}, {CODE_IDLE, "Idle", COLOR_TRANSPARENT},
    };
    assert_int_equal(sizeof kinds / sizeof *kinds, CODE_KIND_COUNT);
    for (unsigned i = 0; i < CODE_KIND_COUNT; i++) {
        assert_pair(categories_intern_code(&categories, kinds[i].kind, TEXT("part")), i + 1, 1);
        const struct category *category = categories_at(&categories, i + 1);
        assert_true(text_equal(category->name, text_of(kinds[i].name)));
        assert_int_equal(category->color, kinds[i].color);
        assert_pair(categories_intern_code(&categories, kinds[i].kind, (struct text){0}), i + 1, 0);
    }
}

static void memory_running_out_gives_row_0(void **state) {
    categories_intern(&categories, TEXT("User"), COLOR_YELLOW, TEXT("libc.so"));
    struct column rows = categories.rows;
    column_make_full(&categories.rows);
    assert_pair(categories_intern(&categories, TEXT("new"), COLOR_RED, TEXT("x")), 0, 0);
    assert_int_equal(failure.code, FAILURE_MEMORY);
    categories.rows = rows;

    failure_clear(&failure);
    struct category *user = column_at(&categories.rows, 1);
    struct column subcategories = user->subcategories;
    column_make_full(&user->subcategories);
    assert_pair(categories_intern(&categories, TEXT("User"), COLOR_YELLOW, TEXT("new")), 1, 0);
    assert_int_equal(failure.code, FAILURE_MEMORY);
    assert_pair(categories_intern(&categories, TEXT("User"), COLOR_YELLOW, TEXT("libc.so")), 1, 1);
    user->subcategories = subcategories;

    failure_clear(&failure);
    struct column names = categories.names.rows;
    column_make_full(&categories.names.rows);
    assert_pair(categories_intern(&categories, TEXT("never seen"), COLOR_RED, TEXT("")), 0, 0);
    assert_pair(categories_intern(&categories, TEXT("User"), COLOR_RED, TEXT("never seen")), 0, 0);
    assert_int_equal(failure.code, FAILURE_MEMORY);
    categories.names.rows = names;
    assert_int_equal(categories.rows.count, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_colors_are_those_of_the_front_end),
        TEST(row_0_is_other_in_grey),
        TEST(every_category_starts_with_other),
        TEST(a_name_is_one_category_whatever_its_color),
        TEST(subcategories_belong_to_their_category),
        TEST(names_are_copied),
        TEST(names_that_are_written_alike_are_one),
        TEST(row_0_stands_for_categories_that_do_not_fit),
        TEST(row_0_stands_for_subcategories_that_do_not_fit),
        TEST(kinds_of_code_have_one_name_and_color_each),
        TEST(memory_running_out_gives_row_0),
    };
    return cmocka_run_group_tests_name("categories", tests, NULL, NULL);
}
