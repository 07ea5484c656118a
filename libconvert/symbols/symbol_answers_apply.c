/* Puts the chains that were found into the frames and stacks of the profile. */
#include "libconvert/profile/profile.h"
#include "libconvert/profile/stack_rebuild.h"
#include "symbol_answers.h"
#include "symbol_lines.h"

/* ---- Labels among inlined functions. ---- */

/* Limit for the inlined functions and labels of one function that are moved. */
enum { FRAMES_MAX = 2 * SYMBOL_CALLS_MAX };

/* Returns whether the frame is a label of a program: it has a place in the source but no code. */
static bool frame_is_label(const struct profile *profile, const struct frame *frame) {
    const struct func *func = profile_func_at(profile, frame->func);
    return lib_is_none(frame->lib) && !source_is_none(func->source) && func->line && !(func->flags & FUNC_IS_JS);
}

static struct text path_of(const struct profile *profile, source_id source) {
    return strings_text(&profile->strings, profile_source_at(profile, source)->filename);
}

static struct text without_dots(struct text path) {
    for (;;) {
        if (text_starts_with(path, TEXT("./")))
            path = text_from(path, 2);
        else if (text_starts_with(path, TEXT("../")))
            path = text_from(path, 3);
        else
            return path;
    }
}

/* A label has the path that the compiler was called with. Debug information joins a relative one with a folder. */
static bool is_same_file(const struct profile *profile, source_id of_label, source_id of_function) {
    if (source_is_none(of_function)) return false;
    if (of_label.index == of_function.index) return true;
    struct text label = without_dots(path_of(profile, of_label)), function = path_of(profile, of_function);
    if (text_starts_with(label, TEXT("/")) || label.bytes_count >= function.bytes_count) return false;
    size_t start = function.bytes_count - label.bytes_count;
    return text_equal(text_from(function, start), label) && function.bytes[start - 1] == '/';
}

/* Returns the line at which the frame's function begins if it may contain the label's line; else 0. */
static uint32_t start_before(const struct profile *profile, frame_id frame, const struct func *label) {
    const struct func *func = profile_func_at(profile, profile_frame_at(profile, frame)->func);
    bool may_contain = func->line <= label->line && is_same_file(profile, label->source, func->source);
    return may_contain ? func->line : 0;
}

/* Where the label is put: after `stack`, before the last `moved_count` frames. */
struct label_position {
    stack_id stack;
    size_t moved_count;
};

/* Puts the label into the stack, whose last frames are a function, those inlined into it, and other labels in them.
 * The label follows the function that contains its line. That is the function that begins last, among the functions in
 * the label's file that begin at or before its line. Without any, it follows the innermost function. Labels keep their
 * order. Returns the stack with the label, which ends in the innermost function unless the label is in that. */
static stack_id label_place(struct profile *profile, stack_id stack, frame_id label) {
    const struct func *func = profile_func_at(profile, profile_frame_at(profile, label)->func);
    frame_id frames[FRAMES_MAX]; /* innermost first */
    size_t count = 0;
    uint32_t latest_start = 0;
    bool has_label = false, is_function = false;
    struct label_position best = {stack, 0}, after_labels = best;
    /* From the innermost frame outwards, to the function that all are inlined into. */
    for (stack_id at = stack; !is_function && !stack_is_none(at) && count < FRAMES_MAX;) {
        const struct stack *row = profile_stack_at(profile, at);
        const struct frame *frame = profile_frame_at(profile, row->frame);
        bool is_label = frame_is_label(profile, frame);
        uint32_t start = is_label ? 0 : start_before(profile, row->frame, func);
        if (is_label && !has_label) after_labels = (struct label_position){at, count};
        has_label |= is_label;
        if (start > latest_start) best = has_label ? after_labels : (struct label_position){at, count};
        if (start > latest_start) latest_start = start;
        is_function = !is_label && !frame->inline_depth;
        frames[count++] = row->frame;
        at = row->prefix;
    }
    stack_id placed = profile_stack(profile, best.stack, label);
    for (size_t i = best.moved_count; i-- > 0;) placed = profile_stack(profile, placed, frames[i]);
    return placed;
}

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
