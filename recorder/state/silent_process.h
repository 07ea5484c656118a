/* Processes of which the trace has nothing yet: forked children, and programs that have joined. The trace's header
 * counts them until they record something, so that it shows how many ended before that. A forked child may execute a
 * program that joins: a table of pids shows that this is not one more process. */
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
