/* What became of the processes that have no end in the trace, as far as the kernel of this machine knows. */
#pragma once

#include "trace_tasks.h"

/* Sets the fates of all processes that have a live chunk and no end. file: the trace, open; -1: the bytes are not those
 * of a file. Call it after trace_tasks_finish, with the facts about the recording in `meta`. */
void trace_fates_find(struct trace_tasks *tasks, const struct profile_meta *meta, int file);
