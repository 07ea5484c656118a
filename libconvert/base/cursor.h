/* Functions that parse a text from its start. Each takes what it expects and leaves the rest. If the text begins with
 * something else, they return false and leave all of it. */
#pragma once

#include <stdint.h>

#include "text.h"

static inline bool cursor_is_digit(char byte) { return byte >= '0' && byte <= '9'; }

/* Returns how many decimal digits the text begins with. */
static inline size_t cursor_count_digits(struct text text) {
    size_t count = 0;
    while (count < text.bytes_count && cursor_is_digit(text.bytes[count])) count++;
    return count;
}

/* Returns whether the byte can be in a word: a letter of ASCII, a digit or an underscore. */
static inline bool cursor_is_word_byte(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' || cursor_is_digit(byte);
}

/* Returns the value of a digit of a base up to 16, in either case, or -1 if the byte is not a digit. */
static inline int cursor_digit_value(char byte) {
    if (cursor_is_digit(byte)) return byte - '0';
    if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
    return -1;
}

/* Takes exactly these bytes. */
bool cursor_take(struct text *text, struct text literal);

/* Takes blanks, then everything up to the next blank; returns an empty text at the end. */
struct text cursor_take_token(struct text *text);

/* Takes the bytes of a word; returns an empty text if there is none. */
struct text cursor_take_word(struct text *text);

/* Takes all digits of the base (10 or 16) at the start: at least one. Returns false if their value does not fit 64
 * bits. */
bool cursor_take_number(struct text *text, unsigned base, uint64_t *out);

/* Takes a decimal number of at most INT32_MAX, optionally with a minus sign: a pid, a tid, a line. */
bool cursor_take_id(struct text *text, int64_t *out);

/* Parses the whole text as such a number or id; anything after it is an error. */
bool cursor_parse_number(struct text text, unsigned base, uint64_t *out);
bool cursor_parse_id(struct text text, int64_t *out);

/* Takes a line or a column, as ":12", off the end of the text. */
bool cursor_take_last_place(struct text *text, uint32_t *out);
