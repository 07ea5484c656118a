/* The outcome of a batch as JUnit XML, which CI systems display. Each trace is a test case: a converted one passed, and
 * a file that is not a trace was skipped. */
#pragma once

#include "batch_plan.h"
#include "writer/sink.h"

/* Writes the XML into the sink. `failure` is the sink's: running out of memory is latched there. */
void junit_write(struct batch_plan *plan, uint64_t duration_ns, struct sink *sink, struct failure *failure);
