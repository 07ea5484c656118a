#include "cursor.h"

bool cursor_take(struct text *text, struct text literal) {
    if (!text_starts_with(*text, literal)) return false;
    *text = text_from(*text, literal.bytes_count);
    return true;
}

struct text cursor_take_token(struct text *text) {
    *text = text_trim_start(*text);
    size_t count = 0;
    while (count < text->bytes_count && !text_is_blank_byte(text->bytes[count])) count++;
    struct text token = text_slice(*text, 0, count);
    *text = text_from(*text, count);
    return token;
}

struct text cursor_take_word(struct text *text) {
    size_t count = 0;
    while (count < text->bytes_count && cursor_is_word_byte(text->bytes[count])) count++;
    struct text word = text_slice(*text, 0, count);
    *text = text_from(*text, count);
    return word;
}

bool cursor_take_number(struct text *text, unsigned base, uint64_t *out) {
    enum { SAFE_DIGITS = 15 }; /* their value fits 64 bits in any base up to 16 */
    uint64_t value = 0;
    size_t count = 0;
    for (; count < text->bytes_count; count++) {
        unsigned digit = (unsigned)cursor_digit_value(text->bytes[count]);
        if (digit >= base) break;
        if (count < SAFE_DIGITS) {
            value = value * base + digit;
            continue;
        }
        if (__builtin_mul_overflow(value, base, &value)) return false;
        if (__builtin_add_overflow(value, digit, &value)) return false;
    }
    if (!count) return false;
    *text = text_from(*text, count);
    *out = value;
    return true;
}

bool cursor_take_id(struct text *text, int64_t *out) {
    struct text left = *text;
    bool is_negative = cursor_take(&left, TEXT("-"));
    uint64_t value;
    if (!cursor_take_number(&left, 10, &value) || value > INT32_MAX) return false;
    *text = left;
    *out = is_negative ? -(int64_t)value : (int64_t)value;
    return true;
}

bool cursor_parse_number(struct text text, unsigned base, uint64_t *out) {
    return cursor_take_number(&text, base, out) && text.bytes_count == 0;
}

bool cursor_parse_id(struct text text, int64_t *out) { return cursor_take_id(&text, out) && text.bytes_count == 0; }

bool cursor_take_last_place(struct text *text, uint32_t *out) {
    if (!text->bytes_count || !cursor_is_digit(text->bytes[text->bytes_count - 1])) return false;
    size_t colon = text_find_last(*text, ':');
    int64_t number;
    if (colon == text->bytes_count || !cursor_parse_id(text_from(*text, colon + 1), &number) || number < 0)
        return false;
    text->bytes_count = colon;
    *out = (uint32_t)number;
    return true;
}
