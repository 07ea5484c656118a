/* Text in UTF-16, as the redirections of PowerShell write it, decoded to UTF-8. */
#ifndef GECKO_INPUT_UTF16_H
#define GECKO_INPUT_UTF16_H

#include "input_wrapper.h"

/* True if the bytes begin with a byte order mark and an ASCII character, as text does. */
bool input_utf16_recognises(struct text start);

/* A surrogate without its partner becomes U+FFFD. */
input_wrapper_open input_utf16_open;

#endif
