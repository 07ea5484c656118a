/* Marker types of a recorder trace, which become schemas of the profile. */
#pragma once

#include "libconvert/profile/profile.h"
#include "trace_cursor.h"

/* A payload has a value for each field, so this bounds how much a few bytes of input can demand. */
enum { TRACE_FIELD_COUNT_MAX = 128 };

struct trace_marker_type {
    struct marker_schema schema;
    uint16_t row; /* row in the profile's schemas; MARKER_SCHEMA_NONE if there is no room */
    bool is_resolved;
    uint8_t wires[TRACE_FIELD_COUNT_MAX]; /* enum trace_wire of each field */
};

/* Parses the definition after its kind; a damaged one spoils the cursor. Adds to *lost_count the fields, columns and
 * graphs that are unknown or too many. */
void trace_marker_type_read(struct trace_marker_type *type, struct trace_cursor *body, struct profile *profile,
                            uint64_t *lost_count);

/* Gives the type a row in the profile's schemas under a unique name: "Name 2" if "Name" is taken. `names` and `numbers`
 * (uint32_t for each name) hold the names that are taken. */
void trace_marker_type_resolve(struct trace_marker_type *type, struct profile *profile, struct strings *names,
                               struct column *numbers);
