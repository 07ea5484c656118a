/* The sums of the sampled counters, and those of the other counters in a pause. */
#ifndef GREC_COUNTERS_H
#define GREC_COUNTERS_H

#include "recorder/state/shared.h"

/* Sets all sums to 0, as in each new recording and process. Call this while nothing is recorded. [signal-safe] */
void counters_forget(void);

/* Records the sums of the sampled counters. Does nothing while recording is off. [signal-safe] */
void counters_sample(void) GREC_SHARED(counters_sample);

/* Records the changes that all counters had in a pause. Call this when recording is on again. */
void counters_resume(void);

#endif
