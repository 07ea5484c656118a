/* UTF-8 as in RFC 3629: no surrogates, no overlong forms, nothing above U+10FFFF. */
#pragma once

#include <stdint.h>

#include "text.h"

/* Returns the length in bytes of the sequence at the start of the text, which must not be empty; 0 if it is
 * malformed. */
size_t utf8_sequence_bytes(struct text text);

/* Returns the length in bytes of the longest valid prefix. */
size_t utf8_valid_prefix_bytes(struct text text);

/* Writes a code point that is at most U+10FFFF and no surrogate. Returns where its one to four bytes end. */
char *utf8_put(char *out, uint32_t point);

/* Returns the most bytes that utf8_repair can write. */
static inline size_t utf8_repaired_bytes_max(size_t bytes_count) { return bytes_count * 4; }

/* Writes the text with each malformed byte as "\xff", so that texts that differ stay different. Returns the number of
 * bytes written. */
size_t utf8_repair(struct text text, char *out);
