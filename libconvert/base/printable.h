/* Text from the input in messages: a hostile name must not control the terminal. */
#pragma once

#include "text.h"

/* Writes the text to `out`, NUL-terminated, with "?" for each control character and each byte that is not UTF-8. If the
 * text does not fit into capacity_bytes (at least 8), it is cut and ends with "...". */
void printable_copy(char *out, size_t capacity_bytes, struct text text);
