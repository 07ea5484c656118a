/* Finds the libraries whose functions have no names in the profile, and why. */
#pragma once

#include "libconvert/profile/profile.h"

/* Sets the missing names in the result. Reads the finished profile. `looks_up`:
 * files were asked for names. The rows are taken from `memory`, whose latch tells if it ran out. Running out of other
 * memory is latched in the profile's failure. */
void missing_names_find(struct gecko_convert_result *result, const struct profile *profile, bool looks_up,
                        struct arena *memory);
