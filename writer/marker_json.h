/* The parts of marker schemas and payloads that both formats write alike. */
#pragma once

#include "json.h"
#include "libconvert/profile/profile.h"

struct marker_json;

/* What the formats write differently: the number of a string, and the stack of a marker as a member of its payload. */
struct marker_json_format {
    void (*write_string)(const struct marker_json *markers, struct json *json, string_id string);
    void (*write_stack)(const struct marker_json *markers, struct json *json, const struct thread *thread,
                        const struct marker *marker);
    void *context;
};

/* Writes "markerSchema". */
void marker_json_schemas(struct json *json, const struct column *schemas, bool is_gecko);

/* Writes payloads. Text that all payloads of a type share is made once. */
struct marker_json {
    const struct profile *profile; /* borrowed */
    struct marker_json_format format;
    struct arena memory;
    struct payload_plan *plans; /* one for each schema, and one for payloads without a schema */
};

/* The profile must be finished. Running out of memory is latched in its failure. */
void marker_json_init(struct marker_json *markers, const struct profile *profile, struct marker_json_format format);
void marker_json_fini(struct marker_json *markers);

/* Writes the payload: "type", the fields that have values, and the stack if there is one. The marker must belong to
 * `thread` and have a payload. */
void marker_json_payload(const struct marker_json *markers, struct json *json, const struct thread *thread,
                         const struct marker *marker);

/* Returns whether the marker has anything for a payload. If not, the payload is null or is left out. */
static inline bool marker_json_has_payload(const struct marker *marker) {
    return marker->schema != MARKER_SCHEMA_NONE || !stack_is_none(marker->stack);
}
