/* The profile: what readers and emitters share.
 *
 * A reader fills the tables, threads and metadata. profile_finish puts them in order. An emitter only reads. All
 * threads of the profile share the tables. Nothing here is thread-safe.
 *
 * Times: until profile_finish, times are nanoseconds of the trace's clock; afterwards, nanoseconds since the profile's
 * zero (origin_ns). TIME_NONE means "unknown". A reader that learns the rate of its clock only at the end of the input
 * stores ticks in the members _ticks, and turns all of them into nanoseconds before profile_finish. */
#pragma once

#include "categories.h"
#include "counter.h"
#include "frames.h"
#include "ledger.h"
#include "libconvert/base/arena.h"
#include "libconvert/base/decimal.h"
#include "libconvert/base/strings.h"
#include "libs.h"
#include "log_lines.h"
#include "markers.h"
#include "overheads.h"
#include "stack_table.h"
#include "threads.h"

/* The meaning of the samples' weights. */
enum weight_type {
    WEIGHT_ONE,        /* every sample counts 1, so no weights are written */
    WEIGHT_SAMPLES,    /* a number of samples, or of any unit that the viewer has no name for */
    WEIGHT_TRACING_MS, /* nanoseconds, written as milliseconds */
    WEIGHT_BYTES
};

/* What the weight of a sample says about the CPU time since the thread's previous sample. */
enum cpu_delta_unit { CPU_DELTA_NONE, CPU_DELTA_NS, CPU_DELTA_CYCLES };

/* How the processor's counter of ticks (the TSC of x86) relates to a trace's clock:
 * ns = base_ns + (ticks - base_ticks) * multiplier / 2^shift. */
struct tick_relation {
    bool is_known;
    uint64_t base_ticks;
    int64_t base_ns;
    uint32_t multiplier; /* 0: only the base is known */
    uint32_t shift;      /* below 64 */
};

/* When a recorder recorded. TIME_NONE: the trace does not say. */
struct recording_times {
    int64_t program_start_ns; /* start of the first process */
    int64_t start_ns;
    int64_t end_ns;
};

/* A line of the viewer's information panel. */
struct extra_entry {
    struct text section;
    struct text label;
    struct text value;
};

/* An event of a perf recording, and what became of it. */
struct profile_event {
    struct text name;
    const char *treatment; /* static */
    uint64_t sample_count;
};

/* What the recorder was told to record, and to leave out. */
struct profile_configuration {
    bool is_known;
    int64_t interval_ns;     /* time between samples, as far as the recorder kept to it; 0: unknown */
    uint64_t capacity_bytes; /* older events may be missing from a larger recording */
    uint32_t duration_s;     /* how much before the end of the recording was kept; 0: all */
    struct text features;    /* comma-separated names */
    struct text threads;     /* comma-separated words: only threads whose name contains one of them; empty: all */
};

/* Texts are made by profile_text. What the trace does not say is an empty text or the number 0. Names follow the
 * front-end's ProfileMeta. */
struct profile_meta {
    struct text product;
    struct text version;       /* version of the product */
    struct text build_id;      /* build id of the product */
    struct text source_url;    /* where the product's source is */
    struct text imported_from; /* the program that wrote the trace: "Linux perf" */
    struct text arguments;
    struct text cpu_name;
    struct text os_cpu;
    struct text platform;
    struct text abi;
    struct text device;
    struct text boot_id; /* random id of the machine's boot, at which CLOCK_MONOTONIC was 0 */
    uint32_t logical_cpu_count;
    uint32_t physical_cpu_count;
    uint64_t main_memory_bytes;
    int64_t start_time_ms;   /* profile's start since the Unix epoch; 0: profile_finish derives it from the next two */
    int64_t start_rest_ns;   /* what start_time_ms lacks; 0 unless a profile was read. Set by profile_finish */
    int64_t captured_at_ms;  /* when the trace was written, since the epoch; 0: unknown */
    int64_t epoch_offset_ns; /* Unix time less the trace's clock; 0: unknown */
    int64_t interval_ns;     /* time between samples; 0: profile_finish estimates it */
    bool has_stacks;         /* stacks were walked: samples may have more than one frame */
    bool has_file_offsets;   /* addresses of frames are offsets in their files: see profile_symbolize */
    bool lacks_symbols;      /* the symbols of addresses have not been looked up yet */
    bool has_times;          /* false: times were made up from the order of the samples */
    bool has_waits;          /* weights are times, and samples of threads that waited are among them */
    bool has_every_state;    /* threads were sampled in every state, also while they waited */
    bool was_profile; /* the trace is a profile itself: what it derived from its recording is not derived again */
    bool keeps_thread_order; /* the viewer shows threads and counters in the order in which they are written */
    bool is_as_written;      /* the trace is a profile, and this one would be written as the same bytes */
    bool tells_ledger;       /* the information panel has the ledger already */
    bool is_clock_monotonic; /* the trace's clock is CLOCK_MONOTONIC, so the profile gives its start on that clock */
    bool are_starts_guessed; /* the trace has no starts, so threads begin with their first events */
    struct tick_relation tick_relation;
    enum weight_type weight_type;
    struct text weight_unit; /* what a weight counts: "cycles"; empty: samples */
    enum cpu_delta_unit cpu_delta_unit;
    bool has_cpu_apart; /* samples have CPU time in that unit as a detail, besides their weights */
    struct profile_configuration configuration;
    struct column extra;     /* struct extra_entry */
    size_t read_extra_count; /* how many entries came before those of profile_finish */
};

/* What markers hold besides their rows. Payloads are too large to copy, so a profile that was merged from several
 * refers to the payloads of each, which are numbered consecutively. */
struct payloads {
    struct column slots;   /* union marker_slot */
    struct column cells;   /* union marker_value: the values of lists and tables */
    struct column numbers; /* struct decimal: those that do not fit a slot */
    uint32_t first_slot;   /* the number of the first row of `slots` */
    uint32_t first_cell;
};

/* Why functions of a library have no names. Not a row number, since libraries get new ones. */
struct lib_trouble {
    struct text path;
    struct text code_id;
    const char *reason; /* static */
};

struct profile {
    struct failure *failure; /* borrowed */
    struct strings strings;  /* the profile's string table, to which other tables refer */
    struct strings texts;    /* written where they are used: names of threads, metadata */
    struct libs libs;
    struct column lib_troubles; /* struct lib_trouble, at most one for each library and input */
    struct categories categories;
    struct row_table resources;      /* struct resource */
    struct row_table sources;        /* struct source */
    struct column looked_up_sources; /* source_id; those that debug information of a library names. May repeat */
    struct column source_origins;    /* struct text: paths of sources that have other names */
    struct column source_contents;   /* struct text, one for each source; NULL bytes: unknown. May be empty */
    struct strings contents;         /* where the texts of sources are that a profile brings along */
    struct row_table native_symbols; /* struct native_symbol */
    struct row_table funcs;          /* struct func */
    struct row_table frames;         /* struct frame */
    struct stack_table stacks;
    struct arena memory;                  /* see profile_allocate */
    struct column marker_schemas;         /* struct marker_schema */
    struct index_set marker_schema_names; /* the rows of marker_schemas by their names */
    struct payloads payloads;
    const struct payloads *merged_payloads; /* the payloads with the numbers before those of `payloads`; borrowed */
    size_t merged_payloads_count;
    struct row_table large_weights; /* struct decimal: weights that do not fit 31 bits */
    struct column processes;        /* struct process */
    struct column threads;          /* struct thread, in order of first appearance */
    struct column tracks;           /* struct event_track */
    struct column counters;         /* struct counter, in order of first appearance until profile_finish */
    struct column paused_ranges;    /* struct paused_range */
    struct column overheads;        /* struct overhead */
    struct column events;           /* struct profile_event */
    struct column profiling_log;    /* struct log_line, from the recorder */
    struct column gathering_log;    /* struct log_line, from the reader */
    double cut_stack_share;         /* share of the stacks that end early, if the reader notes it; otherwise 0 */
    uint64_t drawn_sample_count;    /* samples that profile_draw_waits has added, except those of processors */
    struct column thread_order;     /* thread_id: the threads to write, in order; set by profile_finish */
    struct profile_meta meta;
    struct ledger ledger;
    struct recording_times recording;
    int64_t origin_ns;     /* the trace's time at the profile's zero; set by profile_finish */
    int64_t start_ns;      /* the first event or the start of the recording; set by profile_finish */
    int64_t last_event_ns; /* set by profile_finish */
    int64_t end_ns;        /* the last event, end of a task or end of the recording; set by profile_finish */
};

void profile_init(struct profile *profile, struct failure *failure);
void profile_fini(struct profile *profile);

/* Return the merged payloads that have the slot or cell of that number. */
const struct payloads *profile_payloads_of_slot(const struct profile *profile, uint32_t number);
const struct payloads *profile_payloads_of_cell(const struct profile *profile, uint32_t number);

static inline union marker_slot *profile_slot_at(const struct profile *profile, uint32_t number) {
    const struct payloads *payloads = &profile->payloads;
    if (number < payloads->first_slot) payloads = profile_payloads_of_slot(profile, number);
    return column_at(&payloads->slots, number - payloads->first_slot);
}
/* Returns the value of that kind whose first slot has that number. */
union marker_value profile_value_at(const struct profile *profile, uint32_t number, enum marker_value_kind kind);
static inline union marker_value *profile_cell_at(const struct profile *profile, uint32_t number) {
    const struct payloads *payloads = &profile->payloads;
    if (number < payloads->first_cell) payloads = profile_payloads_of_cell(profile, number);
    return column_at(&payloads->cells, number - payloads->first_cell);
}

/* ---- Tables. Every function returns "none" when memory ran out (latched). ---- */

static inline string_id profile_string(struct profile *profile, struct text text) {
    return strings_intern(&profile->strings, text);
}

/* Returns a valid UTF-8 copy of the text that lives as long as the profile; empty if memory ran out (latched). */
static inline struct text profile_text(struct profile *profile, struct text text) {
    return strings_copy(&profile->texts, text);
}
/* Formats as printf does. The text lives as long as the profile; empty if memory ran out (latched). */
struct text profile_text_format(struct profile *profile, const char *format, ...) __attribute__((format(printf, 2, 3)));

resource_id profile_resource(struct profile *profile, string_id name, enum resource_type type);
/* Notes why the library's functions have no names, if nothing was noted before. `reason` is static. */
void profile_note_trouble(struct profile *profile, const struct lib *lib, const char *reason);

/* The file's path is normalised: see path_normalize. */
source_id profile_source(struct profile *profile, struct text filename);

/* Copies the text of a source file. Returns false if the profile has another text of it, which stays. */
bool profile_keep_content(struct profile *profile, source_id source, struct text content);

native_symbol_id profile_native_symbol(struct profile *profile, lib_id lib, uint32_t address, string_id name);
func_id profile_func(struct profile *profile, const struct func *func);
frame_id profile_frame(struct profile *profile, const struct frame *frame);

/* Adapts a function that was looked up, and its frame, to what the function's name reveals about them. */
typedef void profile_name_func(struct profile *profile, struct func *func, struct frame *frame);

/* Returns the function of that name without a library, a file and a line. */
static inline func_id profile_named_func(struct profile *profile, string_id name) {
    return profile_func(profile, &(struct func){.name = name, .resource = resource_none(), .source = source_none()});
}

/* Returns a frame of the function without an address, a library and a line. */
static inline struct frame frame_of_func(func_id func, struct category_pair category) {
    return (struct frame){.func = func,
                          .address = ADDRESS_NONE,
                          .lib = lib_none(),
                          .native_symbol = native_symbol_none(),
                          .category = category.category,
                          .subcategory = category.subcategory};
}

/* Returns the row of a frame that is only a name and a category. */
static inline frame_id profile_named_frame(struct profile *profile, struct text name, struct category_pair category) {
    struct frame frame = frame_of_func(profile_named_func(profile, profile_string(profile, name)), category);
    return profile_frame(profile, &frame);
}

/* Returns the stack of these frames, the root first; none if there are no frames or memory ran out (latched). */
stack_id profile_stack_of(struct profile *profile, const frame_id *frames, uint32_t count);

static inline stack_id profile_stack(struct profile *profile, stack_id prefix, frame_id frame) {
    return stack_table_intern(&profile->stacks, prefix, frame);
}

static inline const struct resource *profile_resource_at(const struct profile *profile, resource_id id) {
    return row_table_at(&profile->resources, id.index);
}
static inline const struct source *profile_source_at(const struct profile *profile, source_id id) {
    return row_table_at(&profile->sources, id.index);
}
/* Returns the path of the source, which its name need not be. */
static inline struct text profile_source_path(const struct profile *profile, source_id id) {
    const struct source *source = profile_source_at(profile, id);
    if (!source->origin) return strings_text(&profile->strings, source->filename);
    return *(const struct text *)column_at(&profile->source_origins, source->origin - 1);
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

/* Moves the stacks of the table, whose frames are the profile's, into the profile, which must have no stacks yet. */
void profile_take_stacks(struct profile *profile, struct stack_table *stacks);

static inline const struct stack *profile_stack_at(const struct profile *profile, stack_id id) {
    return stack_table_at(&profile->stacks, id.index);
}

/* ---- Processes, threads, samples, markers. ---- */

/* Add a new process or thread. The reader decides whether it is a new one, since pids and tids are reused. */
process_id profile_add_process(struct profile *profile, int64_t pid, uint32_t generation);
thread_id profile_add_thread(struct profile *profile, process_id process, int64_t tid, uint32_t generation);

/* Gives the row of a thread that has no samples, markers or allocations to a new thread. */
void profile_replace_thread(struct profile *profile, thread_id id, process_id process, int64_t tid,
                            uint32_t generation);

/* Adds the track, which is copied. Its owner must have its process, start and end. Its text must live as long as the
 * profile. */
thread_id profile_add_track(struct profile *profile, const struct event_track *track);

static inline const struct event_track *profile_track_of(const struct profile *profile, const struct thread *thread) {
    return column_at(&profile->tracks, thread->track);
}

/* Returns whether the thread is the track of a processor, whose samples other threads have as well. */
static inline bool profile_is_processor(const struct profile *profile, const struct thread *thread) {
    return thread_is_track(thread) && profile_track_of(profile, thread)->is_processor;
}

static inline struct process *profile_process_at(const struct profile *profile, process_id id) {
    return column_at(&profile->processes, id.index);
}
/* Returns whether the process that made this one is written too. Call it after profile_finish. */
static inline bool profile_shows_parent(const struct profile *profile, const struct process *process) {
    return !process_is_none(process->parent) && profile_process_at(profile, process->parent)->place != ID_NONE;
}
static inline struct thread *profile_thread_at(const struct profile *profile, thread_id id) {
    return column_at(&profile->threads, id.index);
}

/* A weight below 2^31 without a fraction is encoded as itself. Others are rows of large_weights, with the top
 * bit set. */
uint32_t profile_weight_encode(struct profile *profile, struct decimal weight);
struct decimal profile_weight_decode(const struct profile *profile, uint32_t weight);

/* Returns whether the weights of samples, which count one each, are their CPU time. */
static inline bool profile_are_weights_cpu(const struct profile *profile) {
    return profile->meta.cpu_delta_unit != CPU_DELTA_NONE && !profile->meta.has_cpu_apart;
}

/* If the weights of perf's samples are processor time, gives each sample that time, as the recorder's samples have it.
 * Idle samples have none. The viewer ignores that of the first sample of a thread, since there is none before it. */
void profile_spread_cpu_times(struct profile *profile);

/* Gives samples without weights the weight 1. If their weight field held their processor time, moves that to their
 * details. */
void profile_give_weights(struct profile *profile);

/* Returns what the weights of the thread's samples are. */
static inline enum weight_type profile_weights_of(const struct profile *profile, const struct thread *thread) {
    if (!thread_is_track(thread)) return profile->meta.weight_type;
    return profile_track_of(profile, thread)->counts_ns ? WEIGHT_TRACING_MS : WEIGHT_SAMPLES;
}

/* Returns the weight of a sample in the unit that profile_weight_unit names. */
double profile_weight_of(const struct profile *profile, uint32_t weight);

/* Returns what a weight counts: "samples", "ms", "bytes" or the event. */
struct text profile_weight_unit(const struct profile_meta *meta);

static inline void thread_add_sample(struct thread *thread, int64_t time_ns, stack_id stack, uint32_t weight) {
    samples_add(&thread->samples, time_ns, stack, weight);
}

/* Returns zeroed memory that is aligned for any type and lives as long as the profile; NULL if memory ran out
 * (latched). */
void *profile_allocate(struct profile *profile, size_t bytes_count);

/* Returns the row of the schema, which is added if none has its name; a schema with the same name and the same formats
 * of fields counts as the same. If the formats differ, the new one's name gets a number: "Request (variant 2)". Copies
 * its fields. Returns MARKER_SCHEMA_NONE if there are too many schemas (some 65000) or variants of one (100), or memory
 * ran out (latched). The schema's name becomes profile_marker_type_name. A key that means something else to the
 * front-end, such as "type", gets an underscore appended; labels, graphs and color_field must use the key with the
 * underscore. */
uint16_t profile_marker_schema(struct profile *profile, const struct marker_schema *schema);
/* Another definition under the name of a marker type or category has this name: "Request (variant 2)". */
struct text profile_variant_name(struct profile *profile, struct text name, unsigned number);

/* Returns the name without what profile_variant_name adds. */
struct text profile_plain_name(struct text name);

/* Returns the row of the schema, which comes from another profile. Adds it if the profile has none with the same name,
 * fields and display. If it has another one with the same name, the new one's name gets a number: "Request (variant
 * 2)". Texts, fields and graphs must live as long as the profile. Returns MARKER_SCHEMA_NONE as profile_marker_schema
 * does. */
uint16_t profile_take_marker_schema(struct profile *profile, const struct marker_schema *schema);
/* Returns the name of the schema. An underscore is appended if the front-end has its own code for that name and the
 * fields do not fit it: see reserved_types.h. */
struct text profile_marker_type_name(struct profile *profile, const struct marker_schema *schema);
/* Returns a name for markers whose payload has this schema (or MARKER_SCHEMA_NONE). An underscore is appended if the
 * front-end would fail on the name. */
string_id profile_marker_name(struct profile *profile, struct text name, uint16_t schema);

/* Copies the values of a list (texts) or of a table (row by row), and returns their range, which may be the value of
 * only one field of one marker. Returns an absent range if memory ran out (latched). */
struct marker_cells profile_marker_cells(struct profile *profile, const union marker_value *values, uint32_t count);

/* Return when and where the marker's stack was taken, or NULL if the marker does not say. */
static inline int64_t *profile_origin_time(const struct profile *profile, const struct marker *marker) {
    return marker->has_origin ? &profile_slot_at(profile, marker->slots_at - 2)->time_ns : NULL;
}
static inline thread_id *profile_origin_thread(const struct profile *profile, const struct marker *marker) {
    return marker->has_origin ? &profile_slot_at(profile, marker->slots_at - 1)->thread : NULL;
}

/* Returns the thread in which the stack of a marker of `thread` was taken, or NULL if it was `thread` itself. */
const struct thread *profile_foreign_thread(const struct profile *profile, const struct thread *thread,
                                            const struct marker *marker);

/* Adds a marker. `values` has one value for each field of the marker's schema. If the front-end requires values of the
 * schema's type that this marker lacks, the marker gets a schema with the same fields under another name. */
void profile_add_marker(struct profile *profile, struct thread *thread, struct marker marker,
                        const union marker_value *values);
/* Like profile_add_marker, for a marker whose stack was taken elsewhere; `origin` may be NULL. Changes *marker to what
 * the profile has. */
void profile_add_marker_from(struct profile *profile, struct thread *thread, struct marker *marker,
                             const struct stack_origin *origin, const union marker_value *values);

/* The two steps of profile_add_marker_from, for a reader that learns the payloads of markers before their phases.
 * Stores the values of a marker, for which marker->schema has fields; call it once for each marker. */
void profile_set_payload(struct profile *profile, struct marker *marker, const struct stack_origin *origin,
                         const union marker_value *values);
/* Gives a marker, whose payload is set, a schema with the same fields under another name if the front-end requires
 * values of the schema's type that the marker lacks. */
void profile_fit_marker(struct profile *profile, struct marker *marker);

/* Calls `visit` for each value of that kind in the marker that is not absent, cells of lists and tables included. The
 * kind is VALUE_STRING, and the value a string_id, or VALUE_TIME, and the value an int64_t. */
typedef void marker_value_visitor(void *context, void *value);
void profile_visit_values(const struct profile *profile, const struct marker *marker, enum marker_value_kind kind,
                          marker_value_visitor *visit, void *context);
/* Calls profile_visit_values if the marker can have values of that kind. It is inline because most markers of a large
 * trace cannot. */
static inline void profile_visit_marker(const struct profile *profile, const struct marker *marker,
                                        enum marker_value_kind kind, marker_value_visitor *visit, void *context) {
    if (marker->schema == MARKER_SCHEMA_NONE) return;
    const struct marker_schema *schema = column_at(&profile->marker_schemas, marker->schema);
    if (schema->value_kinds >> kind & 1) profile_visit_values(profile, marker, kind, visit, context);
}

/* Adds a counter without samples and initialises its column; the texts of `counter` must live as long as the profile.
 * Returns NULL if memory ran out (latched). The result is valid until profile_finish. */
struct counter *profile_add_counter(struct profile *profile, const struct counter *counter);

void profile_add_paused_range(struct profile *profile, process_id process, int64_t start_ns, int64_t end_ns);

/* Adds memory that the thread allocated or freed. time: in nanoseconds or ticks. */
void profile_add_allocation(struct profile *profile, thread_id thread, int64_t time, int64_t bytes, uint64_t address,
                            stack_id stack);

/* Adds an overhead. The three durations must be at least 0, and their sum less than 2^62. */
void profile_add_overhead(struct profile *profile, const struct overhead *overhead);

/* Add a line to a log, which is profiling_log or gathering_log. Key and text are copied. A key must be unique in the
 * log of a process, and must not be "lines". time: in nanoseconds or ticks. */
void profile_log_number(struct profile *profile, struct column *log, process_id process, struct text key,
                        int64_t number);
void profile_log_text(struct profile *profile, struct column *log, process_id process, struct text key,
                      struct text text);
void profile_log_line(struct profile *profile, struct column *log, process_id process, int64_t time, struct text text);

/* Adds a line to the information panel. Consecutive lines with the same section are shown together. */
void profile_add_extra(struct profile *profile, struct text section, struct text label, struct text value);

/* Replaces all times of the profile that are known, or adds delta_ns to them. */
typedef int64_t time_mapper(void *context, int64_t time);
void profile_map_times(struct profile *profile, time_mapper *mapper, void *context);
void profile_shift_times(struct profile *profile, int64_t delta_ns);

/* Puts the profile in order. Call it once, when the reader is done.
 *
 * Samples, markers and allocations of each thread are sorted by time, and so are the samples of counters
 * (counter_order, counter_bin, counter_start_at_zero, counter_hold_steps, counter_extend). Counters, paused ranges,
 * overheads and lines of logs are sorted by process and, except counters, by time; lines without a time come first. A
 * freed allocation moves to the thread that allocated it.
 *
 * Times become relative to the first event, which is a sample, a marker, an allocation or a sample of a counter; if the
 * first process or the recording is known to have started earlier, relative to that.
 *
 * Processes without a name get that of their main thread. Threads are grouped by process, the main thread first, and
 * each is followed by its tracks. Processes are in order of appearance, except that a parent comes before its children.
 * Threads without samples, markers and allocations are left out. One such thread is kept if its process has other
 * threads or counters, or has lost its content: the main thread if there is one. Counters without samples are dropped,
 * and so are the counters and overheads of processes without any thread.
 *
 * The interval is estimated if it is unknown. The ledger's entries are added to the information panel. */
void profile_finish(struct profile *profile);

/* Returns the value of a line of the information panel; empty: there is none. */
struct text profile_extra(const struct profile *profile, struct text section, struct text label);

/* The line of the information panel that says what a weight is. If it is a number of events, they have the name that
 * comes after WEIGHT_PERIOD_IN. */
#define WEIGHT_SECTION   "perf"
#define WEIGHT_LABEL     "weight of a sample"
#define WEIGHT_PERIOD_IN "its period, in "
#define WEIGHT_IS_TIME   "the time in which the thread ran there or did not run, in milliseconds"

/* The line of the information panel that says how many runs were merged. */
#define RUNS_SECTION "Merge"
#define RUNS_LABEL   "runs"

/* The line that says that runs differ in the texts of source files. */
#define CONTENTS_LABEL "source files"

/* The line that says that runs were sampled at different intervals. */
#define INTERVALS_LABEL "intervals"

/* The section of the information panel that reports what was read, kept and lost. */
#define LEDGER_SECTION "Conversion"

/* Adds a line for each unit of the ledger: how much was read, kept and lost. */
void profile_show_sums(struct profile *profile);

/* Adds the ledger's entries from the first-th on to the information panel. */
void profile_show_ledger(struct profile *profile, size_t first);

/* ---- Of a finished profile. ---- */

/* Returns the thread at that position of the threads to write. */
static inline const struct thread *profile_ordered_thread(const struct profile *profile, size_t place) {
    return profile_thread_at(profile, *(const thread_id *)column_at(&profile->thread_order, place));
}

/* Returns, for each stack, whether it is in the category "Idle", whose samples the front-end counts as inactive. The
 * innermost frame with a category of its own decides. The caller frees the array with memory_free. Returns NULL if
 * there is no such category, or if memory ran out (latched). */
bool *profile_idle_stacks(const struct profile *profile);

static inline bool profile_is_idle(const bool *idle_stacks, stack_id stack) {
    return idle_stacks && !stack_is_none(stack) && idle_stacks[stack.index];
}

/* Returns whether the times between samples show how long something ran, except in merged threads: each thread was
 * sampled in every state, or its samples are about one interval apart. */
bool profile_has_running_times(const struct profile *profile);

/* Returns the position of the process's first thread among those to write, which is its main thread if it has one.
 * Returns the number of threads to write if it has none. */
size_t profile_place_of_process(const struct profile *profile, process_id process);

/* Returns the first of the process's rows of counters, paused_ranges or a log, and stores their number in
 * *row_count. */
size_t profile_rows_of_process(const struct column *rows, process_id process, size_t *row_count);
