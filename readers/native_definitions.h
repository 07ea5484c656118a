/* The definitions of a native trace: what events name by number. A definition is read when it is met and resolved (its
 * references followed, its rows of the profile made) when an event uses it for the first time, since what it refers to
 * may stand further behind in the file.
 *
 * Look-ups take the id of a definition and return NULL (or an empty text) where there is none of that kind. They set
 * *is_open when it, or what it refers to, may still come: then the event is to be read again later. */
#ifndef GECKO_NATIVE_DEFINITIONS_H
#define GECKO_NATIVE_DEFINITIONS_H

#include "libconvert/profile.h"
#include "native_ledger.h"
#include "native_mappings.h"

/* A payload has a value for each field, so a few bytes of an input must not ask for many. */
enum { NATIVE_FIELD_COUNT_MAX = 128 };

struct native_marker_type {
    struct marker_schema schema;
    uint16_t row; /* of the profile's schemas; MARKER_SCHEMA_NONE: no room */
    bool is_resolved;
    uint8_t wires[NATIVE_FIELD_COUNT_MAX]; /* enum trace_wire, of each field */
};

struct native_marker {
    struct text name_text;
    uint64_t category_id;
    uint64_t type_id;
    bool is_resolved;
    string_id name;
    uint8_t category;
    const struct native_marker_type *type; /* NULL: no payload */
    bool has_lost_type;                    /* there is one, but not its definition */
};

struct native_label {
    struct text name;
    uint64_t category_id;
    struct text file;
    uint32_t line;
    bool is_resolved;
    source_id source;
    struct category_pair category;
    frame_id frame; /* without a text */
};

struct native_library {
    struct text path;
    struct text build_id; /* hex */
    bool is_file;         /* false: memory without a file, or whose file is of no use: code is generated there */
    bool is_resolved;
    lib_id lib;
    resource_id resource;
};

/* A function of a library that is no file. */
struct native_function {
    uint64_t offset; /* from the image base */
    struct text name;
};

/* A file in which a process tells what code it generates. */
struct native_jitdump {
    int64_t pid;
    uint64_t process_start_ns;
    struct text path;
};

struct native_definitions {
    struct profile *profile;      /* borrowed */
    struct native_ledger *ledger; /* borrowed */
    bool is_complete;             /* all chunks are read: what is not known now never will be */
    struct arena texts;
    struct row_table ids;       /* uint64_t: the id; row numbers are those of `rows` */
    struct column rows;         /* struct definition */
    struct row_table bodies;    /* index_set_identity of each body: equal definitions are one */
    struct column contents;     /* struct content, for each body */
    struct column categories;   /* struct category_definition */
    struct column marker_types; /* struct native_marker_type */
    struct column markers;      /* struct native_marker */
    struct column labels;       /* struct native_label */
    struct column counters;     /* struct counter, without process and samples */
    struct column libraries;    /* struct native_library */
    struct column mappings;     /* struct native_mapping */
    struct column inheritances; /* struct native_inheritance */
    struct column jitdumps;     /* struct native_jitdump: of the mappings that are in force */
    struct column symbols;      /* struct native_function */
    struct native_mappings symbol_places; /* where they lie in libraries, whose ids stand for processes */
    uint64_t last_known_id;     /* every definition up to this one is known: mappings up to it are in force */
    struct native_mappings in_force;
    struct column metas;          /* struct meta_definition */
    struct column strings;        /* struct text */
    struct strings schema_names;  /* of marker types that are resolved */
    struct column schema_numbers; /* uint32_t, for each of them: the last number given to one of that name */
};

void native_definitions_init(struct native_definitions *definitions, struct profile *profile,
                             struct native_ledger *ledger);
void native_definitions_fini(struct native_definitions *definitions);

/* A definition whose checksum is right. An id that is known already stays what it is. */
void native_definitions_add(struct native_definitions *definitions, uint64_t id, struct text body, uint64_t offset);

/* An id whose definition was not finished, or is damaged. */
void native_definitions_add_void(struct native_definitions *definitions, uint64_t id);

/* Nothing more will be known. */
void native_definitions_complete(struct native_definitions *definitions);

/* Whether all mappings up to that definition are in force, as far as they ever will be. */
static inline bool native_definitions_knows_mappings(const struct native_definitions *definitions, uint64_t id) {
    return id <= definitions->last_known_id || definitions->is_complete;
}

/* Category 0 is "Other". */
struct category_pair native_definitions_category(struct native_definitions *definitions, uint64_t id, bool *is_open);
const struct native_marker *native_definitions_marker(struct native_definitions *definitions, uint64_t id,
                                                      bool *is_open);
const struct native_label *native_definitions_label(struct native_definitions *definitions, uint64_t id, bool *is_open);

/* In *row its number: equal definitions have one. */
const struct counter *native_definitions_counter(struct native_definitions *definitions, uint64_t id, bool *is_open,
                                                 uint32_t *row);
struct text native_definitions_string(struct native_definitions *definitions, uint64_t id, bool *is_open);

/* A library, when its mapping is in force: what it refers to is known then. NULL: not defined. */
const struct native_library *native_definitions_library(struct native_definitions *definitions, uint64_t id);

/* The function of the library that lies at that offset from the image base; NULL where the trace names none. */
const struct native_function *native_definitions_function(const struct native_definitions *definitions, uint64_t library_id,
                                                      uint64_t offset);

/* What is defined of the machine and the program, once, when all are known. Of equal keys the last one counts. */
void native_definitions_fill_meta(struct native_definitions *definitions);

#endif
