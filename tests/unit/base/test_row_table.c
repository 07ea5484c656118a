#include <stdlib.h>
#include <string.h>

#include "libconvert/base/row_table.h"
#include "tests/support/full_tables.h"
#include "tests/support/random_numbers.h"
#include "tests/support/unit_test.h"

struct row {
    uint32_t a, b, c;
};

static struct failure failure;
static struct row_table table;

static int begin(void **state) {
    failure_clear(&failure);
    row_table_init(&table, sizeof(struct row), &failure);
    return 0;
}

static int end(void **state) {
    row_table_fini(&table);
    return 0;
}

static uint32_t intern(uint32_t a, uint32_t b, uint32_t c) {
    struct row row = {a, b, c};
    return row_table_intern(&table, &row);
}

static void assert_row(uint32_t index, uint32_t a, uint32_t b, uint32_t c) {
    const struct row *row = row_table_at(&table, index);
    assert_int_equal(row->a, a);
    assert_int_equal(row->b, b);
    assert_int_equal(row->c, c);
}

static void rows_are_numbered_as_they_appear(void **state) {
    assert_int_equal(row_table_count(&table), 0);
    assert_int_equal(intern(1, 2, 3), 0);
    assert_int_equal(intern(9, 9, 9), 1);
    assert_int_equal(intern(1, 2, 3), 0);
    assert_int_equal(intern(0, 0, 0), 2);
    assert_int_equal(intern(9, 9, 9), 1);
    assert_int_equal(row_table_count(&table), 3);
    assert_row(0, 1, 2, 3);
    assert_row(1, 9, 9, 9);
    assert_row(2, 0, 0, 0);
}

static void every_byte_counts(void **state) {
    for (size_t i = 0; i < sizeof(struct row); i++) {
        unsigned char bytes[sizeof(struct row)] = {0};
        bytes[i] = 1;
        assert_int_equal(row_table_intern(&table, bytes), i);
    }
    assert_int_equal(row_table_count(&table), sizeof(struct row));
}

static void the_callers_row_is_copied(void **state) {
    struct row row = {1, 2, 3};
    row_table_intern(&table, &row);
    row.a = 77;
    assert_row(0, 1, 2, 3);
    assert_int_equal(row_table_intern(&table, &row), 1);
}

static void rows_of_one_byte_are_all_told_apart(void **state) {
    row_table_fini(&table);
    row_table_init(&table, 1, &failure);
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < 256; i++) {
            unsigned char byte = (unsigned char)(i * 37); /* an odd factor: takes every value */
            assert_int_equal(row_table_intern(&table, &byte), i);
        }
    }
    assert_int_equal(row_table_count(&table), 256);
}

static void a_table_is_as_a_plain_map(void **state) {
    enum { KEY_COUNT = 6000, DRAW_COUNT = 30000 };
    static uint32_t model[KEY_COUNT];
    static uint32_t keys[KEY_COUNT];
    for (uint32_t key = 0; key < KEY_COUNT; key++) model[key] = ID_NONE;
    uint32_t count = 0;
    struct random_numbers numbers = {4};
    for (uint32_t i = 0; i < DRAW_COUNT; i++) {
        uint32_t key = random_below(&numbers, KEY_COUNT);
        if (model[key] == ID_NONE) {
            keys[count] = key;
            model[key] = count++;
        }
        assert_int_equal(intern(key % 20, key / 20 % 20, key / 400), model[key]);
        assert_int_equal(row_table_count(&table), count);
    }
    assert_true(count > KEY_COUNT / 2);
    for (uint32_t i = 0; i < count; i++) assert_row(i, keys[i] % 20, keys[i] / 20 % 20, keys[i] / 400);
}

static void a_full_column_refuses_new_rows_only(void **state) {
    for (uint32_t i = 0; i < 40; i++) intern(i, 0, 0);
    struct column before = table.rows;
    column_make_full(&table.rows);
    assert_int_equal(intern(40, 0, 0), ID_NONE);
    assert_int_equal(failure.code, FAILURE_MEMORY);
    assert_int_equal(row_table_count(&table), 40);
    assert_int_equal(intern(7, 0, 0), 7);
    assert_int_equal(intern(40, 0, 0), ID_NONE);
    table.rows = before;
    assert_int_equal(intern(41, 0, 0), 40);
    assert_int_equal(intern(40, 0, 0), 41);
}

static void a_full_index_refuses(void **state) {
    intern(1, 0, 0);
    struct index_set before = table.index;
    index_set_make_full(&table.index);
    assert_int_equal(intern(2, 0, 0), ID_NONE);
    assert_int_equal(failure.code, FAILURE_MEMORY);
    assert_int_equal(row_table_count(&table), 1);
    table.index = before;
    assert_int_equal(intern(2, 0, 0), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(rows_are_numbered_as_they_appear),
        TEST(every_byte_counts),
        TEST(the_callers_row_is_copied),
        TEST(rows_of_one_byte_are_all_told_apart),
        TEST(a_table_is_as_a_plain_map),
        TEST(a_full_column_refuses_new_rows_only),
        TEST(a_full_index_refuses),
    };
    return cmocka_run_group_tests_name("row_table", tests, NULL, NULL);
}
