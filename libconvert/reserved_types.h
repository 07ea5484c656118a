/* Names of marker types, and of markers, that the front-end has code of its own for. Whatever schema a profile brings
 * for such a type, that code takes the payload apart, and some of it fails where the payload is another one than
 * Firefox writes. So a type of such a name is kept if its fields fit, and gets another name otherwise. The table is
 * that of github.com/firefox-devtools/profiler at df31314e; each row names the code. */
#ifndef GECKO_RESERVED_TYPES_H
#define GECKO_RESERVED_TYPES_H

#include "markers.h"

/* What a member of a payload is, as bits. */
enum reserved_kind {
    RESERVED_TEXT = 1,   /* a string in its place */
    RESERVED_STRING = 2, /* a row of the string table */
    RESERVED_NUMBER = 4,
    RESERVED_OTHER = 8, /* an object, true or false: no field of a schema has such a value */
};

struct reserved_member {
    const char *key; /* NULL ends a list */
    unsigned kinds;
    bool is_needed;             /* otherwise it may be missing */
    const char *const *choices; /* that a text must be one of, NULL at the end; NULL: any */
};

struct reserved_type {
    struct text name;
    const struct reserved_member *members; /* NULL: nothing is asked of the payload */
    const struct reserved_member *others;  /* which it may have instead; NULL: none */
    const char *says;                      /* of a payload that has neither; NULL: there are no others */
    unsigned phases;                       /* that its markers may have, as bits 1 << enum marker_phase; 0: any */
    bool is_lenient;                       /* where members are missing something odd is shown, and nothing fails */
    bool is_label_enough;                  /* members are read only where the schema has no label for the table */
    bool is_bare;                          /* fields are not shown: the front-end has a schema of its own */
    bool is_never_free;                    /* no type of a trace can be meant by the name */
    bool is_fatal;                         /* the front-end fails over the name, whatever the payload */
};

/* NULL: the front-end treats the type as its schema says. */
const struct reserved_type *reserved_type_find(struct text name);

/* Whether the front-end finds in markers of the schema what it looks for, if all fields have values. */
bool reserved_type_fits(const struct reserved_type *type, const struct marker_schema *schema);

/* Whether a marker with these values, one for each field of a schema that fits, has all that is needed. */
bool reserved_type_accepts(const struct reserved_type *type, const struct marker_schema *schema,
                           enum marker_phase phase, const union marker_value *values);

/* Whether the front-end fails over a marker of that name, whose payload has a type of that row (NULL: none that is
 * reserved). */
bool reserved_marker_name(struct text name, const struct reserved_type *type);

#endif
