#include "collapsed_stacks.h"

#include "libconvert/symbols/symbol_names.h"
#include "readers/code/script_frames.h"

/* The frame that has some text. */
struct known_frame {
    func_id func;
    frame_id frame; /* none: not made yet, or inlined, which makes the frame depend on its caller */
    uint32_t line;
    uint8_t kind; /* enum frame_kind */
    bool is_inlined;
    bool is_generated;              /* the name says so */
    struct category_pair generated; /* if it does */
};

/* A frame of the previous stack. */
struct level {
    size_t start; /* offset of the frame's text in the stack's text */
    size_t end;   /* offset at which the frame's text ends in the stack's text */
    stack_id stack;
    unsigned notes; /* notes on the stack up to this frame */
};

void collapsed_stacks_init(struct collapsed_stacks *stacks, struct profile *profile, const struct dialect *dialect) {
    *stacks = (struct collapsed_stacks){.profile = profile, .dialect = dialect, .text.failure = profile->failure};
    strings_init(&stacks->frame_texts, profile->failure);
    column_init(&stacks->known_frames, sizeof(struct known_frame), profile->failure);
    column_init(&stacks->levels, sizeof(struct level), profile->failure);
}

void collapsed_stacks_fini(struct collapsed_stacks *stacks) {
    strings_fini(&stacks->frame_texts);
    COLUMNS_FINI(&stacks->known_frames, &stacks->levels);
    byte_buffer_fini(&stacks->text);
}

static struct category_pair intern_category(struct categories *categories, enum frame_kind kind) {
    static const struct {
        enum code_kind code;
        struct text subcategory;
    } kinds[FRAME_KIND_COUNT] = {
        [FRAME_USER] = {CODE_USER, {0}},
        [FRAME_KERNEL] = {CODE_KERNEL, {0}},
        [FRAME_JIT] = {CODE_JIT, {0}},
        [FRAME_INTERPRETED] = {CODE_JIT, TEXT("Interpreter")},
        [FRAME_C1] = {CODE_JIT, TEXT("C1")},
        [FRAME_PYTHON] = {CODE_SCRIPT, TEXT("Python")},
        [FRAME_RUBY] = {CODE_SCRIPT, TEXT("Ruby")},
        [FRAME_PHP] = {CODE_SCRIPT, TEXT("PHP")},
        [FRAME_JAVASCRIPT] = {CODE_SCRIPT, TEXT("JavaScript")},
    };
    if (kind == FRAME_SEPARATOR) return (struct category_pair){0, 0};
    if (kind == FRAME_WAKER) return categories_intern(categories, TEXT("Waker"), COLOR_PURPLE, (struct text){0});
    return categories_intern_code(categories, kinds[kind].code, kinds[kind].subcategory);
}

static func_id intern_func(struct profile *profile, const struct collapsed_frame *frame,
                           const struct script_name *script) {
    char demangled[SYMBOL_NAME_BYTES_MAX];
    struct func func = {.resource = resource_none(), .source = source_none()};
    if (script->kind == SCRIPT_NONE)
        func.name = profile_string(profile, symbol_name_demangle_printed(frame->name, true, demangled));
    else
        script_frames_set_func(profile, script, &func);
    if (frame->file.bytes_count) func.source = profile_source(profile, frame->file);
    if (frame->library.bytes_count)
        func.resource = profile_resource(profile, profile_string(profile, frame->library), RESOURCE_LIBRARY);
    return profile_func(profile, &func);
}

/* Parses a name of generated code. The text does not say which code is generated, so "py::module_::def", of pybind11,
 * is none. */
static struct script_name parse_script(const struct collapsed_frame *frame) {
    struct script_name script = {0};
    if (!frame->file.bytes_count && !frame->library.bytes_count) script_name_parse(frame->name, &script);
    bool has_file = script.file.bytes_count && script.file.bytes[0] != ':';
    return script.kind == SCRIPT_PYTHON && !has_file ? (struct script_name){0} : script;
}

/* Returns NULL if memory ran out (latched). */
static struct known_frame *find_frame(struct collapsed_stacks *stacks, struct text text) {
    string_id string = strings_intern(&stacks->frame_texts, text);
    if (string_is_none(string)) return NULL;
    if (string.index < stacks->known_frames.count) return column_at(&stacks->known_frames, string.index);
    struct collapsed_frame parsed;
    dialect_parse_frame(stacks->dialect, text, &parsed);
    struct script_name script = parse_script(&parsed);
    struct known_frame known = {.func = intern_func(stacks->profile, &parsed, &script),
                                .frame = frame_none(),
                                .line = parsed.line,
                                .kind = (uint8_t)parsed.kind,
                                .is_inlined = parsed.is_inlined,
                                .is_generated = script.kind != SCRIPT_NONE};
    if (known.is_generated) known.generated = script_frames_category(stacks->profile, &script);
    struct known_frame *added = func_is_none(known.func) ? NULL : column_push(&stacks->known_frames);
    if (added) *added = known;
    return added;
}

static frame_id add_frame(struct profile *profile, const struct known_frame *known, struct category_pair category,
                          uint8_t inline_depth) {
    struct frame frame = frame_of_func(known->func, category);
    frame.line = known->line;
    frame.inline_depth = inline_depth;
    return profile_frame(profile, &frame);
}

/* Returns an inlined frame. Its category is that of its name, or of the frame that it is inlined into. */
static frame_id intern_inlined_frame(struct collapsed_stacks *stacks, const struct known_frame *known,
                                     struct level *level) {
    struct profile *profile = stacks->profile;
    const struct frame *caller = profile_frame_at(profile, profile_stack_at(profile, level->stack)->frame);
    bool is_deep = caller->inline_depth == INLINE_DEPTH_MAX;
    if (is_deep) level->notes |= STACK_NOTE_INLINED_DEEP;
    struct category_pair category = known->generated;
    if (!known->is_generated) category = (struct category_pair){caller->category, caller->subcategory};
    return add_frame(profile, known, category, is_deep ? 0 : (uint8_t)(caller->inline_depth + 1));
}

/* Returns the frame of that text as called from the level. */
static frame_id intern_frame(struct collapsed_stacks *stacks, struct text text, struct level *level) {
    struct known_frame *known = find_frame(stacks, text);
    if (!known) return frame_none();
    bool is_root = stack_is_none(level->stack);
    if (known->is_inlined && is_root) level->notes |= STACK_NOTE_INLINED_ROOT;
    if (known->is_inlined && !is_root) return intern_inlined_frame(stacks, known, level);
    if (!frame_is_none(known->frame)) return known->frame;
    struct category_pair category = known->generated;
    if (!known->is_generated) category = intern_category(&stacks->profile->categories, (enum frame_kind)known->kind);
    known->frame = add_frame(stacks->profile, known, category, 0);
    return known->frame;
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

/* Stores `text` as the previous stack's text and drops the levels that it does not share. Returns false if memory ran
 * out (latched). */
static bool keep_shared_levels(struct collapsed_stacks *stacks, struct text text) {
    size_t shared = shared_bytes_count(byte_buffer_text(&stacks->text), text);
    stacks->text.bytes_count = shared;
    if (!byte_buffer_append(&stacks->text, text_from(text, shared))) return false;
    for (; stacks->levels.count; stacks->levels.count--) {
        const struct level *last = column_at(&stacks->levels, stacks->levels.count - 1);
        if (last->end <= shared && dialect_frame_end(text, last->start) == last->end) return true;
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
        level.start = start;
        level.end = dialect_frame_end(text, start);
        struct text frame_text = text_slice(text, start, level.end);
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
