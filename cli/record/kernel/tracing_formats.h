/* The formats of tracepoints' payloads, which are in the stream so that readers can name the fields. */
#pragma once

#include "kernel_events.h"

/* Appends the formats of those events that are tracepoints; nothing if there are none. */
void tracing_formats_append(struct kernel_stream *stream, const struct kernel_events *events);
