/* Tests folding: which frames become one, and which of them stays. */
#include "libconvert/profile/stack_rebuild.h"

#include <stdio.h>

#include "tests/support/profile_fixture.h"
#include "tests/support/unit_test.h"

/* Returns the stack `caller` with one frame more. The frame's address is its name's number in the test. */
static stack_id call(stack_id caller, const char *name, int32_t address, uint8_t inline_depth) {
    struct category_pair user = categories_intern_code(&profile.categories, CODE_USER, (struct text){0});
    struct frame frame = frame_of_func(profile_named_func(&profile, profile_string(&profile, text_of(name))), user);
    frame.address = address;
    frame.inline_depth = inline_depth;
    return profile_stack(&profile, caller, profile_frame(&profile, &frame));
}

/* Compares the stack with frames such as "f@1 g@2/1", where 1 is an inline depth. */
static void assert_stack(stack_id stack, const char *expected) {
    char text[256] = "", whole[256];
    for (; !stack_is_none(stack); stack = profile_stack_at(&profile, stack)->prefix) {
        const struct frame *frame = profile_frame_at(&profile, profile_stack_at(&profile, stack)->frame);
        struct text name = strings_text(&profile.strings, profile_func_at(&profile, frame->func)->name);
        snprintf(whole, sizeof whole, "%.*s@%d/%d %.200s", (int)name.bytes_count, name.bytes, frame->address,
                 frame->inline_depth, text);
        snprintf(text, sizeof text, "%s", whole);
    }
    assert_string_equal(text, expected);
}

/* Folds the stack of a sample, and compares it. */
static void assert_folded(stack_id stack, const char *expected, uint64_t noted_count) {
    struct thread *thread = add_only_thread();
    thread_add_sample(thread, 0, stack, 1);
    profile_fold_recursion(&profile);
    assert_string_equal(failure.message, "");
    assert_stack(samples_at(&thread->samples, 0)->stack, expected);
    assert_int_equal(ledger_sum(&profile.ledger, LEDGER_SAMPLES, LEDGER_NOTED), noted_count);
}

TEST(the_innermost_frame_stays, begin_profile, end_profile) {
    stack_id stack = call(call(call(stack_none(), "f", 1, 0), "f", 2, 0), "f", 3, 0);
    assert_folded(call(call(call(stack, "g", 4, 0), "f", 5, 0), "f", 5, 0), "f@3/0 g@4/0 f@5/0 ", 1);
}

TEST(other_stacks_stay, begin_profile, end_profile) {
    assert_folded(call(call(call(stack_none(), "f", 1, 0), "g", 2, 0), "f", 3, 0), "f@1/0 g@2/0 f@3/0 ", 0);
}

TEST(inline_depths_follow, begin_profile, end_profile) {
    stack_id stack = call(call(call(stack_none(), "f", 1, 0), "g", 1, 1), "g", 1, 2);
    assert_folded(call(call(stack, "h", 1, 3), "k", 2, 0), "f@1/0 g@1/1 h@1/2 k@2/0 ", 1);
}

TEST(a_function_inlined_into_itself_is_no_inlined_frame, begin_profile, end_profile) {
    stack_id stack = call(call(call(stack_none(), "f", 1, 0), "f", 1, 1), "g", 1, 2);
    assert_folded(call(stack, "g", 2, 0), "f@1/0 g@2/0 ", 1);
}

TEST(the_category_stays_with_what_inherits_it, begin_profile, end_profile) {
    stack_id stack = call(stack_none(), "f", 1, 0);
    struct frame frame = *profile_frame_at(&profile, profile_stack_at(&profile, stack)->frame);
    uint8_t category = frame.category;
    frame.address = 2;
    frame.category = 0;
    frame.inherits_category = 1;
    struct thread *thread = add_only_thread();
    thread_add_sample(thread, 0, profile_stack(&profile, stack, profile_frame(&profile, &frame)), 1);
    profile_fold_recursion(&profile);
    const struct stack *folded = profile_stack_at(&profile, samples_at(&thread->samples, 0)->stack);
    assert_stack(samples_at(&thread->samples, 0)->stack, "f@2/0 ");
    assert_int_equal(profile_frame_at(&profile, folded->frame)->category, category);
    assert_false(profile_frame_at(&profile, folded->frame)->inherits_category);
}

TEST(stacks_of_markers_and_allocations_are_folded, begin_profile, end_profile) {
    stack_id stack = call(call(stack_none(), "f", 1, 0), "f", 2, 0);
    struct thread *thread = add_only_thread();
    struct marker marker = {.name = profile_string(&profile, TEXT("m")), .stack = stack, .schema = MARKER_SCHEMA_NONE};
    profile_add_marker(&profile, thread, marker, NULL);
    profile_add_allocation(&profile, (thread_id){0}, 0, 1, 1, stack);
    profile_fold_recursion(&profile);
    assert_stack(((const struct marker *)column_at(&thread->markers, 0))->stack, "f@2/0 ");
    assert_stack(((const struct allocation *)column_at(&thread->allocations, 0))->stack, "f@2/0 ");
}

int main(void) { return unit_tests_run(NULL, NULL); }
