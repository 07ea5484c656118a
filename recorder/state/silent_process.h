/* Processes of which the trace has nothing yet: forked children, and programs that have joined. They are counted in the
 * trace's header until they record something, so that it tells how many ended before that. A forked child may become a
 * program that joins: a table of pids tells that from a further process. */
#pragma once

#include <stdbool.h>

#include "process.h"

/* Counts this process. is_forked: it is a child, and not a program that may have been counted before it was executed.
 * [signal-safe] */
enum process_past silent_process_begin(bool is_forked);

/* Notes that the trace has something of this process, for a program that it may execute. [signal-safe] */
void silent_process_note_recorded(void);

/* No longer counts this process, if it is counted. [signal-safe] */
void silent_process_end(void);
