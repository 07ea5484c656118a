/* Markers and their schemas. A marker's payload is a run of values, one for each field of its schema. */
#ifndef GECKO_MARKERS_H
#define GECKO_MARKERS_H

#include "categories.h"
#include "decimal.h"

/* The front-end's phases (src/types/gecko-profile.ts). */
enum marker_phase { MARKER_INSTANT = 0, MARKER_INTERVAL = 1, MARKER_INTERVAL_START = 2, MARKER_INTERVAL_END = 3 };

/* What a value is, and so which member of union marker_value it is. */
enum marker_value_kind {
    VALUE_TEXT,     /* text */
    VALUE_STRING,   /* string: a row of the profile's string table */
    VALUE_NUMBER,   /* number */
    VALUE_DURATION, /* duration_ns */
    VALUE_TIME,     /* time_ns: the trace's clock until profile_finish, then since the profile's start */
    VALUE_CELLS     /* cells: texts of a list, or values of a table row by row */
};

/* The front-end's field formats (src/types/markers.ts), with the unit in which the model has their values. */
enum marker_format {
    MARKER_URL,
    MARKER_FILE_PATH,
    MARKER_SANITIZED_STRING,
    MARKER_STRING,
    MARKER_UNIQUE_STRING,
    MARKER_FLOW_ID,             /* a string that is the same in all markers of a flow */
    MARKER_TERMINATING_FLOW_ID, /* the same, ending the flow */
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
    MARKER_PID,         /* text, equal to a process's pid_text */
    MARKER_TID,         /* text, equal to a thread's tid as it is written */
    MARKER_LIST,
    MARKER_TABLE,
    MARKER_FORMAT_COUNT
};

/* The format's name in a schema. */
const char *marker_format_name(enum marker_format format);
enum marker_value_kind marker_format_kind(enum marker_format format);

/* A number: an exact decimal, or a double where decimal.scale is MARKER_REAL, or none where it is MARKER_ABSENT. */
enum { MARKER_REAL = UINT32_MAX - 1, MARKER_ABSENT = UINT32_MAX };

/* A run of the profile's marker_cells. */
struct marker_cells {
    uint32_t first; /* ID_NONE: absent */
    uint32_t count; /* of values; a table has a multiple of its columns */
};

union marker_value {
    struct text text;      /* lives as long as the profile; bytes NULL: absent */
    string_id string;      /* none: absent */
    struct decimal number; /* see MARKER_REAL */
    int64_t duration_ns;   /* TIME_NONE: absent */
    int64_t time_ns;       /* TIME_NONE: absent */
    struct marker_cells cells;
};
_Static_assert(sizeof(union marker_value) == 16, "a payload costs 16 bytes a field");

/* An absent value of that kind, which payloads leave out; in a list or a table it is null. */
union marker_value marker_value_absent(enum marker_value_kind kind);
bool marker_value_is_absent(enum marker_value_kind kind, const union marker_value *value);

/* VALUE_NUMBER. A real that is not finite is absent. */
union marker_value marker_value_integer(int64_t value);
union marker_value marker_value_real(double value);
/* The double of a number whose scale is MARKER_REAL. */
double marker_value_real_of(struct decimal number);

/* A number's integer part as 64 bits, of negative ones the two's complement: what a hexadecimal shows. 0 for an absent
 * one; a real beyond 64 bits is the nearest of them. */
uint64_t marker_value_bits(struct decimal number);
/* More than 32 bits. */
bool marker_value_is_wide(struct decimal number);

/* A column of a table field. Its format is any but list and table. */
struct marker_table_column {
    struct text label; /* empty: none */
    enum marker_format format;
};

struct marker_field {
    struct text key; /* names in the payload object */
    struct text label;
    enum marker_format format;
    bool is_hidden;
    /* The client shows only 32 bits of a hexadecimal number: where a value needs more, all values of the field are
     * written as strings "0x…". Kept by profile_add_marker. */
    bool has_wide_values;
    const struct marker_table_column *columns; /* of a table */
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
const char *graph_color_name(enum graph_color color);

struct marker_graph {
    struct text key; /* of a field with numbers */
    enum marker_graph_type type;
    enum graph_color color;
};

/* The key of a payload that names the thread of a stack: see has_foreign_stacks. */
#define MARKER_STACK_THREAD_KEY "stackThread"
/* The type of payloads that have nothing else. */
#define MARKER_FOREIGN_STACK_TYPE "StackOfAnotherThread"

struct reserved_type;

/* What the front-end needs in order to show markers of one type. Texts, fields and graphs are static or live as long
 * as the profile (profile_text, profile_allocate). */
struct marker_schema {
    struct text name; /* the payload's "type"; unique */
    struct text description;
    struct text chart_label; /* labels are templates: "{marker.name} - {marker.data.key}"; empty: the client's own */
    struct text tooltip_label;
    struct text table_label;
    struct text color_field; /* key of the field (MARKER_STRING) whose text is a graph_color_name; empty: none */
    uint32_t display;        /* of enum marker_display; 0: MARKER_DISPLAY_DEFAULT */
    bool is_stack_based;     /* intervals nest like calls */
    const struct marker_field *fields;
    uint32_t field_count;
    const struct marker_graph *graphs;
    uint32_t graph_count;
    /* Some markers have stacks of other threads: the client shows such a thread if it is a field of the payload. Kept
     * by profile_add_marker. */
    bool has_foreign_stacks;
    /* Kept by the profile: what the front-end asks of a type of that name (NULL: nothing), and the row of this schema
     * under another name, for markers that lack it, counted from 1 (0: there is none yet). */
    const struct reserved_type *reserved;
    uint16_t twin;
};

enum { MARKER_SCHEMA_NONE = UINT16_MAX };

/* Where and when a marker's stack was taken. */
struct stack_origin {
    int64_t time_ns;
    thread_id thread;
};

struct marker {
    int64_t start_ns;
    int64_t end_ns; /* the start again where the phase has none */
    string_id name;
    stack_id stack;     /* none: no cause */
    uint32_t values_at; /* first of the payload's values in the profile's marker_values */
    uint16_t schema;    /* row of the profile's marker_schemas; MARKER_SCHEMA_NONE: no payload */
    uint8_t phase;      /* enum marker_phase */
    uint8_t category;
    uint32_t origin; /* of the stack: see profile_stack_origin; 0: at the marker's start, in its thread */
};
_Static_assert(sizeof(struct marker) <= 48, "a marker costs at most 48 bytes and its payload");

#endif
