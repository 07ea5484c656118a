/* What the names of generated code say about functions and their frames. */
#ifndef GECKO_PERF_SCRIPT_FRAMES_H
#define GECKO_PERF_SCRIPT_FRAMES_H

#include "libconvert/profile/profile.h"
#include "readers/code/script_names.h"

/* Sets the function's name, file, place and flags to those of the name. The resource stays only if no file is known. */
void perf_script_frames_set_func(struct profile *profile, const struct script_name *script, struct func *func);

/* Does the same, and sets the frame's category, for a function that has the symbol of generated code as its name. Other
 * frames and functions stay. It is a symbolize_name_func. */
void perf_script_frames_name(struct profile *profile, struct func *func, struct frame *frame);

#endif
