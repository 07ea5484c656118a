/* gecko_recorder: records what a program does into a trace that gecko-convert turns into a Firefox Profiler profile.
 *
 *     static struct grec_category io = GREC_CATEGORY("I/O", GREC_COLOR_BLUE);
 *
 *     grec_start(NULL);                                // or GECKO_RECORDER=1 in the environment, and no call at all
 *     GREC_LABEL("serve", &io);                        // a frame of stacks, until the end of the block
 *     GREC_INTERVAL_SCOPE("request", &io);             // an interval marker, until the end of the block
 *     GREC_INSTANT("cache miss", &io);                 // an instant marker
 *     grec_stop();                                     // or the end of the program, whatever ends it
 *
 * Linux, C11 or C++11 and later, gcc or clang; needs libc alone. If GREC_DISABLE is defined before this file is
 * included, every call and macro does nothing, no library is needed, and any C99 or C++11 compiler on any system will
 * do.
 *
 * Costs: while recording is off, each call is one relaxed load and a predicted branch; a change of an accumulated
 * counter is also an atomic addition, which keeps the counter's level. While recording is on, no event allocates
 * memory or takes a lock, and only one that begins a new chunk makes system calls. Each thread writes into its own part
 * of a shared mapping of the trace, so a crash loses nothing that was recorded.
 *
 * Threads: every function may be called from any thread at any time unless its comment says otherwise.
 * Signals: functions marked [signal-safe] may be called in signal handlers, also in a handler that interrupted a call
 * of this library. Forked children continue to record into the same trace.
 *
 * Descriptions (struct grec_category, grec_label, grec_marker, grec_marker_type, grec_counter, grec_string) belong to
 * the caller. They are usually static variables. Make them with the GREC_… initialisers, do not change them after their
 * first use, and keep them for as long as the program records. Members whose names end in _ belong to the library.
 *
 * Texts need not be valid UTF-8: the converter repairs them. NULL is the empty text. Names are cut to
 * GREC_NAME_BYTES_MAX bytes and texts in payloads to GREC_TEXT_BYTES_MAX bytes; the trace counts what was cut. */
#ifndef GECKO_RECORDER_H
#define GECKO_RECORDER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The library has these functions too, for languages that do not read this file. */
#ifndef GREC_INLINE
#define GREC_INLINE static inline
#endif

#ifdef GREC_DISABLE
#define GREC_API static inline
#else
#define GREC_API __attribute__((visibility("default")))
#endif

#define GREC_VERSION "0.1.0"

enum {
    GREC_NAME_BYTES_MAX = 511,
    GREC_TEXT_BYTES_MAX = 8191, /* a quarter of a chunk, where chunks are smaller than 32 KiB */
    GREC_LABEL_DEPTH_MAX = 200, /* labels on a thread's stack, a script's frame counting twice; deeper ones are not
                                   recorded */
    GREC_FIELD_COUNT_MAX = 32,  /* fields of a marker type */
};

/* ---- Starting and stopping. ---- */

enum grec_error {
    GREC_OK = 0,
    GREC_ERROR_OPTIONS, /* a member of the options is out of its range */
    GREC_ERROR_STORAGE, /* the trace cannot be created or written: errno says why (EBUSY: another process records into
                           that file, or has not left it since it was told to stop; it may be a forked child of this
                           one: see grec_control) */
    GREC_ERROR_MEMORY,  /* there is too little memory or address space */
    GREC_ERROR_STATE,   /* the call needs a recording, and there is none */
    GREC_ERROR_SAMPLER, /* GREC_SAMPLER or GREC_HELPER was given, and libgecko_sampler cannot be found or has another
                           version. It is looked up in the folder of this library, and where the dynamic linker looks
                           for libraries */
    GREC_ERROR_COUNT
};

/* Returns the English text of a grec_error; never NULL. [signal-safe] */
GREC_API const char *grec_error_text(enum grec_error error);

#define GREC_UNLIMITED UINT64_MAX

enum grec_storage {
    GREC_STORAGE_FILE = 0, /* the trace is a file from the first event on, and survives a crash */
    GREC_STORAGE_MEMORY    /* nothing is written to disk before grec_save */
};

enum grec_option_flag {
    GREC_NO_CHILDREN = 1, /* forked children do not record */
    GREC_HELPER = 2,      /* a thread prepares chunks, which threads otherwise prepare themselves, and obeys commands of
                             other processes at once. A sampler's thread does this, too */
    GREC_SAMPLER = 4, /* a thread samples the stacks and processor time of all registered threads, by SIGURG, and the
                         memory, processor time and power of the process */
    GREC_ALL_THREADS = 8,     /* the sampler also samples threads that did not register */
    GREC_NO_STACKS = 16,      /* the sampler records the processor time of threads, and interrupts no thread */
    GREC_NO_PROCESS_CPU = 32, /* no counter of the process's processor time */
    GREC_NO_MEMORY = 64,      /* no counter of the process's resident memory */
    GREC_NO_POWER = 128,      /* no counters of power */
    GREC_NO_ARGUMENTS = 256,  /* the trace does not contain the command lines of its processes */
};

/* A member that is zero means the default. */
struct grec_options {
    const char *path; /* path of the trace; "%p" becomes the process id, "%e" the program's name, "%%" a percent sign.
                         With GREC_STORAGE_MEMORY: where grec_save(NULL) writes. Default "%e-%p.trace" */
    uint64_t limit_bytes; /* size of the trace, at least 16 chunks. At the limit, the oldest chunk is reused.
                             GREC_UNLIMITED: the file grows, to 256 GiB at most. Default 128 MiB */
    uint32_t chunk_bytes; /* a power of two from 4096 to 1048576. Default 65536, or less with a limit under 4 MiB */
    uint32_t storage;     /* enum grec_storage */
    const char *threads;  /* records only threads whose name contains one of these comma-separated words, ignoring case.
                             "pid:123" matches all threads of that process. "-word" leaves out threads that match the
                             word, even if they match another one. Counters belong to the process, so all threads change
                             them. Default: all threads */
    uint32_t flags;       /* enum grec_option_flag. While a recording is on, also an enum grec_scope */
    uint32_t interval_us; /* between two samples, at least 100. Default 1000 */
    const char *product;  /* the name of the profile. Default: the program's name */
    uint32_t duration_s;  /* keeps only the last duration_s seconds: chunks that ended earlier are reused before the
                             trace grows. Needs a limit. Default: as much as fits under the limit */
    uint32_t reserved;
};

/* Starts recording. options may be NULL. Returns GREC_OK, or an error with nothing started.
 *
 * If a recording is already on (because the environment started it, for instance), it continues with the new options
 * and keeps what it has recorded. A new path renames the trace; a new storage or limit moves its contents; chunk_bytes
 * does not change. The interval, the threads, and the flags for sampling, stacks and counters also apply to the other
 * processes of the recording if this process has started the recording, unless the flags have GREC_PROCESS; or if the
 * flags have GREC_GROUP. Those processes notice the new options as they notice commands: see grec_control. If such a
 * process needs a sampler and has none, it starts one at once if it has a helper, and otherwise in its next call of a
 * function that is not signal-safe. If this process records into the trace of another one and the options have a path,
 * it leaves that trace and starts its own. If several threads call grec_start, grec_stop and grec_save at once, the
 * calls run one after another. */
GREC_API enum grec_error grec_start(const struct grec_options *options);

/* Stops recording and completes the trace. Does nothing when not recording. A program that ends without this call
 * leaves a good trace too. Waits until the recording calls of other threads of this process have returned. */
GREC_API void grec_stop(void);

/* Stops recording until grec_resume. The profile shows the gap as a paused range. Labels are kept. Counters and memory
 * are still counted, and grec_resume records their sums. Calls do not nest: one resume ends any number of pauses. */
GREC_API void grec_pause(void);
GREC_API void grec_resume(void);

/* The functions above act on all processes of the recording if this process has started it, and on this process alone
 * if it was forked or has joined. grec_control acts on the processes that `scope` names. Another process notices the
 * command at its next event, in the next round of its sampler, or at once if it has a helper. It stops, pauses or
 * resumes at that time, and the profile shows its paused ranges. When a process ends, the others continue to record.
 *
 * A process that was told to stop is not part of a later recording, unless it calls grec_join. It keeps the file open
 * until it ends, executes another program, or calls grec_stop or grec_join. Until then, grec_start does not replace the
 * file (EBUSY): choose another path, or rename the file first. */
enum grec_action { GREC_STOP = 0, GREC_PAUSE, GREC_RESUME, GREC_PAUSE_SAMPLING, GREC_RESUME_SAMPLING };

enum grec_scope {
    GREC_PROCESS = 0x4000, /* this process */
    GREC_GROUP = 0x8000,   /* all processes of the recording */
};

GREC_API void grec_control(enum grec_action action, enum grec_scope scope);

/* Stops sampling threads until grec_resume_sampling, in the processes that grec_pause acts on. Markers and counters are
 * still recorded, including those of the sampler. Calls do not nest. */
GREC_API void grec_pause_sampling(void);
GREC_API void grec_resume_sampling(void);

/* Writes a copy of the trace as it is now, and continues to record. path: as in the options; NULL, with
 * GREC_STORAGE_MEMORY only: the path in the options. The file appears only when it is complete. After grec_stop, saves
 * the last recording if that is in memory. */
GREC_API enum grec_error grec_save(const char *path);

/* ---- Other processes of a recording. Forked children take part without a call, and so do programs that this one
 * executes and that are linked with the library, if the environment is passed on: GECKO_RECORDER_JOIN tells them where
 * the recording is. ---- */

enum { GREC_LOCATION_BYTES = 1088 };

/* Writes a terminated text that says where the recording is. Pass it to grec_join in any other process of this machine.
 * The text is valid until the recording ends or moves to another path. Returns GREC_ERROR_STATE if nothing is recorded,
 * or if the system has no way to share a recording in memory. */
GREC_API enum grec_error grec_location(char location[GREC_LOCATION_BYTES]);

/* Makes this process part of a recording that is on, with that recording's flags, interval and filter. location: from
 * grec_location, or an absolute path of the trace, which may differ from its path in the other processes (in a
 * container, for instance). NULL: the value of GECKO_RECORDER_JOIN. Returns GREC_OK or, with nothing changed:
 * GREC_ERROR_OPTIONS if this is not a location; GREC_ERROR_STORAGE if the trace cannot be opened (errno says why);
 * GREC_ERROR_STATE if this process records already, or if no process of this machine records there, or one with another
 * version of this library. */
GREC_API enum grec_error grec_join(const char *location);

/* Whether events are recorded now: 1 while recording and not paused, else 0. [signal-safe] */
GREC_INLINE int grec_is_recording(void);

struct grec_status {
    int is_recording; /* 0 or 1; also 1 while paused */
    int is_paused;
    char path[1024]; /* path of the trace, perhaps cut; empty if the trace is in memory */
    uint64_t size_bytes;
    uint64_t limit_bytes; /* GREC_UNLIMITED: none */
    uint64_t chunks_recycled;
    uint64_t events_lost; /* no chunk was free, or signal handlers were nested more than three deep */
    uint64_t texts_cut;
    uint64_t definitions_lost;
    uint64_t values_mismatched; /* payload values beyond the fields of their marker type */
    int stop_errno;             /* why the recording stopped by itself (ENOSPC, for instance); 0: it did not */
    uint32_t markers_stale;     /* ignored markers, for a thread of another recording or of a parent process */
    uint32_t flags; /* enum grec_option_flag. This and the members below are those that apply to this process */
    uint32_t interval_us;
    uint32_t duration_s;
    uint32_t reserved;
    char threads[512]; /* the filter */
};

GREC_API void grec_get_status(struct grec_status *status);

/* ---- Facts about the program, which the viewer shows in its information panel. ---- */

/* Keys that the viewer knows. */
#define GREC_FACT_VERSION    "version"
#define GREC_FACT_BUILD_ID   "build ID"
#define GREC_FACT_SOURCE_URL "source URL" /* where the source of the build is; the build ID links to it */

/* Sets a fact about the program, under one of these keys or any other one. The fact applies to the current recording
 * and to later ones of this process, so call this before or after grec_start. A later value of the same key replaces
 * it. The texts are copied, and cut to 63 and 255 bytes. Facts are ignored after the 32nd key, and in a process that
 * records into the trace of another one. */
GREC_API void grec_set_fact(const char *key, const char *value);

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
    struct grec_category *parent; /* NULL: this is not a subcategory */
    uint32_t color;               /* enum grec_color; a subcategory has its parent's */
    uint32_t reserved;
    uint64_t cache_;
};
#define GREC_CATEGORY(name, color) \
    { name, NULL, color, 0, 0 }
#define GREC_SUBCATEGORY(name, parent) \
    { name, parent, 0, 0, 0 }
#define GREC_OTHER ((struct grec_category *)NULL)

/* ---- Labels: frames that say what a thread is doing, in the stacks of samples and markers. ----
 *
 * GREC_LABEL(name, category);
 * GREC_LABEL_TEXT(name, category, text);
 *     Push a label until the end of the block. name is a constant. text is shown after the name; it is borrowed until
 *     then.
 *
 * GREC_LABEL_HERE(name, category), C++ only
 *     An expression: a reference to a static grec_label with the position of this line, for objects of
 *     grec::label_scope:
 *
 *         grec::label_scope scope(GREC_LABEL_HERE("parse", &io), file_name);
 *
 * These labels also end if longjmp leaves their function. A coroutine on a stack of its own has labels of its own.
 *
 * The functions below are for labels that do not end with their block. Such a label stays until it is popped. */

struct grec_label {
    const char *name;
    struct grec_category *category;
    const char *file; /* source file; NULL: none */
    uint32_t line;    /* 0: none */
    uint32_t reserved;
    uint64_t cache_;
};
#define GREC_LABEL_AT(name, category, file, line) \
    { name, category, file, line, 0, 0 }

/* Where a label is; 0: it was not pushed. */
typedef uint32_t grec_label_place;

/* Pushes a label. Pass the result to grec_label_pop in the same thread, in the reverse order of the pushes. text (NULL:
 * none) is borrowed until then. Returns 0 when not recording, and if there are too many labels. [signal-safe] */
GREC_INLINE grec_label_place grec_label_push(struct grec_label *label, const char *text);

/* Pops a label, and those that were pushed after it on the same stack. Does nothing if `pushed` is 0. [signal-safe] */
GREC_INLINE void grec_label_pop(grec_label_place pushed);

/* Pushes a frame of an interpreter: the function that a script runs, and its file, both borrowed until grec_label_pop.
 * line and column count from 1; 0: unknown. The category is that of `label`, which describes the interpreter.
 * [signal-safe] */
GREC_INLINE grec_label_place grec_script_push(struct grec_label *label, const char *function, const char *file,
                                              uint32_t line, uint32_t column);

/* Sets the line and column of a script's frame. [signal-safe] */
GREC_INLINE void grec_script_line(grec_label_place pushed, uint32_t line, uint32_t column);

/* ---- Markers. ----
 *
 * GREC_INSTANT(name, category);
 * GREC_INSTANT_WITH(name, category, type, values…);
 *     Record an instant marker.
 *
 *         GREC_INSTANT_WITH("Request", &io, &request_type, GREC_TEXT(url), GREC_INT(status));
 *
 * GREC_INTERVAL(name, category, start);
 * GREC_INTERVAL_WITH(name, category, type, start, values…);
 *     Record an interval marker from `start` until now.
 *
 *         grec_time start = grec_now();
 *         …
 *         GREC_INTERVAL("Decode", &media, start);
 *
 * GREC_INTERVAL_SCOPE(name, category);
 *     Records an interval marker from here until the end of the block.
 *
 * Names, categories and types are constants: each of these places has a static description of its own. */

/* An instant, on the recorder's own clock; 0: unknown, because there was no recording at that time. */
typedef uint64_t grec_time;

/* Returns the current time, even in a pause; 0 without a recording. [signal-safe] */
GREC_INLINE grec_time grec_now(void);

/* Converts a time of CLOCK_MONOTONIC, such as another library reports. Exact to a microsecond for times since the start
 * of the recording. Returns 0 when not recording, and in a pause. [signal-safe] */
GREC_API grec_time grec_time_from_clock_ns(uint64_t monotonic_ns);

struct grec_marker_type;
struct grec_value;

/* Describes markers: their name, category and payload type (NULL: no payload). */
struct grec_marker {
    const char *name;
    struct grec_category *category;
    struct grec_marker_type *type;
    uint64_t cache_;
};
#define GREC_MARKER(name, category, type) \
    { name, category, type, 0 }

/* Records a marker at this time, or from `start` (0: the start of the recording) until now. values: borrowed, one for
 * each field of the type. Missing values are absent; values beyond the fields are counted and dropped. NULL with count
 * 0: no values. [signal-safe] */
GREC_API void grec_instant(struct grec_marker *marker, const struct grec_value *values, size_t count);
GREC_API void grec_interval(struct grec_marker *marker, grec_time start, const struct grec_value *values, size_t count);

/* Record one end of an interval. The viewer joins a start with the next end that has the same name in the same thread.
 * If both have a value for a field, the end's is shown. [signal-safe] */
GREC_API void grec_interval_start(struct grec_marker *marker, const struct grec_value *values, size_t count);
GREC_API void grec_interval_end(struct grec_marker *marker, const struct grec_value *values, size_t count);

/* Records a marker with a text. [signal-safe] */
GREC_INLINE void grec_text_marker(const char *name, struct grec_category *category, const char *text);

enum grec_log_level { GREC_LOG_ERROR = 1, GREC_LOG_WARNING, GREC_LOG_INFO, GREC_LOG_DEBUG, GREC_LOG_VERBOSE };

/* Records a line of a log as a marker of the type "Log", which the viewer knows. [signal-safe] */
GREC_INLINE void grec_log(enum grec_log_level level, const char *module, const char *message);

/* How a network request ended. */
enum grec_network_end { GREC_NETWORK_STOP = 0, GREC_NETWORK_REDIRECT, GREC_NETWORK_CANCEL };

/* A network request. Only url and start are needed: 0 and NULL mean that a member is not known. Times are from grec_now
 * or grec_time_from_clock_ns, and in the order of the members. */
struct grec_network_request {
    const char *url;
    const char *redirect_url; /* with GREC_NETWORK_REDIRECT: the next address */
    const char *content_type; /* "text/html", which decides the colour of the bar */
    uint32_t how_ended;       /* enum grec_network_end */
    uint32_t response_status; /* 200, 404 */
    uint64_t transfer_bytes;  /* received */
    grec_time start;          /* when the program asked for it */
    grec_time lookup_start;   /* when the lookup of the host's name began */
    grec_time lookup_end;
    grec_time connect_start;
    grec_time connect_end;
    grec_time request_start;  /* when the request was sent */
    grec_time response_start; /* when the first byte of the response arrived */
    grec_time response_end;   /* when the last byte arrived */
    grec_time end;            /* when the program had the response; 0: now */
};

/* Records a request that has ended, as two markers of the type "Network" in the calling thread. The viewer shows them
 * in its network track and network chart. request: borrowed. [signal-safe] */
GREC_INLINE void grec_network(struct grec_category *category, const struct grec_network_request *request);

enum grec_phase { GREC_PHASE_INSTANT = 0, GREC_PHASE_INTERVAL = 1, GREC_PHASE_START = 2, GREC_PHASE_END = 3 };

/* Identifies a thread of this process in this recording, even after the thread has ended, so that other threads can add
 * markers to it. In another recording, and in a forked child, the handle is stale: markers that use it are ignored and
 * counted (markers_stale). */
struct grec_thread {
    uint64_t uid; /* 0: none. Belongs to the library */
    uint64_t tid;
};

/* A stack that is taken now, and added to a marker later. */
enum { GREC_BACKTRACE_BYTES = 4096 };
struct grec_backtrace {
    uint64_t bytes_[GREC_BACKTRACE_BYTES / 8];
};

/* Takes the calling thread's stack and the time: its labels, and its functions if there is a sampler. If not all frames
 * fit, the outermost are left out; of a stack of labels alone, the innermost. Takes an empty stack when not recording.
 * The result is valid in any thread of the same recording, and in forked children. [signal-safe] */
GREC_API void grec_take_backtrace(struct grec_backtrace *backtrace);

/* All zero: an instant marker of the calling thread, now, without a stack. */
struct grec_marker_options {
    uint32_t phase;                         /* enum grec_phase */
    uint32_t with_stack;                    /* 1: with the calling thread's stack */
    grec_time start;                        /* 0: now; of an interval, the start of the recording */
    grec_time end;                          /* 0: now */
    struct grec_thread thread;              /* the thread that the marker belongs to, if that thread is recorded;
                                               uid 0: the calling thread */
    const struct grec_backtrace *backtrace; /* in place of with_stack; NULL: none */
};

/* Records a marker with options. options may be NULL. [signal-safe] */
GREC_API void grec_add_marker(struct grec_marker *marker, const struct grec_marker_options *options,
                              const struct grec_value *values, size_t count);

/* Records a marker whose name is not known at compile time. The recording keeps each different name, so put numbers
 * into payloads, not into names. options may be NULL. [signal-safe] */
GREC_API void grec_add_named_marker(const char *name, struct grec_category *category, struct grec_marker_type *type,
                                    const struct grec_marker_options *options, const struct grec_value *values,
                                    size_t count);

/* ---- Marker types: which fields the payload of markers has, and how the viewer shows it. ---- */

/* The format of a field, which implies the unit of its values. */
enum grec_format {
    GREC_FORMAT_STRING = 0,
    GREC_FORMAT_URL,
    GREC_FORMAT_FILE_PATH,
    GREC_FORMAT_SANITIZED_STRING,    /* a text that may name people or sites: removed when a profile is shared */
    GREC_FORMAT_UNIQUE_STRING,       /* a text that many markers share */
    GREC_FORMAT_FLOW_ID,             /* GREC_FLOW: markers with the same number belong together */
    GREC_FORMAT_TERMINATING_FLOW_ID, /* GREC_FLOW: the last marker with that number */
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

/* A column of a table, in any format but list and table. */
struct grec_column {
    const char *label;
    uint32_t format; /* enum grec_format */
    uint32_t reserved;
};
#define GREC_COLUMN(label, format) \
    { label, format, 0 }

struct grec_field {
    const char *key;                   /* unique within its marker type. The keys "type", "cause", "stack" and
                                          "stackThread" are reserved: the converter appends "_" to them */
    const char *label;                 /* NULL: the key */
    uint32_t format;                   /* enum grec_format */
    uint32_t flags;                    /* enum grec_field_flag */
    const struct grec_column *columns; /* columns of a table */
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
    GREC_DISPLAY_NETWORK = 128,
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

/* Shows a field of numbers as a graph on a track of its own. */
struct grec_graph {
    const char *key; /* key of the field */
    uint32_t type;   /* enum grec_graph_type */
    uint32_t color;  /* enum grec_graph_color */
};

/* Labels are templates of the viewer: "{marker.name}: {marker.data.url}". */
struct grec_marker_type {
    const char *name; /* unique; the viewer knows some ("Log", "Network"): see docs/recorder.md, Payloads */
    const struct grec_field *fields;
    size_t field_count; /* at most GREC_FIELD_COUNT_MAX; fields beyond are not recorded */
    const char *description;
    const char *chart_label;
    const char *tooltip_label;
    const char *table_label;
    const char *color_field; /* the key of a string field that names the marker's colour ("red") */
    const struct grec_graph *graphs;
    size_t graph_count;
    uint32_t display;        /* enum grec_display, one or more */
    uint32_t is_stack_based; /* 1: intervals nest like calls */
    uint64_t cache_;
    uint8_t wires_[GREC_FIELD_COUNT_MAX];
};
#define GREC_MARKER_TYPE(name, fields) GREC_MARKER_TYPE_SHOWN(name, fields, NULL, NULL, NULL, 0)
/* GREC_MARKER_TYPE with labels for chart, tooltip and table, and with places of display. */
#define GREC_MARKER_TYPE_SHOWN(name, fields, chart_label, tooltip_label, table_label, display)                       \
    {                                                                                                                \
        name, fields, sizeof(fields) / sizeof(fields)[0], NULL, chart_label, tooltip_label, table_label, NULL, NULL, \
            0, display, 0, 0, {                                                                                      \
            0                                                                                                        \
        }                                                                                                            \
    }

/* ---- Values of payloads: one for each field of the marker's type, in the same order. ----
 *
 * A field of text may be given an integer, and a field of numbers any other kind of number, for one more byte in the
 * trace. The converter drops and counts other values that do not fit their field. */

#define GREC_NONE()       grec_value_number_(GREC_VALUE_NONE, 0)
#define GREC_INT(integer) grec_value_number_(GREC_VALUE_INTEGER, (uint64_t)(integer))
#define GREC_UINT(number) grec_value_number_(GREC_VALUE_UNSIGNED, (uint64_t)(number))
#define GREC_FLOW(id)     GREC_UINT(id)
#define GREC_REAL(real)   grec_value_real_((double)(real))
#define GREC_TIME(time)   grec_value_number_(GREC_VALUE_TIME, (time))
/* Texts are copied when the marker is recorded. NULL: no value. */
#define GREC_TEXT(terminated)            grec_value_pointer_(GREC_VALUE_TEXT, (terminated), GREC_TEXT_TERMINATED)
#define GREC_TEXT_OF(bytes, bytes_count) grec_value_pointer_(GREC_VALUE_TEXT, (bytes), (bytes_count))
/* A struct grec_string *, whose text is recorded once. */
#define GREC_STRING(string) grec_value_pointer_(GREC_VALUE_STRING, (string), 0)
/* `count` terminated texts (const char *const *). */
#define GREC_LIST(texts, count) grec_value_pointer_(GREC_VALUE_LIST, (texts), (count))
/* `count` values, row by row (const struct grec_value *), without lists and tables. */
#define GREC_TABLE(values, count) grec_value_pointer_(GREC_VALUE_TABLE, (values), (count))

/* A text that does not change, for GREC_STRING. */
struct grec_string {
    const char *text;
    uint64_t cache_;
};
#define GREC_STRING_OF(text) \
    { text, 0 }

/* ---- Threads. ----
 *
 * A thread that is not registered becomes registered when it first records something, under the name that the system
 * has for it.
 *
 * GREC_THREAD_SCOPE(name);
 *     Registers the calling thread until the end of the block. */

/* Registers the calling thread under a name (NULL: the system's), or renames it. [signal-safe] */
GREC_API void grec_thread_register(const char *name);

/* Ends the calling thread in the trace. A thread that exits is unregistered automatically. [signal-safe] */
GREC_API void grec_thread_unregister(void);

/* Returns a handle of the calling thread; uid 0 when not recording. [signal-safe] */
GREC_API struct grec_thread grec_thread_self(void);

/* Returns a handle of the process's main thread; uid 0 when not recording, and if that thread has neither recorded
 * anything nor been sampled. [signal-safe] */
GREC_API struct grec_thread grec_main_thread(void);

/* Returns 1 if recording is on and the thread is alive and not left out; otherwise 0. [signal-safe] */
GREC_API int grec_thread_is_recorded(struct grec_thread thread);

/* Takes a sample of the thread, with its stack, as soon as possible, even while sampling is paused. Waits up to a
 * second for the sample. Needs a sampler, unless the thread is the calling one. Returns GREC_ERROR_STATE if there is no
 * sample: recording is off or paused, there is no sampler, or the thread is not recorded, has ended, or does not
 * answer. */
GREC_API enum grec_error grec_sample_thread(struct grec_thread thread);

/* Waits up to a second until the sampler has looked at all threads once more. A thread that gets no processor in that
 * time may be sampled later. Returns GREC_ERROR_STATE if the sampler did not look: recording is off or paused, or there
 * is no sampler. */
GREC_API enum grec_error grec_wait_for_sampling(void);

/* Tell the sampler that the calling thread is about to wait, or is working again. This is cheaper for the sampler than
 * reading the thread's processor time. [signal-safe] */
GREC_INLINE void grec_thread_sleep(void);
GREC_INLINE void grec_thread_wake(void);

/* Tell the sampler that the calling thread's event loop has begun to handle an event, or waits for events. Samples then
 * show how long an event that arrived at that time would wait. [signal-safe] */
GREC_INLINE void grec_event_loop_busy(void);
GREC_INLINE void grec_event_loop_idle(void);

/* ---- Counters. ---- */

enum grec_counter_graph {
    GREC_COUNTER_ACCUMULATED = 0, /* the sum of all changes: memory in use, length of a queue */
    GREC_COUNTER_RATE             /* changes per time: bytes sent, requests served */
};

enum grec_counter_flag {
    /* Changes are only added up. Each round of the sampler, grec_sample, grec_pause, grec_save, grec_stop and the end
     * of the process record the sum. */
    GREC_COUNTER_SAMPLED = 1
};

struct grec_counter {
    const char *name;
    const char *category; /* the viewer knows "Memory", "Bandwidth", "CPU" and "power"; others are allowed */
    const char *description;
    const char *label;   /* title of the track; NULL: the name */
    const char *unit;    /* "bytes", "percent", "pWh"…; NULL: a number */
    uint32_t graph;      /* enum grec_counter_graph */
    uint32_t color;      /* enum grec_graph_color */
    int32_t sort_weight; /* tracks with a lower weight are shown further up; the viewer's own have 10 to 50 */
    uint32_t flags;      /* enum grec_counter_flag */
    uint64_t cache_;
    int64_t sum_;      /* the sum of all changes if sampled; otherwise of those that are not recorded yet, shifted */
    int64_t recorded_; /* the sum of the other changes of an accumulated counter, without those that threads hold */
    uint64_t number_;  /* how many values were set; if sampled, how many changes, or 0: counting takes an addition */
    struct grec_counter *next_;
    uint64_t is_listed_;
};
#define GREC_COUNTER(name, category, description, unit, graph, color, flags) \
    { name, category, description, NULL, unit, graph, color, 50, flags, 0, 0, 0, 0, NULL, 0 }

/* Adds to the counter. In a pause, changes are added up, and grec_resume records the sum. While recording is off, an
 * accumulated counter keeps its level, at the cost of a relaxed atomic addition, and the next recording begins with
 * that level. In both cases, the sum of a counter that is not sampled is at most 2^62 - 1. A forked child of a recorded
 * process begins with 0. [signal-safe] */
GREC_INLINE void grec_counter_add(struct grec_counter *counter, int64_t change);

/* Sets the counter's value, also while recording is off. [signal-safe] */
GREC_INLINE void grec_counter_set(struct grec_counter *counter, int64_t value);

/* ---- Samples on demand. ---- */

/* Records the calling thread's stack as a sample, and the sums of the sampled counters. [signal-safe] */
GREC_INLINE void grec_sample(void);

/* ---- Memory. Custom allocators call these; preloading libgecko_recorder_memory.so does it for malloc. ---- */

/* Record that memory was allocated or freed. All of it is counted. If the sampler's library is in the process, about
 * one allocation in 512 KiB is recorded with its stack, and stands for the others. In a pause, memory is only counted;
 * grec_resume then records which of the recorded allocations were freed. [signal-safe] */
GREC_INLINE void grec_memory_allocated(const void *address, size_t bytes_count);
GREC_INLINE void grec_memory_freed(const void *address, size_t bytes_count);

/* ---- The rest of this header implements what is declared above. Users of the library need not read it. ---- */

/* ---- Values. ---- */

struct grec_value {
    uint32_t kind;  /* enum grec_value_kind */
    uint32_t count; /* number of bytes, texts or values */
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

#define GREC_JOIN2_(left, right) left##right
#define GREC_JOIN_(left, right)  GREC_JOIN2_(left, right)

#ifndef GREC_DISABLE

/* ---- Recording on and off. ---- */

/* 0: nothing is recorded, and calls return at once. GREC_PAUSED_: calls check whether another process has ended the
 * pause. */
enum { GREC_PAUSED_ = 3 };
GREC_API extern uint32_t grec_recording_;

/* Not 0 from grec_start to grec_stop, even while paused: labels are kept and counters are counted in a pause. */
GREC_API extern uint32_t grec_labelling_;

GREC_INLINE int grec_is_recording(void) {
    return __builtin_expect(__atomic_load_n(&grec_recording_, __ATOMIC_RELAXED) - 1 < GREC_PAUSED_ - 1, 0) ? 1 : 0;
}

static inline int grec_may_record_(void) {
    return __builtin_expect(__atomic_load_n(&grec_recording_, __ATOMIC_RELAXED) != 0, 0) ? 1 : 0;
}

static inline int grec_is_counting_(void) {
    return __builtin_expect(__atomic_load_n(&grec_labelling_, __ATOMIC_RELAXED) != 0, 0) ? 1 : 0;
}

/* ---- Labels. ---- */

/* The address of the function's frame shows whether the frame is gone. Since another function may have a frame at the
 * same address later, a label also keeps the return address above its frame and the address of its variable, 32 bits of
 * each. */
struct grec_label_frame {
    struct grec_label *label;
    const char *text;    /* shown after the name; NULL: none */
    const void *address; /* where the frame is, orders labels among native frames; NULL: the label is not complete */
    uint64_t identity;   /* return address << 32 | variable; 0: the label stays until it is popped */
};

/* The labels of the thread's own stack are the first `depth` frames. Those of other stacks, which coroutines and signal
 * handlers may run on, are the last other_count ones. A push first raises the depth, so that a signal handler that
 * pushes in the middle of it takes another frame, and sets the address last. Frames that are not used have no address.
 */
struct grec_label_stack {
    uint32_t depth;
    uint32_t other_count;
    const char *own_end; /* the end of the thread's own stack */
    struct grec_label_frame frames[GREC_LABEL_DEPTH_MAX];
};

/* The thread's own stack is taken to have this size, which most threads' have. */
#define GREC_OWN_STACK_BYTES_ ((size_t)8 << 20)

/* grec_label_push is a part of the function that calls it, so its frame is the one that the label belongs to. */
#ifndef GREC_IN_CALLER_
#define GREC_IN_CALLER_          __attribute__((always_inline))
#define GREC_LABEL_ADDRESS_(own) (own)
#endif

/* A place on another stack than the thread's own. */
#define GREC_OTHER_PLACE_ ((grec_label_place)1 << 31)

GREC_API extern __thread struct grec_label_stack *grec_label_stack_ __attribute__((tls_model("initial-exec")));
/* Registers the calling thread. Returns NULL if that is not possible. */
GREC_API struct grec_label_stack *grec_label_stack_acquire_(void);
/* For labels of other stacks. */
GREC_API grec_label_place grec_label_push_other_(struct grec_label *label, const char *text, const void *address,
                                                 uint64_t identity);
GREC_API void grec_label_pop_other_(grec_label_place pushed, const void *variable);

static inline uint64_t grec_label_identity_(const void *address, const void *variable) {
    return (uint64_t)((const uintptr_t *)address)[1] << 32 | (uint32_t)(uintptr_t)variable;
}

/* Returns whether the function that pushed a label was left without popping the label. address, identity: those of the
 * label that is being pushed now. */
static inline int grec_label_is_left_(const struct grec_label_frame *frame, const void *address, uint64_t identity) {
    const char *at = (const char *)frame->address;
    if (!at || !frame->identity) return 0;
    if (at < (const char *)address) return 1;
    if ((uint32_t)((const uintptr_t *)at)[1] != (uint32_t)(frame->identity >> 32)) return 1;
    return at == (const char *)address && frame->identity == identity;
}

__attribute__((always_inline)) static inline grec_label_place grec_label_push_at_(struct grec_label *label,
                                                                                  const char *text, const void *address,
                                                                                  uint64_t identity) {
    struct grec_label_stack *stack = grec_label_stack_;
    uint32_t depth;
    if (__builtin_expect(!stack, 0)) {
        stack = grec_label_stack_acquire_();
        if (!stack) return 0;
    }
    if (__builtin_expect((size_t)(stack->own_end - (const char *)address) >= GREC_OWN_STACK_BYTES_, 0))
        return grec_label_push_other_(label, text, address, identity);
    depth = stack->depth;
    while (depth && __builtin_expect(grec_label_is_left_(&stack->frames[depth - 1], address, identity), 0))
        __atomic_store_n(&stack->frames[--depth].address, (const void *)NULL, __ATOMIC_RELAXED);
    if (__builtin_expect(depth + stack->other_count < GREC_LABEL_DEPTH_MAX, 1)) {
        struct grec_label_frame *frame = &stack->frames[depth];
        __atomic_store_n(&stack->depth, depth + 1, __ATOMIC_RELAXED);
        __atomic_signal_fence(__ATOMIC_ACQ_REL);
        frame->label = label;
        frame->text = text;
        frame->identity = identity;
        __atomic_signal_fence(__ATOMIC_RELEASE);
        __atomic_store_n(&frame->address, address, __ATOMIC_RELAXED);
        return depth + 1;
    }
    __atomic_store_n(&stack->depth, depth, __ATOMIC_RELAXED);
    return 0;
}

__attribute__((always_inline)) static inline void grec_label_pop_at_(struct grec_label_stack *stack,
                                                                     grec_label_place pushed) {
    uint32_t depth = stack->depth;
    while (depth >= pushed) __atomic_store_n(&stack->frames[--depth].address, (const void *)NULL, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_ACQ_REL);
    __atomic_store_n(&stack->depth, depth, __ATOMIC_RELAXED);
}

GREC_IN_CALLER_ GREC_INLINE grec_label_place grec_label_push(struct grec_label *label, const char *text) {
    if (__builtin_expect(!grec_is_counting_(), 1)) return 0;
    return grec_label_push_at_(label, text, GREC_LABEL_ADDRESS_(__builtin_frame_address(0)), 0);
}

GREC_INLINE void grec_label_pop(grec_label_place pushed) {
    struct grec_label_stack *stack = grec_label_stack_;
    if (!pushed || !stack) return;
    if (__builtin_expect(pushed >= GREC_OTHER_PLACE_, 0))
        grec_label_pop_other_(pushed, NULL);
    else
        grec_label_pop_at_(stack, pushed);
}

/* Pushes a label that ends with the function. Its place is kept in `variable`, on the stack. `variable` is not const,
 * because gcc would warn that it has no value yet. */
__attribute__((always_inline)) static inline grec_label_place grec_label_enter_(struct grec_label *label,
                                                                                const char *text, void *variable) {
    const void *address = __builtin_frame_address(0);
    if (__builtin_expect(!grec_is_counting_(), 1)) return 0;
    return grec_label_push_at_(label, text, address, grec_label_identity_(address, variable));
}

/* Pops a label that grec_label_enter_ has pushed. If that label was removed, its place may have another one by now. */
__attribute__((always_inline)) static inline void grec_label_leave_(grec_label_place pushed, const void *variable) {
    struct grec_label_stack *stack = grec_label_stack_;
    if (!pushed || !stack) return;
    if (__builtin_expect(pushed >= GREC_OTHER_PLACE_, 0))
        grec_label_pop_other_(pushed, variable);
    else if (__builtin_expect((uint32_t)stack->frames[pushed - 1].identity == (uint32_t)(uintptr_t)variable, 1))
        grec_label_pop_at_(stack, pushed);
}

GREC_API grec_label_place grec_script_push_(struct grec_label *label, const char *function, const char *file,
                                            uint32_t line, uint32_t column);
GREC_INLINE grec_label_place grec_script_push(struct grec_label *label, const char *function, const char *file,
                                              uint32_t line, uint32_t column) {
    return grec_is_counting_() ? grec_script_push_(label, function, file, line, column) : 0;
}

GREC_API void grec_script_line_(grec_label_place pushed, uint32_t line, uint32_t column);
GREC_INLINE void grec_script_line(grec_label_place pushed, uint32_t line, uint32_t column) {
    if (pushed) grec_script_line_(pushed, line, column);
}

static inline void grec_label_scope_end_(grec_label_place *pushed) { grec_label_leave_(*pushed, pushed); }

#define GREC_LABEL(name, category)            GREC_LABEL_TEXT(name, category, NULL)
#define GREC_LABEL_TEXT(name, category, text) GREC_LABEL_TEXT_(name, category, text, __COUNTER__)
#define GREC_LABEL_TEXT_(name, category, text, number)                                                            \
    static struct grec_label GREC_JOIN_(grec_label_, number) = GREC_LABEL_AT(name, category, __FILE__, __LINE__); \
    __attribute__((cleanup(grec_label_scope_end_), unused)) grec_label_place GREC_JOIN_(grec_pushed_, number) =   \
        grec_label_enter_(&GREC_JOIN_(grec_label_, number), text, &GREC_JOIN_(grec_pushed_, number))

/* ---- Markers. ---- */

GREC_API grec_time grec_now_(void);
GREC_INLINE grec_time grec_now(void) { return grec_may_record_() ? grec_now_() : 0; }

GREC_API void grec_text_marker_(const char *name, struct grec_category *category, const char *text);
GREC_INLINE void grec_text_marker(const char *name, struct grec_category *category, const char *text) {
    if (grec_may_record_()) grec_text_marker_(name, category, text);
}

GREC_API void grec_log_(enum grec_log_level level, const char *module, const char *message);
GREC_INLINE void grec_log(enum grec_log_level level, const char *module, const char *message) {
    if (grec_may_record_()) grec_log_(level, module, message);
}

GREC_API void grec_network_(struct grec_category *category, const struct grec_network_request *request);
GREC_INLINE void grec_network(struct grec_category *category, const struct grec_network_request *request) {
    if (grec_may_record_() && request) grec_network_(category, request);
}

#define GREC_INSTANT(name, category)                                                  \
    do {                                                                              \
        if (grec_may_record_()) {                                                     \
            static struct grec_marker grec_site_ = GREC_MARKER(name, category, NULL); \
            grec_instant(&grec_site_, NULL, 0);                                       \
        }                                                                             \
    } while (0)
#define GREC_INSTANT_WITH(name, category, type, ...)                                               \
    do {                                                                                           \
        if (grec_may_record_()) {                                                                  \
            static struct grec_marker grec_site_ = GREC_MARKER(name, category, type);              \
            const struct grec_value grec_values_[] = {__VA_ARGS__};                                \
            grec_instant(&grec_site_, grec_values_, sizeof grec_values_ / sizeof grec_values_[0]); \
        }                                                                                          \
    } while (0)
#define GREC_INTERVAL(name, category, start)                                          \
    do {                                                                              \
        if (grec_may_record_()) {                                                     \
            static struct grec_marker grec_site_ = GREC_MARKER(name, category, NULL); \
            grec_interval(&grec_site_, (start), NULL, 0);                             \
        }                                                                             \
    } while (0)
#define GREC_INTERVAL_WITH(name, category, type, start, ...)                                                 \
    do {                                                                                                     \
        if (grec_may_record_()) {                                                                            \
            static struct grec_marker grec_site_ = GREC_MARKER(name, category, type);                        \
            const struct grec_value grec_values_[] = {__VA_ARGS__};                                          \
            grec_interval(&grec_site_, (start), grec_values_, sizeof grec_values_ / sizeof grec_values_[0]); \
        }                                                                                                    \
    } while (0)

struct grec_interval_scope {
    struct grec_marker *marker;
    grec_time start;
};
static inline void grec_interval_scope_end_(struct grec_interval_scope *scope) {
    if (grec_may_record_()) grec_interval(scope->marker, scope->start, NULL, 0);
}
#define GREC_INTERVAL_SCOPE(name, category) GREC_INTERVAL_SCOPE_(name, category, __COUNTER__)
#define GREC_INTERVAL_SCOPE_(name, category, number)                                                  \
    static struct grec_marker GREC_JOIN_(grec_site_, number) = GREC_MARKER(name, category, NULL);     \
    __attribute__((cleanup(grec_interval_scope_end_), unused)) struct grec_interval_scope GREC_JOIN_( \
        grec_scope_, number) = {&GREC_JOIN_(grec_site_, number), grec_now()}

/* ---- Threads. ---- */

GREC_API void grec_thread_sleep_(void);
GREC_INLINE void grec_thread_sleep(void) {
    if (grec_may_record_()) grec_thread_sleep_();
}
GREC_API void grec_thread_wake_(void);
GREC_INLINE void grec_thread_wake(void) {
    if (grec_may_record_()) grec_thread_wake_();
}
GREC_API void grec_event_loop_busy_(void);
GREC_INLINE void grec_event_loop_busy(void) {
    if (grec_may_record_()) grec_event_loop_busy_();
}
GREC_API void grec_event_loop_idle_(void);
GREC_INLINE void grec_event_loop_idle(void) {
    if (grec_may_record_()) grec_event_loop_idle_();
}

static inline void grec_thread_scope_end_(const char **name) {
    (void)name;
    grec_thread_unregister();
}
#define GREC_THREAD_SCOPE(name) GREC_THREAD_SCOPE_(name, __COUNTER__)
#define GREC_THREAD_SCOPE_(name, number)                                                                            \
    __attribute__((cleanup(grec_thread_scope_end_), unused)) const char *GREC_JOIN_(grec_thread_, number) = (name); \
    grec_thread_register(GREC_JOIN_(grec_thread_, number))

/* ---- Counters, samples, memory. ---- */

GREC_API void grec_counter_add_(struct grec_counter *counter, int64_t change);
GREC_API void grec_counter_set_(struct grec_counter *counter, int64_t value);
GREC_API void grec_counter_list_(struct grec_counter *counter);

/* Bit 0 of the sum of a counter that is not sampled has another meaning. */
static inline int64_t grec_counter_shifted_(const struct grec_counter *counter, int64_t number) {
    return counter->flags & GREC_COUNTER_SAMPLED ? number : (int64_t)((uint64_t)number << 1);
}

GREC_INLINE void grec_counter_add(struct grec_counter *counter, int64_t change) {
    if (!counter) return;
    if (!grec_is_counting_()) {
        if (counter->graph != GREC_COUNTER_RATE)
            __atomic_fetch_add(&counter->sum_, grec_counter_shifted_(counter, change), __ATOMIC_RELAXED);
    } else if (counter->flags & GREC_COUNTER_SAMPLED) {
        if (__builtin_expect(!__atomic_load_n(&counter->is_listed_, __ATOMIC_RELAXED), 0)) grec_counter_list_(counter);
        __atomic_fetch_add(&counter->sum_, change, __ATOMIC_RELAXED);
    } else {
        grec_counter_add_(counter, change);
    }
}

GREC_INLINE void grec_counter_set(struct grec_counter *counter, int64_t value) {
    if (!counter) return;
    if (grec_is_counting_())
        grec_counter_set_(counter, value);
    else if (counter->graph != GREC_COUNTER_RATE)
        __atomic_store_n(&counter->sum_, grec_counter_shifted_(counter, value), __ATOMIC_RELAXED);
}

GREC_API void grec_sample_(void);
GREC_INLINE void grec_sample(void) {
    if (grec_may_record_()) grec_sample_();
}

GREC_API void grec_memory_allocated_(const void *address, size_t bytes_count);
GREC_INLINE void grec_memory_allocated(const void *address, size_t bytes_count) {
    if (grec_is_counting_()) grec_memory_allocated_(address, bytes_count);
}
GREC_API void grec_memory_freed_(const void *address, size_t bytes_count);
GREC_INLINE void grec_memory_freed(const void *address, size_t bytes_count) {
    if (grec_is_counting_()) grec_memory_freed_(address, bytes_count);
}

#else

/* ---- GREC_DISABLE: grec_start and the other calls do nothing, and report success; grec_save has nothing to save. The
 * arguments of macros are compiled, so that no variable of the program is left unused, but not evaluated. ---- */

#define GREC_IGNORE_(arguments) \
    do {                        \
        if (0) {                \
            arguments           \
        }                       \
    } while (0)
#define GREC_IGNORE_VALUES_(...)                            \
    const struct grec_value grec_values_[] = {__VA_ARGS__}; \
    (void)grec_values_;

#define GREC_LABEL(name, category)            GREC_IGNORE_((void)(name); (void)(category);)
#define GREC_LABEL_TEXT(name, category, text) GREC_IGNORE_((void)(name); (void)(category); (void)(text);)
#define GREC_INSTANT(name, category)          GREC_IGNORE_((void)(name); (void)(category);)
#define GREC_INSTANT_WITH(name, category, type, ...) \
    GREC_IGNORE_((void)(name); (void)(category); (void)(type); GREC_IGNORE_VALUES_(__VA_ARGS__))
#define GREC_INTERVAL(name, category, start) GREC_IGNORE_((void)(name); (void)(category); (void)(start);)
#define GREC_INTERVAL_WITH(name, category, type, start, ...) \
    GREC_IGNORE_((void)(name); (void)(category); (void)(type); (void)(start); GREC_IGNORE_VALUES_(__VA_ARGS__))
#define GREC_INTERVAL_SCOPE(name, category) GREC_IGNORE_((void)(name); (void)(category);)
#define GREC_THREAD_SCOPE(name)             GREC_IGNORE_((void)(name);)

GREC_API const char *grec_error_text(enum grec_error error) {
    return error == GREC_OK ? "no error" : "the recorder is disabled";
}

GREC_API enum grec_error grec_start(const struct grec_options *options) {
    (void)options;
    return GREC_OK;
}
GREC_API void grec_stop(void) {}
GREC_API void grec_pause(void) {}
GREC_API void grec_resume(void) {}
GREC_API void grec_control(enum grec_action action, enum grec_scope scope) {
    (void)action;
    (void)scope;
}
GREC_API void grec_pause_sampling(void) {}
GREC_API void grec_resume_sampling(void) {}
GREC_API enum grec_error grec_save(const char *path) {
    (void)path;
    return GREC_ERROR_STATE;
}
GREC_INLINE int grec_is_recording(void) { return 0; }
GREC_API enum grec_error grec_location(char location[GREC_LOCATION_BYTES]) {
    location[0] = 0;
    return GREC_ERROR_STATE;
}
GREC_API enum grec_error grec_join(const char *location) {
    (void)location;
    return GREC_ERROR_STATE;
}

GREC_API void grec_set_fact(const char *key, const char *value) {
    (void)key;
    (void)value;
}
GREC_API void grec_get_status(struct grec_status *status) {
    size_t i;
    for (i = 0; status && i < sizeof *status; i++) ((unsigned char *)status)[i] = 0;
}

GREC_INLINE grec_label_place grec_label_push(struct grec_label *label, const char *text) {
    (void)label;
    (void)text;
    return 0;
}
GREC_INLINE void grec_label_pop(grec_label_place pushed) { (void)pushed; }
GREC_INLINE grec_label_place grec_script_push(struct grec_label *label, const char *function, const char *file,
                                              uint32_t line, uint32_t column) {
    (void)label;
    (void)function;
    (void)file;
    (void)line;
    (void)column;
    return 0;
}
GREC_INLINE void grec_script_line(grec_label_place pushed, uint32_t line, uint32_t column) {
    (void)pushed;
    (void)line;
    (void)column;
}

GREC_INLINE grec_time grec_now(void) { return 0; }
GREC_API grec_time grec_time_from_clock_ns(uint64_t monotonic_ns) {
    (void)monotonic_ns;
    return 0;
}
GREC_API void grec_instant(struct grec_marker *marker, const struct grec_value *values, size_t count) {
    (void)marker;
    (void)values;
    (void)count;
}
GREC_API void grec_interval(struct grec_marker *marker, grec_time start, const struct grec_value *values,
                            size_t count) {
    (void)start;
    grec_instant(marker, values, count);
}
GREC_API void grec_interval_start(struct grec_marker *marker, const struct grec_value *values, size_t count) {
    grec_instant(marker, values, count);
}
GREC_API void grec_interval_end(struct grec_marker *marker, const struct grec_value *values, size_t count) {
    grec_instant(marker, values, count);
}
GREC_INLINE void grec_text_marker(const char *name, struct grec_category *category, const char *text) {
    (void)name;
    (void)category;
    (void)text;
}
GREC_INLINE void grec_log(enum grec_log_level level, const char *module, const char *message) {
    (void)level;
    (void)module;
    (void)message;
}
GREC_INLINE void grec_network(struct grec_category *category, const struct grec_network_request *request) {
    (void)category;
    (void)request;
}
GREC_API void grec_take_backtrace(struct grec_backtrace *backtrace) {
    if (backtrace) backtrace->bytes_[0] = 0;
}
GREC_API void grec_add_marker(struct grec_marker *marker, const struct grec_marker_options *options,
                              const struct grec_value *values, size_t count) {
    (void)options;
    grec_instant(marker, values, count);
}
GREC_API void grec_add_named_marker(const char *name, struct grec_category *category, struct grec_marker_type *type,
                                    const struct grec_marker_options *options, const struct grec_value *values,
                                    size_t count) {
    (void)name;
    (void)category;
    (void)type;
    grec_add_marker(NULL, options, values, count);
}

GREC_API void grec_thread_register(const char *name) { (void)name; }
GREC_API void grec_thread_unregister(void) {}
GREC_API struct grec_thread grec_thread_self(void) {
    struct grec_thread none;
    none.uid = none.tid = 0;
    return none;
}
GREC_API struct grec_thread grec_main_thread(void) { return grec_thread_self(); }
GREC_API int grec_thread_is_recorded(struct grec_thread thread) {
    (void)thread;
    return 0;
}
GREC_API enum grec_error grec_sample_thread(struct grec_thread thread) {
    (void)thread;
    return GREC_ERROR_STATE;
}
GREC_API enum grec_error grec_wait_for_sampling(void) { return GREC_ERROR_STATE; }
GREC_INLINE void grec_thread_sleep(void) {}
GREC_INLINE void grec_thread_wake(void) {}
GREC_INLINE void grec_event_loop_busy(void) {}
GREC_INLINE void grec_event_loop_idle(void) {}

GREC_INLINE void grec_counter_add(struct grec_counter *counter, int64_t change) {
    (void)counter;
    (void)change;
}
GREC_INLINE void grec_counter_set(struct grec_counter *counter, int64_t value) { grec_counter_add(counter, value); }
GREC_INLINE void grec_sample(void) {}
GREC_INLINE void grec_memory_allocated(const void *address, size_t bytes_count) {
    (void)address;
    (void)bytes_count;
}
GREC_INLINE void grec_memory_freed(const void *address, size_t bytes_count) {
    grec_memory_allocated(address, bytes_count);
}

#endif

#ifdef __cplusplus
}

/* The lambda has a static object of its own in each place. */
#define GREC_LABEL_HERE(name, category)                                                   \
    ([]() -> grec_label & {                                                               \
        static grec_label grec_here_ = GREC_LABEL_AT(name, category, __FILE__, __LINE__); \
        return grec_here_;                                                                \
    }())

namespace grec {

/* A label until the end of the scope. `text` (nullptr: none) is borrowed until then. */
class label_scope {
    grec_label_place pushed_;

   public:
#ifndef GREC_DISABLE
    __attribute__((always_inline)) explicit label_scope(grec_label &label, const char *text = nullptr)
        : pushed_(grec_label_enter_(&label, text, this)) {}
    ~label_scope() { grec_label_leave_(pushed_, this); }
#else
    explicit label_scope(grec_label &label, const char *text = nullptr) : pushed_(grec_label_push(&label, text)) {}
    ~label_scope() { grec_label_pop(pushed_); }
#endif
    label_scope(const label_scope &) = delete;
    label_scope &operator=(const label_scope &) = delete;
};

/* An interval marker from construction to the end of the scope. */
class interval_scope {
    grec_marker &marker_;
    grec_time start_;

   public:
    explicit interval_scope(grec_marker &marker) : marker_(marker), start_(grec_now()) {}
    ~interval_scope() { grec_interval(&marker_, start_, nullptr, 0); }
    interval_scope(const interval_scope &) = delete;
    interval_scope &operator=(const interval_scope &) = delete;
};

/* Registers the calling thread until the end of the scope. */
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
