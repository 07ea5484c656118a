/* UTF-8 as RFC 3629 has it: no surrogates, no overlong forms, nothing above U+10FFFF. */
#ifndef GECKO_UTF8_H
#define GECKO_UTF8_H

#include "text.h"

/* Length in bytes of the valid sequence at the start of the text; 0 when it is malformed. Text must not be empty. */
size_t utf8_sequence_bytes(struct text text);

/* Length of the longest valid prefix. */
size_t utf8_valid_prefix_bytes(struct text text);

/* Upper bound of what utf8_repair writes. */
static inline size_t utf8_repaired_bytes_max(size_t bytes_count) { return bytes_count * 3; }

/* Writes the text with each malformed byte replaced by U+FFFD; returns the bytes written. */
size_t utf8_repair(struct text text, char *out);

#endif
