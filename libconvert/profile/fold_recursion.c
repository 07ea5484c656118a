#include "fold_recursion.h"

#include "libconvert/base/memory.h"
#include "stack_rebuild.h"

/* What became of a stack. */
struct folded {
    stack_id stack;
    uint8_t inline_shift; /* how many inlined frames were folded away since the last frame that is not inlined */
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

static struct folded fold(struct profile *profile, const struct folded *stacks, stack_id id) {
    const struct stack stack = *profile_stack_at(profile, id);
    if (stack_is_none(stack.prefix)) return (struct folded){id, 0};
    struct folded caller = stacks[stack.prefix.index];
    const struct stack outer = *profile_stack_at(profile, caller.stack);
    const struct frame *frame = profile_frame_at(profile, stack.frame);
    bool is_inlined = frame->inline_depth;
    bool is_repeated = func_is_same(frame->func, profile_frame_at(profile, outer.frame)->func);
    uint8_t shift = is_inlined ? (uint8_t)(caller.inline_shift + is_repeated) : 0;
    if (!is_repeated && !shift && stack_is_same(caller.stack, stack.prefix)) return (struct folded){id, 0};
    frame_id merged = is_repeated || shift ? merge_frames(profile, outer.frame, stack.frame, shift) : stack.frame;
    stack_id prefix = is_repeated ? outer.prefix : caller.stack;
    return (struct folded){profile_stack(profile, prefix, merged), shift};
}

/* Folded stacks are found, or added behind the others. */
void profile_fold_recursion(struct profile *profile) {
    uint32_t count = stack_table_count(&profile->stacks);
    struct folded *folded = memory_allocate(profile->failure, count * sizeof *folded);
    stack_id *new_ids = memory_allocate(profile->failure, count * sizeof *new_ids);
    for (uint32_t i = 0; i < count && !failure_is_set(profile->failure); i++) {
        folded[i] = fold(profile, folded, (stack_id){i});
        new_ids[i] = folded[i].stack;
    }
    uint64_t changed_count = failure_is_set(profile->failure) ? 0 : profile_renumber_stacks(profile, new_ids);
    ledger_enter(&profile->ledger, LEDGER_SAMPLES, LEDGER_NOTED, TEXT("sample whose repeated frames are one"),
                 changed_count, NULL);
    memory_free(new_ids);
    memory_free(folded);
}
