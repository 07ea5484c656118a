#include "perf_callers.h"

#include "libconvert/base/memory.h"
#include "libconvert/profile/cut_stacks.h"
#include "libconvert/profile/stack_rebuild.h"

/* Callers in the kernel are code even if they have no names. */
static bool is_unknown(const struct profile *profile, frame_id id) {
    const struct frame *frame = profile_frame_at(profile, id);
    const struct func *func = profile_func_at(profile, frame->func);
    return frame->address == ADDRESS_NONE && resource_is_none(func->resource) &&
           text_equal(strings_text(&profile->strings, func->name), TEXT(PERF_UNKNOWN_CALLER)) &&
           !text_equal(categories_at(&profile->categories, frame->category)->name, TEXT("Kernel"));
}

static bool has_unknown(const struct profile *profile) {
    for (uint32_t i = 0; i < row_table_count(&profile->frames); i++)
        if (is_unknown(profile, (frame_id){i})) return true;
    return false;
}

/* Returns whether the stack is the root of stacks that the kernel has cut. If unknown callers follow, the kernel has
 * followed garbage to its limit. */
static bool is_truncation(const struct profile *profile, stack_id id) {
    const struct stack *stack = profile_stack_at(profile, id);
    const struct func *func = profile_func_at(profile, profile_frame_at(profile, stack->frame)->func);
    return stack_is_none(stack->prefix) &&
           text_equal(strings_text(&profile->strings, func->name), TEXT(TRUNCATED_STACK_NAME));
}

/* Returns the stack without such callers at its root, for each stack. One that has nothing else keeps one of them. Most
 * stacks stay as they are. The others are found, or added behind them. */
static stack_id *leave_out(struct profile *profile) {
    uint32_t count = stack_table_count(&profile->stacks);
    stack_id *new_ids = memory_allocate(profile->failure, count * sizeof *new_ids);
    bool *is_left_out = memory_allocate_zeroed(profile->failure, count, sizeof *is_left_out);
    for (uint32_t i = 0; new_ids && is_left_out && i < count; i++) {
        const struct stack *stack = profile_stack_at(profile, (stack_id){i});
        bool is_first = stack_is_none(stack->prefix) || is_left_out[stack->prefix.index];
        stack_id prefix = is_first ? stack_none() : new_ids[stack->prefix.index];
        bool follows_truncation = !is_first && is_truncation(profile, stack->prefix);
        is_left_out[i] = (is_first || follows_truncation) && is_unknown(profile, stack->frame);
        if (is_left_out[i]) prefix = stack_none();
        bool is_same = stack_is_same(prefix, stack->prefix);
        new_ids[i] = is_same ? (stack_id){i} : profile_stack(profile, prefix, stack->frame);
    }
    memory_free(is_left_out);
    return new_ids;
}

void perf_callers_drop(struct profile *profile) {
    if (failure_is_set(profile->failure) || !has_unknown(profile)) return;
    stack_id *new_ids = leave_out(profile);
    uint64_t count = failure_is_set(profile->failure) ? 0 : profile_renumber_stacks(profile, new_ids);
    ledger_enter(&profile->ledger, LEDGER_SAMPLES, LEDGER_NOTED,
                 TEXT("sample whose outermost callers are no code: left out"), count, NULL);
    memory_free(new_ids);
}
