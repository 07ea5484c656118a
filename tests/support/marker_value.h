/* Reads the values of markers. */
#pragma once

#include "libconvert/profile/profile.h"

/* Returns the value of one field of a marker that has a payload. */
static inline union marker_value value_of(const struct profile *profile, const struct marker *marker, uint32_t field) {
    const struct marker_schema *schema = column_at(&profile->marker_schemas, marker->schema);
    return profile_value_at(profile, marker->slots_at + schema->fields[field].slot,
                            marker_format_kind(schema->fields[field].format));
}
