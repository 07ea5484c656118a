/* Samples of events that do not make the profile's samples, as markers: each says what happened, where (its stack), and
 * what the kernel tells about it. */
#pragma once

#include "perf_recording.h"

/* Adds markers for the samples of the events that become markers, and for all occurrences without a stack. Call it when
 * the stacks of samples are the profile's. */
void perf_occurrences_mark(struct perf_recording *recording);
