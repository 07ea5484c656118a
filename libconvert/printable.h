/* Texts of the input in messages: a hostile name must not steer the terminal. */
#ifndef GECKO_PRINTABLE_H
#define GECKO_PRINTABLE_H

#include "libconvert/text.h"

/* Writes the text to `out`, terminated, with "?" for each control character and each byte that is not UTF-8; what
 * does not fit into capacity_bytes (at least 8) is cut and shown by "...". */
void printable_copy(char *out, size_t capacity_bytes, struct text text);

#endif
