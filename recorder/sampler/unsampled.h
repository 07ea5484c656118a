/* The marker of a process that has no sample, which shows that the process existed. */
#pragma once

#include <stdint.h>

#include "recorder/gecko_recorder.h"

/* Call this in the thread that starts the sampler. */
void unsampled_define(void);

/* If this process has no sample in the recording, writes the marker. start_ns: see mark_unsampled in
 * recorder/state/sampler_hooks.h. */
void unsampled_mark(uint64_t start_ns, grec_time end);
