/* Tests address spaces: what is at an address, now and at each time. */
#include <string.h>

#include "readers/code/code_spaces.h"
#include "tests/support/random_numbers.h"
#include "tests/support/unit_test.h"

static struct failure failure;
static struct code_spaces spaces;
static struct code_history history;

static int begin(void **state) {
    failure_clear(&failure);
    code_spaces_init(&spaces, &failure);
    code_history_init(&history, &failure);
    return 0;
}

static int end(void **state) {
    code_history_fini(&history);
    code_spaces_fini(&spaces);
    return 0;
}

static void map(struct code_space *space, uint64_t address, uint64_t size_bytes, uint64_t library_id) {
    const struct code_mapping mapping = {address, size_bytes, 0, library_id};
    code_space_map(&spaces, space, &mapping);
}

/* Returns the library at the address, or 0. */
static uint64_t library_at(struct code_space space, uint64_t address) {
    const struct code_mapping *mapping = code_space_find(&spaces, space, address);
    return mapping ? mapping->library_id : 0;
}

TEST(nothing_is_found_where_nothing_is, begin, end) {
    struct code_space space = {0};
    assert_int_equal(library_at(space, 0), 0);
    map(&space, 0x1000, 0x1000, 9);
    assert_int_equal(library_at(space, 0xfff), 0);
    assert_int_equal(library_at(space, 0x1000), 9);
    assert_int_equal(library_at(space, 0x1fff), 9);
    assert_int_equal(library_at(space, 0x2000), 0);
    map(&space, 0x1800, 0x100, 0);
    assert_int_equal(library_at(space, 0x17ff), 9);
    assert_int_equal(library_at(space, 0x1800), 0);
    assert_int_equal(library_at(space, 0x1900), 9);
}

TEST(sizes_that_cannot_be_are_left_out, begin, end) {
    struct code_space space = {0};
    map(&space, 0x1000, 0, 1);
    map(&space, UINT64_MAX, 2, 2);
    assert_int_equal(space.root, 0);
    map(&space, UINT64_MAX, 1, 3);
    assert_int_equal(library_at(space, UINT64_MAX), 3);
    map(&space, 0, UINT64_MAX, 4);
    assert_int_equal(library_at(space, 0), 4);
    assert_int_equal(library_at(space, UINT64_MAX - 1), 4);
    assert_int_equal(library_at(space, UINT64_MAX), 3);
    map(&space, 1, UINT64_MAX, 5);
    assert_int_equal(library_at(space, UINT64_MAX), 5);
}

TEST(copies_change_on_their_own, begin, end) {
    struct code_space parent = {0};
    for (uint64_t i = 0; i < 100; i++) map(&parent, i * 0x1000, 0x1000, i + 1);
    struct code_space child = code_space_copy(&spaces, parent);
    map(&parent, 0x5000, 0x3000, 500);
    map(&child, 0x6000, 0x3000, 600);
    struct code_space grandchild = code_space_copy(&spaces, child);
    map(&grandchild, 0, 0x100000, 700);
    static const uint64_t expected[][4] = {
        {0x5000, 500, 6, 700}, {0x6000, 500, 600, 700}, {0x8000, 9, 600, 700}, {0x63000, 100, 100, 700}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_int_equal(library_at(parent, expected[i][0]), expected[i][1]);
        assert_int_equal(library_at(child, expected[i][0]), expected[i][2]);
        assert_int_equal(library_at(grandchild, expected[i][0]), expected[i][3]);
    }
}

/* A generation has what the first one mapped, however many there were in between. */
TEST(ancestors_have_no_end, begin, end) {
    struct code_space space = {0};
    map(&space, 0x1000, 0x1000, 1);
    for (unsigned i = 0; i < 1000; i++) space = code_space_copy(&spaces, space);
    assert_int_equal(library_at(space, 0x1000), 1);
}

/* What many changes have cost. A tree without balance would have millions of nodes. */
TEST(changes_take_little_memory, begin, end) {
    enum { COUNT = 20000, NODES_PER_CHANGE_MAX = 100 };
    struct code_space space = {0};
    for (uint64_t i = 0; i < COUNT; i++) {
        map(&space, i * 0x1000, 0x1000, 1);
        code_space_copy(&spaces, space);
    }
    assert_true(spaces.nodes.count < COUNT * NODES_PER_CHANGE_MAX);
}

static uint64_t library_then(uint64_t time, uint64_t address) {
    const struct code_mapping *mapping = code_history_find(&spaces, &history, time, address);
    return mapping ? mapping->library_id : 0;
}

/* Compares look-ups with a search of all mappings, at every point of their history. Some have the same time. */
TEST(it_is_as_if_all_were_looked_through, begin, end) {
    enum { COUNT = 300, SPACE = 4096 };
    struct code_mapping all[COUNT + 1];
    struct random_numbers random = {1};
    for (uint64_t i = 1; i <= COUNT; i++) {
        all[i] = (struct code_mapping){.address = random_below(&random, SPACE),
                                       .size_bytes = 1 + random_below(&random, i % 7 ? 64 : 1024),
                                       .library_id = random_below(&random, 4)};
        code_history_map(&spaces, &history, i / 3, &all[i]);
    }
    for (uint64_t time = 0; time <= COUNT / 3 + 1; time += 7) {
        for (uint64_t address = 0; address < SPACE + 1024; address += 3) {
            uint64_t wanted = 0;
            for (uint64_t i = COUNT; i > 0 && !wanted; i--) {
                if (i / 3 > time || address - all[i].address >= all[i].size_bytes) continue;
                wanted = all[i].library_id;
                break;
            }
            assert_int_equal(library_then(time, address), wanted);
        }
    }
}

TEST(children_have_what_their_parents_had, begin, end) {
    struct code_history child;
    code_history_init(&child, &failure);
    for (uint64_t time = 1; time <= 50; time++) {
        const struct code_mapping mapping = {.address = 0x1000, .size_bytes = 0x100, .library_id = time};
        code_history_map(&spaces, &history, time, &mapping);
    }
    code_history_inherit(&spaces, &child, 60, &history, 45);
    const struct code_mapping own = {.address = 0x1080, .size_bytes = 0x10, .library_id = 100};
    code_history_map(&spaces, &child, 61, &own);
    assert_null(code_history_find(&spaces, &child, 59, 0x1000));
    assert_int_equal(code_history_find(&spaces, &child, 60, 0x1080)->library_id, 45);
    assert_int_equal(code_history_find(&spaces, &child, 61, 0x1080)->library_id, 100);
    assert_int_equal(code_history_find(&spaces, &child, 99, 0x1000)->library_id, 45);
    assert_int_equal(library_then(99, 0x1080), 50);
    /* The last inheritance replaces earlier ones, also one of the process itself. */
    code_history_inherit(&spaces, &child, 62, &history, 3);
    assert_int_equal(code_history_find(&spaces, &child, 62, 0x1080)->library_id, 3);
    code_history_inherit(&spaces, &child, 63, &child, 61);
    assert_int_equal(code_history_find(&spaces, &child, 63, 0x1080)->library_id, 100);
    code_history_fini(&child);
}

int main(void) { return unit_tests_run(NULL, NULL); }
