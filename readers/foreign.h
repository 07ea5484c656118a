/* Contents that are well known and not a trace that any reader takes: what they are, and what makes them one. */
#ifndef GECKO_FOREIGN_H
#define GECKO_FOREIGN_H

#include "input.h"

/* Latches a FAILURE_INPUT that says what the input is, whose first bytes are `start` (all of it: is_whole), and what
 * to do about it. */
void foreign_explain(const struct input *input, struct text start, bool is_whole, struct failure *failure);

#endif
