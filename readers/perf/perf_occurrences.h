/* Samples of events that do not make the profile's samples, as markers: each says what happened, where (its stack), and
 * what the kernel tells about it. */
#pragma once

#include "perf_tallies.h"
#include "perf_tasks.h"
#include "perf_tracing.h"

/* Adds markers for the samples of the events that become markers, and for all occurrences without a stack. Call it when
 * the stacks of samples are the profile's. are_raw: payloads are laid out as the formats say; otherwise they are
 * text. */
void perf_occurrences_mark(struct perf_tasks *tasks, const struct perf_events *events, struct perf_tracing *tracing,
                           bool are_raw, struct perf_tallies *tallies);
