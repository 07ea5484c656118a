#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "libconvert/index_set.h"
#include "tests/support/full_tables.h"
#include "tests/support/random_numbers.h"

enum { KEYS_MAX = 20000 };
#define NOT_FOUND UINT32_MAX

/* The caller's rows: each has the hash that the test wants for it. */
static struct {
    uint64_t keys[KEYS_MAX];
    uint32_t count;
} rows;

static struct failure failure;
static struct index_set set;

static int begin(void **state) {
    (void)state;
    failure_clear(&failure);
    index_set_init(&set, &failure);
    rows.count = 0;
    return 0;
}

static int end(void **state) {
    (void)state;
    index_set_fini(&set);
    return 0;
}

static struct index_slot *walk(uint64_t key, uint32_t hash) {
    struct index_slot *slot = index_set_first(&set, hash);
    while (!index_slot_is_empty(slot) && !(slot->hash == hash && rows.keys[slot->index] == key))
        slot = index_set_next(&set, slot);
    return slot;
}

static uint32_t find(uint64_t key, uint32_t hash) {
    if (!set.slots) return NOT_FOUND;
    const struct index_slot *slot = walk(key, hash);
    return index_slot_is_empty(slot) ? NOT_FOUND : slot->index;
}

static void insert(uint64_t key, uint32_t hash) {
    assert_true(index_set_reserve(&set));
    struct index_slot *slot = walk(key, hash);
    assert_true(index_slot_is_empty(slot));
    rows.keys[rows.count] = key;
    index_set_fill(&set, slot, hash, rows.count++);
}

static void hashes_are_the_low_bits_of_xxh3(void **state) {
    (void)state;
    /* XXH3_64bits of nothing is 0x2d06800538d394c2. */
    assert_int_equal(index_set_hash("", 0), 0x38d394c2);
    assert_int_equal(index_set_hash(NULL, 0), 0x38d394c2);
    assert_int_not_equal(index_set_hash("a", 1), index_set_hash("b", 1));
    assert_int_equal(index_set_hash("abc", 2), index_set_hash("abd", 2));
}

static void a_set_grows_at_three_quarters(void **state) {
    (void)state;
    assert_null(set.slots);
    for (uint32_t i = 0; i < 48; i++) insert(i, i * 77);
    assert_int_equal(set.count, 48);
    assert_int_equal(set.mask, 63);
    insert(48, 48 * 77);
    assert_int_equal(set.count, 49);
    assert_int_equal(set.mask, 127);
    assert_int_equal(set.limit, 96);
    for (uint32_t i = 49; i < 97; i++) insert(i, i * 77);
    assert_int_equal(set.mask, 255);
    for (uint32_t i = 0; i < 97; i++) assert_int_equal(find(i, i * 77), i);
    assert_int_equal(find(97, 97 * 77), NOT_FOUND);
}

static void rows_of_one_hash_are_told_apart(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 200; i++) insert(i, 5);
    for (uint32_t i = 0; i < 200; i++) assert_int_equal(find(i, 5), i);
    assert_int_equal(find(200, 5), NOT_FOUND);
    assert_int_equal(find(3, 5 + 256), NOT_FOUND);
}

static void walking_goes_on_at_the_first_slot(void **state) {
    (void)state;
    insert(1, 63);
    insert(2, 63);
    insert(3, 63 + 64);
    insert(4, UINT32_MAX);
    assert_int_equal(set.slots[63].index, 0);
    assert_int_equal(set.slots[0].index, 1);
    assert_int_equal(set.slots[1].index, 2);
    assert_int_equal(set.slots[2].index, 3);
    assert_int_equal(find(2, 63), 1);
    assert_int_equal(find(3, 63 + 64), 2);
    assert_int_equal(find(4, UINT32_MAX), 3);
    assert_true(index_set_grow(&set));
    assert_int_equal(find(1, 63), 0);
    assert_int_equal(find(2, 63), 1);
    assert_int_equal(find(3, 63 + 64), 2);
    assert_int_equal(find(4, UINT32_MAX), 3);
}

static void check_against_a_plain_model(uint32_t hash_mask, uint32_t key_limit, uint32_t draw_count) {
    static uint32_t model[KEYS_MAX];
    for (uint32_t i = 0; i < key_limit; i++) model[i] = NOT_FOUND;
    struct random_numbers numbers = {3};
    for (uint32_t i = 0; i < draw_count; i++) {
        uint64_t key = random_below(&numbers, key_limit);
        uint32_t hash = index_set_hash(&key, sizeof key) & hash_mask;
        assert_int_equal(find(key, hash), model[key]);
        if (model[key] != NOT_FOUND) continue;
        model[key] = rows.count;
        insert(key, hash);
        assert_int_equal(set.count, rows.count);
        assert_true(set.count <= (set.mask + 1) / 4 * 3);
    }
    for (uint64_t key = 0; key < key_limit; key++)
        assert_int_equal(find(key, index_set_hash(&key, sizeof key) & hash_mask), model[key]);
}

static void a_set_is_as_a_plain_map(void **state) {
    (void)state;
    check_against_a_plain_model(UINT32_MAX, KEYS_MAX, 40000);
    assert_true(rows.count > 10000);
}

static void a_set_with_bad_hashes_is_as_a_plain_map(void **state) {
    (void)state;
    check_against_a_plain_model(0x3f0, 2000, 8000);
    assert_true(rows.count > 1500);
}

static void memory_running_out_keeps_the_set(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 40; i++) insert(i, i * 77);
    struct index_set before = set;
    index_set_make_full(&set);
    assert_false(index_set_reserve(&set));
    assert_int_equal(failure.code, FAILURE_MEMORY);
    assert_string_equal(failure.message, "memory ran out");
    assert_ptr_equal(set.slots, before.slots);
    assert_int_equal(set.count, 40);
    set = before;
    for (uint32_t i = 0; i < 40; i++) assert_int_equal(find(i, i * 77), i);
    insert(40, 7);
    assert_int_equal(find(40, 7), 40);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(hashes_are_the_low_bits_of_xxh3),  TEST(a_set_grows_at_three_quarters),
        TEST(rows_of_one_hash_are_told_apart),  TEST(walking_goes_on_at_the_first_slot),
        TEST(a_set_is_as_a_plain_map),          TEST(a_set_with_bad_hashes_is_as_a_plain_map),
        TEST(memory_running_out_keeps_the_set),
    };
    return cmocka_run_group_tests_name("index_set", tests, NULL, NULL);
}
