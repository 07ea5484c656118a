/* What became of each trace of a batch, as JUnit XML: what CI systems show. A trace is a test case; one that was
 * converted has passed, a file that is no trace was skipped. */
#ifndef GECKO_JUNIT_H
#define GECKO_JUNIT_H

#include "batch_plan.h"
#include "writer/chunk_list.h"

/* Running out of memory is latched in the list's failure. */
void junit_write(struct batch_plan *plan, uint64_t duration_ns, struct chunk_list *out);

#endif
