/* What became of each trace of a batch, as JUnit XML: what CI systems show. A trace is a test case; one that was
 * converted has passed, a file that is no trace was skipped. */
#ifndef GECKO_JUNIT_H
#define GECKO_JUNIT_H

#include "batch_plan.h"
#include "writer/sink.h"

/* Writes it into the sink, whose failure it is that memory which runs out is latched in. */
void junit_write(struct batch_plan *plan, uint64_t duration_ns, struct sink *sink, struct failure *failure);

#endif
