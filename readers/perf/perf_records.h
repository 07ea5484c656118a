/* Gives the records of a perf recording their meaning, in whatever form it is read. */
#pragma once

#include "perf_recording.h"

/* Returns where the recording takes its records from. Set the recording's code before the first record. */
struct perf_sink perf_records_sink(struct perf_recording *recording);
