/* Puts the chains that were found into the frames and stacks of the profile. */
#include "label_places.h"
#include "libconvert/profile/stack_rebuild.h"
#include "symbol_answers.h"

/* Returns the frame with the address and the symbol that were found. */
static struct frame located_frame(struct frame frame, const struct symbol_chain *chain) {
    frame.address = chain->address;
    frame.native_symbol = chain->native_symbol;
    return frame;
}

static struct func func_of(struct profile *profile, func_id old, const struct symbol_chain *chain,
                           const struct symbol_chain_link *link) {
    struct func func = *profile_func_at(profile, old);
    if (!string_is_none(link->name)) func.name = link->name;
    if (chain->has_lines) {
        func.source = link->source;
        func.line = link->func_line;
        func.column = 0;
    }
    return func;
}

static frame_id make_frame(struct symbol_answers *answers, const struct frame *old, const struct symbol_chain *chain,
                           const struct symbol_chain_link *link, uint32_t depth) {
    struct profile *profile = answers->profile;
    struct frame frame = located_frame(*old, chain);
    struct func func = func_of(profile, old->func, chain, link);
    if (answers->name_func && !string_is_none(link->name)) answers->name_func(profile, &func, &frame);
    frame.func = profile_func(profile, &func);
    frame.inline_depth = (uint8_t)depth;
    if (chain->has_lines) {
        frame.line = link->line;
        frame.column = link->column;
    }
    return profile_frame(profile, &frame);
}

/* If the trace had this frame inlined, the chain of its physical frame includes it already, unless that chain has no
 * debug information. */
static stack_id rebuild_inlined(struct profile *profile, stack_id prefix, const struct frame *old,
                                const struct symbol_chain *chain) {
    if (chain->has_lines && !stack_is_none(prefix)) return prefix;
    struct frame frame = located_frame(*old, chain);
    return profile_stack(profile, prefix, profile_frame(profile, &frame));
}

/* Returns the first of the frames for the chain. */
static uint32_t frames_for(struct symbol_answers *answers, frame_id old_frame, const struct frame *old,
                           const struct symbol_chain *chain) {
    uint32_t *first = &answers->frames_of[old_frame.index];
    if (*first != ID_NONE) return *first;
    uint32_t made = (uint32_t)answers->frames.count;
    for (uint32_t i = 0; i < chain->link_count; i++) {
        const struct symbol_chain_link *link = column_at(&answers->links, chain->first_link + i);
        frame_id *frame = column_push(&answers->frames);
        if (!frame) return ID_NONE;
        *frame = make_frame(answers, old, chain, link, i);
    }
    return *first = made;
}

/* Returns the stack of the frame's chain on top of the prefix, which is a new stack. */
static stack_id rebuild_stack(void *context, stack_id prefix, frame_id old_frame) {
    struct symbol_answers *answers = context;
    struct profile *profile = answers->profile;
    uint32_t row = answers->chain_of_frame[old_frame.index];
    if (row == ID_NONE)
        return frame_is_label(profile, profile_frame_at(profile, old_frame))
                   ? label_place(profile, prefix, old_frame)
                   : profile_stack(profile, prefix, old_frame);
    const struct symbol_chain chain = *(const struct symbol_chain *)column_at(&answers->chains, row);
    const struct frame old = *profile_frame_at(profile, old_frame);
    if (old.inline_depth > 0) return rebuild_inlined(profile, prefix, &old, &chain);
    uint32_t first = frames_for(answers, old_frame, &old, &chain);
    for (uint32_t i = 0; first != ID_NONE && i < chain.link_count; i++)
        prefix = profile_stack(profile, prefix, *(const frame_id *)column_at(&answers->frames, first + i));
    return prefix;
}

void symbol_answers_apply(struct symbol_answers *answers) {
    struct profile *profile = answers->profile;
    if (!answers->chains.count || failure_is_set(profile->failure)) return;
    profile_rebuild_stacks(profile, rebuild_stack, answers);
}
