/* Collects facts from the profile that a reader made of a trace. */
#pragma once

#include "info.h"
#include "libconvert/profile/profile.h"

/* Fills the empty info from a finished profile. Failures (memory) are latched in the info's failure. */
void info_fill_from_profile(struct info *info, const struct profile *profile);
