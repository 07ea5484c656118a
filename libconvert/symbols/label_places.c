#include "label_places.h"

#include "symbol_lines.h"

/* Limit for the inlined functions and labels of one function that are moved. */
enum { FRAMES_MAX = 2 * SYMBOL_CALLS_MAX };

bool frame_is_label(const struct profile *profile, const struct frame *frame) {
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

stack_id label_place(struct profile *profile, stack_id stack, frame_id label) {
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
