/* Reading a text from its start: each function takes what it expects and leaves what stands behind it. What does not
 * fit leaves the text as it was. */
#ifndef GECKO_CURSOR_H
#define GECKO_CURSOR_H

#include <stdint.h>

#include "text.h"

static inline bool cursor_is_digit(char byte) { return byte >= '0' && byte <= '9'; }

/* Value of a digit up to base 16, in either case; -1 when it is none. */
static inline int cursor_digit_value(char byte) {
    if (cursor_is_digit(byte)) return byte - '0';
    if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
    return -1;
}

/* Takes exactly these bytes. */
bool cursor_take(struct text *text, struct text literal);

/* Takes blanks, then all up to the next blank; empty at the end. Always fits. */
struct text cursor_take_token(struct text *text);

/* Takes all digits of the base (10 or 16) that stand there: at least one, and no more than fit 64 bits. */
bool cursor_take_number(struct text *text, unsigned base, uint64_t *out);

/* Takes a decimal number of at most INT32_MAX, perhaps with a minus sign: a pid, a tid, a line. */
bool cursor_take_id(struct text *text, int64_t *out);

/* The whole text as a number, as an id. */
bool cursor_parse_number(struct text text, unsigned base, uint64_t *out);
bool cursor_parse_id(struct text text, int64_t *out);

#endif
