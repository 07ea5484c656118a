/* The public structs at the size that their caller knows: see gecko_convert.h. */
#ifndef GECKO_PUBLIC_STRUCTS_H
#define GECKO_PUBLIC_STRUCTS_H

#include "gecko_convert.h"

/* Copies the caller's options; members that the caller does not know become zero. Returns false if the caller's
 * struct_bytes is too small for any version, or if the caller has set a member that this library does not know. */
bool public_options_take(struct gecko_convert_options *known, const struct gecko_convert_options *given);

/* Copies the caller's result in the same way. */
bool public_result_take(struct gecko_convert_result *known, const struct gecko_convert_result *given);

/* Copies to *given the members that its caller knows, and zeros those that this library does not know. Keeps
 * given->struct_bytes. Returns false and writes nothing if struct_bytes is too small for any version. */
bool public_result_give(struct gecko_convert_result *given, const struct gecko_convert_result *known);

#endif
