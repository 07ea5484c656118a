/* Converts many traces in one run: plans, converts and reports. */
#pragma once

#include "cli/options.h"
#include "cli/progress_tty.h"

/* Runs the batch that the options describe, reports the outcome, and returns the exit code. After SIGINT, SIGTERM or
 * SIGHUP it does not return: it removes temporary files, writes the report so far and ends the process with that
 * signal. Output files are always complete. */
int batch_run(const struct options *options, struct progress_tty *bar);
