/* Checks whether a text is valid JSON by RFC 8259, in valid UTF-8. This parser is strict and shares no code with the
 * writer that it checks. */
#pragma once

#include "libconvert/base/text.h"

enum { JSON_CHECK_DEPTH_MAX = 128 };

struct json_check {
    const unsigned char *next;
    const unsigned char *end;
};

static inline bool json_check_take(struct json_check *check, unsigned char byte) {
    if (check->next == check->end || *check->next != byte) return false;
    check->next++;
    return true;
}

/* Takes the next byte if it lies between `low` and `high`, inclusive. Returns whether it does. */
static inline bool json_check_take_in(struct json_check *check, unsigned char low, unsigned char high) {
    if (check->next == check->end || *check->next < low || *check->next > high) return false;
    check->next++;
    return true;
}

static inline void json_check_skip_blanks(struct json_check *check) {
    while (check->next < check->end && *check->next && strchr(" \t\r\n", *check->next)) check->next++;
}

static inline bool json_check_word(struct json_check *check, const char *word) {
    for (; *word; word++)
        if (!json_check_take(check, (unsigned char)*word)) return false;
    return true;
}

static inline bool json_check_digits(struct json_check *check) {
    if (!json_check_take_in(check, '0', '9')) return false;
    while (json_check_take_in(check, '0', '9')) continue;
    return true;
}

static inline bool json_check_number(struct json_check *check) {
    json_check_take(check, '-');
    if (!json_check_take(check, '0') && !json_check_digits(check)) return false;
    if (json_check_take(check, '.') && !json_check_digits(check)) return false;
    if (!json_check_take(check, 'e') && !json_check_take(check, 'E')) return true;
    if (!json_check_take(check, '+')) json_check_take(check, '-');
    return json_check_digits(check);
}

/* Takes four hexadecimal digits and returns their value, or -1 if there are fewer. */
static inline int json_check_code_unit(struct json_check *check) {
    int unit = 0;
    for (int i = 0; i < 4; i++) {
        if (check->next == check->end) return -1;
        const char *digits = "0123456789abcdef";
        unsigned char byte = *check->next++;
        if (byte >= 'A' && byte <= 'F') byte = (unsigned char)(byte - 'A' + 'a');
        const char *found = byte ? strchr(digits, byte) : NULL;
        if (!found) return -1;
        unit = unit * 16 + (int)(found - digits);
    }
    return unit;
}

/* Takes the part of an escape sequence after the backslash. Surrogates must come in pairs. */
static inline bool json_check_escape(struct json_check *check) {
    if (check->next == check->end) return false;
    unsigned char byte = *check->next++;
    if (byte != 'u') return byte && strchr("\"\\/bfnrt", byte);
    int unit = json_check_code_unit(check);
    if (unit < 0xd800 || unit > 0xdfff) return unit >= 0;
    if (unit > 0xdbff || !json_check_word(check, "\\u")) return false;
    unit = json_check_code_unit(check);
    return unit >= 0xdc00 && unit <= 0xdfff;
}

/* Takes a character of several bytes, by table 3-7 of the Unicode standard. */
static inline bool json_check_long_character(struct json_check *check) {
    static const struct {
        unsigned char first_low, first_high, second_low, second_high, more_count;
    } forms[] = {
        {0xc2, 0xdf, 0x80, 0xbf, 0}, {0xe0, 0xe0, 0xa0, 0xbf, 1}, {0xe1, 0xec, 0x80, 0xbf, 1},
        {0xed, 0xed, 0x80, 0x9f, 1}, {0xee, 0xef, 0x80, 0xbf, 1}, {0xf0, 0xf0, 0x90, 0xbf, 2},
        {0xf1, 0xf3, 0x80, 0xbf, 2}, {0xf4, 0xf4, 0x80, 0x8f, 2},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (!json_check_take_in(check, forms[i].first_low, forms[i].first_high)) continue;
        if (!json_check_take_in(check, forms[i].second_low, forms[i].second_high)) return false;
        for (int more = 0; more < forms[i].more_count; more++)
            if (!json_check_take_in(check, 0x80, 0xbf)) return false;
        return true;
    }
    return false;
}

static inline bool json_check_string(struct json_check *check) {
    if (!json_check_take(check, '"')) return false;
    while (!json_check_take(check, '"')) {
        if (json_check_take(check, '\\')) {
            if (!json_check_escape(check)) return false;
        } else if (!json_check_take_in(check, 0x20, 0x7f) && !json_check_long_character(check)) {
            return false;
        }
    }
    return true;
}

static inline bool json_check_value(struct json_check *check, int depth);

/* Takes the members of an object or the elements of an array, after the opening bracket. */
static inline bool json_check_members(struct json_check *check, bool is_object, int depth) {
    unsigned char closing = is_object ? '}' : ']';
    json_check_skip_blanks(check);
    if (json_check_take(check, closing)) return true;
    do {
        json_check_skip_blanks(check);
        if (is_object) {
            if (!json_check_string(check)) return false;
            json_check_skip_blanks(check);
            if (!json_check_take(check, ':')) return false;
        }
        if (!json_check_value(check, depth)) return false;
    } while (json_check_take(check, ','));
    return json_check_take(check, closing);
}

/* Takes a value and the white space on both sides of it. */
static inline bool json_check_value(struct json_check *check, int depth) {
    if (depth == JSON_CHECK_DEPTH_MAX) return false;
    json_check_skip_blanks(check);
    bool is_good;
    if (check->next < check->end && *check->next == '"')
        is_good = json_check_string(check);
    else if (json_check_take(check, '{'))
        is_good = json_check_members(check, true, depth + 1);
    else if (json_check_take(check, '['))
        is_good = json_check_members(check, false, depth + 1);
    else if (check->next < check->end && *check->next == 't')
        is_good = json_check_word(check, "true");
    else if (check->next < check->end && *check->next == 'f')
        is_good = json_check_word(check, "false");
    else if (check->next < check->end && *check->next == 'n')
        is_good = json_check_word(check, "null");
    else
        is_good = json_check_number(check);
    if (is_good) json_check_skip_blanks(check);
    return is_good;
}

/* Returns true if the whole text is one JSON value. Otherwise sets *bad_at to the offset after the last valid byte. */
static inline bool json_is_well_formed(struct text text, size_t *bad_at) {
    const unsigned char *start = (const unsigned char *)text.bytes;
    struct json_check check = {.next = start, .end = start + text.bytes_count};
    bool is_good = json_check_value(&check, 0) && check.next == check.end;
    *bad_at = (size_t)(check.next - start);
    return is_good;
}
