/* The sampler's thread takes turns on the processors, where all of them are busy: it stops whoever runs on its own, and
 * a program that shares its work out evenly waits for its slowest thread. Left alone the kernel lets it stay where it
 * is. Of the sampler's thread alone. */
#ifndef GREC_CPU_TURNS_H
#define GREC_CPU_TURNS_H

#include <stdint.h>

/* After a round: goes on to the next of the processors that the thread may use, if its turn on this one is over and at
 * least as many threads have run as there are processors. Where the kernel refuses, nothing changes. */
void cpu_turns_take(uint64_t now_ns, uint32_t running_count);

#endif
