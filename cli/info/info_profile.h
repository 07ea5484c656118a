/* Collects facts from the profile that a reader made of a trace. */
#pragma once

#include "info.h"
#include "libconvert/profile/profile.h"

/* A profile_visitor. Fills the empty struct info from a finished profile. Failures (memory) are latched in the info's
 * failure. */
void info_fill_from_profile(void *context, const struct profile *profile);
