/* Converts the times of a profile that was read in ticks. */
#ifndef GECKO_TRACE_TIMES_H
#define GECKO_TRACE_TIMES_H

#include "libconvert/profile/profile.h"
#include "trace_clock.h"

/* Converts all times of the profile to nanoseconds of CLOCK_MONOTONIC. Until then the members of the profile that are
 * named _ns hold ticks, except for the starts of processes. Call it once, after trace_clock_finish. */
void trace_times_convert(struct profile *profile, struct trace_clock *clock);

#endif
