/* --event list: prints the events of the inputs, how many samples each has, and what becomes of them. */
#pragma once

#include "options.h"

/* Reads the inputs, and converts nothing. Returns the exit code. */
int list_events(const struct options *options);
