/* Marker types of a recorder trace, which become schemas of the profile. */
#ifndef GECKO_TRACE_MARKER_TYPE_H
#define GECKO_TRACE_MARKER_TYPE_H

#include "trace_cursor.h"
#include "trace_definitions.h"

/* Parses the definition after its kind. Returns false if it is damaged. Adds to *lost_count the fields, columns and
 * graphs that are unknown or too many. */
bool trace_marker_type_read(struct trace_marker_type *type, struct trace_cursor *body, struct profile *profile,
                            uint64_t *lost_count);

/* Gives the type a row in the profile's schemas under a unique name: "Name 2" if "Name" is taken. `names` and `numbers`
 * (uint32_t for each name) hold the names that are taken. */
void trace_marker_type_resolve(struct trace_marker_type *type, struct profile *profile, struct strings *names,
                               struct column *numbers);

#endif
