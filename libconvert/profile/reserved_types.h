/* Names of marker types and of markers for which the front-end has its own code. That code reads the payload whatever
 * schema the profile has for the type, and some of it fails on a payload that is not as Firefox writes it. A type with
 * such a name is therefore kept if its fields fit, and renamed otherwise. The table follows
 * github.com/firefox-devtools/profiler at df31314e; each row names the code. tests/client/check_reserved_types.mjs
 * compares the table with the code of the client that the tests install. */
#pragma once

#include "markers.h"

/* The possible kinds of a member of a payload, as bits. */
enum reserved_kind {
    RESERVED_TEXT = 1,   /* a string, written in the payload */
    RESERVED_STRING = 2, /* a row of the string table */
    RESERVED_NUMBER = 4,
    RESERVED_OTHER = 8, /* an object, true or false; no field of a schema has such a value */
};

struct reserved_member {
    const char *key; /* NULL ends a list */
    unsigned kinds;
    bool is_needed;             /* false: it may be missing */
    const char *const *choices; /* the texts that are allowed, NULL at the end; NULL: any */
};

struct reserved_type {
    struct text name;
    const struct reserved_member *members; /* NULL: nothing is required of the payload */
    const struct reserved_member *others;  /* an alternative to `members`; NULL: none */
    const char *says;     /* the message about a payload that fits neither; NULL if there is no alternative */
    unsigned phases;      /* the phases that its markers may have, as bits 1 << enum marker_phase; 0: any */
    bool is_lenient;      /* if members are missing, the display is odd but nothing fails */
    bool is_label_enough; /* members are only read if the schema has no label for the table */
    bool is_bare;         /* the front-end has its own schema and does not show the fields */
    bool is_never_free;   /* no type of a trace can be meant by the name, so it is always renamed */
    bool is_fatal;        /* the front-end fails on the name, whatever the payload */
    bool is_named_by_url; /* the front-end takes the address from the marker's name: "Load ID: URI" */
};

/* Returns NULL if the front-end treats the type as its schema says. */
const struct reserved_type *reserved_type_find(struct text name);

/* Returns whether the schema has a field for each member that the front-end requires of payloads. */
bool reserved_type_has_fields(const struct reserved_type *type, const struct marker_schema *schema);

/* Returns whether a trace may have the type: its name is free, and its markers have what the front-end requires,
 * provided that all fields have values. */
bool reserved_type_fits(const struct reserved_type *type, const struct marker_schema *schema);

/* Returns whether a marker with these values, one for each field of a schema that fits, has all that is required. */
bool reserved_type_accepts(const struct reserved_type *type, const struct marker_schema *schema,
                           enum marker_phase phase, const union marker_value *values);

/* Returns whether the front-end fails on a marker of that name whose payload is of that type (NULL: not a reserved
 * one). */
bool reserved_marker_name(struct text name, const struct reserved_type *type);
