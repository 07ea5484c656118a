/* Functions, and what they refer to: resources (where code comes from), sources (files), native symbols. A
 * row of the call tree is a func, so two rows that differ in nothing must be one. */
#ifndef GECKO_FUNCS_H
#define GECKO_FUNCS_H

#include "row_table.h"

/* The front-end's resourceTypes (src/profile-logic/data-structures.ts). */
enum resource_type {
    RESOURCE_UNKNOWN = 0,
    RESOURCE_LIBRARY = 1,
    RESOURCE_ADDON = 2,
    RESOURCE_WEBHOST = 3,
    RESOURCE_OTHERHOST = 4,
    RESOURCE_URL = 5
};

struct resource {
    string_id name; /* the viewer shows it before the function */
    uint32_t type;  /* enum resource_type */
};

struct source {
    string_id filename;
};

/* A symbol of a library's symbol table. */
struct native_symbol {
    lib_id lib;
    uint32_t address; /* relative to the library, below 2^31 */
    string_id name;
};

enum func_flags { FUNC_IS_JS = 1 };

struct func {
    string_id name;
    resource_id resource; /* none: the viewer shows nothing before the name */
    source_id source;     /* none: unknown */
    uint32_t line;        /* where the function starts, 1-based; 0 unknown. Not the line that runs. */
    uint32_t column;      /* 1-based; 0 unknown */
    uint32_t flags;       /* enum func_flags */
};

#endif
