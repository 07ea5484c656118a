/* Borrowed bytes: a pointer and a length. A text is not NUL-terminated. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct text {
    const char *bytes; /* may be NULL if bytes_count is 0 */
    size_t bytes_count;
};

#define TEXT(literal) ((struct text){(literal), sizeof(literal) - 1})

/* The two arguments of printf for "%.*s". */
#define TEXT_ARGS(text) (int)(text).bytes_count, (text).bytes

static inline struct text text_of(const char *terminated) { return (struct text){terminated, strlen(terminated)}; }

static inline bool text_equal(struct text a, struct text b) {
    return a.bytes_count == b.bytes_count && (a.bytes_count == 0 || memcmp(a.bytes, b.bytes, a.bytes_count) == 0);
}

/* Returns whether the array contains the text. */
#define TEXT_IS_IN(text, array) text_is_in(text, array, sizeof(array) / sizeof *(array))
static inline bool text_is_in(struct text text, const struct text *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (text_equal(text, list[i])) return true;
    return false;
}

static inline bool text_starts_with(struct text text, struct text start) {
    return text.bytes_count >= start.bytes_count && text_equal((struct text){text.bytes, start.bytes_count}, start);
}

/* Returns whether the text begins with one of the texts in the array. */
#define TEXT_STARTS_IN(text, array) text_starts_in(text, array, sizeof(array) / sizeof *(array))
static inline bool text_starts_in(struct text text, const struct text *starts, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (text_starts_with(text, starts[i])) return true;
    return false;
}

/* Orders texts by their bytes, as strcmp does. */
static inline int text_compare(struct text a, struct text b) {
    size_t common_bytes = a.bytes_count < b.bytes_count ? a.bytes_count : b.bytes_count;
    int order = common_bytes ? memcmp(a.bytes, b.bytes, common_bytes) : 0;
    return order ? order : (a.bytes_count > b.bytes_count) - (a.bytes_count < b.bytes_count);
}

/* Returns the bytes from `from` (at most the length) up to but excluding `to` (clipped to the length). */
static inline struct text text_slice(struct text text, size_t from, size_t to) {
    if (to > text.bytes_count) to = text.bytes_count;
    if (from > to) from = to;
    /* C allows no addition to NULL, not even of 0. */
    return (struct text){from ? text.bytes + from : text.bytes, to - from};
}

static inline struct text text_from(struct text text, size_t from) { return text_slice(text, from, text.bytes_count); }

static inline bool text_ends_with(struct text text, struct text end) {
    return text.bytes_count >= end.bytes_count && text_equal(text_from(text, text.bytes_count - end.bytes_count), end);
}

/* Returns whether the text ends with one of the texts in the array. */
#define TEXT_ENDS_IN(text, array) text_ends_in(text, array, sizeof(array) / sizeof *(array))
static inline bool text_ends_in(struct text text, const struct text *ends, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (text_ends_with(text, ends[i])) return true;
    return false;
}

/* Returns whether each byte of the text is one of the allowed ones. */
static inline bool text_has_only(struct text text, const char *allowed) {
    for (size_t i = 0; i < text.bytes_count; i++)
        if (!text.bytes[i] || !strchr(allowed, text.bytes[i])) return false;
    return true;
}

/* Return the position of the first or the last such byte, or the length if there is none. */
static inline size_t text_find(struct text text, char byte) {
    const char *found = text.bytes_count ? memchr(text.bytes, byte, text.bytes_count) : NULL;
    return found ? (size_t)(found - text.bytes) : text.bytes_count;
}

static inline size_t text_find_last(struct text text, char byte) {
    const char *found = text.bytes_count ? memrchr(text.bytes, byte, text.bytes_count) : NULL;
    return found ? (size_t)(found - text.bytes) : text.bytes_count;
}

/* Returns the text before the first such byte, or all of it, and removes both from the text. */
static inline struct text text_take_until(struct text *text, char byte) {
    struct text part = text_slice(*text, 0, text_find(*text, byte));
    *text = text_from(*text, part.bytes_count + 1);
    return part;
}

/* Returns the position of the first such part, which must not be empty, or the length if there is none. */
static inline size_t text_find_part(struct text text, struct text part) {
    const char *found = text.bytes_count ? memmem(text.bytes, text.bytes_count, part.bytes, part.bytes_count) : NULL;
    return found ? (size_t)(found - text.bytes) : text.bytes_count;
}
static inline bool text_has(struct text text, struct text part) {
    return text_find_part(text, part) < text.bytes_count;
}

/* Returns the text of a file without its byte order mark, if it has one. */
static inline struct text text_without_mark(struct text text) {
    return text_from(text, text_starts_with(text, TEXT("\xef\xbb\xbf")) ? 3 : 0);
}

/* Returns the text of a file from its first visible character on. */
static inline struct text text_content(struct text text) {
    text = text_without_mark(text);
    while (text.bytes_count && memchr(" \t\r\n", (unsigned char)text.bytes[0], 4)) text = text_from(text, 1);
    return text;
}

static inline bool text_is_blank_byte(char byte) { return byte == ' ' || byte == '\t'; }

static inline struct text text_trim_start(struct text text) {
    size_t blank_count = 0;
    while (blank_count < text.bytes_count && text_is_blank_byte(text.bytes[blank_count])) blank_count++;
    return text_from(text, blank_count);
}

static inline struct text text_trim_end(struct text text) {
    while (text.bytes_count && text_is_blank_byte(text.bytes[text.bytes_count - 1])) text.bytes_count--;
    return text;
}

static inline struct text text_trim(struct text text) { return text_trim_end(text_trim_start(text)); }

/* Copies the text, and a NUL after it. Returns false, and copies nothing, if they need more than capacity_bytes. */
static inline bool text_copy(struct text text, char *out, size_t capacity_bytes) {
    if (text.bytes_count >= capacity_bytes) return false;
    if (text.bytes_count) memcpy(out, text.bytes, text.bytes_count);
    out[text.bytes_count] = '\0';
    return true;
}

/* Writes the bytes in lower-case hex and a NUL, and returns the digits. */
static inline struct text text_hex(struct text bytes, char *hex) {
    char *out = hex;
    for (size_t i = 0; i < bytes.bytes_count; i++) {
        *out++ = "0123456789abcdef"[(unsigned char)bytes.bytes[i] >> 4];
        *out++ = "0123456789abcdef"[bytes.bytes[i] & 15];
    }
    *out = '\0';
    return (struct text){hex, 2 * bytes.bytes_count};
}

/* Returns what follows the last slash: the file's own name. */
static inline struct text text_base_name(struct text path) {
    size_t slash = text_find_last(path, '/');
    return slash == path.bytes_count ? path : text_from(path, slash + 1);
}
