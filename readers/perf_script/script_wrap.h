/* Frame lines that a terminal or a mail has broken into several lines. */
#pragma once

#include "libconvert/base/text.h"

/* Returns after how many columns a terminal has broken the lines in the start of a text; SIZE_MAX if they were broken
 * at blanks, as mail programs do it; 0 if they were not. */
size_t script_wrap_columns(struct text start);

/* Returns how many columns the line takes. */
size_t script_wrap_width(struct text line);

/* Returns whether the line is none that perf prints: after a broken line, it is the rest of that line. */
bool script_wrap_is_rest(struct text line);

/* Returns whether the line is a frame line, or the rest of one (is_rest), that has no library yet, and so goes on. */
bool script_wrap_is_broken(struct text line, bool is_rest);
