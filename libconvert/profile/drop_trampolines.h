/* Leaves out the function of Python that calls the trampolines of `-X perf`. */
#pragma once

#include "profile.h"

/* Takes the frame of py_trampoline_evaluator out of the stacks of samples, markers and allocations wherever it has
 * called a function of a script, whose frame is that of the trampoline. Enters in the ledger how many samples have
 * other stacks than before. Call it before profile_finish, once functions are looked up. Running out of memory is
 * latched. */
void profile_drop_trampolines(struct profile *profile);
