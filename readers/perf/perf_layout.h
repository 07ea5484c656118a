/* The fields of a tracepoint's payload, as those of a marker. */
#pragma once

#include "libconvert/profile/profile.h"

/* Limit for fields; no tracepoint has as many. */
enum { PERF_FIELDS_MAX = 128 };

struct perf_layout {
    struct text name;            /* the tracepoint's: "sched:sched_switch". Lives as long as the profile */
    struct marker_field *fields; /* in the profile's memory */
    uint32_t field_count;        /* at most PERF_FIELDS_MAX */
    uint16_t schema;             /* MARKER_SCHEMA_NONE until a marker needs it */
};

/* Makes a layout of no fields, with room for that many, in the profile's memory. Returns NULL if memory ran out
 * (latched). */
struct perf_layout *perf_layout_create(struct profile *profile, struct text name, uint32_t capacity);

/* Adds a field, whose key becomes a text of the profile. The layout must have room. */
void perf_layout_add(struct perf_layout *layout, struct profile *profile, struct text key, enum marker_format format);

/* Returns the schema of markers with only these fields. Returns MARKER_SCHEMA_NONE as profile_marker_schema does. */
uint16_t perf_layout_schema(struct perf_layout *layout, struct profile *profile);

/* Returns a label of markers, as a text of the profile, with their first fields: "pid={marker.data.pid}
 * comm={marker.data.comm}". */
struct text perf_layout_label(struct profile *profile, const struct marker_field *fields, uint32_t count);

/* Returns the row of the field with that key; ID_NONE if there is none. */
uint32_t perf_layout_row(const struct perf_layout *layout, struct text key);

/* Finds the value of a field that is a number. Returns false if there is none. */
bool perf_layout_number(const struct perf_layout *layout, const union marker_value *values, struct text key,
                        int64_t *number);
