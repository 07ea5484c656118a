#include "frame_texts.h"

#include <inttypes.h>
#include <stdio.h>

#include "libconvert/base/cursor.h"
#include "libconvert/profile/nameless.h"
#include "writer/frame_parts.h"

static enum frame_mark mark_of_category(struct text name) {
    static const struct {
        struct text name;
        enum frame_mark mark;
    } CATEGORIES[] = {{TEXT("Other"), MARK_NONE},    {TEXT("User"), MARK_NONE},        {TEXT("Kernel"), MARK_KERNEL},
                      {TEXT("JIT"), MARK_GENERATED}, {TEXT("Script"), MARK_GENERATED}, {TEXT("Waker"), MARK_WAKER},
                      {TEXT("Idle"), MARK_IDLE}};
    for (size_t i = 0; i < sizeof CATEGORIES / sizeof *CATEGORIES; i++)
        if (text_equal(name, CATEGORIES[i].name)) return CATEGORIES[i].mark;
    return MARK_OTHER;
}

void frame_texts_init(struct frame_texts *texts, const struct profile *profile, unsigned parts) {
    *texts = (struct frame_texts){.profile = profile, .parts = parts, .buffer = {.failure = profile->failure}};
    strings_init(&texts->texts, profile->failure);
    texts->funcs = memory_allocate_zeroed(profile->failure, row_table_count(&profile->funcs), sizeof *texts->funcs);
    for (size_t i = 0; i < profile->categories.rows.count; i++)
        texts->of_category[i] = mark_of_category(categories_at(&profile->categories, i)->name);
}

void frame_texts_fini(struct frame_texts *texts) {
    strings_fini(&texts->texts);
    memory_free(texts->funcs);
    byte_buffer_fini(&texts->buffer);
}

/* ---- What would end a frame or a line. ---- */

static bool is_control(char byte) { return (unsigned char)byte < ' ' || byte == '\x7f'; }

static char replacement(char byte, enum name_change *change, bool is_thread) {
    *change = NAME_CHANGE_COUNT;
    if (byte == ';') *change = CHANGE_SEPARATOR;
    if (is_control(byte)) *change = CHANGE_CONTROL;
    if (byte == ' ' && is_thread) *change = CHANGE_THREAD_BLANK;
    static const char replacements[NAME_CHANGE_COUNT] = {
        [CHANGE_SEPARATOR] = ':', [CHANGE_CONTROL] = ' ', [CHANGE_THREAD_BLANK] = '_'};
    if (*change == CHANGE_CONTROL && is_thread) return '_';
    return *change == NAME_CHANGE_COUNT ? byte : replacements[*change];
}

/* Returns whether the word is shaped like a count. */
static bool is_number(struct text word) {
    bool has_digit = false;
    for (size_t i = 0; i < word.bytes_count; i++) {
        bool is_digit = cursor_is_digit(word.bytes[i]);
        if (!is_digit && !memchr("+-.", word.bytes[i], 3)) return false;
        has_digit |= is_digit;
    }
    return has_digit;
}

/* Returns whether a reader sees a name: it ignores one of blanks and control characters alone. */
static bool is_visible(struct text name) {
    for (size_t i = 0; i < name.bytes_count; i++)
        if (name.bytes[i] != ' ' && !is_control(name.bytes[i])) return true;
    return false;
}

/* Appends a name of the profile, changed as the format needs it. */
static void append_name(struct frame_texts *texts, struct text name, bool is_thread) {
    struct byte_buffer *buffer = &texts->buffer;
    size_t start = buffer->bytes_count;
    bool is_changed[NAME_CHANGE_COUNT + 1] = {false};
    byte_buffer_append(buffer, is_visible(name) ? name : TEXT("[unknown]"));
    for (size_t i = start; i < buffer->bytes_count; i++) {
        enum name_change change;
        buffer->bytes[i] = replacement(buffer->bytes[i], &change, is_thread);
        is_changed[change] = true;
    }
    struct text text = text_from(byte_buffer_text(buffer), start);
    if (text_equal(text, TEXT("#")) || text_starts_with(text, TEXT("# "))) {
        buffer->bytes[start] = '_';
        is_changed[CHANGE_COMMENT] = true;
    }
    size_t blank = text_find_last(text, ' ');
    if (blank < text.bytes_count && is_number(text_from(text, blank + 1))) {
        buffer->bytes[start + blank] = '_';
        is_changed[CHANGE_NUMBER] = true;
    }
    for (size_t i = 0; i < NAME_CHANGE_COUNT; i++) texts->changes[i] += is_changed[i];
}

/* ---- Frames. ---- */

/* Appends the place of a function without a name, which is called PLACE+0x12, fun_12 or 0x12. */
static void append_nameless(struct frame_texts *texts, const struct frame *frame, struct text name) {
    const struct profile *profile = texts->profile;
    struct text place = TEXT("[unknown]"), address = name;
    size_t at = text_find_last(name, '+');
    if (at < name.bytes_count) {
        place = text_slice(name, 0, at);
        address = text_from(name, at + 1);
    } else if (!lib_is_none(frame->lib)) {
        place = libs_at(&profile->libs, frame->lib)->name;
    }
    if (!cursor_take(&address, TEXT("0x"))) cursor_take(&address, TEXT("fun_"));
    bool is_unknown = text_equal(place, TEXT("[unknown]"));
    byte_buffer_append(&texts->buffer, TEXT("["));
    append_name(texts, is_unknown ? TEXT("unknown") : place, false);
    if (texts->parts & FRAME_PART_ADDRESSES) {
        byte_buffer_append(&texts->buffer, TEXT(" <"));
        byte_buffer_append(&texts->buffer, address);
        byte_buffer_append(&texts->buffer, TEXT(">"));
    }
    byte_buffer_append(&texts->buffer, TEXT("]"));
}

/* Returns whether the library has the name of the kernel or of a module. Among idle frames, only the loops of idle
 * processors have such a library: a wait has none, or in Firefox one of the process. */
static bool is_in_kernel(const struct profile *profile, const struct frame *frame) {
    if (lib_is_none(frame->lib)) return false;
    struct text name = libs_at(&profile->libs, frame->lib)->name;
    return text_starts_with(name, TEXT("[")) || text_starts_with(name, TEXT("vmlinux"));
}

enum frame_mark frame_texts_mark(const struct frame_texts *texts, const struct frame *frame) {
    if (frame->inline_depth) return MARK_INLINED;
    enum frame_mark mark = texts->of_category[frame->category];
    return mark == MARK_IDLE && is_in_kernel(texts->profile, frame) ? MARK_IDLE_KERNEL : mark;
}

/* Appends the suffix that marks such a frame. */
static void append_mark(struct frame_texts *texts, enum frame_mark mark) {
    static const struct {
        unsigned part; /* 0: the mark is always written */
        struct text suffix;
    } MARKS[FRAME_MARK_COUNT] = {[MARK_KERNEL] = {FRAME_PART_KERNEL, TEXT("_[k]")},
                                 [MARK_IDLE_KERNEL] = {FRAME_PART_KERNEL, TEXT("_[k]")},
                                 [MARK_GENERATED] = {FRAME_PART_JIT, TEXT("_[j]")},
                                 [MARK_WAKER] = {0, TEXT("_[w]")},
                                 [MARK_INLINED] = {FRAME_PART_INLINE, TEXT("_[i]")}};
    if (!MARKS[mark].part || texts->parts & MARKS[mark].part) byte_buffer_append(&texts->buffer, MARKS[mark].suffix);
}

static string_id take_text(struct frame_texts *texts) {
    string_id text = strings_intern(&texts->texts, byte_buffer_text(&texts->buffer));
    texts->buffer.bytes_count = 0;
    return text;
}

static struct func_texts *find_func(struct frame_texts *texts, const struct frame *frame) {
    struct func_texts *func = &texts->funcs[frame->func.index];
    if (func->is_known) return func;
    func->is_known = true;
    func->is_nameless = frame_is_nameless(texts->profile, frame);
    memset(func->by_mark, 0xff, sizeof func->by_mark); /* none */
    return func;
}

string_id frame_texts_of_frame(struct frame_texts *texts, frame_id id) {
    const struct profile *profile = texts->profile;
    const struct frame *frame = profile_frame_at(profile, id);
    struct func_texts *func = find_func(texts, frame);
    enum frame_mark mark = frame_texts_mark(texts, frame);
    if (!string_is_none(func->by_mark[mark])) return func->by_mark[mark];
    struct text name = strings_text(&profile->strings, profile_func_at(profile, frame->func)->name);
    if (func->is_nameless)
        append_nameless(texts, frame, name);
    else
        append_name(texts, name, false);
    append_mark(texts, mark);
    return func->by_mark[mark] = take_text(texts);
}

/* ---- Threads. ---- */

string_id frame_texts_of_thread(struct frame_texts *texts, const struct thread *thread) {
    int64_t pid = profile_process_at(texts->profile, thread->process)->pid;
    char ids[64] = "";
    int bytes_count = 0;
    append_name(texts, thread->name, true);
    if (texts->parts & FRAME_PART_PID)
        bytes_count =
            pid == PID_UNKNOWN ? snprintf(ids, sizeof ids, "-?") : snprintf(ids, sizeof ids, "-%" PRId64, pid);
    if (texts->parts & FRAME_PART_TID)
        snprintf(ids + bytes_count, sizeof ids - (size_t)bytes_count, "/%" PRId64, thread->tid);
    byte_buffer_append(&texts->buffer, text_of(ids));
    return take_text(texts);
}

string_id frame_texts_of_nothing(struct frame_texts *texts) {
    return strings_intern(&texts->texts, TEXT("[no stack]"));
}
