/* Many conversions in one run: plan, work, report. */
#ifndef GECKO_BATCH_H
#define GECKO_BATCH_H

#include "cli/options.h"
#include "cli/progress_tty.h"

/* Runs the batch that the options ask for, tells what became of it, and returns the exit code. After SIGINT, SIGTERM or
 * SIGHUP it does not return: the process ends by the signal, with whole files, no temporary ones, and the report so
 * far. */
int batch_run(const struct options *options, struct progress_tty *bar);

#endif
