/* Reads and symbolizes several inputs side by side, each into a profile of its own. */
#ifndef GECKO_READING_GROUP_H
#define GECKO_READING_GROUP_H

#include "reading.h"

/* At most job_count threads work at a time, including the calling one, which alone reports progress. Sets the progress
 * and the job_count of the readings. Their profiles must have latches of their own. If some of them fail, the failure
 * of the first in the array is latched in `failure`, whatever the number of threads. */
void reading_group_run(struct reading *readings, size_t reading_count, unsigned job_count, struct progress progress,
                       struct failure *failure);

#endif
