/* Tracepoints: parses the payload formats that a recording contains, and turns payloads into markers with typed
 * fields. */
#ifndef GECKO_PERF_TRACING_H
#define GECKO_PERF_TRACING_H

#include "libconvert/profile/profile.h"

struct perf_tracing {
    struct profile *profile; /* borrowed */
    struct tep_handle *formats;
    struct row_table ids;       /* uint64_t: ids of tracepoints that have been looked up */
    struct column kinds;        /* struct tracepoint_kind, one per id */
    union marker_value *values; /* values of the last decoded payload */
};

void perf_tracing_init(struct perf_tracing *tracing, struct profile *profile);
void perf_tracing_fini(struct perf_tracing *tracing);

/* Reads the section that contains the formats. Returns false if the section is damaged; the formats before the damage
 * are still used. */
bool perf_tracing_read(struct perf_tracing *tracing, struct text section);

/* Decodes the payload of the tracepoint with that id. Returns the schema of a marker for it and sets *values, which are
 * valid until the next call. Returns MARKER_SCHEMA_NONE if the tracepoint's format is unknown. */
uint16_t perf_tracing_decode(struct perf_tracing *tracing, uint64_t id, struct text payload,
                             const union marker_value **values);

/* Returns a label of markers, as a text of the profile, with their first fields: "pid={marker.data.pid}
 * comm={marker.data.comm}". */
struct text perf_tracing_label(struct profile *profile, const struct marker_field *fields, uint32_t count);

#endif
