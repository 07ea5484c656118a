/* The sampler: a thread that makes a round at each interval. Threads that run interrupt themselves by clocks of their
 * own (thread_clocks.h), and leave their stacks (sample_ring.h). In each round, the sampler writes those, and looks
 * where the other threads wait (thread_observer.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "recorder/state/sampler_hooks.h"

/* See struct sampler_hooks. */
bool sampler_start(const struct sampler_settings *settings, bool begins_late);
bool sampler_is_started(void);
bool sampler_has_begun(void);
bool sampler_samples_threads(void);
bool sampler_has_trace_file(void);
void sampler_change(const struct sampler_settings *settings);
void sampler_stop(bool is_process_ending);
bool sampler_finish(uint64_t limit_ns);
void sampler_forget(void);

/* If the sampler has stopped before it began, writes what threads have used since its start as samples "(between
 * samples)", unless that is too little. Call this in a thread of the program, outside recording calls. */
void sampler_write_unsampled(void);
void sampler_await_begin(void);
void sampler_leave_parent(void);

/* Makes the sampler make rounds at once, until is_done returns true, or, with is_done NULL, until two rounds that began
 * later have ended: the second has the answers of threads to the first. Returns false if the sampler ended, recording
 * was paused, or the limit has passed before. Call this in threads of the program, outside recording calls. */
bool sampler_demand_rounds(uint64_t limit_ns, bool (*is_done)(void *context), void *context);

/* For tests: calls the function in the sampler's thread after each round. */
void sampler_call_after_rounds(void (*callback)(void *context), void *context);
