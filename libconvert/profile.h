/* The profile: the one thing that readers and emitters share.
 *
 * A reader fills the tables, threads and metadata; profile_finish puts them in order; an emitter only reads.
 * All threads share the tables. Nothing here is thread-safe. */
#ifndef GECKO_PROFILE_H
#define GECKO_PROFILE_H

#include "arena.h"
#include "categories.h"
#include "counters.h"
#include "decimal.h"
#include "frames.h"
#include "ledger.h"
#include "libs.h"
#include "log_lines.h"
#include "markers.h"
#include "overheads.h"
#include "strings.h"
#include "threads.h"

/* What the samples' weights are in the profile. */
enum weight_type {
    WEIGHT_ONE,        /* every sample counts 1: no weights are written */
    WEIGHT_SAMPLES,    /* a number of samples, or any unit that the viewer has no name for */
    WEIGHT_TRACING_MS, /* nanoseconds, written as milliseconds */
    WEIGHT_BYTES
};

/* What a sample's weight says of the CPU time since the thread's sample before. */
enum cpu_delta_unit { CPU_DELTA_NONE, CPU_DELTA_NS, CPU_DELTA_CYCLES };

/* A line of the viewer's information panel. */
struct extra_entry {
    struct text section;
    struct text label;
    struct text value;
};

/* Texts are made by profile_text; they are empty, numbers 0 where the trace does not tell. Names follow the front-end's
 * ProfileMeta. */
struct profile_meta {
    struct text product;
    struct text imported_from; /* what wrote the trace: "Linux perf" */
    struct text arguments;
    struct text cpu_name;
    struct text os_cpu;
    struct text platform;
    struct text abi;
    struct text device;
    uint32_t logical_cpu_count;
    uint64_t main_memory_bytes;
    int64_t start_time_ms; /* of the profile's time zero, since the Unix epoch; 0 unknown */
    int64_t
        captured_at_ms; /* when the trace was written, since the epoch; 0 unknown. profile_finish derives the start. */
    int64_t epoch_offset_ns; /* the Unix time less the trace's clock; 0 unknown. profile_finish derives the start. */
    int64_t interval_ns;     /* between samples; 0: profile_finish estimates it */
    bool has_stacks;         /* stacks were walked: not only one frame a sample */
    bool has_file_offsets;   /* frames' addresses are offsets in their files: see profile_symbolize */
    bool has_times;          /* false: times are synthesised from the order */
    bool is_clock_monotonic; /* the trace's clock is CLOCK_MONOTONIC: the profile says where on it its zero is */
    enum weight_type weight_type;
    struct text weight_unit; /* what a weight counts: "cycles"; empty: samples */
    enum cpu_delta_unit cpu_delta_unit;
    struct column extra; /* struct extra_entry */
};

struct profile {
    struct failure *failure; /* borrowed */
    struct strings strings;  /* what the tables name: the profile's string table */
    struct strings texts;    /* what is written in place: names of threads, metadata */
    struct libs libs;
    struct categories categories;
    struct row_table resources;      /* struct resource */
    struct row_table sources;        /* struct source */
    struct row_table native_symbols; /* struct native_symbol */
    struct row_table funcs;          /* struct func */
    struct row_table frames;         /* struct frame */
    struct row_table stacks;         /* struct stack */
    struct arena memory;             /* see profile_allocate */
    struct column marker_schemas;    /* struct marker_schema */
    struct column marker_values;     /* union marker_value */
    struct column marker_cells;      /* union marker_value: of lists and tables */
    struct column stack_origins;     /* struct stack_origin */
    struct row_table large_weights;  /* struct decimal: those that do not fit their 31 bits */
    struct column processes;         /* struct process */
    struct column threads;           /* struct thread, in order of first appearance */
    struct column counters;          /* struct counter, in order of first appearance (see profile_finish) */
    struct column paused_ranges;     /* struct paused_range */
    struct column overheads;         /* struct overhead */
    struct column profiling_log;     /* struct log_line: what the recorder said */
    struct column gathering_log;     /* struct log_line: what the reader met */
    struct column thread_order;      /* thread_id: the threads to write, in order; filled by profile_finish */
    struct profile_meta meta;
    struct ledger ledger;
    int64_t origin_ns; /* the trace's time that is the profile's zero; set by profile_finish */
    int64_t end_ns;    /* of the last sample or marker since the origin */
};

void profile_init(struct profile *profile, struct failure *failure);
void profile_fini(struct profile *profile);

/* ---- Tables. Every function returns "none" when memory ran out (latched). ---- */

static inline string_id profile_string(struct profile *profile, struct text text) {
    return strings_intern(&profile->strings, text);
}

/* A valid UTF-8 copy of the text that lives as long as the profile; empty when memory ran out (latched). */
static inline struct text profile_text(struct profile *profile, struct text text) {
    return strings_copy(&profile->texts, text);
}
/* printf, with the same limit as strings_intern_format. */
struct text profile_text_format(struct profile *profile, const char *format, ...) __attribute__((format(printf, 2, 3)));

resource_id profile_resource(struct profile *profile, string_id name, enum resource_type type);
source_id profile_source(struct profile *profile, struct text filename);
native_symbol_id profile_native_symbol(struct profile *profile, lib_id lib, uint32_t address, string_id name);
func_id profile_func(struct profile *profile, const struct func *func);
frame_id profile_frame(struct profile *profile, const struct frame *frame);
static inline stack_id profile_stack(struct profile *profile, stack_id prefix, frame_id frame) {
    struct stack row = {prefix, frame};
    return (stack_id){row_table_intern(&profile->stacks, &row)};
}

static inline const struct resource *profile_resource_at(const struct profile *profile, resource_id id) {
    return row_table_at(&profile->resources, id.index);
}
static inline const struct source *profile_source_at(const struct profile *profile, source_id id) {
    return row_table_at(&profile->sources, id.index);
}
static inline const struct native_symbol *profile_native_symbol_at(const struct profile *profile, native_symbol_id id) {
    return row_table_at(&profile->native_symbols, id.index);
}
static inline const struct func *profile_func_at(const struct profile *profile, func_id id) {
    return row_table_at(&profile->funcs, id.index);
}
static inline const struct frame *profile_frame_at(const struct profile *profile, frame_id id) {
    return row_table_at(&profile->frames, id.index);
}
static inline const struct stack *profile_stack_at(const struct profile *profile, stack_id id) {
    return row_table_at(&profile->stacks, id.index);
}

/* ---- Processes, threads, samples, markers. ---- */

/* A new process, a new thread; finding the existing one is the reader's, who knows about lives. */
process_id profile_add_process(struct profile *profile, int64_t pid, uint32_t life);
thread_id profile_add_thread(struct profile *profile, process_id process, int64_t tid, uint32_t life);

static inline struct process *profile_process_at(const struct profile *profile, process_id id) {
    return column_at(&profile->processes, id.index);
}
static inline struct thread *profile_thread_at(const struct profile *profile, thread_id id) {
    return column_at(&profile->threads, id.index);
}

/* Weights below 2^31 without a fraction are themselves; others are rows of large_weights with the top bit set. */
uint32_t profile_weight_encode(struct profile *profile, struct decimal weight);
struct decimal profile_weight_decode(const struct profile *profile, uint32_t weight);

static inline void thread_add_sample(struct thread *thread, int64_t time_ns, stack_id stack, uint32_t weight) {
    samples_add(&thread->samples, time_ns, stack, weight);
}

/* Memory that lives as long as the profile, aligned for any type, zeroed; NULL when there is none (latched). */
void *profile_allocate(struct profile *profile, size_t bytes_count);

/* Row number of the schema; a schema of the same name is taken to be the same one. MARKER_SCHEMA_NONE when there is no
 * room for it (some 65000 schemas, or memory: latched). Its fields are copied. It is called as profile_marker_type_name
 * says. Keys that mean something else to the client ("type"…) get an underscore behind; labels, graphs and color_field
 * have to name them so. */
uint16_t profile_marker_schema(struct profile *profile, const struct marker_schema *schema);
/* The schema's name, with an underscore behind where the client has code for that name which the fields do not fit: see
 * reserved_types.h. */
struct text profile_marker_type_name(struct profile *profile, const struct marker_schema *schema);
/* A name for markers with payloads of the schema (or MARKER_SCHEMA_NONE): with an underscore behind where the client
 * fails over it. */
string_id profile_marker_name(struct profile *profile, struct text name, uint16_t schema);

/* The run of these values, copied, for a list (texts) or a table (row by row); absent when memory ran out (latched).
 * Each run is the value of one field of one marker. */
struct marker_cells profile_marker_cells(struct profile *profile, const union marker_value *values, uint32_t count);

/* Returns the number of this origin, for a marker; 0 when memory ran out (latched). */
uint32_t profile_stack_origin(struct profile *profile, struct stack_origin origin);
/* The origin that the marker's number stands for; NULL when it has none. */
static inline const struct stack_origin *profile_marker_origin(const struct profile *profile,
                                                               const struct marker *marker) {
    return marker->origin ? column_at(&profile->stack_origins, marker->origin - 1) : NULL;
}

/* The thread in which the stack of a marker of `thread` was taken, if that is another one; NULL otherwise. */
const struct thread *profile_foreign_thread(const struct profile *profile, const struct thread *thread,
                                            const struct marker *marker);

/* Adds a marker; `values` has one value for each field of the marker's schema. One that lacks what the client needs of
 * the schema's type gets a schema of the same fields under another name. */
void profile_add_marker(struct profile *profile, struct thread *thread, struct marker marker,
                        const union marker_value *values);

/* Calls `visit` for each value of the marker that is not absent, the cells of lists and tables behind their own. */
typedef void marker_value_visitor(void *context, enum marker_value_kind kind, union marker_value *value);
void profile_visit_marker(const struct profile *profile, const struct marker *marker, marker_value_visitor *visit,
                          void *context);

/* A new counter without samples, NULL when memory ran out (latched). The struct's texts live as long as the profile;
 * its column is initialised here. Valid until profile_finish. */
struct counter *profile_add_counter(struct profile *profile, const struct counter *counter);
void counter_add_sample(struct counter *counter, int64_t time_ns, int64_t change, uint32_t number);

void profile_add_paused_range(struct profile *profile, process_id process, int64_t start_ns, int64_t end_ns);

/* Adds memory that the thread took or gave back. */
void profile_add_allocation(struct profile *profile, thread_id thread, int64_t time_ns, int64_t bytes, uint64_t address,
                            stack_id stack);

/* The three times are at least 0, and their sum is less than 2^62. */
void profile_add_overhead(struct profile *profile, const struct overhead *overhead);

/* Lines of a log, profiling_log or gathering_log. Key and text are copied. A key stands once in the log of a process,
 * and is not "lines". */
void profile_log_number(struct profile *profile, struct column *log, process_id process, struct text key,
                        int64_t number);
void profile_log_text(struct profile *profile, struct column *log, process_id process, struct text key,
                      struct text text);
void profile_log_line(struct profile *profile, struct column *log, process_id process, int64_t time_ns,
                      struct text text);

/* A line for the information panel. A section goes on until an entry of another one is added. */
void profile_add_extra(struct profile *profile, struct text section, struct text label, struct text value);

/* Puts the profile in order, once, when the reader is done: samples, markers and allocations of each thread sorted by
 * time (stable), counters' samples too (see counter_order and counter_start_at_zero), counters, paused ranges,
 * overheads and lines of logs by process and, within it, all but counters by time (lines at no time first); memory that
 * was given back in the thread that took it; times made relative to the first sample, marker, allocation or counter's
 * sample; processes named after their main threads; threads grouped by process with the main thread first, threads
 * without samples, markers and allocations left out (but for one of a process that has others or counters, the main
 * thread where there is one); counters without samples, and those and the overhead of processes without any thread left
 * out; the interval estimated where it is not known; the ledger's entries put into the information panel. */
void profile_finish(struct profile *profile);

/* The part of it that is about allocations. */
void profile_order_allocations(struct profile *profile);

/* ---- Of a finished profile. ---- */

/* The thread at that place of those to write. */
static inline const struct thread *profile_ordered_thread(const struct profile *profile, size_t place) {
    return profile_thread_at(profile, *(const thread_id *)column_at(&profile->thread_order, place));
}

/* Place of the process's first thread to write: its main thread where it has one. Their number when it has none. */
size_t profile_place_of_process(const struct profile *profile, process_id process);

/* The process's rows of counters, paused_ranges or a log: the first one, and in *row_count how many. */
size_t profile_rows_of_process(const struct column *rows, process_id process, size_t *row_count);

#endif
