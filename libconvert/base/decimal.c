#include "decimal.h"

#include "cursor.h"

struct decimal decimal_make(int64_t mantissa, uint32_t scale) {
    while (scale > 0 && mantissa % 10 == 0) {
        mantissa /= 10;
        scale--;
    }
    return (struct decimal){.mantissa = mantissa, .scale = scale};
}

/* Appends digits from the start of *text to *mantissa, at most `room` of them, and takes them from the text. Returns
 * their number. */
static size_t take_digits(struct text *text, size_t room, int64_t *mantissa) {
    size_t count = 0;
    while (count < text->bytes_count && count < room && cursor_is_digit(text->bytes[count])) {
        *mantissa = *mantissa * 10 + (text->bytes[count] - '0');
        count++;
    }
    *text = text_from(*text, count);
    return count;
}

static bool all_digits(struct text text) {
    for (size_t i = 0; i < text.bytes_count; i++)
        if (!cursor_is_digit(text.bytes[i])) return false;
    return true;
}

bool decimal_parse(struct text text, struct decimal *out, bool *is_rounded) {
    bool negative = text.bytes_count && text.bytes[0] == '-';
    if (text.bytes_count && (text.bytes[0] == '-' || text.bytes[0] == '+')) text = text_from(text, 1);
    int64_t mantissa = 0;
    size_t zeros = 0;
    while (zeros < text.bytes_count && text.bytes[zeros] == '0') zeros++;
    text = text_from(text, zeros);
    size_t whole = take_digits(&text, DECIMAL_SCALE_MAX, &mantissa);
    size_t fraction = 0;
    bool has_fraction = false;
    if (text.bytes_count && text.bytes[0] == '.') {
        text = text_from(text, 1);
        has_fraction = text.bytes_count > 0;
        fraction = take_digits(&text, DECIMAL_SCALE_MAX - whole, &mantissa);
        if (!all_digits(text)) return false;
        if (text.bytes_count) {
            *is_rounded = true;
            if (text.bytes[0] >= '5') mantissa++;
        }
    } else if (text.bytes_count) {
        return false;
    }
    if (!whole && !zeros && !has_fraction) return false;
    *out = decimal_make(negative ? -mantissa : mantissa, (uint32_t)fraction);
    return true;
}

bool decimal_rescale(struct decimal value, uint32_t scale, int64_t *out) {
    int64_t mantissa = value.mantissa;
    for (uint32_t at = value.scale; at < scale; at++)
        if (__builtin_mul_overflow(mantissa, 10, &mantissa)) return false;
    *out = mantissa;
    return true;
}

bool decimal_add(struct decimal a, struct decimal b, struct decimal *out) {
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
