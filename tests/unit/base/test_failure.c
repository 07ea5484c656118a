#include <stdlib.h>
#include <string.h>

#include "libconvert/base/failure.h"
#include "tests/support/unit_test.h"

static const struct position place = {.line = 12, .offset = 345};

static void a_zeroed_latch_is_good(void **state) {
    struct failure failure = {0};
    assert_false(failure_is_set(&failure));
    assert_int_equal(failure.code, FAILURE_NONE);
}

static void the_codes_are_the_exit_codes(void **state) {
    assert_int_equal(FAILURE_NONE, 0);
    assert_int_equal(FAILURE_INPUT, 1);
    assert_int_equal(FAILURE_USAGE, 2);
    assert_int_equal(FAILURE_IO, 3);
    assert_int_equal(FAILURE_MEMORY, 4);
    assert_int_equal(FAILURE_STRICT, 5);
}

static void a_failure_keeps_its_code_and_message(void **state) {
    struct failure failure = {0};
    failure_set(&failure, FAILURE_USAGE, "option %s takes %d values", "--root", 2);
    assert_true(failure_is_set(&failure));
    assert_int_equal(failure.code, FAILURE_USAGE);
    assert_string_equal(failure.message, "option --root takes 2 values");
    assert_false(failure.has_position);
}

static void a_failure_keeps_its_place(void **state) {
    struct failure failure = {0};
    failure_set_at(&failure, FAILURE_INPUT, place, "no number: %.*s", 3, "abcdef");
    assert_int_equal(failure.code, FAILURE_INPUT);
    assert_string_equal(failure.message, "no number: abc");
    assert_true(failure.has_position);
    assert_int_equal(failure.position.line, 12);
    assert_int_equal(failure.position.offset, 345);
}

static void the_first_failure_sticks(void **state) {
    struct failure failure = {0};
    failure_set(&failure, FAILURE_IO, "the first");
    failure_set(&failure, FAILURE_INPUT, "the second");
    failure_set_at(&failure, FAILURE_INPUT, place, "the third");
    failure_set_memory(&failure);
    assert_int_equal(failure.code, FAILURE_IO);
    assert_string_equal(failure.message, "the first");
    assert_false(failure.has_position);
    assert_int_equal(failure.position.line, 0);
}

static void the_first_place_sticks(void **state) {
    struct failure failure = {0};
    failure_set_at(&failure, FAILURE_INPUT, place, "the first");
    failure_set_at(&failure, FAILURE_INPUT, (struct position){99, 99}, "the second");
    failure_set(&failure, FAILURE_STRICT, "the third");
    assert_string_equal(failure.message, "the first");
    assert_true(failure.has_position);
    assert_int_equal(failure.position.line, 12);
    assert_int_equal(failure.position.offset, 345);
}

static void memory_running_out_is_a_failure_of_its_own(void **state) {
    struct failure failure = {0};
    failure_set_memory(&failure);
    assert_int_equal(failure.code, FAILURE_MEMORY);
    assert_string_equal(failure.message, "memory ran out");
    assert_false(failure.has_position);
    failure_set(&failure, FAILURE_IO, "later");
    assert_string_equal(failure.message, "memory ran out");
}

static void a_long_message_is_cut(void **state) {
    char message[2000];
    memset(message, 'm', sizeof message);
    message[sizeof message - 1] = '\0';
    struct failure failure = {0};
    failure_set(&failure, FAILURE_INPUT, "%s", message);
    assert_int_equal(strlen(failure.message), sizeof failure.message - 1);
    assert_int_equal(strspn(failure.message, "m"), sizeof failure.message - 1);

    failure_clear(&failure);
    message[sizeof failure.message - 1] = '\0';
    failure_set_at(&failure, FAILURE_INPUT, place, "%s", message);
    assert_string_equal(failure.message, message);
}

static void a_cleared_latch_takes_the_next_failure(void **state) {
    struct failure failure = {0};
    failure_set_at(&failure, FAILURE_INPUT, place, "before");
    failure_clear(&failure);
    assert_false(failure_is_set(&failure));
    assert_string_equal(failure.message, "");
    failure_set(&failure, FAILURE_STRICT, "after");
    assert_int_equal(failure.code, FAILURE_STRICT);
    assert_string_equal(failure.message, "after");
    assert_false(failure.has_position);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_zeroed_latch_is_good),
        cmocka_unit_test(the_codes_are_the_exit_codes),
        cmocka_unit_test(a_failure_keeps_its_code_and_message),
        cmocka_unit_test(a_failure_keeps_its_place),
        cmocka_unit_test(the_first_failure_sticks),
        cmocka_unit_test(the_first_place_sticks),
        cmocka_unit_test(memory_running_out_is_a_failure_of_its_own),
        cmocka_unit_test(a_long_message_is_cut),
        cmocka_unit_test(a_cleared_latch_takes_the_next_failure),
    };
    return cmocka_run_group_tests_name("failure", tests, NULL, NULL);
}
