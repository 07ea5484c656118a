/* Numbers with units, for people. */
#pragma once

#include <stdbool.h>

#include "libconvert/base/text.h"

enum { NUMBER_BYTES = 96 };

/* Writes "12.3 %", "+4.5 ms" or "120". With has_sign, a number above 0 has a plus. A long unit is cut. */
void number_format(double value, struct text unit, bool has_sign, char out[NUMBER_BYTES]);
