/* Tracepoints: parses the payload formats that a recording contains, and turns payloads into markers with typed
 * fields. */
#pragma once

#include "libconvert/base/value_table.h"
#include "perf_layout.h"

/* Finds the kernel's functions. */
struct perf_kernel_functions {
    /* Returns whether one is known at the address. NULL: none are known. */
    bool (*find)(void *context, uint64_t address, struct text *name, uint64_t *offset);
    void *context;
};

struct perf_tracing {
    struct profile *profile; /* borrowed */
    struct perf_kernel_functions functions;
    struct tep_handle *formats;
    struct value_table kinds;           /* struct tracepoint_kind by uint64_t: the id of the tracepoint */
    struct value_table known_words;     /* see perf_print_rule.h */
    struct value_table known_functions; /* string_id by struct function_key */
    struct value_table texts;   /* address: struct text, in the profile's memory: constant texts of the kernel */
    union marker_value *values; /* values of the last decoded payload */
};

void perf_tracing_init(struct perf_tracing *tracing, struct profile *profile);
void perf_tracing_fini(struct perf_tracing *tracing);

/* Reads the section that contains the formats. Returns false if the section is damaged; the formats before the damage
 * are still used. */
bool perf_tracing_read(struct perf_tracing *tracing, struct text section);

/* Returns the layout of the tracepoint with that id; NULL if its format is unknown. */
struct perf_layout *perf_tracing_layout(struct perf_tracing *tracing, uint64_t id);

/* Decodes the payload of the tracepoint with that id. Returns its layout and sets *values, which are valid until the
 * next call. Returns NULL if the tracepoint's format is unknown. *lost_count: how many fields the layout has no place
 * for. */
struct perf_layout *perf_tracing_decode(struct perf_tracing *tracing, uint64_t id, struct text payload,
                                        const union marker_value **values, uint64_t *lost_count);

/* Returns the value of one field, by its row in the layout that perf_tracing_layout returns for the id. */
union marker_value perf_tracing_value(struct perf_tracing *tracing, uint64_t id, struct text payload, uint32_t row);

/* Where a field is in payloads. */
struct perf_tracing_place {
    uint32_t offset;
    uint32_t size_bytes;
};

/* Returns whether the format of the tracepoint with that id is known. */
bool perf_tracing_knows(struct perf_tracing *tracing, uint64_t id);

/* Finds a field of the tracepoint, whose format must be known, by its name. Returns false if it has none. */
bool perf_tracing_find(struct perf_tracing *tracing, uint64_t id, const char *name, struct perf_tracing_place *place);
