/* The options for several inputs that become one profile. */
#pragma once

#include "options.h"

/* Makes all inputs, of which there must be at least one, those of one conversion, with their alignments. Failures are
 * FAILURE_USAGE or FAILURE_MEMORY. */
void several_inputs_take(struct options *options, struct failure *failure);
