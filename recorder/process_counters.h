/* What the kernel counts of this process and machine, as counters of the trace: processor time, resident memory, power.
 * Of the sampler's thread alone. */
#ifndef GREC_PROCESS_COUNTERS_H
#define GREC_PROCESS_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

/* Opens what there is; says in the trace what there is not. */
void process_counters_open(void);
void process_counters_close(void);

/* In a forked child, whose descriptors are others. */
void process_counters_forget(void);

/* Records what has changed. now_ns: of CLOCK_MONOTONIC. */
void process_counters_sample(uint64_t now_ns);

#endif
