/* Marker types of a native trace: what is defined, made a schema of the profile. */
#ifndef GECKO_NATIVE_MARKER_TYPE_H
#define GECKO_NATIVE_MARKER_TYPE_H

#include "native_cursor.h"
#include "native_definitions.h"

/* Reads the definition behind its kind; false when it is damaged. Adds to *lost_count the fields, columns and graphs
 * that are beyond what is known or allowed here. */
bool native_marker_type_read(struct native_marker_type *type, struct native_cursor *body, struct profile *profile,
                             uint64_t *lost_count);

/* Gives the type its row of the profile's schemas, under a name that no other type has: "Name 2" where it is taken.
 * `names` and `numbers` (uint32_t, one for each) remember those given out. */
void native_marker_type_resolve(struct native_marker_type *type, struct profile *profile, struct strings *names,
                                struct column *numbers);

/* The model's format for a trace's; MARKER_FORMAT_COUNT for one that is not known here. */
enum marker_format native_marker_format(uint64_t format);

#endif
