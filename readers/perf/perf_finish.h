/* Makes the profile of a recording whose records have all been used. */
#pragma once

#include "perf_recording.h"

/* Completes the profile: gives threads their samples and markers, sets the metadata, and enters in the ledger what was
 * counted. */
void perf_finish(struct perf_recording *recording, const struct reader_options *options);
