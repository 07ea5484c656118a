/* Decimal numbers of 18 digits, for weights. The value is mantissa * 10^exponent / 10^scale. At most one of exponent
 * and scale is not 0, and both are as small as possible, so equal numbers are equal structs. */
#pragma once

#include <stdint.h>

#include "text.h"

enum { DECIMAL_DIGITS_MAX = 18, DECIMAL_SCALE_MAX = 18, DECIMAL_EXPONENT_MAX = 18 };

struct decimal {
    int64_t mantissa;
    uint32_t scale;    /* the number of digits after the point, 0..DECIMAL_SCALE_MAX */
    uint32_t exponent; /* the number of zeros after the mantissa, 0..DECIMAL_EXPONENT_MAX; not 0 only if 18 digits do
                          not suffice */
};

struct decimal decimal_make(int64_t mantissa, uint32_t scale);

/* Parses the whole text as [-+]digits[.digits][e[-+]digits]. Returns false if it is something else, or 10^36 or more.
 * Digits after the 18th are rounded away, and so are those after the 18th place after the point; *is_rounded becomes
 * true then. */
bool decimal_parse(struct text text, struct decimal *out, bool *is_rounded);

/* Stores a - b. Returns false if the result does not fit. */
bool decimal_subtract(struct decimal a, struct decimal b, struct decimal *out);
bool decimal_add(struct decimal a, struct decimal b, struct decimal *out);

/* Returns the value times 10^power. The power must be between -48 and 48. The result is exact, and its scale and
 * exponent can be larger than those of numbers that decimal_parse returns. */
struct decimal decimal_shift(struct decimal value, int power);

double decimal_to_double(struct decimal value);

/* Prints all digits, terminated. Scale and exponent must be at most 72. */
enum { DECIMAL_TEXT_BYTES = 96 };
void decimal_print(struct decimal value, char out[DECIMAL_TEXT_BYTES]);

/* Stores the value times 10^scale as an integer. Returns false if it does not fit. `scale` must be at least the
 * number's own. */
bool decimal_rescale(struct decimal value, uint32_t scale, int64_t *out);
