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

struct leaving_out {
    struct profile *profile;
    bool *is_left_out; /* owned; of each stack: whether it consists of such callers */
};

/* A stack_replace: returns the stack without such callers at its root. One that has nothing else keeps one of them. */
static stack_id leave_out(void *context, const stack_id *new_ids, stack_id id) {
    const struct leaving_out *leaving_out = context;
    struct profile *profile = leaving_out->profile;
    bool *is_left_out = leaving_out->is_left_out;
    const struct stack *stack = profile_stack_at(profile, id);
    bool is_first = stack_is_none(stack->prefix) || is_left_out[stack->prefix.index];
    stack_id prefix = is_first ? stack_none() : new_ids[stack->prefix.index];
    bool follows_truncation = !is_first && is_truncation(profile, stack->prefix);
    is_left_out[id.index] = (is_first || follows_truncation) && is_unknown(profile, stack->frame);
    if (is_left_out[id.index]) prefix = stack_none();
    return stack_is_same(prefix, stack->prefix) ? id : profile_stack(profile, prefix, stack->frame);
}

void perf_callers_drop(struct profile *profile) {
    if (failure_is_set(profile->failure) || !has_unknown(profile)) return;
    struct leaving_out leaving_out = {
        profile, memory_allocate_zeroed(profile->failure, stack_table_count(&profile->stacks), sizeof(bool))};
    if (leaving_out.is_left_out)
        profile_replace_stacks(profile, leave_out, &leaving_out,
                               TEXT("sample whose outermost callers are no code: left out"));
    memory_free(leaving_out.is_left_out);
}
