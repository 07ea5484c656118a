/* Frame lines that a terminal or a mail has broken into several lines. */
#pragma once

#include "libconvert/base/text.h"

/* Returns after how many columns a terminal has broken the lines in the start of a text; SIZE_MAX if they were broken
 * at blanks, as mail programs do it; 0 if they were not. */
size_t script_wrap_columns(struct text start);

/* Returns how many columns the line takes. */
size_t script_wrap_width(struct text line);

/* Returns whether the line goes on with the frame line before it, which has no library yet. */
bool script_wrap_continues(struct text before, struct text line);
