/* The logs of recorder and reader: an object that has one for each process by its pid, and "trace" for what is of none.
 * In each of them stand its named facts and, as "lines", what was said at a time: [milliseconds, text]. */
#ifndef GECKO_LOG_JSON_H
#define GECKO_LOG_JSON_H

#include "json.h"
#include "libconvert/profile.h"

/* Both logs, each where it has lines: "profilingLog" and "profileGatheringLog". */
void log_json_write(struct json *json, const struct profile *profile);

#endif
