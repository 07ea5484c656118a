/* Functions, and what they refer to: resources (where code comes from), sources (files) and native symbols. A row of
 * the viewer's call tree is a function, so two equal functions must be one row. */
#pragma once

#include "libconvert/base/row_table.h"

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
    string_id name; /* the viewer shows it before the function's name */
    uint32_t type;  /* enum resource_type */
};

struct source {
    string_id filename; /* a path, a URL, or a name on the web (libconvert/source_names.h) */
    uint32_t origin;    /* 0: the file's path is filename; N: it is the N-th of the profile's source_origins */
};

/* A symbol of a library's symbol table. */
struct native_symbol {
    lib_id lib;
    uint32_t address; /* relative to the library's start, below 2^31 */
    string_id name;
};

enum func_flags { FUNC_IS_JS = 1 };

struct func {
    string_id name;
    resource_id resource; /* none: the viewer shows nothing before the name */
    source_id source;     /* none: unknown */
    uint32_t line;        /* where the function starts, not the line that runs; from 1; 0: unknown */
    uint32_t column;      /* from 1; 0: unknown */
    uint32_t flags;       /* enum func_flags */
};
