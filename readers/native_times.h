/* The times of a profile that was read in ticks. */
#ifndef GECKO_NATIVE_TIMES_H
#define GECKO_NATIVE_TIMES_H

#include "libconvert/profile.h"
#include "native_clock.h"

/* Makes all of them nanoseconds of CLOCK_MONOTONIC, once, after native_clock_settle. Starts of processes are that
 * already. */
void native_times_convert(struct profile *profile, struct native_clock *clock);

#endif
