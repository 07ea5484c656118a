/* Tells how many stacks lack callers, and how to record whole ones. */
#ifndef GECKO_PERF_CUT_STACKS_H
#define GECKO_PERF_CUT_STACKS_H

#include "libconvert/profile/profile.h"

/* Enters the samples whose stacks end early in the ledger, if by weight they are more than one in ten: those with one
 * function of the program and no caller, and those with a truncated stack. Frame pointers are missing then, or copies
 * of stacks are too small. Call this when the samples, which were recorded with stacks, have their weights. has_copies:
 * perf copied stacks (--call-graph dwarf). */
void perf_cut_stacks_note(struct profile *profile, bool has_copies);

#endif
