/* Exact decimal numbers, for weights. The value is mantissa / 10^scale in lowest terms (the fraction has no trailing
 * zeros), so equal numbers are equal structs. */
#ifndef GECKO_DECIMAL_H
#define GECKO_DECIMAL_H

#include <stdint.h>

#include "text.h"

enum { DECIMAL_SCALE_MAX = 18 };

struct decimal {
    int64_t mantissa;
    uint32_t scale;    /* the number of digits after the point, 0..DECIMAL_SCALE_MAX */
    uint32_t reserved; /* 0 */
};

struct decimal decimal_make(int64_t mantissa, uint32_t scale);

/* Parses the whole text as [-+]digits[.digits]. Returns false if it is something else or does not fit: more than 18
 * significant digits before the point, or in all. Further digits of the fraction are rounded away, and *is_rounded
 * becomes true. */
bool decimal_parse(struct text text, struct decimal *out, bool *is_rounded);

/* Stores a - b. Returns false if the result does not fit. */
bool decimal_subtract(struct decimal a, struct decimal b, struct decimal *out);
bool decimal_add(struct decimal a, struct decimal b, struct decimal *out);

/* Stores the value times 10^scale as an integer. Returns false if it does not fit. `scale` must be at least the
 * number's own. */
bool decimal_rescale(struct decimal value, uint32_t scale, int64_t *out);

#endif
