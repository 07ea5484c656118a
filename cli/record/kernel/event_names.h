/* The names of events, as perf has them. */
#pragma once

#include <linux/perf_event.h>

#include "libconvert/base/failure.h"

/* Sets what the name says of the event: its type, config, and what a modifier asks for: only the program's or the
 * kernel's code (":u", ":k"), precise addresses (":p" to ":ppp", ":P"). Names are those of hardware, software and cache
 * events, tracepoints ("sched:sched_switch") and raw events ("r01c2"). Returns false after a failure. */
bool event_name_parse(const char *name, struct perf_event_attr *attr, struct failure *failure);
