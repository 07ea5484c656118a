/* What markers tell that two tracepoints make: one for the start of something, and one for its end. */
#pragma once

#include "perf_pairs.h"

/* Where the value of a marker's field comes from. */
struct perf_span_field {
    uint32_t row;  /* in the layout of the start or of the end */
    uint32_t twin; /* the marker's field with the start's value of the same key and format; ID_NONE: there is none */
};

/* The markers of an event that begins something. */
struct perf_span_kind {
    struct text name;
    uint16_t schema;                /* MARKER_SCHEMA_NONE until a marker needs it */
    struct perf_span_field *fields; /* in the profile's memory: those of the start, then those of the end */
    uint32_t start_count;
    uint32_t field_count; /* besides the result */
    bool has_result;
};

struct perf_spans {
    struct perf_payloads *payloads; /* borrowed */
    const struct perf_pairs *pairs; /* borrowed */
    struct perf_span_kind *kinds;   /* one for each event */
    union marker_value *values;     /* values of the last marker */
};

/* Running out of memory is latched. */
void perf_spans_init(struct perf_spans *spans, struct perf_payloads *payloads, const struct perf_pairs *pairs);
void perf_spans_fini(struct perf_spans *spans);

/* One end of a marker. */
struct perf_told {
    uint32_t event;
    const struct perf_payload *payload;
};

/* Returns the name and the schema of markers from one payload to its partner. Sets *values to those of both, which are
 * valid until the next call: fields of the start, of the end where they differ, and the result. */
const struct perf_span_kind *perf_spans_make(struct perf_spans *spans, struct perf_told start, struct perf_told end,
                                             const union marker_value **values);
