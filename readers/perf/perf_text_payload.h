/* Payloads of tracepoints as perf script prints them, as markers with typed fields: "comm=app pid=7 prio=120",
 * "fd: 0x3, count: 0x40". The text does not say what the fields are, so all payloads of a tracepoint are learnt before
 * the first one becomes values. */
#pragma once

#include "perf_layout.h"

/* The fields of one tracepoint. */
struct perf_text_fields {
    struct profile *profile;    /* borrowed */
    struct column rows;         /* struct text_field */
    union marker_value *values; /* values of the last payload, one for each field */
    char separator;             /* what follows a key: '=' or ':'; 0 until a payload has a key */
    struct text name;           /* the tracepoint's; borrowed */
    struct perf_layout *layout; /* NULL until the first payload becomes values */
};

/* name: as that of a layout; it must live as long as the fields. */
void perf_text_fields_init(struct perf_text_fields *fields, struct profile *profile, struct text name);
void perf_text_fields_fini(struct perf_text_fields *fields);

/* Learns which fields the payload has, and of which types. */
void perf_text_fields_learn(struct perf_text_fields *fields, struct text payload);

/* Returns the layout of the tracepoint. Call it when all payloads were learnt. Returns NULL if memory ran out
 * (latched). */
struct perf_layout *perf_text_fields_layout(struct perf_text_fields *fields);

/* Returns the layout of the tracepoint, and sets *values to those of a payload that was learnt. They are valid until
 * the next call. *lost_count: how many fields the layout has no place for. Returns NULL if memory ran out (latched). */
struct perf_layout *perf_text_fields_values(struct perf_text_fields *fields, struct text payload,
                                            const union marker_value **values, uint64_t *lost_count);
