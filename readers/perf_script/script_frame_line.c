#include "script_frame_line.h"

#include "libconvert/base/cursor.h"

/* Cuts the offset off "name+0x12". */
static bool take_offset(struct text *name, uint64_t *offset) {
    size_t plus = text_find_last(*name, '+');
    if (plus == name->bytes_count || plus == 0) return false;
    struct text tail = text_from(*name, plus + 1);
    if (!cursor_take(&tail, TEXT("0x")) || !cursor_parse_number(tail, 16, offset)) return false;
    name->bytes_count = plus;
    return true;
}

/* Returns where the group in parentheses that ends the text opens, or the text's length if no group ends it. If the
 * parentheses do not balance, which a library's name can cause, the last one after a blank opens the group. */
static size_t find_last_group(struct text text) {
    if (!text_ends_with(text, TEXT(")"))) return text.bytes_count;
    size_t depth = 0;
    for (size_t i = text.bytes_count; i-- > 0;) {
        if (text.bytes[i] == ')') depth++;
        if (text.bytes[i] != '(' || --depth > 0) continue;
        return i == 0 || text_is_blank_byte(text.bytes[i - 1]) ? i : text.bytes_count;
    }
    for (size_t i = text.bytes_count; i-- > 1;)
        if (text.bytes[i] == '(' && text_is_blank_byte(text.bytes[i - 1])) return i;
    return text.bytes_count;
}

/* -F brstackinsn prints instructions: their addresses, a tab, and their bytes or their text, such as "call (%rax)".
 * simpleperf's frames have a tab there too, and end in a file: "(/system/lib/libc.so)", "([kernel.kallsyms])". */
static bool ends_in_file(struct text text) {
    struct text group = text_from(text, find_last_group(text));
    return text_starts_with(group, TEXT("(/")) || text_starts_with(group, TEXT("(["));
}

/* The Swift Profile Recorder marks an inlined function by its name, and gives it the place of the function that it is
 * inlined into: "inner() [inlined]+0x6 (/opt/server)". perf writes "inner() (inlined)". */
static bool take_inlined_mark(struct text *name) {
    static const struct text mark = TEXT(" [inlined]");
    if (!text_ends_with(*name, mark)) return false;
    name->bytes_count -= mark.bytes_count;
    return true;
}

static struct text clean_library(struct text library) {
    static const struct text deleted = TEXT(" (deleted)");
    uint64_t offset;
    take_offset(&library, &offset);
    if (text_ends_with(library, deleted)) library.bytes_count -= deleted.bytes_count;
    if (text_equal(library, TEXT("[unknown]"))) return (struct text){0};
    return library;
}

/* less -S, cut and narrow terminals cut lines, often within the library: "main+0x12 (/usr/lib/x86_64->". Cuts off what
 * is left of it. */
static bool drop_cut_library(struct text *text) {
    enum { END_BYTES = 20 }; /* The end of a name with any offset: a byte of the symbol, "+0x" and 16 digits. */
    for (size_t at = 1; at < text->bytes_count; at++) {
        if (text->bytes[at] != '(' || !text_is_blank_byte(text->bytes[at - 1])) continue;
        struct text name = text_trim_end(text_slice(*text, 0, at));
        struct text end = text_from(name, name.bytes_count > END_BYTES ? name.bytes_count - END_BYTES : 0);
        uint64_t offset;
        if (!text_equal(name, TEXT("[unknown]")) && !take_offset(&end, &offset)) continue;
        bool is_open = text_find(text_from(*text, at), ')') == text->bytes_count - at;
        if (is_open) *text = name;
        return is_open;
    }
    return false;
}

bool script_frame_line_parse(struct text line, struct perf_frame_line *out) {
    *out = (struct perf_frame_line){0};
    struct text rest = text_trim(line), after = rest;
    out->has_address = cursor_parse_number(cursor_take_token(&after), 16, &out->address);
    if (out->has_address && text_starts_with(after, TEXT("\t")) && !ends_in_file(after)) return false;
    if (out->has_address)
        rest = text_trim_start(after);
    else if (!text_starts_with(rest, TEXT("[unknown]")))
        return false;

    bool is_outside = false;
    size_t group = find_last_group(rest);
    if (group < rest.bytes_count && !text_equal(rest, TEXT("(cookie)"))) {
        struct text inside = text_slice(rest, group + 1, rest.bytes_count - 1);
        rest = text_trim_end(text_slice(rest, 0, group));
        out->is_inlined = text_equal(inside, TEXT("inlined"));
        if (!out->is_inlined) out->library = clean_library(inside);
        is_outside = text_equal(inside, TEXT("[unknown]"));
    } else {
        out->is_cut = drop_cut_library(&rest);
    }
    if (text_equal(rest, TEXT("(cookie)"))) {
        out->is_cookie = true;
        return true;
    }
    out->has_offset = take_offset(&rest, &out->offset);
    if (take_inlined_mark(&rest)) {
        out->is_inlined = true;
        out->has_offset = false;
        out->library = (struct text){0};
    }
    out->is_unknown = text_equal(rest, TEXT("[unknown]")) || (is_outside && !rest.bytes_count);
    if (!out->is_unknown) out->symbol = rest;
    return true;
}

/* True if the token cannot be an English word. "decade" is a hexadecimal number too. */
static bool is_no_word(struct text token) {
    enum { DIGITS_MIN = 6 };
    bool has_digit = false;
    for (size_t i = 0; i < token.bytes_count; i++) has_digit |= cursor_is_digit(token.bytes[i]);
    return has_digit && token.bytes_count >= DIGITS_MIN;
}

bool script_frame_line_is_bare(struct text line) {
    struct perf_frame_line frame;
    if (!line.bytes_count || text_is_blank_byte(line.bytes[0]) || !script_frame_line_parse(line, &frame)) return false;
    line = text_trim_end(line);
    bool has_group = find_last_group(line) < line.bytes_count;
    return has_group || frame.has_offset || (frame.has_address && is_no_word(cursor_take_token(&line)));
}

bool script_frame_line_is_any(struct text line) {
    struct perf_frame_line frame;
    bool is_indented = line.bytes_count && text_is_blank_byte(line.bytes[0]);
    return is_indented ? script_frame_line_parse(line, &frame) : script_frame_line_is_bare(line);
}

/* Recognises "libc.so.6[27b25]", which perf prints if it finds no source line. */
static bool is_library_offset(struct text text) {
    size_t open = text_find_last(text, '[');
    uint64_t offset;
    if (open == text.bytes_count || !text_ends_with(text, TEXT("]"))) return false;
    return cursor_parse_number(text_slice(text, open + 1, text.bytes_count - 1), 16, &offset);
}

bool script_source_line_parse(struct text line, struct perf_source_line *out) {
    *out = (struct perf_source_line){0};
    struct text text = text_trim(line);
    size_t group = find_last_group(text);
    if (group < text.bytes_count) {
        struct text inside = text_slice(text, group + 1, text.bytes_count - 1);
        out->is_inlined = text_equal(inside, TEXT("inlined"));
        if (!out->is_inlined && !text_starts_with(inside, TEXT("discriminator "))) return false;
        text = text_trim_end(text_slice(text, 0, group));
    }
    if (is_library_offset(text)) return true;
    size_t colon = text_find_last(text, ':');
    int64_t number;
    if (colon == text.bytes_count || !cursor_parse_id(text_from(text, colon + 1), &number) || number < 0) return false;
    struct text file = text_slice(text, 0, colon);
    if (!number || !file.bytes_count || text_equal(file, TEXT("??"))) return true;
    out->file = file;
    out->line = (uint32_t)number;
    return true;
}
