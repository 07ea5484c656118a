/* Wakes the sampler's thread when its process begins to use processor time, so that the sampler can sleep while all
 * threads do. A timer on the process's CPU clock signals only the sampler's thread. The kernel checks the timer at each
 * clock tick. Children do not inherit the timer, and they cannot ring their parent's alarm. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Makes the timer. Only the calling thread may wait. Returns false if the kernel refuses: do not wait then. */
bool work_alarm_open(void);

/* Waits until the process has used `cpu_ns` of processor time from now on, `limit_ns` have passed, or `*end_word` is
 * not 0. May return early. */
void work_alarm_wait(uint64_t cpu_ns, uint64_t limit_ns, const uint32_t *end_word);

void work_alarm_close(void);

/* Ends a wait in progress. Call this in any thread, after changing the end word. [signal-safe] */
void work_alarm_ring(void);
