/* Callers at addresses that are not code.
 *
 * The kernel follows frame pointers. In a function that uses the frame pointer for something else, the last address
 * that it finds is any number, and the stack ends there. Such an address means nothing. As the root of stacks it would
 * divide those of the function that it seems to call, and it would be the function with the largest total. */
#pragma once

#include "libconvert/profile/profile.h"

/* The name of all callers that are in no library, whatever their addresses are. */
#define PERF_UNKNOWN_CALLER "[unknown]"

/* Removes these callers from the roots of all stacks, and notes how many samples had one. Elsewhere they stay. The
 * stacks of the threads' samples must be complete. */
void perf_callers_drop(struct profile *profile);
