/* The part of the recording overhead of a process that both formats write alike. */
#pragma once

#include "json.h"
#include "libconvert/profile/profile.h"

/* Writes "statistics" of at least one row of the profile's overheads. The client shows nothing without them. */
void overhead_json_statistics(struct json *json, const struct profile *profile, size_t first, size_t count);
