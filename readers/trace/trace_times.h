/* Converts the times of a profile that was read in ticks. */
#ifndef GECKO_TRACE_TIMES_H
#define GECKO_TRACE_TIMES_H

#include "libconvert/profile/profile.h"
#include "trace_clock.h"

/* Turns the members _ticks of the profile into nanoseconds of CLOCK_MONOTONIC, which the members _ns of the same names
 * then have. Call it once, after trace_clock_finish. */
void trace_times_convert(struct profile *profile, struct trace_clock *clock);

#endif
