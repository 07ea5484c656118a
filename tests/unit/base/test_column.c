#include <stdlib.h>
#include <string.h>

#include "libconvert/base/column.h"
#include "tests/support/full_tables.h"
#include "tests/support/random_numbers.h"
#include "tests/support/unit_test.h"

static struct failure failure;
static struct column column;

static void push_number(uint32_t number) {
    uint32_t *element = column_push(&column);
    assert_non_null(element);
    *element = number;
}

static void begin_numbers(uint32_t count) {
    failure_clear(&failure);
    column_init(&column, sizeof(uint32_t), &failure);
    for (uint32_t i = 0; i < count; i++) push_number(i);
}

static void a_new_column_is_empty(void **state) {
    begin_numbers(0);
    assert_int_equal(column.count, 0);
    assert_int_equal(column.capacity, 0);
    assert_null(column.chunks);
    column_fini(&column);
    column_fini(&column);
}

static void chunks_double_up_to_a_size(void **state) {
    static const struct {
        uint32_t count;
        size_t capacity;
    } cases[] = {{1, 8},        {8, 8},           {9, 24},         {24, 24},     {25, 56},
                 {57, 120},     {2040, 2040},     {2041, 4088},    {4088, 4088}, {4089, 8184},
                 {8185, 12280}, {131065, 135160}, {135160, 135160}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin_numbers(cases[i].count);
        assert_int_equal(column.count, cases[i].count);
        assert_int_equal(column.capacity, cases[i].capacity);
        column_fini(&column);
    }
    assert_int_equal(column.count, 0);
    assert_int_equal(column.capacity, 0);
}

static void the_greatest_capacity_ends_with_a_chunk(void **state) {
    struct column_place last = column_place_of(COLUMN_CAPACITY_MAX - 1);
    assert_int_equal(last.offset, last.chunk_elements - 1);
}

static void growing_moves_no_element(void **state) {
    enum { COUNT = 9000 };
    static const void *places[COUNT];
    begin_numbers(0);
    for (uint32_t i = 0; i < COUNT; i++) {
        push_number(i * 7);
        places[i] = column_at(&column, i);
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_ptr_equal(column_at(&column, i), places[i]);
        assert_int_equal(*(const uint32_t *)places[i], i * 7);
    }
    column_fini(&column);
}

static void a_push_gives_the_place_of_the_last_element(void **state) {
    begin_numbers(0);
    for (uint32_t i = 0; i < 300; i++) {
        void *pushed = column_push(&column);
        assert_ptr_equal(pushed, column_at(&column, i));
        assert_int_equal(column.count, i + 1);
    }
    column_fini(&column);
}

static void elements_of_any_size_are_as_in_an_array(void **state) {
    enum { COUNT = 9000, SIZE_MAX_BYTES = 48 };
    static const uint32_t sizes[] = {1, 2, 3, 4, 8, 16, 28, SIZE_MAX_BYTES};
    static unsigned char model[COUNT][SIZE_MAX_BYTES];
    struct random_numbers numbers = {2};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        failure_clear(&failure);
        column_init(&column, sizes[s], &failure);
        for (unsigned i = 0; i < COUNT; i++) {
            for (size_t j = 0; j < sizes[s]; j++) model[i][j] = (unsigned char)random_next(&numbers);
            memcpy(column_push(&column), model[i], sizes[s]);
            /* Writes to earlier elements as well. */
            uint32_t other = random_below(&numbers, i + 1);
            model[other][0] ^= 0x55;
            *(unsigned char *)column_at(&column, other) ^= 0x55;
        }
        assert_int_equal(column.count, COUNT);
        for (unsigned i = 0; i < COUNT; i++) assert_memory_equal(column_at(&column, i), model[i], sizes[s]);
        assert_false(failure_is_set(&failure));
        column_fini(&column);
    }
}

static void a_run_ends_with_its_chunk_or_with_the_column(void **state) {
    static const struct {
        uint32_t index;
        size_t run_count;
    } cases[] = {{0, 8}, {5, 3}, {7, 1}, {8, 16}, {9, 15}, {23, 1}, {24, 6}, {28, 2}, {29, 1}};
    begin_numbers(30);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t run_count;
        const uint32_t *run = column_run(&column, cases[i].index, &run_count);
        assert_int_equal(run_count, cases[i].run_count);
        for (uint32_t j = 0; j < run_count; j++) assert_int_equal(run[j], cases[i].index + j);
    }
    column_fini(&column);
}

static void runs_cover_a_column(void **state) {
    for (uint32_t count = 0; count < 13000; count += 431) {
        begin_numbers(count);
        uint32_t seen = 0;
        for (size_t i = 0, run_count; i < column.count; i += run_count) {
            const uint32_t *run = column_run(&column, i, &run_count);
            assert_true(run_count > 0);
            for (size_t j = 0; j < run_count; j++) assert_int_equal(run[j], seen++);
        }
        assert_int_equal(seen, count);
        column_fini(&column);
    }
}

struct numbered {
    int32_t key;
    uint32_t place;
};

static int compare_keys(const void *left, const void *right) {
    const struct numbered *a = left, *b = right;
    return (a->key > b->key) - (a->key < b->key);
}

static void begin_numbered(uint32_t count, int32_t key_of(uint32_t place)) {
    column_init(&column, sizeof(struct numbered), &failure);
    for (uint32_t i = 0; i < count; i++) *(struct numbered *)column_push(&column) = (struct numbered){key_of(i), i};
}

static int32_t mixed_key(uint32_t place) { return (int32_t)(place * 7919 % 10) - 5; }

static void sorting_keeps_the_order_of_equals(void **state) {
    for (uint32_t count = 0; count < 300; count += 23) {
        begin_numbered(count, mixed_key);
        column_sort(&column, compare_keys);
        assert_int_equal(column.count, count);
        for (uint32_t i = 0; i < count; i++) {
            const struct numbered *element = column_at(&column, i), *before = i ? column_at(&column, i - 1) : NULL;
            assert_int_equal(element->key, mixed_key(element->place));
            if (before && before->key == element->key) assert_true(before->place < element->place);
            if (before) assert_true(before->key <= element->key);
        }
        column_fini(&column);
    }
}

static void appending_copies_all_elements(void **state) {
    for (uint32_t own_count = 0; own_count < 60; own_count++) {
        for (uint32_t other_count = 0; other_count < 60; other_count++) {
            begin_numbers(own_count + other_count);
            struct column other = column;
            other.count = other_count;
            begin_numbers(own_count);
            column_append(&column, &other);
            assert_int_equal(column.count, own_count + other_count);
            for (uint32_t i = 0; i < column.count; i++)
                assert_int_equal(*(uint32_t *)column_at(&column, i), i < own_count ? i : i - own_count);
            column_fini(&column);
            column_fini(&other);
        }
    }
}

static void a_full_column_refuses(void **state) {
    begin_numbers(40);
    column_make_full(&column);
    assert_null(column_push(&column));
    assert_int_equal(failure.code, FAILURE_MEMORY);
    assert_string_equal(failure.message, "more than 2^31 rows in one table: split the input");
    assert_int_equal(column.count, 40);
    assert_int_equal(*(uint32_t *)column_at(&column, 39), 39);
    assert_null(column_push(&column));
    column_fini(&column);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_column_is_empty),
        cmocka_unit_test(chunks_double_up_to_a_size),
        cmocka_unit_test(the_greatest_capacity_ends_with_a_chunk),
        cmocka_unit_test(growing_moves_no_element),
        cmocka_unit_test(a_push_gives_the_place_of_the_last_element),
        cmocka_unit_test(elements_of_any_size_are_as_in_an_array),
        cmocka_unit_test(a_run_ends_with_its_chunk_or_with_the_column),
        cmocka_unit_test(runs_cover_a_column),
        cmocka_unit_test(sorting_keeps_the_order_of_equals),
        cmocka_unit_test(appending_copies_all_elements),
        cmocka_unit_test(a_full_column_refuses),
    };
    return cmocka_run_group_tests_name("column", tests, NULL, NULL);
}
