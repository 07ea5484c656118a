/* Shows what ran on each processor. */
#pragma once

#include "libconvert/profile/profile.h"

/* Adds a track for each processor on which samples were taken, in a process of their own. It has copies of these
 * samples, whose outermost frame is the process. Samples stay in their threads. Latches FAILURE_USAGE if no processor
 * is known. Call it before profile_finish, and before crowds are merged. Running out of memory is latched. */
void profile_add_processors(struct profile *profile);
