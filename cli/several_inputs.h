/* The options for several inputs that become one profile. */
#ifndef GECKO_SEVERAL_INPUTS_H
#define GECKO_SEVERAL_INPUTS_H

#include "arguments.h"
#include "libconvert/gecko_convert.h"

/* Sets the inputs of the conversion, of which there must be at least one, and their alignments, which are texts
 * "FILE=OFFSET". Returns the alignments, which the caller frees with free; NULL if none are given. Failures
 * are FAILURE_USAGE or FAILURE_MEMORY. The conversion borrows everything. */
struct gecko_convert_alignment *several_inputs_take(struct gecko_convert_options *convert,
                                                    const struct options_list *inputs,
                                                    const struct options_list *alignments, struct failure *failure);

#endif
