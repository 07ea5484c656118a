/* Several profiles of one trace: one for each part of its time, or for each process. */
#pragma once

#include "cli/command.h"

/* Latches a FAILURE_USAGE if the options do not go together with --split. The path of the output must be set. */
void split_check(const struct options *options, struct failure *failure);

/* Reads the trace to find its parts, then converts each part with a filter into a file of its own. Returns the exit
 * code. If a part fails, the earlier parts stay written. */
int split_run(const struct command *command, struct options *options, struct progress_tty *bar);
