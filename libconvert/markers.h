/* Markers and their schemas. A marker's payload is a run of values, one for each field of its schema. */
#ifndef GECKO_MARKERS_H
#define GECKO_MARKERS_H

#include "categories.h"
#include "decimal.h"

/* The front-end's phases (src/types/gecko-profile.ts). */
enum marker_phase { MARKER_INSTANT = 0, MARKER_INTERVAL = 1, MARKER_INTERVAL_START = 2, MARKER_INTERVAL_END = 3 };

enum marker_format {
    MARKER_UNIQUE_STRING, /* value.string */
    MARKER_DECIMAL,       /* value.decimal */
    MARKER_FORMAT_COUNT
};

/* The format's name in a schema. */
const char *marker_format_name(enum marker_format format);

union marker_value {
    string_id string;
    struct decimal decimal;
};

enum { MARKER_FIELD_COUNT_MAX = 8 };

struct marker_field {
    struct text key; /* static text: names in the payload object */
    struct text label;
    enum marker_format format;
};

/* What the front-end needs in order to show markers of one type. All texts are static. */
struct marker_schema {
    struct text name; /* the payload's "type"; unique */
    struct text description;
    struct text table_label; /* "{marker.name} - {marker.data.key}" */
    struct marker_field fields[MARKER_FIELD_COUNT_MAX];
    uint32_t field_count;
};

struct marker {
    int64_t start_ns;
    int64_t end_ns; /* the start again where the phase has none */
    string_id name;
    stack_id stack;     /* none: no cause */
    uint32_t values_at; /* first of the payload's values in the profile's marker_values */
    uint16_t schema;    /* row of the profile's marker_schemas */
    uint8_t phase;      /* enum marker_phase */
    uint8_t category;
};
_Static_assert(sizeof(struct marker) <= 48, "a marker costs at most 48 bytes and its payload");

#endif
