/* XML for CI systems. */
#pragma once

#include "libconvert/base/text.h"
#include "writer/chunk_list.h"

/* Appends the text with escapes, for the value of an attribute in double quotes. What XML cannot represent becomes
 * U+FFFD. */
void xml_append_text(struct chunk_list *out, struct text text);
