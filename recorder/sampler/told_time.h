/* How much processor time of this process the trace has, for the program that the process executes. */
#pragma once

#include <stdint.h>

/* Call this at the start, and after each round, with that of the process's only thread. 0: unknown. */
void told_time_store(uint64_t cpu_ns);

/* Call this after each sample, with what it stands for: the process may execute a program in the middle of a round. */
void told_time_add(uint64_t cpu_ns);

/* Returns what the program before this one in the same process has stored at last; 0: unknown. */
uint64_t told_time_load(void);
