/* Tests the table of stacks: equal stacks have one row after the table was sealed or renumbered. */

#include "libconvert/base/memory.h"
#include "libconvert/profile/stack_table.h"
#include "tests/support/unit_test.h"

enum { DEPTH = 3, WIDTH = 20, STACK_COUNT = WIDTH + WIDTH * WIDTH + WIDTH * WIDTH * WIDTH };

static struct failure failure;
static struct stack_table table;

static int set_up(void **state) {
    stack_table_init(&table, &failure);
    return 0;
}

static int tear_down(void **state) {
    stack_table_fini(&table);
    return failure_is_set(&failure);
}

/* Adds a tree in which each stack has WIDTH children. */
static void add_tree(stack_id prefix, unsigned depth) {
    for (uint32_t frame = 0; frame < WIDTH && depth < DEPTH; frame++)
        add_tree(stack_table_intern(&table, prefix, (frame_id){frame}), depth + 1);
}

/* Adds the same tree again, which must add nothing. The hash has room for all of its slots, so that it is not made
 * again for each stack. */
static void assert_tree_is_known(void) {
    uint32_t count = stack_table_count(&table);
    add_tree(stack_none(), 0);
    assert_int_equal(stack_table_count(&table), count);
    assert_true(table.used_slot_count <= table.limit);
    assert_true(table.used_slot_count <= count);
}

TEST(a_sealed_table_knows_its_stacks, set_up, tear_down) {
    add_tree(stack_none(), 0);
    stack_table_seal(&table);
    assert_tree_is_known();
    assert_int_equal(stack_table_count(&table), STACK_COUNT);
}

TEST(renumbering_unites_stacks_that_became_equal, set_up, tear_down) {
    frame_id frames[WIDTH];
    for (uint32_t i = 0; i < WIDTH; i++) frames[i] = (frame_id){i / 2};
    add_tree(stack_none(), 0);
    stack_id *ids = stack_table_renumber(&table, frames);
    assert_non_null(ids);
    uint32_t half = WIDTH / 2;
    assert_int_equal(stack_table_count(&table), half + half * half + half * half * half);
    assert_true(table.used_slot_count <= table.limit);
    /* The first two roots have become one. */
    assert_int_equal(ids[0].index, 0);
    assert_int_equal(ids[1 + WIDTH + WIDTH * WIDTH].index, 0);
    memory_free(ids);
}

int main(void) { return unit_tests_run(NULL, NULL); }
