/* The state of reading a profile that some program has saved, and what its parts share. A document is read in one pass,
 * part by part: meta, libraries, tables, threads, counters. Numbers of rows in the document become ids of the profile
 * as soon as they are read. */
#pragma once

#include "libconvert/base/value_table.h"
#include "libconvert/format/format.h"
#include "libconvert/profile/profile.h"
#include "readers/json/json_stream.h"
#include "readers/reader.h"

/* The versions of the processed format since which flags of rows stand for truth values and for null. */
enum { FRAMES_HAVE_FLAGS = 71, FUNCS_HAVE_FLAGS = 75 };

/* The first versions in which threads share these. */
enum { STRINGS_ARE_SHARED = 56, TABLES_ARE_SHARED = 60 };

/* The rows of the profile that rows of a table of the document have become. */
struct saved_map {
    uint32_t same_count; /* so many rows, from the first on, have become those with the same numbers */
    struct column ids;   /* uint32_t: of the others */
};

static inline uint32_t saved_map_count(const struct saved_map *map) { return map->same_count + map->ids.count; }

/* Returns what the row has become. It must be less than the count. */
static inline uint32_t saved_map_at(const struct saved_map *map, uint32_t row) {
    return row < map->same_count ? row : *(const uint32_t *)column_at(&map->ids, row - map->same_count);
}

/* Appends what the next row has become. */
static inline void saved_map_add(struct saved_map *map, uint32_t id) {
    if (id == map->same_count && !map->ids.count)
        map->same_count++;
    else
        column_add(&map->ids, &id);
}

static inline void saved_map_clear(struct saved_map *map) { map->same_count = map->ids.count = 0; }

/* A category of the document: what its subcategories have become. */
struct saved_category {
    uint32_t first; /* in saved_reader.pairs */
    uint32_t count;
};

/* A type of markers, by the name in payloads. */
struct saved_type {
    uint16_t schema;
    uint64_t lost_count; /* values without a field */
};

/* The thread of a marker's stack, which may come later in the document. */
struct saved_origin {
    uint32_t slot;    /* the number of its thread's slot in the profile's payloads */
    string_id tid;    /* in saved_reader.texts */
    thread_id thread; /* the marker's own */
};

/* An allocation, which is the payload of a marker in the Gecko format. */
struct saved_allocation {
    bool is_one; /* the payload that was read last is an allocation */
    bool is_js;  /* it is of an object of JavaScript, for which the profile has no place */
    struct allocation allocation;
};

/* The threads with a tid in a process, or in all of them. */
struct saved_tid_key {
    process_id process; /* none: all */
    string_id tid;
};
struct saved_tid {
    thread_id first;
    uint32_t repeated_count; /* how many others have got a number */
};

struct saved_reader {
    struct json_stream *json; /* borrowed */
    struct profile *profile;  /* borrowed */
    int64_t version;
    struct saved_map maps[TABLE_COUNT];
    struct column categories;   /* struct saved_category */
    struct column pairs;        /* struct category_pair */
    struct strings texts;       /* pids, tids and types of markers */
    struct column processes;    /* process_id by text, plus 1; 0: none has that pid */
    struct column types;        /* struct saved_type by text; schema 0: none, otherwise the number plus 1 */
    struct value_table tids;    /* struct saved_tid by struct saved_tid_key */
    struct column origins;      /* struct saved_origin */
    struct column threads;      /* thread_id by place in the document */
    struct column thread_tids;  /* string_id in `texts` by thread */
    thread_id thread;           /* the one that is read */
    union marker_value *values; /* owned: of the payload that is read */
    size_t value_capacity;
    struct column visible_threads; /* uint32_t: places of the threads that the viewer shows at first */
    int64_t origin_ns;             /* zero on the clock of the trace; 0 if that is unknown */
    int64_t shift_ns;              /* added to times: those of a child process begin with that process */
    bool is_gecko;                 /* the profile is in the Gecko format, otherwise in the processed one */
    bool has_shared;               /* threads share tables: since version 56 of the processed format */
    bool is_firefox;               /* Firefox has written the profile */
    int64_t shutdown_ns;           /* when the first process ended; TIME_NONE: later */
    struct saved_allocation allocation;
    uint32_t part_row_count;        /* set by a saved_part_reader that has read a column */
    struct column backtrace;        /* struct sample, with numbers of the document: of the marker that is read */
    struct saved_map caller_stacks; /* in a Gecko profile: the stacks as those of callers and markers */
    enum cpu_delta_unit cpu_unit;   /* NONE: the profile has no unit, so its processor times mean nothing */
    int64_t cpu_unit_ns;            /* length of one unit of processor time, if that is a time */
    bool has_weights;               /* some thread has weights */
    bool has_null_weights;          /* some thread with samples has none */
    bool has_other_weights;         /* some weight is not 1 */
};

/* Reads a member that needs code: one that no row has a cell for, or that the description does not know. Returns false,
 * and reads nothing, if it knows no such member. */
typedef bool saved_part_reader(struct saved_reader *reader, struct text key, void *context);

/* Reads an object. Members with cells go to `row`. What has no place is counted as lost. */
void saved_read_members(struct saved_reader *reader, const struct shape *shape, void *row, saved_part_reader *part,
                        void *context);

/* Reads an object of which the description has no member that a row holds. */
void saved_read_object(struct saved_reader *reader, saved_part_reader *part, void *context);

/* Reads a list that is the value of a member with that name, whose name has been pushed. */
typedef void saved_element_reader(struct saved_reader *reader, void *context);
void saved_read_each(struct saved_reader *reader, const char *name, saved_element_reader *read, void *context);

/* A member that refers to others of its object. If one of those comes later, its text is kept until then. */
struct saved_part {
    struct text key;
    void (*read)(struct saved_reader *reader, void *context);
    unsigned needs; /* bits: the numbers of the parts to which it refers */
    bool is_required;
    int64_t since; /* older versions lack it, so that nothing waits for it */
};

/* Reads an object with parts. `others` reads its other members. */
void saved_read_parts(struct saved_reader *reader, const struct saved_part *parts, size_t part_count,
                      saved_part_reader *others, void *context);

/* A table, and where it goes. */
struct saved_table {
    const struct shape *shape;
    struct column *rows;
    const void *blank; /* a new row, whose cells are unknown */
    bool is_raw;       /* ids stay numbers of the document */
    saved_part_reader *part;
    void *context;
    void *row; /* the row whose part is read, if the table is one of rows */
};

/* Reads a table of columns, whose rows are appended. A column without the table's number of rows is a failure. */
void saved_read_columns(struct saved_reader *reader, const struct saved_table *table);

/* Reads a table of rows, which are appended. */
void saved_read_rows(struct saved_reader *reader, struct saved_table *table);

/* Returns the row, which is added if it is the next one; NULL if memory ran out (latched). */
static inline void *saved_row_at(const struct saved_table *table, uint32_t row) {
    if (row < table->rows->count) return column_at(table->rows, row);
    void *added = column_push(table->rows);
    if (added) memcpy(added, table->blank, table->rows->element_bytes);
    return added;
}

/* Counts the values as lost, under the names that were pushed and `key`. */
void saved_lose(struct saved_reader *reader, struct text key, uint64_t count);

/* Returns what the row of that number has become. A number that the table does not have is a failure. */
uint32_t saved_map_row(struct saved_reader *reader, enum format_table table, int64_t row);

/* Appends what the next row of the table has become. */
void saved_map_push(struct saved_reader *reader, enum format_table table, uint32_t id);

/* Reads a text that lives as long as the profile; empty for null. */
struct text saved_text(struct saved_reader *reader);

/* Reads a pid or tid, which may be a number, as text. */
string_id saved_id_text(struct saved_reader *reader);

/* Reads milliseconds as nanoseconds; TIME_NONE for null. */
int64_t saved_ns_of_ms(struct saved_reader *reader);

/* Reads a time of the profile: as saved_ns_of_ms, and shifted. */
int64_t saved_time_ns(struct saved_reader *reader);

/* Reads a number that must be within the bounds; 0 for null. */
int64_t saved_int(struct saved_reader *reader, int64_t min, int64_t max);

/* Reads a number of 32 bits; 0 for null, and for a number that has a fraction or does not fit, which is lost. */
uint32_t saved_uint(struct saved_reader *reader, uint64_t *lost_count);

/* Returns the number of the choice, which is a text; `fallback` and a loss if the text is none of them. The choices end
 * with NULL. */
unsigned saved_choice(struct saved_reader *reader, const char *const *choices, unsigned fallback);

static inline bool saved_is_good(const struct saved_reader *reader) {
    return !failure_is_set(reader->profile->failure);
}

/* New rows, as they are if no column says otherwise. */
extern const struct frame saved_blank_frame;
extern const struct stack saved_blank_stack;

/* ---- The parts of a document. ---- */

void saved_meta_read(struct saved_reader *reader, const struct shape *shape);

/* These read parts of a processed profile: see saved_part. They need no context. */
void saved_libs_read(struct saved_reader *reader, void *context);
void saved_shared_read(struct saved_reader *reader, void *context);
void saved_threads_read(struct saved_reader *reader, void *context);
void saved_counters_read(struct saved_reader *reader, void *context);
void saved_overheads_read(struct saved_reader *reader, void *context);
void saved_profiling_log_read(struct saved_reader *reader, void *context);
void saved_gathering_log_read(struct saved_reader *reader, void *context);

/* Reads the list of strings of a profile or, in older versions and Gecko profiles, of a thread. Needs no context. */
void saved_strings_read(struct saved_reader *reader, void *context);

/* Reads a whole profile in the Gecko format. */
void saved_gecko_read(struct saved_reader *reader);

/* Read what a process of a Gecko profile has. */
void saved_gecko_counters_read(struct saved_reader *reader, process_id process);
void saved_gecko_overhead_read(struct saved_reader *reader, process_id process);

/* Gives a frame the categories of the profile in place of those of the document. */
void saved_frame_settle_category(struct saved_reader *reader, struct frame *frame);

/* Reads periods in which nothing was recorded. */
void saved_pauses_read(struct saved_reader *reader, struct column *pauses);

/* Reads "markerSchema". */
void saved_schemas_read(struct saved_reader *reader);

/* Returns the schema of a type that the front-end describes itself; NULL if it does not. */
const struct marker_schema *saved_built_in_schema(struct text name);

/* Reads the payload of a marker, which is an object or null. */
void saved_payload_read(struct saved_reader *reader, struct marker *marker);

/* Enters in the ledger what payloads have lost. */
void saved_types_count_lost(struct saved_reader *reader);

/* Returns the process with that pid, which is added if it is new. */
process_id saved_process(struct saved_reader *reader, string_id pid);

/* Finds the threads that stacks of markers and allocations name, once all threads were read. */
void saved_threads_link(struct saved_reader *reader);

/* Moves processor times in cycles to where the profile has them. Call it once all threads were read. */
void saved_threads_settle_cycles(struct saved_reader *reader);

/* Returns the category of the frames and markers with these numbers. */
struct category_pair saved_category_at(struct saved_reader *reader, int64_t category, int64_t subcategory);
