#include "json_put.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *json_put_long_digits(char *out, uint64_t value) {
    out = json_put_digits(out, value / JSON_EIGHT_DIGITS_LIMIT);
    json_store_digits(out, json_eight_digits((uint32_t)(value % JSON_EIGHT_DIGITS_LIMIT)));
    return out + 8;
}

enum {
    DOUBLE_DIGITS_SURE = DBL_DIG,        /* digits of a number that every normal double preserves */
    DOUBLE_DIGITS_MAX = DBL_DECIMAL_DIG, /* digits that distinguish every double from all others */
    POSITIONAL_EXPONENT_MIN = -7,
    POSITIONAL_EXPONENT_MAX = 20
};

/* The number 0.d₁d₂…dₙ · 10^(exponent + 1), without trailing zeros. */
struct digits {
    char digits[DOUBLE_DIGITS_MAX];
    int count;
    int exponent; /* the exponent of the first digit */
};

/* Stores the double rounded to `count` digits. Ignores the locale's decimal point. Returns whether that is exact. */
static bool round_to(struct digits *out, double magnitude, int count) {
    char text[JSON_DOUBLE_BYTES_MAX];
    snprintf(text, sizeof text, "%.*e", count - 1, magnitude);
    struct digits digits = {0};
    const char *at = text;
    for (; *at != 'e'; at++)
        if (*at >= '0' && *at <= '9') digits.digits[digits.count++] = *at;
    digits.exponent = atoi(at + 1);
    *out = digits;
    return strtod(text, NULL) == magnitude;
}

static struct digits shortest_digits(double magnitude) {
    int count = magnitude < DBL_MIN ? 1 : DOUBLE_DIGITS_SURE;
    struct digits digits;
    while (!round_to(&digits, magnitude, count) && count < DOUBLE_DIGITS_MAX) count++;
    while (digits.count > 1 && digits.digits[digits.count - 1] == '0') digits.count--;
    return digits;
}

static char *put_bytes(char *out, const char *bytes, size_t bytes_count) {
    memcpy(out, bytes, bytes_count);
    return out + bytes_count;
}

static char *put_zeros(char *out, int count) {
    memset(out, '0', (size_t)count);
    return out + count;
}

static char *put_positional(char *out, const struct digits *digits) {
    int whole = digits->exponent + 1;
    if (whole <= 0) {
        out = put_zeros(put_bytes(out, "0.", 2), -whole);
        return put_bytes(out, digits->digits, (size_t)digits->count);
    }
    if (whole >= digits->count) {
        out = put_bytes(out, digits->digits, (size_t)digits->count);
        return put_zeros(out, whole - digits->count);
    }
    out = put_bytes(out, digits->digits, (size_t)whole);
    *out++ = '.';
    return put_bytes(out, digits->digits + whole, (size_t)(digits->count - whole));
}

static char *put_with_exponent(char *out, const struct digits *digits) {
    *out++ = digits->digits[0];
    if (digits->count > 1) {
        *out++ = '.';
        out = put_bytes(out, digits->digits + 1, (size_t)(digits->count - 1));
    }
    *out++ = 'e';
    uint64_t magnitude;
    out = json_put_sign(out, digits->exponent, &magnitude);
    return json_put_digits(out, magnitude);
}

char *json_put_double(char *out, double value) {
    if (!isfinite(value)) return json_put_null(out);
    if (signbit(value)) *out++ = '-';
    struct digits digits = shortest_digits(fabs(value));
    bool is_positional = digits.exponent >= POSITIONAL_EXPONENT_MIN && digits.exponent <= POSITIONAL_EXPONENT_MAX;
    return is_positional ? put_positional(out, &digits) : put_with_exponent(out, &digits);
}
