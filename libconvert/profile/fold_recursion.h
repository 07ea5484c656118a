/* Makes one frame of frames in a row that have the same function. */
#pragma once

#include "profile.h"

/* Folds the stacks of samples, markers and allocations. Of several frames in a row, the innermost one stays, which has
 * the address and line that run. Enters in the ledger how many samples have other stacks than before. Call it before
 * profile_finish, once functions are looked up. Running out of memory is latched. */
void profile_fold_recursion(struct profile *profile);
