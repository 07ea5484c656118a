/* Parses the names that perf gives to events. */
#pragma once

#include <linux/perf_event.h>

#include "libconvert/base/failure.h"

/* Sets the type and config of the named event, and the attributes of its modifier: only the program's or the kernel's
 * code (":u", ":k"), precise addresses (":p" to ":ppp", ":P"). Names are those of hardware, software and cache
 * events, tracepoints ("sched:sched_switch") and raw events ("r01c2"). Returns false after a failure. */
bool event_name_parse(const char *name, struct perf_event_attr *attr, struct failure *failure);
