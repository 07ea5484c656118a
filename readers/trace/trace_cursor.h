/* Reads the fields of entries from a bounded run of bytes. A field that does not fit makes the cursor bad. Reading from
 * a bad cursor returns 0 or an empty text, so a caller checks only once, at the end of an entry. */
#pragma once

#include <stdint.h>

#include "libconvert/base/text.h"

struct trace_cursor {
    const unsigned char *next;
    const unsigned char *end;
    bool is_bad;
};

static inline struct trace_cursor trace_cursor_of(struct text bytes) {
    const unsigned char *start = (const unsigned char *)(bytes.bytes ? bytes.bytes : "");
    return (struct trace_cursor){.next = start, .end = start + bytes.bytes_count};
}

static inline size_t trace_cursor_left(const struct trace_cursor *cursor) {
    return (size_t)(cursor->end - cursor->next);
}

static inline void trace_cursor_spoil(struct trace_cursor *cursor) {
    cursor->is_bad = true;
    cursor->next = cursor->end;
}

/* Does what trace_cursor_leb does, for numbers of any length. */
uint64_t trace_cursor_long_leb(struct trace_cursor *cursor);

/* Reads an unsigned LEB128 of at most 10 bytes, within 64 bits. Most have one or two. */
static inline uint64_t trace_cursor_leb(struct trace_cursor *cursor) {
    const unsigned char *bytes = cursor->next;
    size_t left = trace_cursor_left(cursor);
    if (left && bytes[0] < 0x80) {
        cursor->next += 1;
        return bytes[0];
    }
    if (left > 1 && bytes[1] < 0x80) {
        cursor->next += 2;
        return (bytes[0] & 0x7fu) | (uint64_t)bytes[1] << 7;
    }
    return trace_cursor_long_leb(cursor);
}

static inline int64_t trace_cursor_zigzag(struct trace_cursor *cursor) {
    uint64_t value = trace_cursor_leb(cursor);
    return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

/* Reads a number. A number above `max` makes the cursor bad. */
static inline uint64_t trace_cursor_bounded(struct trace_cursor *cursor, uint64_t max) {
    uint64_t value = trace_cursor_leb(cursor);
    if (value <= max) return value;
    trace_cursor_spoil(cursor);
    return 0;
}

static inline uint8_t trace_cursor_byte(struct trace_cursor *cursor) {
    if (cursor->next < cursor->end) return *cursor->next++;
    trace_cursor_spoil(cursor);
    return 0;
}

/* Returns the next bytes without copying them. */
static inline struct text trace_cursor_bytes(struct trace_cursor *cursor, uint64_t bytes_count) {
    if (bytes_count > trace_cursor_left(cursor)) {
        trace_cursor_spoil(cursor);
        bytes_count = 0;
    }
    struct text bytes = {(const char *)cursor->next, (size_t)bytes_count};
    cursor->next += bytes_count;
    return bytes;
}

/* Reads a length and returns as many bytes without copying them. */
static inline struct text trace_cursor_text(struct trace_cursor *cursor) {
    return trace_cursor_bytes(cursor, trace_cursor_leb(cursor));
}

/* Reads an IEEE double of 8 bytes. */
double trace_cursor_real(struct trace_cursor *cursor);
