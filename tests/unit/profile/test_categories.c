#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libconvert/profile/categories.h"
#include "tests/support/assert_text.h"
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

TEST(names_that_are_written_alike_are_one, begin, end) {
    for (unsigned i = 0; i < 3; i++)
        assert_pair(categories_intern(&categories, TEXT("caf\xe9"), COLOR_RED, TEXT("lib\xff.so")), 1, 1);
    assert_pair(categories_intern(&categories, TEXT("caf\\xe9"), COLOR_RED, TEXT("lib\\xff.so")), 1, 1);
    assert_text(categories_at(&categories, 1)->name, "caf\\xe9");
    assert_text(subcategory_name(1, 1), "lib\\xff.so");
    assert_int_equal(categories.rows.count, 2);
    assert_int_equal(categories_at(&categories, 1)->subcategories.count, 2);
}

TEST(row_0_stands_for_categories_that_do_not_fit, begin, end) {
    for (unsigned i = 1; i < CATEGORY_COUNT_MAX; i++)
        assert_pair(categories_intern(&categories, numbered("category", i), COLOR_RED, TEXT("x")), i, 1);
    assert_pair(categories_intern(&categories, TEXT("one more"), COLOR_RED, TEXT("x")), 0, 0);
    assert_int_equal(categories.rows.count, CATEGORY_COUNT_MAX);
    assert_int_equal(categories_at(&categories, 0)->subcategories.count, 1);
    assert_pair(categories_intern(&categories, TEXT("category 255"), COLOR_RED, TEXT("y")), 255, 2);
    assert_int_equal(strings_count(&categories.left_out), 1);
    assert_false(failure_is_set(&failure));
}

TEST(row_0_stands_for_subcategories_that_do_not_fit, begin, end) {
    for (unsigned i = 1; i < SUBCATEGORY_COUNT_MAX; i++)
        assert_pair(categories_intern(&categories, TEXT("User"), COLOR_YELLOW, numbered("lib", i)), 1, i);
    for (unsigned i = 0; i < 2; i++)
        assert_pair(categories_intern(&categories, TEXT("User"), COLOR_YELLOW, TEXT("one more")), 1, 0);
    assert_int_equal(strings_count(&categories.left_out), 1);
    assert_int_equal(categories_at(&categories, 1)->subcategories.count, SUBCATEGORY_COUNT_MAX);
    assert_pair(categories_intern(&categories, TEXT("User"), COLOR_YELLOW, TEXT("lib 255")), 1, 255);
    assert_pair(categories_intern(&categories, TEXT("Kernel"), COLOR_ORANGE, TEXT("one more")), 2, 1);
    assert_false(failure_is_set(&failure));
}

int main(void) { return unit_tests_run(NULL, NULL); }
