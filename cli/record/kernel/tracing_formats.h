/* The formats of the payloads of tracepoints. The stream has them so that readers can name the fields. */
#pragma once

#include "kernel_events.h"

/* Appends the formats of the events that are tracepoints; nothing if there are none. */
void tracing_formats_append(struct kernel_stream *stream, const struct kernel_events *events);
