/* --event list: prints the events of the inputs, how many samples each has, and what becomes of them. */
#ifndef GECKO_LIST_EVENTS_H
#define GECKO_LIST_EVENTS_H

#include "options.h"

/* Reads the inputs, and converts nothing. Returns the exit code. */
int list_events(const struct options *options);

#endif
