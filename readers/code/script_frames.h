/* What the names of generated code say about functions and their frames. */
#pragma once

#include "libconvert/profile/profile.h"
#include "script_names.h"

/* Sets the function's name, file, place and flags to those of the name. The resource stays only if no file is known. */
void script_frames_set_func(struct profile *profile, const struct script_name *script, struct func *func);

/* Returns the category of code with that name. */
struct category_pair script_frames_category(struct profile *profile, const struct script_name *script);

/* Sets function and category to those of the name, for a function that has the symbol of generated code as its name.
 * Other frames and functions stay. It is a profile_name_func. */
void script_frames_name(struct profile *profile, struct func *func, struct frame *frame);
