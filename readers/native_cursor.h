/* Reading the fields of a native trace's entries from a bounded run of bytes. What does not fit makes the cursor bad,
 * and everything read from a bad cursor is 0 or empty: so a reader checks once, at the end of an entry. */
#ifndef GECKO_NATIVE_CURSOR_H
#define GECKO_NATIVE_CURSOR_H

#include <stdint.h>

#include "libconvert/text.h"

struct native_cursor {
    const unsigned char *next;
    const unsigned char *end;
    bool is_bad;
};

static inline struct native_cursor native_cursor_of(struct text bytes) {
    const unsigned char *start = (const unsigned char *)(bytes.bytes ? bytes.bytes : "");
    return (struct native_cursor){.next = start, .end = start + bytes.bytes_count};
}

static inline size_t native_cursor_left(const struct native_cursor *cursor) {
    return (size_t)(cursor->end - cursor->next);
}

static inline void native_cursor_spoil(struct native_cursor *cursor) {
    cursor->is_bad = true;
    cursor->next = cursor->end;
}

/* The general case of native_cursor_leb. */
uint64_t native_cursor_long_leb(struct native_cursor *cursor);

/* Unsigned LEB128 of at most 10 bytes, within 64 bits. */
static inline uint64_t native_cursor_leb(struct native_cursor *cursor) {
    if (cursor->next < cursor->end && *cursor->next < 0x80) return *cursor->next++;
    return native_cursor_long_leb(cursor);
}

static inline int64_t native_cursor_zigzag(struct native_cursor *cursor) {
    uint64_t value = native_cursor_leb(cursor);
    return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

/* A number of at most `max`; a greater one is bad. */
static inline uint64_t native_cursor_bounded(struct native_cursor *cursor, uint64_t max) {
    uint64_t value = native_cursor_leb(cursor);
    if (value <= max) return value;
    native_cursor_spoil(cursor);
    return 0;
}

static inline uint8_t native_cursor_byte(struct native_cursor *cursor) {
    if (cursor->next < cursor->end) return *cursor->next++;
    native_cursor_spoil(cursor);
    return 0;
}

/* The next bytes, where they lie. */
static inline struct text native_cursor_bytes(struct native_cursor *cursor, uint64_t bytes_count) {
    if (bytes_count > native_cursor_left(cursor)) {
        native_cursor_spoil(cursor);
        bytes_count = 0;
    }
    struct text bytes = {(const char *)cursor->next, (size_t)bytes_count};
    cursor->next += bytes_count;
    return bytes;
}

/* A length and as many bytes, where they lie. */
static inline struct text native_cursor_text(struct native_cursor *cursor) {
    return native_cursor_bytes(cursor, native_cursor_leb(cursor));
}

/* An IEEE double of 8 bytes. */
double native_cursor_real(struct native_cursor *cursor);

#endif
