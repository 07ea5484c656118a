/* The difference of two sides as collapsed stacks with two counts, or as a profile of them. */
#pragma once

#include "comparison.h"

/* Writes the difference to options->convert.output_path. The counts of the base come first. They are amounts per run;
 * for shares, the counts of the base are scaled to the sum of the head. In the profile, the weight of a stack is the
 * count of the head minus that of the base. Failures are latched. */
void difference_write(const struct comparison *comparison, const struct options *options, struct failure *failure);
