/* Exact decimal numbers, for weights: mantissa / 10^scale, kept in lowest terms (no trailing zero digits in
 * the fraction), so equal numbers are equal structs. */
#ifndef GECKO_DECIMAL_H
#define GECKO_DECIMAL_H

#include <stdint.h>

#include "text.h"

enum { DECIMAL_SCALE_MAX = 18 };

struct decimal {
    int64_t mantissa;
    uint32_t scale;    /* digits after the point, 0..DECIMAL_SCALE_MAX */
    uint32_t reserved; /* 0 */
};

struct decimal decimal_make(int64_t mantissa, uint32_t scale);

/* The whole text as [-+]digits[.digits]; false when it is something else or does not fit: more than 18
 * significant digits before the point, or in all (digits beyond that in the fraction are rounded away and
 * *is_rounded becomes true). */
bool decimal_parse(struct text text, struct decimal *out, bool *is_rounded);

/* a - b; false when the result does not fit. */
bool decimal_subtract(struct decimal a, struct decimal b, struct decimal *out);
bool decimal_add(struct decimal a, struct decimal b, struct decimal *out);

/* The value times 10^scale as an integer; false when it does not fit. `scale` is at least the number's own. */
bool decimal_rescale(struct decimal value, uint32_t scale, int64_t *out);

#endif
