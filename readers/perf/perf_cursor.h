/* Reads the little-endian fields of a record from a bounded run of bytes of any alignment. A field that does not fit
 * makes the cursor bad. Reads from a bad cursor return 0 or nothing. Callers check the cursor once, after the last
 * read. */
#pragma once

#include <endian.h>
#include <stdint.h>

#include "libconvert/base/text.h"

struct perf_cursor {
    struct text left;
    bool is_bad;
};

static inline struct perf_cursor perf_cursor_of(struct text bytes) { return (struct perf_cursor){.left = bytes}; }

/* Takes the next bytes without copying them. */
static inline struct text perf_cursor_bytes(struct perf_cursor *cursor, uint64_t bytes_count) {
    if (bytes_count > cursor->left.bytes_count) {
        *cursor = (struct perf_cursor){.is_bad = true};
        return (struct text){0};
    }
    struct text taken = text_slice(cursor->left, 0, (size_t)bytes_count);
    cursor->left = text_from(cursor->left, (size_t)bytes_count);
    return taken;
}

/* Takes an array of `count` 64-bit words of any alignment, without copying it. */
static inline struct text perf_cursor_words(struct perf_cursor *cursor, uint64_t count) {
    /* A count that would overflow is certainly larger than the record. */
    return perf_cursor_bytes(cursor, count > UINT32_MAX ? UINT64_MAX : count * sizeof(uint64_t));
}

static inline uint64_t perf_load_u64(const char *bytes) {
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    return le64toh(value);
}

static inline uint32_t perf_load_u32(const char *bytes) {
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return le32toh(value);
}

/* Returns a word of an array that perf_cursor_words returned. */
static inline uint64_t perf_word_at(struct text words, size_t index) {
    return perf_load_u64(words.bytes + index * sizeof(uint64_t));
}

static inline uint64_t perf_cursor_u64(struct perf_cursor *cursor) {
    struct text bytes = perf_cursor_bytes(cursor, sizeof(uint64_t));
    return bytes.bytes_count ? perf_load_u64(bytes.bytes) : 0;
}

static inline uint32_t perf_cursor_u32(struct perf_cursor *cursor) {
    struct text bytes = perf_cursor_bytes(cursor, sizeof(uint32_t));
    return bytes.bytes_count ? perf_load_u32(bytes.bytes) : 0;
}

static inline int32_t perf_cursor_s32(struct perf_cursor *cursor) { return (int32_t)perf_cursor_u32(cursor); }

static inline uint16_t perf_cursor_u16(struct perf_cursor *cursor) {
    struct text bytes = perf_cursor_bytes(cursor, sizeof(uint16_t));
    uint16_t value = 0;
    if (bytes.bytes_count) memcpy(&value, bytes.bytes, sizeof value);
    return le16toh(value);
}

/* Returns the remaining bytes up to the first NUL. */
static inline struct text perf_cursor_name(const struct perf_cursor *cursor) {
    return text_slice(cursor->left, 0, text_find(cursor->left, '\0'));
}

/* Takes the bytes up to the first NUL, and that. */
static inline struct text perf_cursor_take_name(struct perf_cursor *cursor) {
    struct text name = perf_cursor_name(cursor);
    perf_cursor_bytes(cursor, (uint64_t)name.bytes_count + 1);
    return name;
}
