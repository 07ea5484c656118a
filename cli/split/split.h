/* Several profiles of one trace: one for each part of its time, or for each process. */
#pragma once

#include "cli/command.h"

/* Latches a FAILURE_USAGE if the options do not go together with --split. The output's name must be chosen. */
void split_check(const struct options *options, struct failure *failure);

/* Reads the trace to learn its parts, then converts each of them with a filter, into a file of its own. Returns the
 * exit code; after a failure, the parts before it are written. */
int split_run(const struct command *command, struct options *options, struct progress_tty *bar);
