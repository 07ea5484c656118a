/* gecko_recorder: records what a program does into a trace that gecko-convert turns into a Firefox Profiler profile.
 *
 *     static struct grec_category io = GREC_CATEGORY("I/O", GREC_COLOR_BLUE);
 *
 *     grec_start(NULL);                                // or GECKO_RECORDER=1 in the environment, and no call at all
 *     GREC_LABEL("serve", &io);                        // a frame of stacks, until the end of the block
 *     GREC_INTERVAL_SCOPE("request", &io);             // an interval marker, until the end of the block
 *     GREC_INSTANT("cache miss", &io);                 // an instant marker
 *     grec_stop();                                     // or the end of the program, however it comes
 *
 * Linux, C11 or C++11 and later, gcc or clang; depends on libc alone.
 *
 * Costs: with recording off, each call is one relaxed load and a predicted branch. With recording on, nothing
 * allocates, locks or calls the system per event; each thread writes into memory of its own, which is a shared mapping
 * of the trace, so that a crash loses nothing that was recorded.
 *
 * Threads: every function may be called from any thread at any time unless it says otherwise.
 * Signals: functions marked [signal-safe] may be called in signal handlers, also in one that interrupted any call of
 * this library. Forked children go on recording into the same trace.
 *
 * Descriptions (struct grec_category, grec_marker, grec_marker_type, grec_label, grec_counter) are the caller's, static
 * as a rule, made by the GREC_… initialisers, unchanged after their first use and alive as long as the program records.
 * Their members that end in _ are the library's. Texts need not be UTF-8 (the converter repairs them); NULL is the
 * empty text. Names are cut to GREC_NAME_BYTES_MAX, texts in payloads to GREC_TEXT_BYTES_MAX bytes; what was cut is
 * counted in the trace. */
#ifndef GECKO_RECORDER_H
#define GECKO_RECORDER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GREC_API __attribute__((visibility("default")))

#define GREC_VERSION "0.1.0"

enum {
    GREC_NAME_BYTES_MAX = 511,
    GREC_TEXT_BYTES_MAX = 8191, /* a quarter of a chunk where chunks are smaller than 32 KiB */
    GREC_LABEL_DEPTH_MAX = 200, /* label frames of a thread; deeper ones are not recorded */
    GREC_FIELD_COUNT_MAX = 32,  /* of a marker type */
};

/* ---- Starting and stopping. ---- */

enum grec_error {
    GREC_OK = 0,
    GREC_ERROR_OPTIONS, /* a member of the options is out of its range */
    GREC_ERROR_STORAGE, /* the trace cannot be created or written: errno tells why (EBUSY: another process is recording
                           into that file, which may be a forked child of this one) */
    GREC_ERROR_MEMORY,  /* no memory, or no address space, for the pool */
    GREC_ERROR_STATE,   /* not recording, for what needs a recording */
    GREC_ERROR_COUNT
};

/* English text of a grec_error; never NULL. [signal-safe] */
GREC_API const char *grec_error_text(int error);

#define GREC_UNLIMITED UINT64_MAX

enum grec_storage {
    GREC_STORAGE_FILE = 0, /* the trace is a file from the first event on, and survives a crash */
    GREC_STORAGE_MEMORY    /* nothing on disk until grec_save */
};

enum grec_option_flag {
    GREC_NO_CHILDREN = 1, /* forked children do not record */
    GREC_NO_HELPER = 2,   /* no thread that prepares chunks: threads that need one do it themselves */
    GREC_SAMPLER = 4,     /* a thread that samples the stacks and the processor time of all registered threads, which
                             takes SIGURG; and memory, processor time and power of the process */
    GREC_ALL_THREADS = 8, /* the sampler takes threads that did not register, too */
};

/* Zero means default. */
struct grec_options {
    const char *path;     /* of the trace; "%p" becomes the process id, "%e" the program's name, "%%" a percent sign.
                             Default "%e-%p.trace". Of GREC_STORAGE_MEMORY: where grec_save(NULL) writes */
    uint64_t limit_bytes; /* of the trace: at the limit the oldest chunk is used again. Default 128 MiB; at least
                             16 chunks; GREC_UNLIMITED: the file grows */
    uint32_t chunk_bytes; /* a power of two from 4096 to 1048576. Default 65536 (less with a limit under 4 MiB) */
    uint32_t storage;     /* enum grec_storage */
    const char *threads;  /* record only threads whose name contains one of these words, comma-separated, whatever the
                             case. Counters belong to the process: all threads change them. Default: all */
    uint32_t flags;       /* enum grec_option_flag */
    uint32_t interval_us; /* of the sampler: at least 100. Default 1000 */
    const char *product;  /* name of the profile. Default: the program's name */
};

/* Starts recording. options may be NULL. Returns GREC_OK or an error, with nothing started.
 *
 * While recording already (started early through the environment, say), the recording goes on under the new options
 * with all that it has: to another path or from memory to a file it is moved, and the limit changes; chunk_bytes stays
 * as it is. A process that records into another one's trace, and names a path, leaves that and starts a trace of its
 * own. Not while another thread starts, stops or saves: such calls wait for each other. */
GREC_API int grec_start(const struct grec_options *options);

/* Ends recording and completes the trace. Harmless when not recording. A program that ends without it leaves a good
 * trace too. Waits for recording calls of other threads to end. */
GREC_API void grec_stop(void);

/* Stops recording until grec_resume. The profile shows the gap as a paused range. Labels are kept meanwhile, and counters
 * and memory are counted: what they came to is recorded by grec_resume. Calls do not nest: one resume ends any number of
 * pauses. */
GREC_API void grec_pause(void);
GREC_API void grec_resume(void);

/* Writes a copy of the trace as it is now, and goes on. path as in the options; NULL: that of the options, for
 * GREC_STORAGE_MEMORY. The copy appears complete or not at all. After grec_stop, the last recording in memory is
 * saved. */
GREC_API int grec_save(const char *path);

struct grec_status {
    int is_recording; /* 0, 1; also while paused */
    int is_paused;
    char path[1024]; /* of the trace, cut; empty for memory */
    uint64_t size_bytes;
    uint64_t limit_bytes; /* GREC_UNLIMITED: none */
    uint64_t chunks_recycled;
    uint64_t events_lost; /* no chunk could be had, or nested more than three signal handlers deep */
    uint64_t texts_cut;
    uint64_t definitions_lost;
    uint64_t values_mismatched; /* payload values that no field of their marker type is there for */
    int stop_errno;             /* why the recorder stopped by itself, ENOSPC for instance; 0: it did not */
    uint32_t markers_stale;     /* ignored: aimed at a thread of another recording, or of the process's parent */
};

GREC_API void grec_get_status(struct grec_status *status);

/* Not 0 while recording and not paused. Library's own. */
GREC_API extern uint32_t grec_recording_;

/* Not 0 from grec_start to grec_stop, also while paused: labels are kept then, and counters counted. Library's own. */
GREC_API extern uint32_t grec_labelling_;
static inline int grec_is_counting_(void) {
    return __builtin_expect(__atomic_load_n(&grec_labelling_, __ATOMIC_RELAXED) != 0, 0) ? 1 : 0;
}

/* Whether events are recorded now. [signal-safe] */
static inline int grec_is_recording(void) {
    return __builtin_expect(__atomic_load_n(&grec_recording_, __ATOMIC_RELAXED) != 0, 0) ? 1 : 0;
}

/* ---- Times. ---- */

/* An instant, on a clock of the recorder's own; 0: not known, since nothing was recorded at the time. */
typedef uint64_t grec_time;

GREC_API grec_time grec_now_(void);

/* [signal-safe] */
static inline grec_time grec_now(void) { return grec_is_recording() ? grec_now_() : 0; }

/* The instant that CLOCK_MONOTONIC has as so many nanoseconds: for times that other libraries report. To within a
 * microsecond, for instants since the start of the recording; 0 when not recording. [signal-safe] */
GREC_API grec_time grec_time_from_clock_ns(uint64_t monotonic_ns);

/* ---- Threads. A thread that records without having been registered is registered by that, under the name that the
 * system has for it. ---- */

/* Registers the calling thread under a name (NULL: the system's), or renames it. [signal-safe] */
GREC_API void grec_thread_register(const char *name);
/* Ends the thread in the trace. The end of a thread does this by itself. [signal-safe] */
GREC_API void grec_thread_unregister(void);

/* A thread of this process in this recording, for markers aimed at it, also after it has ended. In another recording, and
 * in a forked child, the handle is stale: markers aimed by it are ignored, and counted (markers_stale). */
struct grec_thread {
    uint64_t uid; /* 0: none. The library's own */
    uint64_t tid;
};
/* The calling thread; none when not recording. [signal-safe] */
GREC_API struct grec_thread grec_thread_self(void);

/* Hints for the sampler: the calling thread waits, or works again. A thread that says so costs it less than one whose
 * processor time it has to ask for. [signal-safe] */
GREC_API void grec_thread_sleep_(void);
static inline void grec_thread_sleep(void) {
    if (grec_is_recording()) grec_thread_sleep_();
}
GREC_API void grec_thread_wake_(void);
static inline void grec_thread_wake(void) {
    if (grec_is_recording()) grec_thread_wake_();
}

/* The calling thread's event loop has begun to handle an event, or waits for one: samples tell how long one that comes
 * now would wait. [signal-safe] */
GREC_API void grec_event_loop_busy_(void);
static inline void grec_event_loop_busy(void) {
    if (grec_is_recording()) grec_event_loop_busy_();
}
GREC_API void grec_event_loop_idle_(void);
static inline void grec_event_loop_idle(void) {
    if (grec_is_recording()) grec_event_loop_idle_();
}

/* ---- Categories. NULL stands for "Other". ---- */

enum grec_color {
    GREC_COLOR_GREY = 0,
    GREC_COLOR_TRANSPARENT,
    GREC_COLOR_PURPLE,
    GREC_COLOR_GREEN,
    GREC_COLOR_ORANGE,
    GREC_COLOR_YELLOW,
    GREC_COLOR_LIGHTBLUE,
    GREC_COLOR_BLUE,
    GREC_COLOR_BROWN,
    GREC_COLOR_MAGENTA,
    GREC_COLOR_RED,
    GREC_COLOR_LIGHTRED,
    GREC_COLOR_DARKGREY
};

struct grec_category {
    const char *name;
    struct grec_category *parent; /* of a subcategory */
    uint32_t color;               /* enum grec_color; of a subcategory: the parent's counts */
    uint32_t reserved;
    uint64_t cache_;
};
#define GREC_CATEGORY(name, color) \
    { name, NULL, color, 0, 0 }
#define GREC_SUBCATEGORY(name, parent) \
    { name, parent, 0, 0, 0 }
#define GREC_OTHER ((struct grec_category *)NULL)

/* ---- Marker types: what the payload of markers is and how the viewer shows it. ---- */

/* Formats of fields, and the unit in which their values are given. */
enum grec_format {
    GREC_FORMAT_STRING = 0,
    GREC_FORMAT_URL,
    GREC_FORMAT_FILE_PATH,
    GREC_FORMAT_SANITIZED_STRING,    /* a text that may name people or sites: removed when a profile is shared */
    GREC_FORMAT_UNIQUE_STRING,       /* a text that many markers share */
    GREC_FORMAT_FLOW_ID,             /* GREC_FLOW: markers with the same number belong together… */
    GREC_FORMAT_TERMINATING_FLOW_ID, /* …until this one */
    GREC_FORMAT_DURATION,            /* nanoseconds */
    GREC_FORMAT_TIME,                /* GREC_TIME */
    GREC_FORMAT_SECONDS,
    GREC_FORMAT_MILLISECONDS,
    GREC_FORMAT_MICROSECONDS,
    GREC_FORMAT_NANOSECONDS,
    GREC_FORMAT_BYTES,
    GREC_FORMAT_PERCENTAGE, /* 1 is 100 % */
    GREC_FORMAT_INTEGER,
    GREC_FORMAT_DECIMAL,
    GREC_FORMAT_HEXADECIMAL,
    GREC_FORMAT_PID,
    GREC_FORMAT_TID,
    GREC_FORMAT_LIST,  /* GREC_LIST */
    GREC_FORMAT_TABLE, /* GREC_TABLE */
};

enum grec_field_flag { GREC_FIELD_HIDDEN = 1 };

/* A column of a table: any format but list and table. */
struct grec_column {
    const char *label;
    uint32_t format; /* enum grec_format */
    uint32_t reserved;
};
#define GREC_COLUMN(label, format) \
    { label, format, 0 }

struct grec_field {
    const char *key;                   /* unique in its type; the converter appends "_" to "type", "cause", "stack" and
                                          "stackThread", which are reserved */
    const char *label;                 /* NULL: the key */
    uint32_t format;                   /* enum grec_format */
    uint32_t flags;                    /* enum grec_field_flag */
    const struct grec_column *columns; /* of a table */
    size_t column_count;
};
#define GREC_FIELD(key, label, format) \
    { key, label, format, 0, NULL, 0 }
#define GREC_FIELD_OF_TABLE(key, label, columns) \
    { key, label, GREC_FORMAT_TABLE, 0, columns, sizeof(columns) / sizeof(columns)[0] }

/* Where the viewer shows markers of a type. 0: chart, table and overview. */
enum grec_display {
    GREC_DISPLAY_CHART = 1,
    GREC_DISPLAY_TABLE = 2,
    GREC_DISPLAY_OVERVIEW = 4,
    GREC_DISPLAY_MEMORY = 8,
    GREC_DISPLAY_IPC = 16,
    GREC_DISPLAY_FILEIO = 32,
    GREC_DISPLAY_STACK_CHART = 64,
};

enum grec_graph_type { GREC_GRAPH_BAR = 0, GREC_GRAPH_LINE, GREC_GRAPH_LINE_FILLED };

enum grec_graph_color {
    GREC_GRAPH_BLUE = 0,
    GREC_GRAPH_GREEN,
    GREC_GRAPH_GREY,
    GREC_GRAPH_INK,
    GREC_GRAPH_MAGENTA,
    GREC_GRAPH_ORANGE,
    GREC_GRAPH_PURPLE,
    GREC_GRAPH_RED,
    GREC_GRAPH_TEAL,
    GREC_GRAPH_YELLOW
};

/* A graph of a field with numbers, as a track of its own. */
struct grec_graph {
    const char *key; /* of the field */
    uint32_t type;   /* enum grec_graph_type */
    uint32_t color;  /* enum grec_graph_color */
};

/* Labels are the viewer's templates: "{marker.name}: {marker.data.url}". */
struct grec_marker_type {
    const char *name; /* unique; the viewer knows some ("Log", "Network"): see docs/recorder.md, Payloads */
    const struct grec_field *fields;
    size_t field_count; /* at most GREC_FIELD_COUNT_MAX: those beyond are not recorded */
    const char *description;
    const char *chart_label;
    const char *tooltip_label;
    const char *table_label;
    const char *color_field; /* key of a string field that names the marker's colour ("red") */
    const struct grec_graph *graphs;
    size_t graph_count;
    uint32_t display;        /* of enum grec_display */
    uint32_t is_stack_based; /* intervals nest like calls: 0, 1 */
    uint64_t cache_;
    uint8_t wires_[GREC_FIELD_COUNT_MAX];
};
#define GREC_MARKER_TYPE(name, fields) GREC_MARKER_TYPE_SHOWN(name, fields, NULL, NULL, NULL, 0)
/* With labels for chart, tooltip and table, and places of display. */
#define GREC_MARKER_TYPE_SHOWN(name, fields, chart_label, tooltip_label, table_label, display)                       \
    {                                                                                                                \
        name, fields, sizeof(fields) / sizeof(fields)[0], NULL, chart_label, tooltip_label, table_label, NULL, NULL, \
            0, display, 0, 0, {                                                                                      \
            0                                                                                                        \
        }                                                                                                            \
    }

/* ---- Values of payloads, one for each field of the marker's type, in its order. ---- */

struct grec_value {
    uint32_t kind;  /* library's own */
    uint32_t count; /* of bytes, texts or values */
    union {
        int64_t integer;
        uint64_t number;
        double real;
        const void *pointer;
    } as;
};

enum grec_value_kind {
    GREC_VALUE_NONE = 0,
    GREC_VALUE_INTEGER,
    GREC_VALUE_UNSIGNED,
    GREC_VALUE_REAL,
    GREC_VALUE_TEXT,
    GREC_VALUE_STRING,
    GREC_VALUE_TIME,
    GREC_VALUE_LIST,
    GREC_VALUE_TABLE
};

#define GREC_TEXT_TERMINATED UINT32_MAX

static inline struct grec_value grec_value_number_(uint32_t kind, uint64_t number) {
    struct grec_value value;
    value.kind = kind;
    value.count = 0;
    value.as.number = number;
    return value;
}
static inline struct grec_value grec_value_pointer_(uint32_t kind, const void *pointer, size_t count) {
    struct grec_value value;
    value.kind = kind;
    value.count = count > GREC_TEXT_TERMINATED ? GREC_TEXT_TERMINATED - 1u : (uint32_t)count;
    value.as.pointer = pointer;
    return value;
}
static inline struct grec_value grec_value_real_(double real) {
    struct grec_value value;
    value.kind = GREC_VALUE_REAL;
    value.count = 0;
    value.as.real = real;
    return value;
}

/* An integer may be given for a field of text, and any number for another kind of number, for a byte more; other values
 * that do not fit their field are dropped by the converter, which counts them. */
#define GREC_NONE()       grec_value_number_(GREC_VALUE_NONE, 0)
#define GREC_INT(integer) grec_value_number_(GREC_VALUE_INTEGER, (uint64_t)(integer))
#define GREC_UINT(number) grec_value_number_(GREC_VALUE_UNSIGNED, (uint64_t)(number))
#define GREC_FLOW(id)     GREC_UINT(id)
#define GREC_REAL(real)   grec_value_real_((double)(real))
#define GREC_TIME(time)   grec_value_number_(GREC_VALUE_TIME, (time))
/* Texts are copied when the marker is added. NULL: no value. */
#define GREC_TEXT(terminated)            grec_value_pointer_(GREC_VALUE_TEXT, (terminated), GREC_TEXT_TERMINATED)
#define GREC_TEXT_OF(bytes, bytes_count) grec_value_pointer_(GREC_VALUE_TEXT, (bytes), (bytes_count))
/* A struct grec_string *: recorded once, referred to by its number. */
#define GREC_STRING(string) grec_value_pointer_(GREC_VALUE_STRING, (string), 0)
/* `count` terminated texts (const char *const *). */
#define GREC_LIST(texts, count) grec_value_pointer_(GREC_VALUE_LIST, (texts), (count))
/* `count` values, row by row (const struct grec_value *): no lists or tables among them. */
#define GREC_TABLE(values, count) grec_value_pointer_(GREC_VALUE_TABLE, (values), (count))

/* A text that does not change, for GREC_STRING. */
struct grec_string {
    const char *text;
    uint64_t cache_;
};
#define GREC_STRING_OF(text) \
    { text, 0 }

/* ---- Markers. ---- */

/* What a call site records: name, category and payload type (NULL: no payload). */
struct grec_marker {
    const char *name;
    struct grec_category *category;
    struct grec_marker_type *type;
    uint64_t cache_;
};
#define GREC_MARKER(name, category, type) \
    { name, category, type, 0 }

/* Markers now, or from a start until now (of start 0: from the start of the recording). values: borrowed, one for each
 * field; those missing are absent, those too many are counted and dropped. NULL with count 0: none.
 * [signal-safe] */
GREC_API void grec_instant(struct grec_marker *marker, const struct grec_value *values, size_t count);
GREC_API void grec_interval(struct grec_marker *marker, grec_time start, const struct grec_value *values, size_t count);
/* Halves: the viewer joins a start with the next end of the same name in the same thread. Values of the end win. */
GREC_API void grec_interval_start(struct grec_marker *marker, const struct grec_value *values, size_t count);
GREC_API void grec_interval_end(struct grec_marker *marker, const struct grec_value *values, size_t count);

enum grec_phase { GREC_PHASE_INSTANT = 0, GREC_PHASE_INTERVAL = 1, GREC_PHASE_START = 2, GREC_PHASE_END = 3 };

/* A stack, taken at one time to be shown by a marker at another. */
enum { GREC_BACKTRACE_BYTES = 4096 };
struct grec_backtrace {
    uint64_t bytes_[GREC_BACKTRACE_BYTES / 8];
};
/* Takes the calling thread's stack, with the time: its labels, and its functions where there is a sampler. Frames that do not fit, or
 * would not fit a marker, are left out: the outermost, or, of labels alone, the innermost. An empty one is taken when
 * not recording. Valid in any thread of the same recording, and in forked children. [signal-safe] */
GREC_API void grec_take_backtrace(struct grec_backtrace *backtrace);

/* Zero means default: an instant marker of this thread, now, without a stack. */
struct grec_marker_options {
    uint32_t phase;                         /* enum grec_phase */
    uint32_t with_stack;                    /* 1: the calling thread's stack */
    grec_time start;                        /* 0: now, or for intervals the start of the recording */
    grec_time end;                          /* 0: now */
    struct grec_thread thread;              /* another thread's marker, if that thread is recorded; uid 0: the calling
                                               one's */
    const struct grec_backtrace *backtrace; /* instead of with_stack; NULL: none */
};
/* [signal-safe] */
GREC_API void grec_add_marker(struct grec_marker *marker, const struct grec_marker_options *options,
                              const struct grec_value *values, size_t count);

/* For names that are not known at compile time. Each different name is kept for the whole recording, so do not put
 * numbers in it: that is what payloads are for. options may be NULL. [signal-safe] */
GREC_API void grec_add_named_marker(const char *name, struct grec_category *category, struct grec_marker_type *type,
                                    const struct grec_marker_options *options, const struct grec_value *values,
                                    size_t count);

/* Ready-made: a marker with a text; a line of a log ("module", level as the viewer knows it, a message).
 * [signal-safe] */
enum grec_log_level { GREC_LOG_ERROR = 1, GREC_LOG_WARNING, GREC_LOG_INFO, GREC_LOG_DEBUG, GREC_LOG_VERBOSE };
GREC_API void grec_text_marker_(const char *name, struct grec_category *category, const char *text);
GREC_API void grec_log_(enum grec_log_level level, const char *module, const char *message);
static inline void grec_text_marker(const char *name, struct grec_category *category, const char *text) {
    if (grec_is_recording()) grec_text_marker_(name, category, text);
}
static inline void grec_log(enum grec_log_level level, const char *module, const char *message) {
    if (grec_is_recording()) grec_log_(level, module, message);
}

/* Call sites, each with its static description. Names and categories are constants. */
#define GREC_INSTANT(name, category)                                                  \
    do {                                                                              \
        if (grec_is_recording()) {                                                    \
            static struct grec_marker grec_site_ = GREC_MARKER(name, category, NULL); \
            grec_instant(&grec_site_, NULL, 0);                                       \
        }                                                                             \
    } while (0)
/* GREC_INSTANT_WITH("Request", &io, &request_type, GREC_TEXT(url), GREC_INT(status)); */
#define GREC_INSTANT_WITH(name, category, type, ...)                                               \
    do {                                                                                           \
        if (grec_is_recording()) {                                                                 \
            static struct grec_marker grec_site_ = GREC_MARKER(name, category, type);              \
            const struct grec_value grec_values_[] = {__VA_ARGS__};                                \
            grec_instant(&grec_site_, grec_values_, sizeof grec_values_ / sizeof grec_values_[0]); \
        }                                                                                          \
    } while (0)
/* grec_time start = grec_now(); … GREC_INTERVAL("Decode", &media, start); */
#define GREC_INTERVAL(name, category, start)                                          \
    do {                                                                              \
        if (grec_is_recording()) {                                                    \
            static struct grec_marker grec_site_ = GREC_MARKER(name, category, NULL); \
            grec_interval(&grec_site_, (start), NULL, 0);                             \
        }                                                                             \
    } while (0)
#define GREC_INTERVAL_WITH(name, category, type, start, ...)                                                 \
    do {                                                                                                     \
        if (grec_is_recording()) {                                                                           \
            static struct grec_marker grec_site_ = GREC_MARKER(name, category, type);                        \
            const struct grec_value grec_values_[] = {__VA_ARGS__};                                          \
            grec_interval(&grec_site_, (start), grec_values_, sizeof grec_values_ / sizeof grec_values_[0]); \
        }                                                                                                    \
    } while (0)

#define GREC_JOIN2_(left, right) left##right
#define GREC_JOIN_(left, right)  GREC_JOIN2_(left, right)

struct grec_interval_scope {
    struct grec_marker *marker;
    grec_time start;
};
static inline void grec_interval_scope_end_(struct grec_interval_scope *scope) {
    if (grec_is_recording()) grec_interval(scope->marker, scope->start, NULL, 0);
}
/* An interval marker from here to the end of the block. */
#define GREC_INTERVAL_SCOPE(name, category) GREC_INTERVAL_SCOPE_(name, category, __COUNTER__)
#define GREC_INTERVAL_SCOPE_(name, category, number)                                                  \
    static struct grec_marker GREC_JOIN_(grec_site_, number) = GREC_MARKER(name, category, NULL);     \
    __attribute__((cleanup(grec_interval_scope_end_), unused)) struct grec_interval_scope GREC_JOIN_( \
        grec_scope_, number) = {&GREC_JOIN_(grec_site_, number), grec_now()}

/* ---- Labels: frames that say what a thread is doing, in stacks of samples and markers. ---- */

struct grec_label {
    const char *name;
    struct grec_category *category;
    const char *file; /* source position; NULL: none */
    uint32_t line;    /* 0: none */
    uint32_t reserved;
    uint64_t cache_;
};
#define GREC_LABEL_AT(name, category, file, line) \
    { name, category, file, line, 0, 0 }

struct grec_label_frame {
    struct grec_label *label;
    const char *text;    /* shown behind the name, or the function of a script frame; NULL: none */
    const char *file;    /* script frames */
    const void *address; /* of the stack at the push: orders labels among native frames */
    uint32_t line;       /* script frames: of execution */
    uint32_t column;
};

/* Of a thread, for frames that are pushed last to first. depth counts all of them, frames are there for the first
 * GREC_LABEL_DEPTH_MAX. A push takes its place first, so that a signal handler that pushes in the middle of it takes
 * another one, and sets the address last: a frame without an address is not there yet. */
struct grec_label_stack {
    uint32_t depth;
    uint32_t reserved;
    struct grec_label_frame frames[GREC_LABEL_DEPTH_MAX];
};

GREC_API extern __thread struct grec_label_stack *grec_label_stack_ __attribute__((tls_model("initial-exec")));
/* Registers the thread; NULL when that is not possible. */
GREC_API struct grec_label_stack *grec_label_stack_acquire_(void);

/* Pushes a frame, until grec_label_pop with what this returns, in the same thread, last one first. The text is
 * borrowed until then. NULL when not recording. Always inline: the frame address is the caller's. [signal-safe] */
__attribute__((always_inline)) static inline struct grec_label_stack *grec_label_push(struct grec_label *label,
                                                                                      const char *text) {
    struct grec_label_stack *stack;
    uint32_t depth;
    if (__builtin_expect(__atomic_load_n(&grec_labelling_, __ATOMIC_RELAXED) == 0, 1)) return NULL;
    stack = grec_label_stack_;
    if (__builtin_expect(!stack, 0)) {
        stack = grec_label_stack_acquire_();
        if (!stack) return NULL;
    }
    depth = stack->depth;
    __atomic_store_n(&stack->depth, depth + 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_ACQ_REL);
    if (__builtin_expect(depth < GREC_LABEL_DEPTH_MAX, 1)) {
        struct grec_label_frame *frame = &stack->frames[depth];
        frame->label = label;
        frame->text = text;
        frame->file = NULL;
        __atomic_signal_fence(__ATOMIC_RELEASE);
        __atomic_store_n(&frame->address, (const void *)__builtin_frame_address(0), __ATOMIC_RELAXED);
    }
    return stack;
}

/* [signal-safe] */
static inline void grec_label_pop(struct grec_label_stack *pushed) {
    uint32_t depth;
    if (!pushed) return;
    depth = pushed->depth - 1;
    if (__builtin_expect(depth < GREC_LABEL_DEPTH_MAX, 1))
        __atomic_store_n(&pushed->frames[depth].address, (const void *)NULL, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_ACQ_REL);
    __atomic_store_n(&pushed->depth, depth, __ATOMIC_RELAXED);
}

/* A frame of an interpreter: the function (and its file) that a script runs, borrowed until the pop; line and column
 * from 1, 0 unknown. label: of the interpreter; its category counts. [signal-safe] */
GREC_API struct grec_label_stack *grec_script_push_(struct grec_label *label, const char *function, const char *file,
                                                    uint32_t line, uint32_t column);
static inline struct grec_label_stack *grec_script_push(struct grec_label *label, const char *function,
                                                        const char *file, uint32_t line, uint32_t column) {
    return __atomic_load_n(&grec_labelling_, __ATOMIC_RELAXED) ? grec_script_push_(label, function, file, line, column)
                                                               : NULL;
}
/* The innermost frame, a script's, has come to another line. [signal-safe] */
static inline void grec_script_line(struct grec_label_stack *pushed, uint32_t line, uint32_t column) {
    if (pushed && pushed->depth && pushed->depth <= GREC_LABEL_DEPTH_MAX) {
        __atomic_store_n(&pushed->frames[pushed->depth - 1].line, line, __ATOMIC_RELAXED);
        __atomic_store_n(&pushed->frames[pushed->depth - 1].column, column, __ATOMIC_RELAXED);
    }
}

static inline void grec_label_scope_end_(struct grec_label_stack **pushed) { grec_label_pop(*pushed); }

/* A label until the end of the block: a constant name, and in GREC_LABEL_TEXT a text that lives as long. */
#define GREC_LABEL(name, category)            GREC_LABEL_TEXT(name, category, NULL)
#define GREC_LABEL_TEXT(name, category, text) GREC_LABEL_TEXT_(name, category, text, __COUNTER__)
#define GREC_LABEL_TEXT_(name, category, text, number)                                                            \
    static struct grec_label GREC_JOIN_(grec_label_, number) = GREC_LABEL_AT(name, category, __FILE__, __LINE__); \
    __attribute__((cleanup(grec_label_scope_end_), unused)) struct grec_label_stack *GREC_JOIN_(                  \
        grec_pushed_, number) = grec_label_push(&GREC_JOIN_(grec_label_, number), text)

static inline void grec_thread_scope_end_(const char **name) {
    (void)name;
    grec_thread_unregister();
}
/* The calling thread, registered until the end of the block. */
#define GREC_THREAD_SCOPE(name) GREC_THREAD_SCOPE_(name, __COUNTER__)
#define GREC_THREAD_SCOPE_(name, number)                                                                            \
    __attribute__((cleanup(grec_thread_scope_end_), unused)) const char *GREC_JOIN_(grec_thread_, number) = (name); \
    grec_thread_register(GREC_JOIN_(grec_thread_, number))

/* ---- Counters. ---- */

enum grec_counter_graph {
    GREC_COUNTER_ACCUMULATED = 0, /* the sum of all changes: memory in use, length of a queue */
    GREC_COUNTER_RATE             /* changes per time: bytes sent, requests served */
};

enum grec_counter_flag {
    GREC_COUNTER_SAMPLED = 1 /* changes are only summed up, and the sum recorded by the sampler and grec_sample */
};

struct grec_counter {
    const char *name;
    const char *category; /* "Memory", "Bandwidth", "CPU", "power" are known to the viewer; or any other */
    const char *description;
    const char *label;   /* of the track; NULL: the name */
    const char *unit;    /* "bytes", "percent", "pWh"…; NULL: a number */
    uint32_t graph;      /* enum grec_counter_graph */
    uint32_t color;      /* enum grec_graph_color */
    int32_t sort_weight; /* tracks of lower weight stand higher; the viewer's own have 10 to 50 */
    uint32_t flags;      /* enum grec_counter_flag */
    uint64_t cache_;
    int64_t sum_;
    struct grec_counter *next_;
    uint64_t is_listed_;
};
#define GREC_COUNTER(name, category, description, unit, graph, color, flags) \
    { name, category, description, NULL, unit, graph, color, 50, flags, 0, 0, NULL, 0 }

GREC_API void grec_counter_add_(struct grec_counter *counter, int64_t change);
GREC_API void grec_counter_set_(struct grec_counter *counter, int64_t value);
GREC_API void grec_counter_list_(struct grec_counter *counter);

/* In a pause, changes are summed up, and the sum recorded by grec_resume. Of a counter that is not sampled, such a sum or
 * value is at most 2^62 - 1. [signal-safe] */
static inline void grec_counter_add(struct grec_counter *counter, int64_t change) {
    if (grec_is_counting_() && counter) {
        if (counter->flags & GREC_COUNTER_SAMPLED) {
            __atomic_fetch_add(&counter->sum_, change, __ATOMIC_RELAXED);
            if (__builtin_expect(!__atomic_load_n(&counter->is_listed_, __ATOMIC_RELAXED), 0))
                grec_counter_list_(counter);
        } else {
            grec_counter_add_(counter, change);
        }
    }
}

/* The counter's value from now on. [signal-safe] */
static inline void grec_counter_set(struct grec_counter *counter, int64_t value) {
    if (grec_is_counting_() && counter) grec_counter_set_(counter, value);
}

/* ---- Samples on demand, beside those of the sampler. ---- */

GREC_API void grec_sample_(void);
/* Records the calling thread's label stack as a sample, and the sums of the sampled counters. [signal-safe] */
static inline void grec_sample(void) {
    if (grec_is_recording()) grec_sample_();
}

/* ---- Memory, for allocators: malloc is told of by preloading libgecko_recorder_memory.so. ---- */

GREC_API void grec_memory_allocated_(const void *address, size_t bytes_count);
GREC_API void grec_memory_freed_(const void *address, size_t bytes_count);
/* So much was allocated there, or freed: all of it is counted, and one in about 512 KiB recorded with its stack, which
 * stands for those that were not. In a pause, memory is counted only; the end of an allocation that was recorded is
 * recorded by grec_resume. [signal-safe] */
static inline void grec_memory_allocated(const void *address, size_t bytes_count) {
    if (grec_is_counting_()) grec_memory_allocated_(address, bytes_count);
}
static inline void grec_memory_freed(const void *address, size_t bytes_count) {
    if (grec_is_counting_()) grec_memory_freed_(address, bytes_count);
}

#ifdef __cplusplus
}

namespace grec {

/* A label until the end of the scope. */
class label_scope {
    grec_label_stack *pushed_;

   public:
    __attribute__((always_inline)) explicit label_scope(grec_label &label, const char *text = nullptr)
        : pushed_(grec_label_push(&label, text)) {}
    ~label_scope() { grec_label_pop(pushed_); }
    label_scope(const label_scope &) = delete;
    label_scope &operator=(const label_scope &) = delete;
};

/* An interval marker from construction to the end of the scope. */
class interval_scope {
    grec_marker &marker_;
    grec_time start_;

   public:
    explicit interval_scope(grec_marker &marker) : marker_(marker), start_(grec_now()) {}
    ~interval_scope() {
        if (grec_is_recording()) grec_interval(&marker_, start_, nullptr, 0);
    }
    interval_scope(const interval_scope &) = delete;
    interval_scope &operator=(const interval_scope &) = delete;
};

/* The calling thread, registered until the end of the scope. */
class thread_scope {
   public:
    explicit thread_scope(const char *name) { grec_thread_register(name); }
    ~thread_scope() { grec_thread_unregister(); }
    thread_scope(const thread_scope &) = delete;
    thread_scope &operator=(const thread_scope &) = delete;
};

}  // namespace grec
#endif

#endif
