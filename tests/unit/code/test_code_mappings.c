#include <string.h>

#include "readers/code/code_mappings.h"
#include "tests/support/random_numbers.h"
#include "tests/support/unit_test.h"

static struct failure failure;
static struct code_mappings mappings;

static int begin(void **state) {
    failure_clear(&failure);
    code_mappings_init(&mappings, &failure);
    return 0;
}

static int end(void **state) {
    code_mappings_fini(&mappings);
    return 0;
}

enum { PID = 5, START_NS = 77 };

static void add(uint64_t id, uint64_t address, uint64_t size_bytes, uint64_t library_id) {
    struct code_mapping mapping = {PID, START_NS, address, size_bytes, 0, library_id};
    code_mappings_add(&mappings, id, &mapping);
}

/* Returns the library at the address, or 0. */
static uint64_t library_at(uint64_t address, uint64_t last_id) {
    const struct code_mapping *mapping = code_mappings_find(&mappings, PID, START_NS, address, last_id);
    return mapping ? mapping->library_id : 0;
}

static void nothing_is_found_where_nothing_is(void **state) {
    assert_int_equal(library_at(0, UINT64_MAX), 0);
    add(1, 0x1000, 0x1000, 9);
    assert_int_equal(library_at(0xfff, UINT64_MAX), 0);
    assert_int_equal(library_at(0x1000, UINT64_MAX), 9);
    assert_int_equal(library_at(0x1fff, UINT64_MAX), 9);
    assert_int_equal(library_at(0x2000, UINT64_MAX), 0);
    assert_int_equal(library_at(0x1000, 0), 0);
    assert_null(code_mappings_find(&mappings, PID + 1, START_NS, 0x1000, 1));
    assert_null(code_mappings_find(&mappings, PID, START_NS + 1, 0x1000, 1));
}

static void sizes_that_cannot_be_are_left_out(void **state) {
    add(1, 0x1000, 0, 1);
    add(2, UINT64_MAX, 2, 2);
    assert_int_equal(mappings.rows.count, 0);
    add(3, UINT64_MAX, 1, 3);
    assert_int_equal(library_at(UINT64_MAX, 3), 3);
    add(4, 0, UINT64_MAX, 4);
    assert_int_equal(library_at(0, 4), 4);
    assert_int_equal(library_at(UINT64_MAX - 1, 4), 4);
    assert_int_equal(library_at(UINT64_MAX, 4), 3);
}

static void the_oldest_of_many_are_forgotten(void **state) {
    add(1, 0x1000, 0x10, 1);
    for (uint64_t id = 2; id <= 1024; id++) add(id, 0x1008, 0x10, id);
    assert_int_equal(library_at(0x1000, UINT64_MAX), 1);
    add(1025, 0x1008, 0x10, 1025);
    assert_int_equal(library_at(0x1000, UINT64_MAX), 0);
    assert_int_equal(library_at(0x1008, UINT64_MAX), 1025);
}

/* Compares look-ups with a search of all mappings, at every point of their history. */
static void it_is_as_if_all_were_looked_through(void **state) {
    enum { COUNT = 300, SPACE = 4096 };
    struct {
        uint64_t address;
        uint64_t size_bytes;
        uint64_t library_id;
    } all[COUNT + 1];
    struct random_numbers random = {1};
    for (uint64_t id = 1; id <= COUNT; id++) {
        all[id].address = random_below(&random, SPACE);
        all[id].size_bytes = 1 + random_below(&random, id % 7 ? 64 : 1024);
        all[id].library_id = random_below(&random, 4);
        add(id, all[id].address, all[id].size_bytes, all[id].library_id);
    }
    for (uint64_t last_id = 0; last_id <= COUNT; last_id += 13) {
        for (uint64_t address = 0; address < SPACE + 1024; address += 3) {
            uint64_t wanted = 0;
            for (uint64_t id = last_id; id > 0; id--) {
                if (address - all[id].address >= all[id].size_bytes) continue;
                wanted = all[id].library_id;
                break;
            }
            assert_int_equal(library_at(address, last_id), wanted);
        }
    }
}

/* Start times alone identify processes here. */
static void inherit(uint64_t id, uint64_t start_ns, uint64_t parent_start_ns, uint64_t last_id) {
    struct code_inheritance inheritance = {PID, start_ns, PID, parent_start_ns, last_id};
    code_mappings_add_inheritance(&mappings, id, &inheritance);
}

static uint64_t library_of(uint64_t start_ns, uint64_t address, uint64_t last_id) {
    const struct code_mapping *mapping = code_mappings_find(&mappings, PID, start_ns, address, last_id);
    return mapping ? mapping->library_id : 0;
}

static void children_have_what_their_parents_had(void **state) {
    enum { CHILD = START_NS + 1, GRANDCHILD = START_NS + 2, OTHER = START_NS + 3 };
    add(1, 0x1000, 0x1000, 1);
    inherit(2, CHILD, START_NS, 1);
    add(3, 0x1000, 0x800, 3);
    /* Later mappings of the parent are not the child's, even if the look-up knows them. */
    assert_int_equal(library_of(START_NS, 0x1000, 9), 3);
    assert_int_equal(library_of(CHILD, 0x1000, 9), 1);
    assert_int_equal(library_of(CHILD, 0x1fff, 2), 1);
    assert_int_equal(library_of(CHILD, 0x1000, 1), 0);
    assert_int_equal(library_of(OTHER, 0x1000, 9), 0);
    /* The child's own mappings override inherited ones. */
    struct code_mapping own = {PID, CHILD, 0x1400, 0x100, 0, 4}, gone = {PID, CHILD, 0x1800, 0x100, 0, 0};
    code_mappings_add(&mappings, 4, &own);
    code_mappings_add(&mappings, 5, &gone);
    assert_int_equal(library_of(CHILD, 0x1400, 3), 1);
    assert_int_equal(library_of(CHILD, 0x1400, 4), 4);
    assert_int_equal(library_of(CHILD, 0x1800, 4), 1);
    assert_int_equal(library_of(CHILD, 0x1800, 5), 0);
    assert_int_equal(library_of(CHILD, 0x1900, 5), 1);
    /* The grandchild inherits the child's own mappings. */
    inherit(6, GRANDCHILD, CHILD, 4);
    assert_int_equal(library_of(GRANDCHILD, 0x1400, 6), 4);
    assert_int_equal(library_of(GRANDCHILD, 0x1800, 6), 1);
    assert_int_equal(library_of(GRANDCHILD, 0x1000, 6), 1);
    assert_int_equal(library_of(GRANDCHILD, 0x3000, 6), 0);
    /* The last inheritance overrides earlier ones. */
    inherit(7, GRANDCHILD, START_NS, 3);
    assert_int_equal(library_of(GRANDCHILD, 0x1000, 6), 1);
    assert_int_equal(library_of(GRANDCHILD, 0x1000, 7), 3);
    inherit(8, START_NS, START_NS, 7);
    assert_int_equal(library_of(START_NS, 0x9000, 9), 0);
}

static void ancestors_have_an_end(void **state) {
    add(1, 0x1000, 0x1000, 1);
    for (uint64_t i = 1; i <= 65; i++) inherit(1 + i, START_NS + i, START_NS + i - 1, i);
    assert_int_equal(library_of(START_NS + 64, 0x1000, 99), 1);
    assert_int_equal(library_of(START_NS + 65, 0x1000, 99), 0);
    for (uint64_t i = 0; i < 100; i++) inherit(100 + i, START_NS + 500, START_NS + 500, 100 + i - 1);
    assert_int_equal(library_of(START_NS + 500, 0x1000, 999), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_found_where_nothing_is),    TEST(sizes_that_cannot_be_are_left_out),
        TEST(the_oldest_of_many_are_forgotten),     TEST(it_is_as_if_all_were_looked_through),
        TEST(children_have_what_their_parents_had), TEST(ancestors_have_an_end),
    };
    return cmocka_run_group_tests_name("code_mappings", tests, NULL, NULL);
}
