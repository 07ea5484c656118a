/* Numbers of the trace, in LEB128. Writers reserve the worst case before they write. The code is for little-endian
 * machines. */
#pragma once

#include <stdint.h>
#include <string.h>

enum { LEB128_BYTES_MAX = 10, LEB128_PADDED_BYTES = 3 };

/* Numbers below this take at most three bytes, and are composed in a register. There is a branch for each length: if
 * the length were computed, the next event would have to wait for it, but a predicted branch lets the processor go
 * ahead. */
#define LEB128_SMALL_END ((uint64_t)1 << 21)

/* A sequence of numbers that take at most eight bytes together. */
struct leb128_word {
    uint64_t bytes;
    uint32_t bits;
};

static inline __attribute__((always_inline)) void leb128_append_small(struct leb128_word *word, uint64_t value) {
    if (__builtin_expect(value < 0x80, 1)) {
        word->bytes |= value << word->bits;
        word->bits += 8;
    } else if (value < 0x4000) {
        word->bytes |= ((value & 0x7f) | 0x80 | value >> 7 << 8) << word->bits;
        word->bits += 16;
    } else {
        word->bytes |= ((value & 0x7f) | 0x80 | (value & 0x3f80) << 1 | 0x8000 | value >> 14 << 16) << word->bits;
        word->bits += 24;
    }
}

/* Returns where the number ends. LEB128_BYTES_MAX bytes must be reserved. */
static inline unsigned char *leb128_write(unsigned char *at, uint64_t value) {
    if (__builtin_expect(value < LEB128_SMALL_END, 1)) {
        struct leb128_word word = {0, 0};
        leb128_append_small(&word, value);
        uint32_t bytes = (uint32_t)word.bytes;
        memcpy(at, &bytes, sizeof bytes);
        return at + word.bits / 8;
    }
    while (value >= 0x80) {
        *at++ = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    *at = (unsigned char)value;
    return at + 1;
}

static inline uint64_t leb128_zigzag(int64_t value) { return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63); }

/* Writes a number below 2^21 in three bytes, even if it needs fewer: for a length that is known only afterwards. */
static inline void leb128_write_padded(unsigned char *at, uint32_t value) {
    at[0] = (unsigned char)(value | 0x80);
    at[1] = (unsigned char)((value >> 7) | 0x80);
    at[2] = (unsigned char)((value >> 14) & 0x7f);
}

static inline unsigned char *leb128_write_bytes(unsigned char *at, const void *bytes, uint32_t bytes_count) {
    at = leb128_write(at, bytes_count);
    if (bytes_count) memcpy(at, bytes, bytes_count);
    return at + bytes_count;
}
