#include "numbers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "libconvert/base/printable.h"

enum { UNIT_BYTES = 48 };

void number_format(double value, struct text unit, bool has_sign, char out[NUMBER_BYTES]) {
    char shown_unit[UNIT_BYTES];
    printable_copy(shown_unit, sizeof shown_unit, unit);
    bool is_percent = text_equal(unit, TEXT("%"));
    /* Percentages have a fixed number of digits, because they are in columns. */
    const char *format = is_percent ? "%+.2f" : fabs(value) < 1000 ? "%+.4g" : fabs(value) < 1e15 ? "%+.0f" : "%+.6e";
    char number[NUMBER_BYTES - UNIT_BYTES - 1];
    snprintf(number, sizeof number, format, value); /* NOLINT(clang-diagnostic-format-nonliteral) */
    bool is_zero = !strpbrk(number, "123456789");
    bool hides_sign = is_zero || (number[0] == '+' && !has_sign);
    const char *shown = hides_sign ? number + 1 : number;
    snprintf(out, NUMBER_BYTES, "%s%s%s", shown, *shown_unit ? " " : "", shown_unit);
}
