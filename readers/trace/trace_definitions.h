/* The definitions of a recorder trace, which events refer to by number. A definition is parsed when it is read. It is
 * resolved when an event first uses it: only then are its references followed and its rows of the profile made, since
 * what it refers to may come later in the file.
 *
 * Look-ups take the id of a definition. They return NULL, or an empty text, if there is no such definition of that
 * kind. They set *is_open if the definition, or one that it refers to, may still come. The event must be read again
 * later then. */
#pragma once

#include "libconvert/base/value_table.h"
#include "libconvert/profile/profile.h"
#include "readers/code/code_spaces.h"
#include "recorder/trace_format.h"
#include "trace_ledger.h"
#include "trace_marker_type.h"

struct trace_marker {
    struct text name_text;
    uint64_t category_id;
    uint64_t type_id;
    bool is_resolved;
    string_id name;
    uint8_t category;
    const struct trace_marker_type *type; /* NULL if there is no payload */
    bool has_lost_type;                   /* the marker has a type whose definition is missing */
    bool is_routine;                      /* the recorder's own, for a process that ended before its first sample */
};

struct trace_label {
    struct text name;
    uint64_t category_id;
    struct text file;
    uint32_t line;
    bool is_resolved;
    source_id source;
    struct category_pair category;
    frame_id frame; /* frame of this label when it is pushed without a text */
};

struct trace_library {
    struct text path;
    struct text build_id; /* hex */
    bool is_file;         /* false for memory without a file and for files that generated code is mapped from */
    bool is_resolved;
    lib_id lib;
    resource_id resource;
};

/* A function that the trace itself names in a library. */
struct trace_function {
    uint64_t offset; /* distance from the image base */
    struct text name;
};

/* A mapping of a process. */
struct trace_mapping {
    int64_t pid;
    uint64_t process_start_ns;
    struct code_mapping mapping;
};

/* Identifies a process. Compared as bytes, so it must have no padding. */
struct trace_process_key {
    int64_t pid;
    uint64_t start_ns;
};

/* A forked child has its parent's memory. */
struct trace_inheritance {
    struct trace_process_key child;
    struct trace_process_key parent;
    uint64_t last_id; /* id of the parent's last definition that the child inherits */
};

/* The command line of a process, in which each argument ends with a zero byte. */
struct trace_arguments {
    int64_t pid;
    uint64_t process_start_ns;
    struct text text; /* lives as long as the profile */
};

/* A file in which a process describes the code that it generates. */
struct trace_jitdump {
    int64_t pid;
    uint64_t process_start_ns;
    struct text path;
};

enum { TRACE_RECENT_COUNT = 64, TRACE_DEFINITION_KIND_COUNT = TRACE_DEFINE_ARGUMENTS + 1 };

/* A marker whose definition was looked up before. */
struct trace_recent_marker {
    uint64_t id;
    const struct trace_marker *marker; /* NULL: none */
};

struct trace_definitions {
    struct profile *profile;     /* borrowed */
    struct trace_ledger *ledger; /* borrowed */
    uint64_t read_id;            /* the id of the definition whose body is read */
    bool is_complete;            /* all chunks are read, so what is unknown now stays unknown */
    struct arena texts;
    struct value_table rows;     /* struct definition for each id, a uint64_t */
    struct value_table contents; /* struct content for each index_set_identity of a body; equal definitions share one */
    struct column rows_of[TRACE_DEFINITION_KIND_COUNT]; /* what the definitions of each kind say; [0] has none */
    struct trace_recent_marker recent_markers[TRACE_RECENT_COUNT]; /* by id, modulo their number */
    struct column jitdumps; /* struct trace_jitdump, for the mappings that are in force */
    /* For each library's id, a struct code_space: its symbols, by number, at their offsets. */
    struct value_table symbol_maps;
    uint64_t last_known_id; /* all definitions up to this one are known, so mappings up to it apply */
    struct code_spaces spaces;
    /* For each struct trace_process_key, a struct code_history: the mappings that are in force, by id. */
    struct value_table histories;
    struct strings schema_names;  /* names of the marker types that are resolved */
    struct column schema_numbers; /* uint32_t for each schema name: the last number appended to it */
};

void trace_definitions_init(struct trace_definitions *definitions, struct profile *profile,
                            struct trace_ledger *ledger);
void trace_definitions_fini(struct trace_definitions *definitions);

/* Adds a definition whose checksum is right. If the id is known already, its first definition stays. */
void trace_definitions_add(struct trace_definitions *definitions, uint64_t id, struct text body, uint64_t offset);

/* Adds an id whose definition is unfinished or damaged. */
void trace_definitions_add_void(struct trace_definitions *definitions, uint64_t id);

/* Declares that no more definitions come. */
void trace_definitions_complete(struct trace_definitions *definitions);

/* True if all mappings up to that definition apply, or no more definitions come. */
static inline bool trace_definitions_knows_mappings(const struct trace_definitions *definitions, uint64_t id) {
    return id <= definitions->last_known_id || definitions->is_complete;
}

/* Returns the category. Id 0 is the category "Other". */
struct category_pair trace_definitions_category(struct trace_definitions *definitions, uint64_t id, bool *is_open);
const struct trace_marker *trace_definitions_marker(struct trace_definitions *definitions, uint64_t id, bool *is_open);
const struct trace_label *trace_definitions_label(struct trace_definitions *definitions, uint64_t id, bool *is_open);

/* Sets *row to the counter's number. Equal definitions share one. */
const struct counter *trace_definitions_counter(struct trace_definitions *definitions, uint64_t id, bool *is_open,
                                                uint32_t *row);
struct text trace_definitions_string(struct trace_definitions *definitions, uint64_t id, bool *is_open);

/* Returns the mapping that contains the address in the process, considering definitions up to `last_id`; NULL if there
 * is none. */
const struct code_mapping *trace_definitions_mapping(const struct trace_definitions *definitions, int64_t pid,
                                                     uint64_t process_start_ns, uint64_t address, uint64_t last_id);

/* Returns a library. Call it only for mappings that apply, whose references are known. NULL if the library is not
 * defined. */
const struct trace_library *trace_definitions_library(struct trace_definitions *definitions, uint64_t id);

/* Returns the function at that offset from the library's image base; NULL if the trace names none. */
const struct trace_function *trace_definitions_function(const struct trace_definitions *definitions,
                                                        uint64_t library_id, uint64_t offset);

/* Fills in what is defined about the machine and the program. Call it once, when all definitions are known. If a key
 * occurs several times, the last one applies. */
void trace_definitions_fill_meta(struct trace_definitions *definitions);
