/* Markers and their schemas. The payload of a marker is a sequence of values, one for each field of its schema. */
#pragma once

#include "categories.h"
#include "libconvert/base/decimal.h"
#include "threads.h"

/* The front-end's phases (src/types/gecko-profile.ts). */
enum marker_phase { MARKER_INSTANT = 0, MARKER_INTERVAL = 1, MARKER_INTERVAL_START = 2, MARKER_INTERVAL_END = 3 };

/* The kind of a value decides which member of union marker_value holds it. */
enum marker_value_kind {
    VALUE_TEXT,     /* text */
    VALUE_STRING,   /* string: a row of the profile's string table */
    VALUE_NUMBER,   /* number */
    VALUE_DURATION, /* duration_ns */
    VALUE_TIME,     /* time_ns; see profile.h on times */
    VALUE_CELLS     /* cells: the texts of a list, or the values of a table, row by row */
};

/* The front-end's field formats (src/types/markers.ts). The comments give the unit of the values here. */
enum marker_format {
    MARKER_URL,
    MARKER_FILE_PATH,
    MARKER_SANITIZED_STRING,
    MARKER_STRING,
    MARKER_UNIQUE_STRING,
    MARKER_FLOW_ID,             /* a string that all markers of a flow share */
    MARKER_TERMINATING_FLOW_ID, /* a string that all markers of a flow share; this marker ends the flow */
    MARKER_DURATION,
    MARKER_TIME,
    MARKER_SECONDS, /* number of milliseconds, shown as seconds */
    MARKER_MILLISECONDS,
    MARKER_MICROSECONDS,
    MARKER_NANOSECONDS,
    MARKER_BYTES,
    MARKER_PERCENTAGE, /* 1 is 100 % */
    MARKER_INTEGER,
    MARKER_DECIMAL,
    MARKER_HEXADECIMAL, /* see marker_value_bits */
    MARKER_PID,         /* text, equal to the pid_text of a process */
    MARKER_TID,         /* text, equal to the tid of a thread as it is written */
    MARKER_LIST,
    MARKER_TABLE,
    MARKER_FORMAT_COUNT
};

struct marker_format_traits {
    const char *name; /* the name in a schema */
    enum marker_value_kind kind;
};
extern const struct marker_format_traits marker_formats[MARKER_FORMAT_COUNT];

static inline const char *marker_format_name(enum marker_format format) { return marker_formats[format].name; }
static inline enum marker_value_kind marker_format_kind(enum marker_format format) {
    return marker_formats[format].kind;
}

/* A number is an exact decimal. If decimal.scale is MARKER_REAL it is a double instead, and if it is MARKER_ABSENT
 * there is none. */
enum { MARKER_REAL = UINT32_MAX - 1, MARKER_ABSENT = UINT32_MAX };

/* A range of the profile's marker_cells. */
struct marker_cells {
    uint32_t first; /* ID_NONE: absent */
    uint32_t count; /* the number of values; for a table, a multiple of the number of its columns */
};

/* Where and when the stack of a marker was taken. */
struct stack_origin {
    union {
        int64_t time_ns; /* see profile.h on times */
        int64_t time_ticks;
    };
    thread_id thread; /* none if unknown */
};

union marker_value {
    struct text text;      /* lives as long as the profile; bytes NULL: absent */
    string_id string;      /* none: absent */
    struct decimal number; /* see MARKER_REAL */
    int64_t duration_ns;   /* TIME_NONE: absent */
    int64_t time_ns;       /* TIME_NONE: absent */
    int64_t time_ticks;
    struct marker_cells cells;
};

/* What a payload keeps of a value. A text takes two slots, its address and its size; another value takes one. A marker
 * that has an origin has two more before its values: the time and the thread. */
union marker_slot {
    const char *bytes;
    uint64_t bits; /* the size of a text, or a number: see profile_value_at */
    string_id string;
    int64_t time_ns; /* or a duration, or ticks */
    struct marker_cells cells;
    thread_id thread;
};
_Static_assert(sizeof(union marker_slot) == 8, "a payload costs 8 bytes a field, and 16 if it is a text");

static inline uint32_t marker_slot_count(enum marker_value_kind kind) { return kind == VALUE_TEXT ? 2 : 1; }

/* Returns an absent value of that kind. Payloads omit it; in a list or a table it is written as null. */
union marker_value marker_value_absent(enum marker_value_kind kind);
static inline bool marker_value_is_absent(enum marker_value_kind kind, const union marker_value *value) {
    switch (kind) {
        case VALUE_TEXT: return !value->text.bytes;
        case VALUE_STRING: return string_is_none(value->string);
        case VALUE_NUMBER: return value->number.scale == MARKER_ABSENT;
        case VALUE_DURATION: return value->duration_ns == TIME_NONE;
        case VALUE_TIME: return value->time_ns == TIME_NONE;
        case VALUE_CELLS: break;
    }
    return value->cells.first == ID_NONE;
}

/* Return a VALUE_NUMBER. A real that is not finite becomes absent. */
static inline union marker_value marker_value_integer(int64_t value) {
    return (union marker_value){.number = {.mantissa = value}};
}
union marker_value marker_value_real(double value);
/* Returns the double of a number whose scale is MARKER_REAL. */
double marker_value_real_of(struct decimal number);

/* Returns the integer part of a number as 64 bits, in two's complement, as a hexadecimal field shows it. Returns 0 for
 * an absent number. A real that does not fit is clamped. */
uint64_t marker_value_bits(struct decimal number);
/* Returns whether the front-end cannot show the number: one in hexadecimal that needs more than 32 bits, or an integer
 * that a double cannot hold. */
bool marker_value_is_wide(enum marker_format format, struct decimal number);

/* A column of a table field. Its format is any but list and table. */
struct marker_table_column {
    struct text label; /* empty: none */
    enum marker_format format;
};

struct marker_field {
    struct text key; /* the name in the payload object */
    struct text label;
    enum marker_format format;
    bool is_hidden;
    uint32_t slot; /* the first one of its value, among those of a payload; set by the profile */
    /* Some value is wide, so all are written as strings: "0x…" or digits. Of a table, those of hexadecimal columns
     * are. Maintained by profile_add_marker. */
    bool has_wide_values;
    const struct marker_table_column *columns; /* the columns, if the field is a table */
    uint32_t column_count;
};

/* Where the front-end shows markers (its MarkerDisplayLocation). */
enum marker_display {
    MARKER_DISPLAY_CHART = 1,
    MARKER_DISPLAY_TABLE = 2,
    MARKER_DISPLAY_OVERVIEW = 4, /* timeline-overview */
    MARKER_DISPLAY_MEMORY = 8,   /* timeline-memory */
    MARKER_DISPLAY_IPC = 16,     /* timeline-ipc */
    MARKER_DISPLAY_FILEIO = 32,  /* timeline-fileio */
    MARKER_DISPLAY_STACK_CHART = 64,
    MARKER_DISPLAY_NETWORK = 128, /* timeline-network */
    MARKER_DISPLAY_DEFAULT = MARKER_DISPLAY_CHART | MARKER_DISPLAY_TABLE | MARKER_DISPLAY_OVERVIEW
};

enum marker_graph_type { MARKER_GRAPH_BAR, MARKER_GRAPH_LINE, MARKER_GRAPH_LINE_FILLED, MARKER_GRAPH_TYPE_COUNT };

/* The colours of graphs and counter tracks (src/types/profile.ts, GraphColor). */
enum graph_color {
    GRAPH_BLUE,
    GRAPH_GREEN,
    GRAPH_GREY,
    GRAPH_INK,
    GRAPH_MAGENTA,
    GRAPH_ORANGE,
    GRAPH_PURPLE,
    GRAPH_RED,
    GRAPH_TEAL,
    GRAPH_YELLOW,
    GRAPH_COLOR_COUNT
};
/* Their names in a profile, and NULL. */
extern const char *const graph_color_names[GRAPH_COLOR_COUNT + 1];

struct marker_graph {
    struct text key; /* key of a field with numbers */
    enum marker_graph_type type;
    enum graph_color color;
};

/* The key under which a payload names the thread of a stack: see has_foreign_stacks. */
#define MARKER_STACK_THREAD_KEY "stackThread"
/* The type of payloads that have no other key. */
#define MARKER_FOREIGN_STACK_TYPE "StackOfAnotherThread"

struct reserved_type;

/* What the front-end needs in order to show markers of one type. Texts, fields and graphs are static or live as long as
 * the profile (profile_text, profile_allocate). */
struct marker_schema {
    struct text name; /* the "type" of the payloads; unique */
    struct text description;
    struct text chart_label; /* a template: "{marker.name} - {marker.data.key}"; empty: the front-end's default */
    struct text tooltip_label;
    struct text table_label;
    struct text color_field; /* the key of the MARKER_STRING field with the name of a graph_color; empty: none */
    uint32_t display;        /* bits of enum marker_display; 0: MARKER_DISPLAY_DEFAULT */
    bool is_stack_based;     /* intervals nest like calls */
    const struct marker_field *fields;
    uint32_t field_count;
    const struct marker_graph *graphs;
    uint32_t graph_count;
    /* Some markers have stacks of other threads. The front-end shows such a thread if it is a field of the payload.
     * Maintained by profile_add_marker. */
    bool has_foreign_stacks;
    /* Maintained by the profile: what the front-end requires of a type of that name (NULL: nothing), and the number,
     * from 1, of the same schema under another name, for markers that do not meet it (0: not made yet). */
    const struct reserved_type *reserved;
    uint16_t twin;
    bool can_be_wide; /* some field is MARKER_HEXADECIMAL or MARKER_INTEGER, or some column is the former; set by the
                         profile */
    uint16_t value_kinds; /* bits 1 << enum marker_value_kind of the fields and their cells; set by the profile */
};

/* Returns the bits of enum marker_display that say where the front-end shows markers with the schema. */
static inline uint32_t marker_schema_display(const struct marker_schema *schema) {
    return schema->display ? schema->display : MARKER_DISPLAY_DEFAULT;
}

enum { MARKER_SCHEMA_NONE = UINT16_MAX };

struct marker {
    union {
        int64_t start_ns; /* see profile.h on times */
        int64_t start_ticks;
    };
    union {
        int64_t end_ns; /* start_ns again if the phase has no end */
        int64_t end_ticks;
    };
    string_id name;
    stack_id stack;    /* none: no cause */
    uint32_t slots_at; /* the first one of the payload's values in the profile's payloads */
    uint16_t schema;   /* a row of the profile's marker_schemas; MARKER_SCHEMA_NONE: no payload */
    enum marker_phase phase : 6;
    bool is_routine : 1; /* it says little about its thread: many threads have one, whatever they do */
    bool has_origin : 1; /* otherwise the stack was taken at the marker's start, in its thread; set by the profile */
    uint8_t category;
};
_Static_assert(sizeof(struct marker) == 32, "a marker costs 32 bytes and its payload");

static inline bool marker_has_end(const struct marker *marker) {
    return marker->phase == MARKER_INTERVAL || marker->phase == MARKER_INTERVAL_END;
}
