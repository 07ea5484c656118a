/* Makes of a recording what reading its profile would give. */
#pragma once

#include "input_loader.h"

/* Replaces the finished profile of the loader's recording by what is read of its text, so that a merge of recordings is
 * that of their profiles: a tree of merges has the same bytes as one merge of all. What is known of the recording but
 * has no place in a profile stays. Failures are latched. */
void read_as_profile(struct input_loader *loader);
