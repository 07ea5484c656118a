/* Places waits without a known stack below functions that the thread is in. */
#pragma once

#include "profile.h"

/* If a thread waits, or runs without being sampled, in an unknown stack, then the functions with which it began are
 * still its callers: _start, main, clone3, start_thread and the like, as far as the samples before and after agree. At
 * the beginning and the end of a thread one of them is enough. So does runtime.goexit, with which goroutines begin,
 * once a thread has run one: then only they call the scheduler in which Go's threads wait. "[truncated stack]" stands
 * for functions like these. A thread that is preempted is in all functions that both samples have in common. If the
 * thread executes a program in between, nothing is known. The front-end opens the heaviest root, which would be the
 * wait alone. Call it once functions are looked up. Running out of memory is latched. */
void profile_root_waits(struct profile *profile);
