#include <stdlib.h>
#include <string.h>

#include "libconvert/profile/stack_path.h"
#include "tests/support/full_tables.h"
#include "tests/support/profile_fixture.h"
#include "tests/support/random_numbers.h"
#include "tests/support/unit_test.h"

static struct stack_path path;

static int begin(void **state) {
    begin_profile(state);
    path = (struct stack_path){0};
    return 0;
}

static int end(void **state) {
    stack_path_fini(&path);
    return end_profile(state);
}

/* Adds a stack of frames that are just numbers: a path does not read the table of frames. */
#define ADD(...)                                                     \
    stack_path_add(&path, &profile, (const frame_id[]){__VA_ARGS__}, \
                   (uint32_t)(sizeof((frame_id[]){__VA_ARGS__}) / sizeof(frame_id)))
#define F(number) \
    { number }

static void assert_stack(stack_id id, uint32_t index, uint32_t prefix, uint32_t frame) {
    assert_int_equal(id.index, index);
    const struct stack *stack = profile_stack_at(&profile, id);
    assert_int_equal(stack->prefix.index, prefix);
    assert_int_equal(stack->frame.index, frame);
}

static void callers_come_before_what_they_call(void **state) {
    assert_stack(ADD(F(5), F(6), F(7)), 2, 1, 7);
    assert_stack((stack_id){0}, 0, ID_NONE, 5);
    assert_stack((stack_id){1}, 1, 0, 6);
    assert_int_equal(stack_table_count(&profile.stacks), 3);
}

static void no_frames_are_no_stack(void **state) {
    assert_true(stack_is_none(stack_path_add(&path, &profile, NULL, 0)));
    ADD(F(1), F(2));
    assert_true(stack_is_none(stack_path_add(&path, &profile, NULL, 0)));
    assert_stack(ADD(F(1), F(2)), 1, 0, 2);
    assert_false(failure_is_set(&failure));
}

static void neighbours_share_what_is_alike(void **state) {
    assert_int_equal(ADD(F(1), F(2), F(3)).index, 2);
    assert_int_equal(ADD(F(1), F(2), F(3)).index, 2);       /* the same */
    assert_int_equal(ADD(F(1), F(2)).index, 1);             /* shorter */
    assert_int_equal(ADD(F(1), F(2), F(3)).index, 2);       /* as long again */
    assert_int_equal(ADD(F(1), F(2), F(3), F(4)).index, 3); /* longer */
    assert_stack(ADD(F(1), F(9), F(3), F(4)), 6, 5, 4);     /* another in the middle */
    assert_stack(ADD(F(8), F(2)), 8, 7, 2);                 /* another root */
    assert_int_equal(ADD(F(1), F(2), F(3), F(4)).index, 3);
    assert_int_equal(stack_table_count(&profile.stacks), 9);
}

static void a_frame_may_repeat(void **state) {
    assert_stack(ADD(F(4), F(4), F(4)), 2, 1, 4);
    assert_stack(ADD(F(4), F(4)), 1, 0, 4);
    assert_stack(ADD(F(4), F(4), F(4), F(4)), 3, 2, 4);
}

static void deep_stacks_fit(void **state) {
    enum { DEPTH = 5000 };
    static frame_id frames[DEPTH];
    for (uint32_t i = 0; i < DEPTH; i++) frames[i] = (frame_id){i * 3};
    for (uint32_t depth = 1; depth <= DEPTH; depth = depth * 3 + 1)
        assert_int_equal(stack_path_add(&path, &profile, frames, depth).index, depth - 1);
    assert_int_equal(stack_path_add(&path, &profile, frames, DEPTH).index, DEPTH - 1);
    for (uint32_t i = 0; i < DEPTH; i++) assert_stack((stack_id){i}, i, i ? i - 1 : ID_NONE, i * 3);
    assert_int_equal(stack_table_count(&profile.stacks), DEPTH);
}

/* Compares several paths on one profile with plain walks on another: the same rows in the same order. */
static void a_path_is_as_a_walk_from_the_root(void **state) {
    enum { PATH_COUNT = 3, DRAW_COUNT = 5000, DEPTH_MAX = 12 };
    struct stack_path paths[PATH_COUNT] = {0};
    struct profile plain;
    profile_init(&plain, &failure);
    struct random_numbers numbers = {7};
    for (unsigned i = 0; i < DRAW_COUNT; i++) {
        frame_id frames[DEPTH_MAX];
        uint32_t depth = random_below(&numbers, DEPTH_MAX + 1);
        for (uint32_t j = 0; j < depth; j++) frames[j] = (frame_id){random_below(&numbers, j < 6 ? 2 : 4)};
        stack_id expected = stack_none();
        for (uint32_t j = 0; j < depth; j++) expected = profile_stack(&plain, expected, frames[j]);
        stack_id got = stack_path_add(&paths[random_below(&numbers, PATH_COUNT)], &profile, frames, depth);
        assert_int_equal(got.index, expected.index);
    }
    assert_int_equal(stack_table_count(&profile.stacks), stack_table_count(&plain.stacks));
    assert_true(stack_table_count(&plain.stacks) > 2000);
    for (uint32_t i = 0; i < stack_table_count(&plain.stacks); i++) {
        const struct stack *stack = stack_table_at(&profile.stacks, i), *plain_stack = stack_table_at(&plain.stacks, i);
        assert_int_equal(stack->prefix.index, plain_stack->prefix.index);
        assert_int_equal(stack->frame.index, plain_stack->frame.index);
    }
    for (unsigned i = 0; i < PATH_COUNT; i++) stack_path_fini(&paths[i]);
    profile_fini(&plain);
}

static void memory_running_out_gives_none(void **state) {
    ADD(F(1), F(2));
    struct column rows = profile.stacks.rows;
    column_make_full(&profile.stacks.rows);
    assert_true(stack_is_none(ADD(F(1), F(2), F(3), F(4))));
    assert_int_equal(failure.code, FAILURE_MEMORY);
    assert_int_equal(ADD(F(1), F(2)).index, 1);
    assert_true(stack_is_none(ADD(F(7), F(2))));
    profile.stacks.rows = rows;
    /* After the failure, the path must still refer to existing stacks. */
    assert_stack(ADD(F(1), F(2), F(3)), 2, 1, 3);
    assert_stack(ADD(F(7), F(2)), 4, 3, 2);
}

static void a_failure_in_the_middle_leaves_nothing_behind_it(void **state) {
    ADD(F(1), F(2), F(3), F(4));
    struct column rows = profile.stacks.rows;
    column_make_full(&profile.stacks.rows);
    profile.stacks.rows.capacity++;
    assert_true(stack_is_none(ADD(F(1), F(8), F(3), F(4))));
    assert_int_equal(failure.code, FAILURE_MEMORY);
    rows.count = profile.stacks.rows.count;
    profile.stacks.rows = rows;
    assert_stack((stack_id){4}, 4, 0, 8);
    assert_stack(ADD(F(1), F(8), F(3), F(4)), 6, 5, 4);
}

static void a_finished_path_can_be_used_again(void **state) {
    ADD(F(1), F(2));
    stack_path_fini(&path);
    assert_null(path.steps);
    assert_int_equal(path.count, 0);
    stack_path_fini(&path);
    assert_int_equal(ADD(F(1), F(2)).index, 1);
}

static void a_stack_goes_on_from_the_one_before(void **state) {
    const frame_id frames[] = {F(4), F(5)};
    ADD(F(1), F(2), F(3));
    assert_stack(stack_path_go_on(&path, &profile, 1, frames, 2), 4, 3, 5);
    assert_stack((stack_id){3}, 3, 0, 4);
    assert_int_equal(path.count, 3);
    assert_int_equal(stack_path_go_on(&path, &profile, 2, NULL, 0).index, 3);
    assert_int_equal(path.count, 2);
    assert_true(stack_is_none(stack_path_go_on(&path, &profile, 0, NULL, 0)));
    assert_int_equal(stack_path_go_on(&path, &profile, 0, frames, 2).index, 6);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(callers_come_before_what_they_call),
        TEST(no_frames_are_no_stack),
        TEST(neighbours_share_what_is_alike),
        TEST(a_frame_may_repeat),
        TEST(deep_stacks_fit),
        TEST(a_path_is_as_a_walk_from_the_root),
        TEST(memory_running_out_gives_none),
        TEST(a_failure_in_the_middle_leaves_nothing_behind_it),
        TEST(a_finished_path_can_be_used_again),
        TEST(a_stack_goes_on_from_the_one_before),
    };
    return cmocka_run_group_tests_name("stack_path", tests, NULL, NULL);
}
