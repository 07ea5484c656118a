/* The counters of the recording, which the program has changed in it. */
#pragma once

#include "recorder/state/shared.h"
#include "writer.h"

/* Forgets which counters the recording has, which keep their levels for the next one. Call this while nothing is
 * recorded. [signal-safe] */
void counters_end(void);

/* Call this in a forked child that records: its counters start at 0. [signal-safe] */
void counters_enter_child(void);

/* Records the sums of the sampled counters, and the levels of the others if those that the trace has may be recycled
 * soon. Does nothing while recording is off. [signal-safe] */
void counters_sample(void) GREC_SHARED(counters_sample);

/* Records the changes that all counters had in a pause. Call this when recording is on again. */
void counters_resume(void);
