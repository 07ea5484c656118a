/* Marker schemas and payloads, as far as both formats write them alike. */
#ifndef GECKO_MARKER_JSON_H
#define GECKO_MARKER_JSON_H

#include "json.h"
#include "libconvert/profile.h"

/* How a format writes the number that stands for a string. */
struct marker_json_strings {
    void (*write)(void *context, struct json *json, string_id string);
    void *context;
};

/* Parts of a schema, as keys of the object under construction: "name", "display" and labels… */
void marker_json_schema_head(struct json *json, const struct marker_schema *schema);
/* …its fields, as values of the array under construction… */
void marker_json_schema_fields(struct json *json, const struct marker_schema *schema);
/* …and, behind them, "graphs", "colorField", "isStackBased". */
void marker_json_schema_tail(struct json *json, const struct marker_schema *schema);

/* "type" and the fields that have values, as keys of the payload under construction, of a marker of that thread. */
void marker_json_payload(struct json *json, const struct profile *profile, const struct thread *thread,
                         const struct marker *marker, const struct marker_json_strings *strings);

/* A payload is null, or not written at all, where there is nothing in it. */
static inline bool marker_json_has_payload(const struct marker *marker) {
    return marker->schema != MARKER_SCHEMA_NONE || !stack_is_none(marker->stack);
}

#endif
