/* Puts numbers and prepared text at a place in JSON text that has room for them. Loops over millions of rows use this:
 * they reserve room once for many values. Each function returns the place after what it has put. */
#pragma once

#include <endian.h>
#include <stdint.h>

#include "text.h"

enum {
    JSON_EIGHT_DIGITS_LIMIT = 100000000,
    JSON_INT_BYTES_MAX = 1 + 20,
    JSON_MS_BYTES_MAX = JSON_INT_BYTES_MAX + 1 + 8, /* six digits after the point, of eight that are stored */
    JSON_DOUBLE_BYTES_MAX = 40,
    JSON_PREPARED_BLOCK_BYTES = 16
};

static inline char *json_put_comma(char *out) {
    *out = ',';
    return out + 1;
}

static inline char *json_put_object_end(char *out) {
    *out = '}';
    return out + 1;
}

static inline char *json_put_null(char *out) {
    memcpy(out, "null", 4);
    return out + 4;
}

static inline char *json_put_bool(char *out, bool value) {
    static const struct text names[] = {TEXT("false"), TEXT("true")};
    memcpy(out, names[value].bytes, names[value].bytes_count);
    return out + names[value].bytes_count;
}

/* Returns the eight digits of a number below 10^8, the first one in the lowest byte. The number is split three times,
 * in all parts at once: into two numbers of four digits, four of two, and eight digits. */
static inline uint64_t json_eight_digits(uint32_t number) {
    uint64_t fours = number / 10000 | (uint64_t)(number % 10000) << 32;
    uint64_t hundreds = fours * 10486 >> 20 & 0x0000007f0000007f; /* 10486 / 2^20 is 1 / 100, rounded up */
    uint64_t twos = hundreds | (fours - hundreds * 100) << 16;
    uint64_t tens = twos * 103 >> 10 & 0x000f000f000f000f; /* 103 / 2^10 is 1 / 10, rounded up */
    return tens | (twos - tens * 10) << 8;
}

/* Stores digits as eight characters. Those after the last digit are written over later. */
static inline void json_store_digits(char *out, uint64_t digits) {
    uint64_t bytes = htole64(digits | 0x3030303030303030);
    memcpy(out, &bytes, sizeof bytes);
}

/* Does what json_put_digits does, for numbers of any length. */
char *json_put_long_digits(char *out, uint64_t value);

static inline char *json_put_digits(char *out, uint64_t value) {
    if (value < 10) {
        *out = (char)('0' + value);
        return out + 1;
    }
    if (value >= JSON_EIGHT_DIGITS_LIMIT) return json_put_long_digits(out, value);
    uint64_t digits = json_eight_digits((uint32_t)value);
    /* The last digit is written even if it is 0. */
    unsigned zero_bits = (unsigned)__builtin_ctzll(digits | (uint64_t)1 << 56) / 8 * 8;
    json_store_digits(out, digits >> zero_bits);
    return out + 8 - zero_bits / 8;
}

/* Puts the minus sign, if any, and sets *magnitude. INT64_MIN has a magnitude too. */
static inline char *json_put_sign(char *out, int64_t value, uint64_t *magnitude) {
    *magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    *out = '-';
    return out + (value < 0);
}

static inline char *json_put_int(char *out, int64_t value) {
    uint64_t magnitude;
    out = json_put_sign(out, value, &magnitude);
    return json_put_digits(out, magnitude);
}

/* See json_ms. */
static inline char *json_put_ms(char *out, int64_t ns) {
    enum { NS_PER_MS = 1000000 };
    uint64_t magnitude;
    out = json_put_sign(out, ns, &magnitude);
    uint32_t fraction = (uint32_t)(magnitude % NS_PER_MS);
    out = json_put_digits(out, magnitude / NS_PER_MS);
    if (!fraction) return out;
    *out++ = '.';
    uint64_t digits = json_eight_digits(fraction) >> 16; /* the last six */
    json_store_digits(out, digits);
    return out + 8 - __builtin_clzll(digits) / 8; /* without trailing zeros */
}

/* Puts as few digits as read back as the same double (one more for some powers of two), or null if the value is not
 * finite: at most JSON_DOUBLE_BYTES_MAX bytes. */
char *json_put_double(char *out, double value);

/* Puts text that json_prepare_… has made. Stores whole blocks, so there must be room for one more than the text
 * needs. */
static inline char *json_put_prepared(char *out, struct text prepared) {
    for (size_t i = 0; i < prepared.bytes_count; i += JSON_PREPARED_BLOCK_BYTES)
        memcpy(out + i, prepared.bytes + i, JSON_PREPARED_BLOCK_BYTES);
    return out + prepared.bytes_count;
}
