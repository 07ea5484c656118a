/* Samples: each belongs to a task and an event, and is added to their series. */
#pragma once

#include "perf_recording.h"

/* Uses a PERF_SAMPLE record. */
void perf_samples_use(struct perf_recording *recording, const struct perf_record *record);

/* Uses a PERF_USER_STACK record, which completes samples. */
void perf_samples_use_user_stack(struct perf_recording *recording, const struct perf_record *record);
