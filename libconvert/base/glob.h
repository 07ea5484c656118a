/* Patterns: * stands for any text, and ? for any byte. */
#ifndef GECKO_GLOB_H
#define GECKO_GLOB_H

#include "text.h"

/* Returns whether the pattern matches the whole text. */
bool glob_matches(struct text glob, struct text text);

#endif
