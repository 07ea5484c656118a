#include "drop_trampolines.h"

#include "stack_rebuild.h"

/* In Python/perf_trampoline.c of CPython. */
static const struct text evaluator = TEXT("py_trampoline_evaluator");

static const struct func *func_of(const struct profile *profile, stack_id id) {
    frame_id frame = profile_stack_at(profile, id)->frame;
    func_id func = profile_frame_at(profile, frame)->func;
    return func_is_none(func) ? NULL : profile_func_at(profile, func);
}

static bool is_evaluator(const struct profile *profile, stack_id id) {
    const struct func *func = stack_is_none(id) ? NULL : func_of(profile, id);
    return func && text_equal(strings_text(&profile->strings, func->name), evaluator);
}

static bool has_evaluator(const struct profile *profile) {
    for (uint32_t i = 0; i < row_table_count(&profile->funcs); i++) {
        const struct func *func = profile_func_at(profile, (func_id){i});
        if (text_equal(strings_text(&profile->strings, func->name), evaluator)) return true;
    }
    return false;
}

/* A stack_replace. */
static stack_id drop(void *context, const stack_id *new_ids, stack_id id) {
    struct profile *profile = context;
    const struct stack stack = *profile_stack_at(profile, id);
    const struct func *func = func_of(profile, id);
    stack_id prefix = stack_is_none(stack.prefix) ? stack.prefix : new_ids[stack.prefix.index];
    if (func && func->flags & FUNC_IS_JS && is_evaluator(profile, prefix))
        prefix = profile_stack_at(profile, prefix)->prefix;
    return stack_is_same(prefix, stack.prefix) ? id : profile_stack(profile, prefix, stack.frame);
}

void profile_drop_trampolines(struct profile *profile) {
    if (has_evaluator(profile))
        profile_replace_stacks(profile, drop, profile,
                               TEXT("sample without frames of Python's py_trampoline_evaluator"));
}
