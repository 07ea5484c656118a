/* Rebuilds all stacks of a profile, with other frames. */
#ifndef GECKO_STACK_REBUILD_H
#define GECKO_STACK_REBUILD_H

#include "profile.h"

/* Returns the stack that stands for `frame` when it is called from the new stack `prefix`. */
typedef stack_id stack_rebuild_frame(void *context, stack_id prefix, frame_id frame);

/* Calls `rebuild` for each stack, callers first, and renumbers the stacks of samples, markers and allocations. All ids
 * of stacks become invalid. Running out of memory is latched in the profile's failure. */
void profile_rebuild_stacks(struct profile *profile, stack_rebuild_frame *rebuild, void *context);

/* Replaces the stacks of samples, markers and allocations by new_ids[their number]. Returns how many samples have
 * another number then. */
uint64_t profile_renumber_stacks(struct profile *profile, const stack_id *new_ids);

#endif
