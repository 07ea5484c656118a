/* Loads several inputs side by side, each into a profile of its own. */
#ifndef GECKO_PARALLEL_LOADER_H
#define GECKO_PARALLEL_LOADER_H

#include "input_loader.h"

/* At most job_count threads work at a time, including the calling one, which alone reports progress. Sets the progress
 * and the job_count of the loaders. Their profiles must have latches of their own. If some of them fail, the failure
 * of the first in the array is latched in `failure`, whatever the number of threads. */
void parallel_loader_run(struct input_loader *loaders, size_t loader_count, unsigned job_count,
                         struct progress progress, struct failure *failure);

#endif
