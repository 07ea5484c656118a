/* The logs of recorder and reader. A log is an object with a member for each process, named by its pid, and "trace" for
 * what belongs to no process. Each member has named facts and "lines", a list of [milliseconds, text]. */
#pragma once

#include "json.h"
#include "libconvert/profile/profile.h"

/* Writes "profilingLog" and "profileGatheringLog", each only if it has lines. */
void log_json_write(struct json *json, const struct profile *profile);
