#include "stack_rebuild.h"

#include "libconvert/base/memory.h"

/* Callers precede their callees, both in the old table and in the new one. */
static stack_id *make_stacks(struct profile *profile, stack_rebuild_frame *rebuild, void *context) {
    uint32_t count = stack_table_count(&profile->stacks);
    stack_id *new_ids = memory_allocate(profile->failure, count * sizeof *new_ids);
    if (!new_ids) return NULL;
    struct stack_table old_stacks = profile->stacks;
    stack_table_seal(&old_stacks);
    stack_table_init(&profile->stacks, profile->failure);
    for (uint32_t i = 0; i < count && !failure_is_set(profile->failure); i++) {
        const struct stack *stack = stack_table_at(&old_stacks, i);
        stack_id prefix = stack_is_none(stack->prefix) ? stack_none() : new_ids[stack->prefix.index];
        new_ids[i] = rebuild(context, prefix, stack->frame);
    }
    stack_table_fini(&old_stacks);
    return new_ids;
}

/* Replaces the id by the new one. Returns whether it has changed. */
static bool renumber(stack_id *stack, const stack_id *new_ids) {
    stack_id old = *stack;
    if (!stack_is_none(old)) *stack = new_ids[old.index];
    return !stack_is_same(old, *stack);
}

/* Replaces all ids of stacks. Returns how many samples have changed. */
static uint64_t renumber_all(struct profile *profile, const stack_id *new_ids) {
    uint64_t changed_count = 0;
    COLUMN_EACH(struct thread, thread, &profile->threads) {
        COLUMN_EACH(struct sample, sample, &thread->samples.rows) changed_count += renumber(&sample->stack, new_ids);
        COLUMN_EACH(struct marker, marker, &thread->markers) renumber(&marker->stack, new_ids);
        COLUMN_EACH(struct allocation, allocation, &thread->allocations) renumber(&allocation->stack, new_ids);
    }
    return changed_count;
}

void profile_rebuild_stacks(struct profile *profile, stack_rebuild_frame *rebuild, void *context) {
    stack_id *new_ids = make_stacks(profile, rebuild, context);
    if (new_ids && !failure_is_set(profile->failure)) renumber_all(profile, new_ids);
    memory_free(new_ids);
}

void profile_replace_stacks(struct profile *profile, stack_replace *replace, void *context, struct text cause) {
    uint32_t count = stack_table_count(&profile->stacks);
    stack_id *new_ids = memory_allocate(profile->failure, count * sizeof *new_ids);
    for (uint32_t i = 0; i < count && !failure_is_set(profile->failure); i++)
        new_ids[i] = replace(context, new_ids, (stack_id){i});
    uint64_t changed_count = failure_is_set(profile->failure) ? 0 : renumber_all(profile, new_ids);
    ledger_enter(&profile->ledger, LEDGER_SAMPLES, LEDGER_NOTED, cause, changed_count, NULL);
    memory_free(new_ids);
}

/* ---- Repeated frames. ---- */

struct folding {
    struct profile *profile;
    /* For each stack: how many inlined frames were folded away since the last frame that is not inlined. Owned. */
    uint8_t *inline_shifts;
};

/* Returns the frame that takes the place of `outer`, which has the same function and called it. */
static frame_id merge_frames(struct profile *profile, frame_id outer_id, frame_id id, uint8_t inline_shift) {
    struct frame frame = *profile_frame_at(profile, id);
    const struct frame *outer = profile_frame_at(profile, outer_id);
    bool inherits = frame.inherits_category;
    if (!inherits && !inline_shift) return id;
    frame.inline_depth = (uint8_t)(frame.inline_depth - inline_shift);
    if (inherits) {
        frame.category = outer->category;
        frame.subcategory = outer->subcategory;
        frame.inherits_category = outer->inherits_category;
    }
    return profile_frame(profile, &frame);
}

/* A stack_replace. */
static stack_id fold(void *context, const stack_id *new_ids, stack_id id) {
    const struct folding *folding = context;
    struct profile *profile = folding->profile;
    const struct stack stack = *profile_stack_at(profile, id);
    if (stack_is_none(stack.prefix)) return id;
    stack_id caller = new_ids[stack.prefix.index];
    const struct stack outer = *profile_stack_at(profile, caller);
    const struct frame *frame = profile_frame_at(profile, stack.frame);
    bool is_inlined = frame->inline_depth;
    bool is_repeated = func_is_same(frame->func, profile_frame_at(profile, outer.frame)->func);
    uint8_t shift = is_inlined ? (uint8_t)(folding->inline_shifts[stack.prefix.index] + is_repeated) : 0;
    folding->inline_shifts[id.index] = shift;
    if (!is_repeated && !shift && stack_is_same(caller, stack.prefix)) return id;
    frame_id merged = is_repeated || shift ? merge_frames(profile, outer.frame, stack.frame, shift) : stack.frame;
    stack_id prefix = is_repeated ? outer.prefix : caller;
    return profile_stack(profile, prefix, merged);
}

void profile_fold_recursion(struct profile *profile) {
    struct folding folding = {profile,
                              memory_allocate_zeroed(profile->failure, stack_table_count(&profile->stacks), 1)};
    if (folding.inline_shifts)
        profile_replace_stacks(profile, fold, &folding, TEXT("sample whose repeated frames are one"));
    memory_free(folding.inline_shifts);
}

/* ---- Trampolines of Python. ---- */

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
