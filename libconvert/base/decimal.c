#include "decimal.h"

#include <inttypes.h>
#include <stdio.h>

#include "cursor.h"

static const int64_t full_mantissa = 100000000000000000; /* the first number of 18 digits */

struct decimal decimal_make(int64_t mantissa, uint32_t scale) {
    while (scale > 0 && mantissa % 10 == 0) {
        mantissa /= 10;
        scale--;
    }
    return (struct decimal){.mantissa = mantissa, .scale = scale};
}

struct decimal decimal_shift(struct decimal value, int power) {
    int64_t mantissa = value.mantissa;
    power += (int)value.exponent - (int)value.scale;
    if (power <= 0 || !mantissa) return decimal_make(mantissa, mantissa ? (uint32_t)-power : 0);
    for (; power > 0 && mantissa < full_mantissa && mantissa > -full_mantissa; power--) mantissa *= 10;
    for (; power > 0 && (mantissa >= full_mantissa * 10 || mantissa <= -full_mantissa * 10) && mantissa % 10 == 0;
         power++)
        mantissa /= 10;
    return (struct decimal){.mantissa = mantissa, .exponent = (uint32_t)power};
}

/* A number with 18 digits or less: mantissa * 10^power. */
struct digits {
    int64_t mantissa;
    int64_t power;
    int next_digit;  /* the digit after the mantissa's */
    bool has_others; /* later digits are not all 0 */
};

/* Takes the digits at the start of the text. Returns their number. */
static size_t take_digits(struct text *text, bool is_fraction, struct digits *digits, size_t *cut_count) {
    size_t count = 0;
    for (; count < text->bytes_count && cursor_is_digit(text->bytes[count]); count++) {
        int digit = text->bytes[count] - '0';
        if (digits->mantissa < full_mantissa) {
            digits->mantissa = digits->mantissa * 10 + digit;
            digits->power -= is_fraction;
            continue;
        }
        if (!(*cut_count)++)
            digits->next_digit = digit;
        else
            digits->has_others |= digit != 0;
        digits->power += !is_fraction;
    }
    *text = text_from(*text, count);
    return count;
}

/* Takes "e5", "e+05" or "e-5", if there is one. */
static bool take_exponent(struct text *text, int64_t *exponent) {
    *exponent = 0;
    if (!cursor_take(text, TEXT("e")) && !cursor_take(text, TEXT("E"))) return true;
    bool has_plus = cursor_take(text, TEXT("+"));
    if (has_plus && text_starts_with(*text, TEXT("-"))) return false;
    return cursor_take_id(text, exponent);
}

static bool parse_digits(struct text text, struct digits *digits) {
    *digits = (struct digits){0};
    size_t cut_count = 0;
    int64_t exponent;
    size_t count = take_digits(&text, false, digits, &cut_count);
    if (cursor_take(&text, TEXT("."))) count += take_digits(&text, true, digits, &cut_count);
    if (!count || !take_exponent(&text, &exponent) || text.bytes_count) return false;
    digits->power += exponent;
    return true;
}

/* Cuts off digits until the power is within bounds. Returns whether digits were lost. */
static bool round_digits(struct digits *digits) {
    while (digits->power < -DECIMAL_SCALE_MAX && (digits->mantissa || digits->next_digit)) {
        digits->has_others |= digits->next_digit != 0;
        digits->next_digit = (int)(digits->mantissa % 10);
        digits->mantissa /= 10;
        digits->power++;
    }
    bool is_rounded = digits->next_digit || digits->has_others;
    if (digits->next_digit >= 5) digits->mantissa++;
    if (!digits->mantissa) digits->power = 0;
    return is_rounded;
}

bool decimal_parse(struct text text, struct decimal *out, bool *is_rounded) {
    bool is_negative = text_starts_with(text, TEXT("-"));
    if (is_negative || text_starts_with(text, TEXT("+"))) text = text_from(text, 1);
    struct digits digits;
    if (!parse_digits(text, &digits)) return false;
    bool has_lost_digits = round_digits(&digits);
    int64_t mantissa = is_negative ? -digits.mantissa : digits.mantissa;
    if (digits.power > DECIMAL_DIGITS_MAX + DECIMAL_EXPONENT_MAX) return false;
    struct decimal value = decimal_shift((struct decimal){.mantissa = mantissa}, (int)digits.power);
    if (value.exponent > DECIMAL_EXPONENT_MAX) return false;
    *is_rounded |= has_lost_digits;
    *out = value;
    return true;
}

double decimal_to_double(struct decimal value) {
    double number = (double)value.mantissa;
    for (uint32_t i = 0; i < value.scale; i++) number /= 10;
    for (uint32_t i = 0; i < value.exponent; i++) number *= 10;
    return number;
}

void decimal_print(struct decimal value, char out[DECIMAL_TEXT_BYTES]) {
    char digits[DECIMAL_TEXT_BYTES];
    uint64_t magnitude = value.mantissa < 0 ? 0 - (uint64_t)value.mantissa : (uint64_t)value.mantissa;
    int count = snprintf(digits, sizeof digits, "%0*" PRIu64, (int)value.scale + 1, magnitude);
    int whole = count - (int)value.scale;
    int printed = snprintf(out, DECIMAL_TEXT_BYTES, "%s%.*s%s%s", value.mantissa < 0 ? "-" : "", whole, digits,
                           value.scale ? "." : "", digits + whole);
    memset(out + printed, '0', value.exponent);
    out[(uint32_t)printed + value.exponent] = '\0';
}

bool decimal_rescale(struct decimal value, uint32_t scale, int64_t *out) {
    int64_t mantissa = value.mantissa;
    for (uint32_t at = value.scale; at < scale + value.exponent; at++)
        if (__builtin_mul_overflow(mantissa, 10, &mantissa)) return false;
    *out = mantissa;
    return true;
}

bool decimal_add(struct decimal a, struct decimal b, struct decimal *out) {
    if (!a.mantissa || !b.mantissa) {
        *out = a.mantissa ? a : b;
        return true;
    }
    uint32_t scale = a.scale > b.scale ? a.scale : b.scale;
    int64_t scaled_a, scaled_b, sum;
    if (!decimal_rescale(a, scale, &scaled_a) || !decimal_rescale(b, scale, &scaled_b)) return false;
    if (__builtin_add_overflow(scaled_a, scaled_b, &sum)) return false;
    *out = decimal_make(sum, scale);
    return true;
}

bool decimal_subtract(struct decimal a, struct decimal b, struct decimal *out) {
    if (b.mantissa == INT64_MIN) return false;
    b.mantissa = -b.mantissa;
    return decimal_add(a, b, out);
}
