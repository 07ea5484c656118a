/* Samples of the time in which threads did not run: each wait becomes samples of the stack in which the thread stopped,
 * with what it waits in as innermost frame. All samples then weigh time, so that those of a thread add up to its life.
 */
#pragma once

#include "perf_recording.h"

/* Decides whether samples are made of the time in which threads did not run, and informs the recording's events.
 * Returns whether they are. Latches FAILURE_USAGE if only they are wanted, and there are none. */
bool perf_off_cpu_begin(struct perf_recording *recording, enum gecko_convert_off_cpu choice);

/* Gives sums of waits, whose samples have no time, the ends of their threads as times. */
void perf_off_cpu_place_sums(struct perf_recording *recording);

/* Adds samples to the threads, which have those of their processor time, with periods as weights. Gives all samples of
 * the profile their time as weight, and those of threads that waited the processor time since the sample before. Call
 * perf_waits_take_stacks before, and do not place sums of waits. Returns false if the recording turns out to lack
 * switches; nothing is changed then. */
bool perf_off_cpu_add(struct perf_recording *recording, enum gecko_convert_off_cpu choice);
