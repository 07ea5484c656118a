/* Gives each function one file.
 *
 * With source lines (-F srcline), perf prints the file of the line that runs. If that line comes from a macro or from
 * an #include in a function, its file is not the function's. The reader makes a function for each file, and here they
 * become one. */
#pragma once

#include "libconvert/profile/profile.h"

/* Call it when all samples are in their threads. The file of a function is the one that most of its frames have, if
 * there is one; frames with lines in other files lose their line. All ids of stacks become invalid. */
void perf_sources_unify(struct profile *profile);
