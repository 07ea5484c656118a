/* Loads several inputs side by side, each into a profile of its own. */
#pragma once

#include "input_loader.h"

/* What is done with each input that was read and symbolized. */
struct loaded {
    void (*take)(void *context, size_t number);
    void *context;
};

/* At most job_count threads work at a time, including the calling one, which alone reports progress, and which takes
 * the inputs in their order, each as soon as those before it were taken. Sets the progress and the job_count of the
 * loaders. Their profiles must have latches of their own. If some of them fail, the failure of the first in the array
 * is latched in `failure`, whatever the number of threads; later ones are not taken then. */
void parallel_loader_run(struct input_loader *loaders, size_t loader_count, unsigned job_count, struct loaded loaded,
                         struct progress progress, struct failure *failure);
