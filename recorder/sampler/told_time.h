/* How much processor time of this process the trace already has. The program that the process executes next reads
 * this. */
#pragma once

#include <stdint.h>

/* Stores the time. Call this at the start and after each round, with the time of the process's only thread. 0:
 * unknown. */
void told_time_store(uint64_t cpu_ns);

/* Adds to the time. Call this after each sample, with what it stands for: the process may execute a program in the
 * middle of a round. */
void told_time_add(uint64_t cpu_ns);

/* Returns what the previous program of this process stored last; 0: unknown. */
uint64_t told_time_load(void);
