/* The sampler: a thread that looks at all registered threads of its process at an interval. Those that ran since are
 * interrupted by a signal, in whose handler they leave their stacks (sample_slot.h); those that did not are what they
 * were. */
#ifndef GREC_SAMPLER_H
#define GREC_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#define SAMPLER_THREAD_NAME "grec-sampler"

enum { SAMPLER_INTERVAL_US_MIN = 100, SAMPLER_INTERVAL_US_DEFAULT = 1000 };

struct sampler_options {
    uint32_t interval_us;
    bool takes_all_threads; /* those that are not registered become so */
    bool begins_late;       /* when the process has turned out to be worth it, which most children are not */
};

/* Starts it, for the recording that is on. False: there is no thread to be had. */
bool sampler_start(const struct sampler_options *options);

/* Ends it, so that it records nothing any more. Its signals may still be on the way. `is_process_ending`: a thread that
 * has not begun yet is left asleep. */
void sampler_stop(bool is_process_ending);

/* When no thread is in a recording call: gives back what its handlers use. */
void sampler_forget(void);

/* For tests: is called in the sampler's thread behind each round. */
void sampler_call_after_rounds(void (*callback)(void *context), void *context);

/* In a forked child, which has no such thread. */
void sampler_leave_parent(void);

#endif
