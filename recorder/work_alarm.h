/* Wakes the sampler's thread when its process begins to use processor time, so that it can sleep while all threads do.
 * A timer of the process's CPU clock signals that thread alone. The kernel fires it at the first tick by which the time
 * is used up. Children do not inherit it. */
#ifndef GREC_WORK_ALARM_H
#define GREC_WORK_ALARM_H

#include <stdbool.h>
#include <stdint.h>

/* Prepares the calling thread, which alone may wait. False: the kernel refuses, and there is nothing to wait with. */
bool work_alarm_open(void);

/* Waits until the process has used `cpu_ns` of processor time from now on, `limit_ns` have passed, or `*end_word` is not
 * 0. May return early. */
void work_alarm_wait(uint64_t cpu_ns, uint64_t limit_ns, const uint32_t *end_word);

void work_alarm_close(void);

/* Ends a wait that is under way. Call it in any thread, after the end word was changed. */
void work_alarm_ring(void);

#endif
