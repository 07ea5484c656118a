/* Leaves out of a profile's tables what nothing that is written refers to: stacks of samples that were dropped, and the
 * frames, functions, libraries and strings that only those have. Rows that stay keep their order. */
#ifndef GECKO_SWEEP_H
#define GECKO_SWEEP_H

#include "profile.h"

/* Behind profile_finish. Ids from before are void. Moves nothing, at the cost of one pass, where every row is in use;
 * does nothing after a failure. */
void sweep_profile(struct profile *profile);

#endif
