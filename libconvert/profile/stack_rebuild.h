/* Rebuilds all stacks of a profile, with other frames. */
#pragma once

#include "profile.h"

/* Returns the stack that stands for `frame` when it is called from the new stack `prefix`. */
typedef stack_id stack_rebuild_frame(void *context, stack_id prefix, frame_id frame);

/* Calls `rebuild` for each stack, callers first, and renumbers the stacks of samples, markers and allocations. All ids
 * of stacks become invalid. Running out of memory is latched in the profile's failure. */
void profile_rebuild_stacks(struct profile *profile, stack_rebuild_frame *rebuild, void *context);

/* Returns the stack that takes the place of that one. new_ids has those of its callers. */
typedef stack_id stack_replace(void *context, const stack_id *new_ids, stack_id id);

/* Calls `replace` for each stack, callers first, and replaces the stacks of samples, markers and allocations. Stacks
 * that are new are found, or added after the others. Enters in the ledger, as a note with that cause, how many samples
 * have other stacks than before. Running out of memory is latched in the profile's failure. */
void profile_replace_stacks(struct profile *profile, stack_replace *replace, void *context, struct text cause);

/* ---- Repeated frames. ---- */

/* Folds the stacks of samples, markers and allocations. Of several frames in a row, the innermost one stays, which has
 * the address and line that run. Enters in the ledger how many samples have other stacks than before. Call it before
 * profile_finish, once functions are looked up. Running out of memory is latched. */
void profile_fold_recursion(struct profile *profile);

/* ---- Trampolines of Python. ---- */

/* Takes the frame of py_trampoline_evaluator out of the stacks of samples, markers and allocations wherever it has
 * called a function of a script, whose frame is that of the trampoline. Enters in the ledger how many samples have
 * other stacks than before. Call it before profile_finish, once functions are looked up. Running out of memory is
 * latched. */
void profile_drop_trampolines(struct profile *profile);
