#include "fold_recursion.h"

#include "libconvert/base/memory.h"
#include "stack_rebuild.h"

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
