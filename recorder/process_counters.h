/* What the kernel counts of this process and machine, as counters of the trace: processor time, resident memory, power.
 * Of the sampler's thread alone. */
#ifndef GREC_PROCESS_COUNTERS_H
#define GREC_PROCESS_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

/* Opens what there is; says in the trace what there is not. */
void process_counters_open(void);

/* The thread that had it open has ended, or is not this process's. */
void process_counters_forget(void);

/* Records what has changed. now_ns: of CLOCK_MONOTONIC. */
void process_counters_sample(uint64_t now_ns);

/* Returns the microjoules that a zone's count has grown by between two looks, where it starts again from 0 at range_uj.
 * If that is not known (0), or cannot be, what the zone counted before it started again is lost. */
uint64_t process_counters_used_uj(uint64_t last_uj, uint64_t now_uj, uint64_t range_uj);

#endif
