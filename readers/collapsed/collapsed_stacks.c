#include "collapsed_stacks.h"

#include "libconvert/base/memory.h"

static const struct {
    struct text suffix;
    enum frame_kind kind;
} ANNOTATIONS[] = {
    {TEXT("_[k]"), FRAME_KERNEL},
    {TEXT("_[j]"), FRAME_JIT},
    {TEXT("_[w]"), FRAME_WAKER},
};

#define INLINED_SUFFIX TEXT("_[i]")

/* The frames with one name. They are stored so that most frames cost one look-up. */
struct named_frame {
    func_id func;
    frame_id frames[FRAME_KIND_COUNT]; /* those that are not inlined */
};

/* A frame of the previous stack. */
struct level {
    size_t end; /* offset at which the frame's text ends in the stack's text */
    stack_id stack;
    unsigned notes; /* notes on the stack up to this frame */
};

void collapsed_stacks_init(struct collapsed_stacks *stacks, struct profile *profile) {
    *stacks = (struct collapsed_stacks){.profile = profile};
    column_init(&stacks->named_frames, sizeof(struct named_frame), profile->failure);
    column_init(&stacks->levels, sizeof(struct level), profile->failure);
}

void collapsed_stacks_fini(struct collapsed_stacks *stacks) {
    column_fini(&stacks->named_frames);
    column_fini(&stacks->levels);
    memory_free(stacks->text);
}

static struct category_pair intern_category(struct categories *categories, enum frame_kind kind) {
    switch (kind) {
        case FRAME_KERNEL:
            return categories_intern_code(categories, CODE_KERNEL, (struct text){0});
        case FRAME_JIT:
            return categories_intern_code(categories, CODE_JIT, (struct text){0});
        case FRAME_WAKER:
            return categories_intern(categories, TEXT("Waker"), COLOR_PURPLE, (struct text){0});
        case FRAME_SEPARATOR:
            return (struct category_pair){0, 0};
        default:
            return categories_intern_code(categories, CODE_USER, (struct text){0});
    }
}

static struct category_pair kind_category(struct collapsed_stacks *stacks, enum frame_kind kind) {
    if (!stacks->has_category[kind]) {
        stacks->has_category[kind] = true;
        stacks->categories[kind] = intern_category(&stacks->profile->categories, kind);
    }
    return stacks->categories[kind];
}

/* Returns NULL if memory ran out (latched). */
static struct named_frame *find_named_frame(struct collapsed_stacks *stacks, struct text name) {
    string_id string = profile_string(stacks->profile, name);
    if (string_is_none(string)) return NULL;
    while (stacks->named_frames.count <= string.index) {
        struct named_frame *added = column_push(&stacks->named_frames);
        if (!added) return NULL;
        added->func = func_none();
        for (size_t i = 0; i < FRAME_KIND_COUNT; i++) added->frames[i] = frame_none();
    }
    struct named_frame *named = column_at(&stacks->named_frames, string.index);
    if (!func_is_none(named->func)) return named;
    named->func = profile_named_func(stacks->profile, string);
    return func_is_none(named->func) ? NULL : named;
}

static frame_id add_frame(struct profile *profile, func_id func, struct category_pair category, uint8_t inline_depth) {
    struct frame frame = frame_of_func(func, category);
    frame.inline_depth = inline_depth;
    return profile_frame(profile, &frame);
}

static frame_id intern_plain_frame(struct collapsed_stacks *stacks, struct text name, enum frame_kind kind) {
    struct named_frame *named = find_named_frame(stacks, name);
    if (!named) return frame_none();
    if (frame_is_none(named->frames[kind]))
        named->frames[kind] = add_frame(stacks->profile, named->func, kind_category(stacks, kind), 0);
    return named->frames[kind];
}

/* Returns an inlined frame. Its category is that of the frame that it is inlined into. */
static frame_id intern_inlined_frame(struct collapsed_stacks *stacks, struct text name, struct level *level) {
    if (stack_is_none(level->stack)) {
        level->notes |= STACK_NOTE_INLINED_ROOT;
        return intern_plain_frame(stacks, name, FRAME_USER);
    }
    struct profile *profile = stacks->profile;
    const struct named_frame *named = find_named_frame(stacks, name);
    if (!named) return frame_none();
    const struct frame *caller = profile_frame_at(profile, profile_stack_at(profile, level->stack)->frame);
    bool is_deep = caller->inline_depth == INLINE_DEPTH_MAX;
    if (is_deep) level->notes |= STACK_NOTE_INLINED_DEEP;
    struct category_pair category = {caller->category, caller->subcategory};
    return add_frame(profile, named->func, category, is_deep ? 0 : (uint8_t)(caller->inline_depth + 1));
}

/* Removes the suffix from a name that has other bytes before it. Returns whether it did. */
static bool take_suffix(struct text *name, struct text suffix) {
    if (name->bytes_count <= suffix.bytes_count || !text_ends_with(*name, suffix)) return false;
    name->bytes_count -= suffix.bytes_count;
    return true;
}

/* Returns the frame of that text as called from the level. */
static frame_id intern_frame(struct collapsed_stacks *stacks, struct text text, struct level *level) {
    if (take_suffix(&text, INLINED_SUFFIX)) return intern_inlined_frame(stacks, text, level);
    for (size_t i = 0; i < sizeof ANNOTATIONS / sizeof *ANNOTATIONS; i++)
        if (take_suffix(&text, ANNOTATIONS[i].suffix)) return intern_plain_frame(stacks, text, ANNOTATIONS[i].kind);
    /* Tools write these between the stacks of the program and the kernel, and of a sleeper and its waker. */
    bool is_separator = text_equal(text, TEXT("-")) || text_equal(text, TEXT("--"));
    return intern_plain_frame(stacks, text, is_separator ? FRAME_SEPARATOR : FRAME_USER);
}

static size_t shared_bytes_count(struct text a, struct text b) {
    size_t limit = a.bytes_count < b.bytes_count ? a.bytes_count : b.bytes_count;
    size_t at = 0;
    for (uint64_t word_a, word_b; at + sizeof word_a <= limit; at += sizeof word_a) {
        memcpy(&word_a, a.bytes + at, sizeof word_a);
        memcpy(&word_b, b.bytes + at, sizeof word_b);
        if (word_a != word_b) break;
    }
    while (at < limit && a.bytes[at] == b.bytes[at]) at++;
    return at;
}

static bool reserve_text(struct collapsed_stacks *stacks, size_t bytes_count) {
    if (bytes_count <= stacks->text_capacity_bytes) return true;
    size_t capacity_bytes = bytes_count * 2;
    char *text = memory_resize(stacks->profile->failure, stacks->text, capacity_bytes);
    if (!text) return false;
    stacks->text = text;
    stacks->text_capacity_bytes = capacity_bytes;
    return true;
}

/* Stores `text` as the previous stack's text and drops the levels that it does not share. Returns false if memory ran
 * out (latched). */
static bool keep_shared_levels(struct collapsed_stacks *stacks, struct text text) {
    if (!reserve_text(stacks, text.bytes_count)) return false;
    size_t shared = shared_bytes_count((struct text){stacks->text, stacks->text_bytes_count}, text);
    memcpy(stacks->text + shared, text.bytes + shared, text.bytes_count - shared);
    stacks->text_bytes_count = text.bytes_count;
    for (; stacks->levels.count; stacks->levels.count--) {
        const struct level *last = column_at(&stacks->levels, stacks->levels.count - 1);
        if (last->end < shared) return true;
        if (last->end == shared && (shared == text.bytes_count || text.bytes[shared] == ';')) return true;
    }
    return true;
}

stack_id collapsed_stacks_intern(struct collapsed_stacks *stacks, struct text text, unsigned *notes) {
    if (!text.bytes_count || !keep_shared_levels(stacks, text)) return stack_none();
    struct level level = {.stack = stack_none()};
    size_t start = 0;
    if (stacks->levels.count) {
        level = *(struct level *)column_at(&stacks->levels, stacks->levels.count - 1);
        start = level.end + 1;
    }
    for (; start <= text.bytes_count; start = level.end + 1) {
        struct text rest = text_from(text, start);
        struct text frame_text = text_slice(rest, 0, text_find(rest, ';'));
        level.end = start + frame_text.bytes_count;
        if (!frame_text.bytes_count) {
            level.notes |= STACK_NOTE_EMPTY_FRAME;
            continue;
        }
        frame_id frame = intern_frame(stacks, frame_text, &level);
        if (frame_is_none(frame)) return stack_none();
        level.stack = profile_stack(stacks->profile, level.stack, frame);
        struct level *added = column_push(&stacks->levels);
        if (!added || stack_is_none(level.stack)) return stack_none();
        *added = level;
    }
    *notes |= level.notes;
    return level.stack;
}
