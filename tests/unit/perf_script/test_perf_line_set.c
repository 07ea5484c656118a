/* Tests the numbers of lines. */
#include "readers/perf_script/perf_line_set.h"
#include "tests/support/unit_test.h"

/* Returns the line's number, a new one if it has none yet. */
static uint32_t number_of(struct perf_line_set *lines, XXH128_hash_t hash) {
    assert_true(perf_line_set_reserve(lines));
    struct perf_line_slot *slot = perf_line_set_find(lines, hash);
    return slot->number == UINT32_MAX ? perf_line_set_fill(lines, slot, hash) : slot->number;
}

static void test_lines_keep_their_numbers_while_the_set_grows(void **state) {
    enum { LINE_COUNT = 1000 };
    struct failure failure = {0};
    struct perf_line_set lines;
    perf_line_set_init(&lines, &failure);
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < LINE_COUNT; i++)
            assert_int_equal(number_of(&lines, index_set_identity(&i, sizeof i)), i);
    assert_int_equal(lines.count, LINE_COUNT);
    perf_line_set_fini(&lines);
}

static void test_lines_that_share_half_of_their_hashes_are_different(void **state) {
    struct failure failure = {0};
    struct perf_line_set lines;
    perf_line_set_init(&lines, &failure);
    assert_int_equal(number_of(&lines, (XXH128_hash_t){.low64 = 1, .high64 = 1}), 0);
    assert_int_equal(number_of(&lines, (XXH128_hash_t){.low64 = 1, .high64 = 2}), 1);
    assert_int_equal(number_of(&lines, (XXH128_hash_t){.low64 = 2, .high64 = 1}), 2);
    assert_int_equal(number_of(&lines, (XXH128_hash_t){.low64 = 1, .high64 = 1}), 0);
    assert_int_equal(number_of(&lines, (XXH128_hash_t){.low64 = 0, .high64 = 0}), 3);
    perf_line_set_fini(&lines);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_keep_their_numbers_while_the_set_grows),
        cmocka_unit_test(test_lines_that_share_half_of_their_hashes_are_different),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
