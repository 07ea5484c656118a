/* Counters that the kernel keeps for this process and machine: processor time, resident memory, power. Call these in
 * the sampler's thread alone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Opens the kernel's files. Reports in the trace which counters are not there. */
void process_counters_open(void);

/* Records the counters that have changed and that the flags (enum grec_option_flag) do not turn off. now_ns:
 * CLOCK_MONOTONIC. */
void process_counters_sample(uint64_t now_ns, uint32_t flags);

/* Returns by how many microjoules a zone's count has grown between two readings. The count starts again from 0 at
 * range_uj. If range_uj is unknown (0) or impossible, what the zone counted before that is lost. */
uint64_t process_counters_used_uj(uint64_t last_uj, uint64_t now_uj, uint64_t range_uj);
