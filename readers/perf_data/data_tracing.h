/* Tracepoints: parses the payload formats that a recording contains, and turns payloads into markers with typed
 * fields. */
#ifndef GECKO_DATA_TRACING_H
#define GECKO_DATA_TRACING_H

#include "readers/perf/perf_recording.h"

struct data_tracing {
    struct profile *profile; /* borrowed */
    struct tep_handle *formats;
    struct row_table ids;       /* uint64_t: ids of tracepoints that have been looked up */
    struct column kinds;        /* struct tracepoint_kind, one per id */
    union marker_value *values; /* values of the last decoded payload */
};

void data_tracing_init(struct data_tracing *tracing, struct profile *profile);
void data_tracing_fini(struct data_tracing *tracing);

/* Reads the section that contains the formats. Returns false if the section is damaged; the formats before the damage
 * are still used. */
bool data_tracing_read(struct data_tracing *tracing, struct text section);

/* Decodes the payload of the tracepoint with that id. Returns the schema of a marker for it and sets *values, which are
 * valid until the next call. Returns MARKER_SCHEMA_NONE if the tracepoint's format is unknown. */
uint16_t data_tracing_decode(struct data_tracing *tracing, uint64_t id, struct text payload,
                             const union marker_value **values);

#endif
