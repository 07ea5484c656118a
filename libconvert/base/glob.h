/* Patterns: * stands for any text, and ? for any byte. */
#pragma once

#include "text.h"

/* Returns whether the pattern matches the whole text. */
bool glob_matches(struct text glob, struct text text);
