/* The marker of a process that has no sample, which shows that the process existed. */
#ifndef GREC_UNSAMPLED_H
#define GREC_UNSAMPLED_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/gecko_recorder.h"

/* Call this in the thread that starts the sampler. */
void unsampled_define(void);

/* See mark_unsampled in recorder/state/sampler_hooks.h. */
void unsampled_mark(uint64_t start_ns, grec_time end, bool is_confined);

#endif
