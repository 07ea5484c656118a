#include "perf_frame_line.h"

enum { HEX_DIGITS_MAX = 16 };

static int hex_value(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
    return -1;
}

/* All of the text as at most 16 hex digits. */
static bool parse_hex(struct text digits, uint64_t *out) {
    uint64_t value = 0;
    if (!digits.bytes_count || digits.bytes_count > HEX_DIGITS_MAX) return false;
    for (size_t i = 0; i < digits.bytes_count; i++) {
        int digit = hex_value(digits.bytes[i]);
        if (digit < 0) return false;
        value = value << 4 | (uint64_t)digit;
    }
    *out = value;
    return true;
}

static size_t first_token_bytes(struct text text) {
    size_t count = 0;
    while (count < text.bytes_count && !text_is_blank_byte(text.bytes[count])) count++;
    return count;
}

/* "name+0x12": cuts the offset off. */
static bool take_offset(struct text *name, uint64_t *offset) {
    size_t plus = text_find_last(*name, '+');
    if (plus == name->bytes_count || plus == 0) return false;
    struct text tail = text_from(*name, plus + 1);
    if (!text_starts_with(tail, TEXT("0x")) || !parse_hex(text_from(tail, 2), offset)) return false;
    name->bytes_count = plus;
    return true;
}

/* Where the group in parentheses that ends the text opens: the last balanced one, or, where a library's name is not
 * balanced, the last that opens behind a blank. The length of the text when it does not end with such a group. */
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

static struct text clean_library(struct text library) {
    static const struct text deleted = TEXT(" (deleted)");
    uint64_t offset;
    take_offset(&library, &offset);
    if (text_ends_with(library, deleted)) library.bytes_count -= deleted.bytes_count;
    if (text_equal(library, TEXT("[unknown]"))) return (struct text){0};
    return library;
}

bool perf_frame_line_parse(struct text line, struct perf_frame_line *out) {
    *out = (struct perf_frame_line){0};
    struct text rest = text_trim(line);
    size_t token_bytes = first_token_bytes(rest);
    out->has_address = parse_hex(text_slice(rest, 0, token_bytes), &out->address);
    if (out->has_address)
        rest = text_trim_start(text_from(rest, token_bytes));
    else if (!text_starts_with(rest, TEXT("[unknown]")))
        return false;

    size_t group = find_last_group(rest);
    if (group < rest.bytes_count && !text_equal(rest, TEXT("(cookie)"))) {
        struct text inside = text_slice(rest, group + 1, rest.bytes_count - 1);
        rest = text_trim_end(text_slice(rest, 0, group));
        out->is_inlined = text_equal(inside, TEXT("inlined"));
        if (!out->is_inlined) out->library = clean_library(inside);
    }
    if (text_equal(rest, TEXT("(cookie)"))) {
        out->is_cookie = true;
        return true;
    }
    out->has_offset = take_offset(&rest, &out->offset);
    if (!text_equal(rest, TEXT("[unknown]"))) out->symbol = rest;
    return true;
}

static bool parse_line_number(struct text digits, uint32_t *out) {
    uint64_t value = 0;
    if (!digits.bytes_count || digits.bytes_count > 9) return false;
    for (size_t i = 0; i < digits.bytes_count; i++) {
        if (digits.bytes[i] < '0' || digits.bytes[i] > '9') return false;
        value = value * 10 + (uint64_t)(digits.bytes[i] - '0');
    }
    *out = (uint32_t)value;
    return true;
}

/* "libc.so.6[27b25]", what perf prints where it finds no line. */
static bool is_library_offset(struct text text) {
    size_t open = text_find_last(text, '[');
    uint64_t offset;
    if (open == text.bytes_count || !text_ends_with(text, TEXT("]"))) return false;
    return parse_hex(text_slice(text, open + 1, text.bytes_count - 1), &offset);
}

bool perf_source_line_parse(struct text line, struct perf_source_line *out) {
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
    uint32_t number;
    if (colon == text.bytes_count || !parse_line_number(text_from(text, colon + 1), &number)) return false;
    struct text file = text_slice(text, 0, colon);
    if (!number || !file.bytes_count || text_equal(file, TEXT("??"))) return true;
    out->file = file;
    out->line = number;
    return true;
}
