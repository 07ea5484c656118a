/* Facts of what a reader made of a trace. */
#ifndef GECKO_INFO_PROFILE_H
#define GECKO_INFO_PROFILE_H

#include "info.h"
#include "libconvert/profile.h"

/* Fills the empty info from a finished profile. Failures (memory) are latched in the info. */
void info_take_profile(struct info *info, const struct profile *profile);

#endif
