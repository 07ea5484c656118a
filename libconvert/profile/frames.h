/* Functions, frames and stacks. */
#pragma once

#include "libconvert/base/row_table.h"

enum { ADDRESS_NONE = -1, INLINE_DEPTH_MAX = 255 };

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

/* An address is relative to the start of its library: the address of its first segment, rounded down to 4096. It lies
 * within the instruction that runs. A return address is that of the next instruction, so readers subtract 1 from it.
 * (perf gives offsets in the file instead: profile_meta.has_file_offsets.) */
struct frame {
    func_id func;
    int32_t address;                /* relative to the start of the library; ADDRESS_NONE if the library is unknown */
    lib_id lib;                     /* none if the address is unknown */
    native_symbol_id native_symbol; /* none, or one of the frame's library */
    uint32_t line;                  /* the line that runs, from 1; 0: unknown */
    uint32_t column;                /* from 1; 0: unknown */
    uint8_t inline_depth;           /* 0: the physical frame; n: inlined into the frame of depth n - 1 */
    uint8_t category;
    uint8_t subcategory;
    uint8_t inherits_category; /* 1: the frame has the categories of its caller; both are 0 here */
};
_Static_assert(sizeof(struct frame) == 28, "rows are compared as bytes: no padding");

/* A stack is the stack of the caller and the innermost frame. Callers have lower numbers than their callees. */
struct stack {
    stack_id prefix; /* none for a root */
    frame_id frame;
    stack_id first_child; /* private to stack_table, as is the next one */
    stack_id last_child;  /* the child that was last asked for */
};
