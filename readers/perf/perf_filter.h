/* Leaves out samples of a recording before they get stacks. */
#pragma once

#include "perf_recording.h"
#include "readers/filter.h"

/* Recordings have all that filters look at. */
enum { PERF_FILTER_KINDS = (1 << FILTER_KIND_COUNT) - 1 };

/* Returns whether the recording's filter, which it must have, leaves the sample out; if so, counts it. Latches
 * FAILURE_USAGE if the recording lacks what the filter looks at. */
bool perf_filter_drops(struct perf_recording *recording, const struct perf_occurrence *occurrence,
                       const struct perf_record *record);

/* Does what perf_filter_drops does for a user stack. One that a sample waits for is kept. */
bool perf_filter_drops_user_stack(struct perf_recording *recording, const struct perf_task *task,
                                  const struct perf_record *record);
