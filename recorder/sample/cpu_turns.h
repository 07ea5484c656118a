/* If all processors are busy, the sampler's thread moves from one to the next. It takes time from the thread that runs
 * on its processor, and a program that divides its work evenly waits for its slowest thread. The kernel alone would
 * leave the sampler where it is. Call this in the sampler's thread alone. */
#ifndef GREC_CPU_TURNS_H
#define GREC_CPU_TURNS_H

#include <stdbool.h>
#include <stdint.h>

/* Call this after a round. Moves the thread to the next processor that it may use, if its turn on this one is over, and
 * either at least as many threads have run as there are processors, or `is_in_the_way`: it seems to have taken the
 * processor of a thread that it can ask only while that runs. If the kernel refuses, nothing changes. */
void cpu_turns_take(uint64_t now_ns, uint32_t running_count, bool is_in_the_way);

#endif
