/* What recording cost a process, as both formats have it. */
#ifndef GECKO_OVERHEAD_JSON_H
#define GECKO_OVERHEAD_JSON_H

#include "json.h"
#include "libconvert/profile.h"

/* Nanoseconds as microseconds, exactly. */
void overhead_json_us(struct json *json, int64_t ns);

/* "statistics", without which the client shows nothing, of these rows of the profile: at least one. */
void overhead_json_statistics(struct json *json, const struct profile *profile, size_t first, size_t count);

#endif
