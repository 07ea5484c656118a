/* Well-known contents that no reader accepts: how they are recognised, and what the user can do. */
#pragma once

#include "input.h"

/* Latches a FAILURE_INPUT that says what the input is and what to do about it. `start` is the start of the input, or
 * all of it if is_whole. */
void foreign_explain(const struct input *input, struct text start, bool is_whole, struct failure *failure);

/* Returns whether the text begins as JSON does, which a name such as "[heap]" or "{main}" does not. */
bool foreign_is_json(struct text start);

/* Returns whether the bytes are no text, which contains no NUL and hardly any control characters except tabs and line
 * ends. */
bool foreign_is_binary(struct text start);

/* Returns whether the start of an input is that of a format that is not read here, but known. */
bool foreign_is_known(struct text start);
