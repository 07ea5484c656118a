/* The format of traces, which the recorder writes and the converter reads. docs/trace-format.md describes it in full;
 * this header has its numbers and structs. All numbers are little-endian; structs have no padding.
 *
 *     trace header | chunk | chunk | chunk …
 *
 * A chunk has either events, which one or more threads recorded one after the other, or a part of the log of
 * definitions, which is never recycled. Each chunk of events can be read without any other chunk of events. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* As in PNG, the line ends reveal a transfer that treated the file as text. */
#define TRACE_MAGIC "GREC\r\n\x1a\n"

enum {
    TRACE_MAGIC_BYTES = 8,
    /* Readers refuse other versions. Additions that readers can skip (new kinds of entries and definitions, and new
     * members at the end of headers) do not change the version. */
    TRACE_VERSION = 1,
    TRACE_HEADER_BYTES = 4096,
    TRACE_HEADER_BYTES_MIN = 616,   /* the size in the first traces of this version */
    TRACE_CHUNK_MAGIC = 0x4b4e4843, /* "CHNK" */
    TRACE_CHUNK_HEADER_BYTES = 128,
    TRACE_CHUNK_BYTES_MIN = 4096, /* chunks are a power of two */
    TRACE_CHUNK_BYTES_MAX = 1024 * 1024,
};

/* The clock whose ticks a trace has. */
enum trace_clock_source {
    TRACE_CLOCK_MONOTONIC = 0, /* nanoseconds of CLOCK_MONOTONIC */
    TRACE_CLOCK_TSC = 1,       /* x86 time stamp counter */
    TRACE_CLOCK_CNTVCT = 2,    /* aarch64 virtual counter */
};

/* Why recording stopped by itself. */
enum trace_stop_reason {
    TRACE_STOP_NONE = 0,
    TRACE_STOP_STORAGE = 1, /* the file could not grow: stop_errno */
};

/* Page 0. `hash` covers the members that never change after the trace was created. */
struct trace_header {
    char magic[TRACE_MAGIC_BYTES];
    uint32_t version;
    uint32_t header_bytes;  /* size of this header: TRACE_HEADER_BYTES. Members beyond it count as 0 */
    uint64_t chunks_offset; /* where chunk 0 is in the file; a multiple of 4096. Between the header and the chunks is
                               the recorder's own bookkeeping, which readers ignore */
    uint32_t chunk_bytes;
    uint32_t clock;            /* enum trace_clock_source */
    uint64_t ticks_per_second; /* estimated at the start; chunks have more exact calibrations */
    uint64_t start_ticks;      /* when recording started; the next two members are the same instant on other clocks */
    uint64_t start_monotonic_ns;
    uint64_t start_realtime_ns; /* since the epoch */
    uint64_t session_id;        /* random */
    uint32_t creator_pid;
    uint32_t reserved;
    uint64_t hash; /* XXH3-64, seed 0, of all members above */

    uint8_t gap[512 - 88];

    /* Changed while recording, by all processes, each with one atomic operation. */
    uint64_t limit_bytes;            /* size that the file may have; 0: no limit */
    uint64_t next_global_index;      /* number that the next use of a chunk gets */
    uint64_t chunk_count;            /* chunks that were ever used */
    uint64_t next_thread_uid;        /* from 1 */
    uint64_t definition_hint;        /* for the recorder alone */
    uint64_t recycled_chunk_count;   /* chunks that were used again, so that their events are lost */
    uint64_t complete_from_ticks;    /* from this time on, no events were lost by recycling; 0: from the start */
    uint64_t lost_event_count;       /* there was no chunk for them, or signal handlers nested too deeply */
    uint64_t cut_text_count;         /* texts that were cut to their limit */
    uint64_t lost_definition_count;  /* there was no room in the definitions' part of the limit */
    uint64_t mismatched_value_count; /* payload values beyond the fields of their marker type */
    uint64_t stop_ticks;             /* when recording stopped by itself */
    uint32_t stop_reason;            /* enum trace_stop_reason */
    uint32_t stop_errno;
    uint64_t stale_marker_count;   /* markers aimed at a thread of another recording. Follows TRACE_HEADER_BYTES_MIN */
    uint64_t silent_process_count; /* processes of which nothing was recorded, though they were to be sampled */
};
_Static_assert(offsetof(struct trace_header, hash) == 80, "the hash covers 80 bytes");
_Static_assert(offsetof(struct trace_header, limit_bytes) == 512, "docs/trace-format.md names this offset");
_Static_assert(offsetof(struct trace_header, stale_marker_count) == TRACE_HEADER_BYTES_MIN,
               "members that were added later come after those of the first traces");
_Static_assert(sizeof(struct trace_header) == 632, "no padding");

enum trace_chunk_state {
    TRACE_CHUNK_FREE = 0,   /* readers ignore it */
    TRACE_CHUNK_LIVE = 1,   /* being written, or left open by a process that was killed */
    TRACE_CHUNK_SEALED = 2, /* complete, hashed */
};

enum trace_chunk_kind { TRACE_CHUNK_EVENTS = 1, TRACE_CHUNK_DEFINITIONS = 2 };

/* The first TRACE_CHUNK_HEADER_BYTES of a chunk. */
struct trace_chunk_header {
    uint32_t state; /* enum trace_chunk_state */
    uint32_t owner; /* for the recorder alone: the process that writes into the chunk */
    uint64_t hash;  /* sealed chunks: XXH3-64, seed 0, of the bytes from `magic` to the end of the last block */

    uint32_t magic;   /* TRACE_CHUNK_MAGIC */
    uint16_t version; /* TRACE_VERSION */
    uint16_t kind;    /* enum trace_chunk_kind */
    uint32_t pid;     /* pid of the first writer; so are tid, thread_uid and sequence */
    uint32_t tid;
    uint64_t thread_uid;       /* distinguishes threads with equal tids; 0 for definitions */
    uint64_t sequence;         /* chunks that this thread took before */
    uint64_t global_index;     /* chunks that all threads took before the last thread took this one: orders by age */
    uint32_t first_block;      /* offset in the chunk of the first block */
    uint32_t next_chunk;       /* definitions: 1 + the number of the chunk in which the log continues; 0: none */
    uint64_t first_definition; /* id of the first definition in this chunk; 0 for events */
    uint64_t base_ticks;       /* when the chunk was taken: the running time starts here */
    uint64_t base_ns;          /* base_ticks on CLOCK_MONOTONIC */
    uint64_t end_ticks;        /* when the chunk was sealed; 0 before that */
    uint64_t end_ns;           /* end_ticks on CLOCK_MONOTONIC */
    uint64_t commit;           /* low half: offset past the last published block; high half: number of blocks.
                                  Definitions leave it 0: see TRACE_DEFINITION_PUBLISHED */
    uint64_t pid_namespace;    /* the inode of the pid namespace that the chunk's pids are valid in; 0: unknown */
    uint64_t gap;
};
_Static_assert(sizeof(struct trace_chunk_header) == TRACE_CHUNK_HEADER_BYTES, "no padding");
_Static_assert(offsetof(struct trace_chunk_header, magic) == 16, "the hash covers the bytes after the first 16");

/* ---- Events. ----
 *
 * Events are blocks. A block is the LEB128 length of the rest of the block, and an entry, which is a kind byte and its
 * fields. The fields have these types:
 *
 * leb: unsigned LEB128 of at most 10 bytes. zigzag: leb of (n << 1) ^ (n >> 63). text: leb length in bytes, bytes.
 * id: leb, the number of a definition; 0: none. t: leb, ticks since the running time of the chunk, which becomes this
 * time. Readers skip entries of unknown kinds by their length, and additional fields at the end of an entry. */

enum trace_entry_kind {
    TRACE_PROCESS = 1,     /* leb pid, leb parent pid, leb start (ns of CLOCK_MONOTONIC), text name, leb how many chunks
                              the process has taken so far, new ones and those of other processes (not in the first
                              traces of this version), leb outer pid (left out if there is none): the pid in an outer
                              pid namespace, if the process sees it in /proc.
                              Later entries in the chunk belong to this process. (pid, start) identifies a process,
                              since pids are used again. Every chunk of events begins with this entry */
    TRACE_THREAD = 2,      /* leb ticks since the chunk's base (the running time starts again here), leb uid, leb tid,
                              leb flags (enum trace_thread_flag), zigzag start (ticks since the chunk's base), text
                              name, leb outer tid (left out if the process has no outer pid). Later entries in the chunk
                              belong to this thread. Repeated when the name changes */
    TRACE_THREAD_END = 3,  /* t */
    TRACE_PROCESS_END = 4, /* t, leb enum trace_process_end (not in the first traces of this version). The process
                              stopped recording, and was not killed */
    TRACE_CLOCK = 5,       /* t, leb ns of CLOCK_MONOTONIC since the chunk's base_ns: a calibration */
    TRACE_INSTANT = 6,     /* t, id marker, payload */
    TRACE_INTERVAL = 7,    /* t (the end), leb ticks of duration, id marker, payload */
    TRACE_INTERVAL_START = 8, /* t, id marker, payload */
    TRACE_INTERVAL_END = 9,   /* t, id marker, payload */
    TRACE_MARKER = 10,    /* t, leb flags (enum trace_marker_flag), id marker, the fields of the flags in their order */
    TRACE_COUNT = 11,     /* t, id counter, zigzag change */
    TRACE_COUNT_SET = 12, /* t, id counter, zigzag new value */
    TRACE_COUNT_SAMPLE = 13, /* t, id counter, zigzag sum of all changes in this process, leb number of changes (0: not
                                counted) */
    TRACE_SAMPLE = 14,       /* t, stack */
    TRACE_PAUSE = 15,        /* t. The process pauses recording */
    TRACE_RESUME = 16,       /* t. The process resumes recording. The sums of its counters in the pause come after it */
    TRACE_MESSAGE = 17,      /* t, text: a message of the recorder */

    /* Entries of the sampler about other threads of its process. They are in the sampler's chunk. */
    TRACE_SAMPLED_THREAD = 18, /* leb uid, leb tid, leb flags (enum trace_thread_flag), zigzag start (ticks since the
                                  chunk's base), text name, leb ns between two samples of the thread while it runs (not
                                  in the first traces of this version). Comes before the thread's first sample in each
                                  chunk, and is repeated when one of these changes */
    TRACE_THREAD_SAMPLE = 19, /* t, leb uid, leb flags (enum trace_sample_flag), the fields of the flags in their order,
                                 leb count of outermost frames that are those of the thread's last THREAD_SAMPLE in this
                                 chunk, stack: the frames called by those */
    TRACE_THREAD_SAME = 20,   /* t, leb uid, leb flags, the fields of the flags. The stack is that of the thread's last
                                 THREAD_SAMPLE, which is in this chunk */
    TRACE_SAMPLED_THREAD_END = 21, /* t, leb uid, leb ticks before t (not in the first traces of this version): the
                                      thread has ended then */
    /* id: later addresses in this chunk are resolved by the mappings that the process had defined up to this
     * definition. Before the first such entry, and after a TRACE_PROCESS, addresses cannot be resolved. */
    TRACE_MAPPINGS = 22,
    TRACE_TICK = 23, /* t, leb ns for finding and locking threads, leb ns for counters, leb ns for threads: the time
                        that a round of the sampler took. t is the end of the round */
    TRACE_ALLOCATION = 24,  /* t, zigzag bytes that it stands for (negative: freed), leb address, stack */
    TRACE_THREAD_REST = 25, /* t, leb uid, leb ns of CPU time that the thread has used between its samples, when it or
                               the recording ends. It belongs to all of them, in proportion to their CPU times. In the
                               sampler's chunk */
    TRACE_COUNT_START = 26, /* t, id counter, zigzag level that the counter had when the process began to record */
    TRACE_COUNT_LEVEL = 27, /* t, id counter, zigzag level. The changes before t are also in the trace, unless they were
                               recycled */
};

/* How a process stopped recording. */
enum trace_process_end {
    TRACE_END_UNKNOWN = 0,
    TRACE_END_STOPPED = 1, /* by itself, and went on */
    TRACE_END_EXITED = 2,
    TRACE_END_TOLD = 3, /* another process stopped all of them */
};

enum trace_sample_flag {
    TRACE_SAMPLE_HAS_CPU = 1,      /* leb ns of CPU time of the thread that the sample stands for */
    TRACE_SAMPLE_HAS_DELAY = 2,    /* leb ns that an event sent to the thread would wait */
    TRACE_SAMPLE_IS_TRUNCATED = 4, /* its outermost frames are missing */
    TRACE_SAMPLE_IS_UNREACHED = 8, /* the thread could not be interrupted: the stack is empty */
    TRACE_SAMPLE_HAS_AGE = 16, /* leb ticks before t when the sample was taken. Without the flag, it was taken at t */
};

/* Begins the keys of meta definitions that the program has chosen. */
#define TRACE_FACT_PREFIX "app."

/* The name of the recorder's own thread that samples the others. */
#define SAMPLER_THREAD_NAME "grec-sampler"

enum trace_thread_flag {
    TRACE_THREAD_IS_MAIN = 1,
    TRACE_THREAD_IS_NAMED = 2, /* by the program, not by the system */
};

/* Phases have the viewer's numbers. */
enum trace_marker_flag {
    TRACE_MARKER_PHASE = 3,      /* mask: 0 instant, 1 interval, 2 interval start, 3 interval end */
    TRACE_MARKER_HAS_TIMES = 4,  /* zigzag start, zigzag end: ticks before t. Without the flag, both are t */
    TRACE_MARKER_HAS_THREAD = 8, /* leb uid, leb tid: the marker belongs to that thread of the same process */
    TRACE_MARKER_HAS_TAGS = 16,  /* each value of the payload comes after its wire type (enum trace_wire, a byte) */
    TRACE_MARKER_HAS_STACK =
        32, /* a leb before the payload is its length in bytes; after the payload comes the stack */
    TRACE_MARKER_HAS_ORIGIN = 64, /* after the stack: zigzag ticks before t when it was taken; leb uid and leb tid of
                                     the thread, leb pid and leb start of the process that it was taken in. Without the
                                     flag, it was taken at t, in the thread of this entry */
};

/* A payload has a value for each field of the marker's type, in the same order, and in the wire type of the field's
 * format. Absent values, and values of other wire types, need TRACE_MARKER_HAS_TAGS. A payload may end before the last
 * field. */
enum trace_wire {
    TRACE_WIRE_ABSENT = 0,   /* nothing */
    TRACE_WIRE_INTEGER = 1,  /* zigzag */
    TRACE_WIRE_UNSIGNED = 2, /* leb */
    TRACE_WIRE_REAL = 3,     /* 8 bytes: IEEE double */
    TRACE_WIRE_TEXT = 4,     /* text */
    TRACE_WIRE_STRING = 5,   /* id of a string */
    TRACE_WIRE_TIME = 6,     /* zigzag ticks before t */
    TRACE_WIRE_TEXTS = 7,    /* leb count, texts */
    TRACE_WIRE_TABLE = 8,    /* leb count of values (rows times columns), values, each after its wire type */
    TRACE_WIRE_COUNT
};

/* The format of a field, which implies the unit of its values. The value of TRACE_FIELD_PERCENTAGE is 1 for 100 %. */
enum trace_field_format {
    TRACE_FIELD_STRING = 0,
    TRACE_FIELD_URL,
    TRACE_FIELD_FILE_PATH,
    TRACE_FIELD_SANITIZED_STRING,
    TRACE_FIELD_UNIQUE_STRING,
    TRACE_FIELD_FLOW_ID, /* a 64-bit number */
    TRACE_FIELD_TERMINATING_FLOW_ID,
    TRACE_FIELD_DURATION, /* nanoseconds */
    TRACE_FIELD_TIME,     /* ticks */
    TRACE_FIELD_SECONDS,
    TRACE_FIELD_MILLISECONDS,
    TRACE_FIELD_MICROSECONDS,
    TRACE_FIELD_NANOSECONDS,
    TRACE_FIELD_BYTES,
    TRACE_FIELD_PERCENTAGE,
    TRACE_FIELD_INTEGER,
    TRACE_FIELD_DECIMAL,
    TRACE_FIELD_HEXADECIMAL,
    TRACE_FIELD_PID,
    TRACE_FIELD_TID,
    TRACE_FIELD_LIST,
    TRACE_FIELD_TABLE,
    TRACE_FIELD_FORMAT_COUNT
};

/* The wire type of the values of each format, in payloads without tags. */
static const uint8_t trace_field_wire[TRACE_FIELD_FORMAT_COUNT] = {
    [TRACE_FIELD_STRING] = TRACE_WIRE_TEXT,
    [TRACE_FIELD_URL] = TRACE_WIRE_TEXT,
    [TRACE_FIELD_FILE_PATH] = TRACE_WIRE_TEXT,
    [TRACE_FIELD_SANITIZED_STRING] = TRACE_WIRE_TEXT,
    [TRACE_FIELD_UNIQUE_STRING] = TRACE_WIRE_TEXT,
    [TRACE_FIELD_FLOW_ID] = TRACE_WIRE_UNSIGNED,
    [TRACE_FIELD_TERMINATING_FLOW_ID] = TRACE_WIRE_UNSIGNED,
    [TRACE_FIELD_DURATION] = TRACE_WIRE_INTEGER,
    [TRACE_FIELD_TIME] = TRACE_WIRE_TIME,
    [TRACE_FIELD_SECONDS] = TRACE_WIRE_REAL,
    [TRACE_FIELD_MILLISECONDS] = TRACE_WIRE_REAL,
    [TRACE_FIELD_MICROSECONDS] = TRACE_WIRE_INTEGER,
    [TRACE_FIELD_NANOSECONDS] = TRACE_WIRE_INTEGER,
    [TRACE_FIELD_BYTES] = TRACE_WIRE_INTEGER,
    [TRACE_FIELD_PERCENTAGE] = TRACE_WIRE_REAL,
    [TRACE_FIELD_INTEGER] = TRACE_WIRE_INTEGER,
    [TRACE_FIELD_DECIMAL] = TRACE_WIRE_REAL,
    [TRACE_FIELD_HEXADECIMAL] = TRACE_WIRE_UNSIGNED,
    [TRACE_FIELD_PID] = TRACE_WIRE_INTEGER,
    [TRACE_FIELD_TID] = TRACE_WIRE_INTEGER,
    [TRACE_FIELD_LIST] = TRACE_WIRE_TEXTS,
    [TRACE_FIELD_TABLE] = TRACE_WIRE_TABLE,
};

/* A stack is a leb count of frames and the frames, the outermost one first. A frame is a kind byte and its fields. A
 * reader drops a stack with an unknown kind. */
enum trace_frame_kind {
    TRACE_FRAME_LABEL = 0,      /* id label */
    TRACE_FRAME_LABEL_TEXT = 1, /* id label, text: shown after the label's name */
    TRACE_FRAME_SCRIPT = 2,     /* id category, text function, text file, leb line, leb column (from 1; 0 unknown) */
    /* A run of native frames: leb count (from 1), and as many addresses. Each is the zigzag difference from the running
     * address of the chunk, which becomes this address; it is 0 at the start and after each TRACE_PROCESS. A run counts
     * as `count` frames. */
    TRACE_FRAME_RETURNS = 3, /* return addresses: the call is right before each of them */
    TRACE_FRAME_EXACT = 4,   /* addresses of instructions that were about to run */
};

/* ---- Definitions. Their ids count from 1 in the order of the log, across its chunks. ----
 *
 * A definition begins at a multiple of 4 bytes. It has:
 *
 * - uint32_t word: TRACE_DEFINITION_PUBLISHED | length of the body in bytes.
 * - uint32_t checksum: the low half of the sum of the body's XXH3-64, seed 0, and the definition's id. A damaged length
 *   therefore cannot shift the ids of later definitions unnoticed.
 * - the body: a kind byte and its fields, and zeros up to the next multiple of 4.
 *
 * The word is stored first without the bit, which claims the position, and again with the bit when the rest is
 * complete. A definition without the bit was never completed: it has an id, but no meaning. */

#define TRACE_DEFINITION_PUBLISHED 0x80000000u
/* If this word is in place of a definition, the log continues in the next chunk. A word of 0 is the end of the log. */
#define TRACE_DEFINITION_CHUNK_END 0x7fffffffu

enum trace_definition_kind {
    TRACE_DEFINE_META = 1,     /* text key, text value: a fact about the machine or the program */
    TRACE_DEFINE_STRING = 2,   /* text */
    TRACE_DEFINE_CATEGORY = 3, /* text name, leb color (enum trace_category_color), id of the parent category, or 0 */
    TRACE_DEFINE_MARKER_TYPE = 4, /* text name, text description, text chart label, text tooltip label, text table
                                     label, text key of the colour field, leb display (enum trace_display), leb flags
                                     (enum trace_type_flag), leb count of fields, fields, leb count of graphs, graphs.
                                     field: text key, text label, leb format, leb flags (enum trace_field_flag), leb
                                     count of columns (of a table), columns: text label, leb format.
                                     graph: text key, leb type (0 bar, 1 line, 2 line-filled), leb color
                                     (enum trace_graph_color) */
    TRACE_DEFINE_MARKER = 5,      /* text name, id category, id marker type */
    TRACE_DEFINE_LABEL = 6,       /* text name, id category, text file, leb line */
    TRACE_DEFINE_COUNTER = 7,     /* text name, text category, text description, text label, text unit, leb graph
                                     (0 accumulated, 1 rate), leb color (enum trace_graph_color), zigzag sort weight */
    TRACE_DEFINE_LIBRARY = 8,     /* text path, text build id: its bytes, not hex; empty: none */
    TRACE_DEFINE_MAPPING = 9,     /* leb pid, leb start of the process (as in TRACE_PROCESS), leb address, leb size in
                                     bytes, leb offset from the image base, id library (0: no longer mapped). From here on
                                     in the log, it replaces what the process had mapped there */
    /* leb pid, leb start of the process, leb pid, leb start of its parent, id: at addresses for which the process has
     * defined no mapping, it has those that its parent had defined up to this id. This is the process's first
     * definition about mappings. */
    TRACE_DEFINE_INHERITANCE = 10,
    /* id library, leb offset from the image base, leb size in bytes, text name: a function of a library that is not a
     * file. Comes before the mappings of the library. */
    TRACE_DEFINE_SYMBOL = 11,
    TRACE_DEFINE_ARGUMENTS = 12, /* leb pid, leb start of the process, text: its command line, in which each argument
                                    ends with a zero byte. A forked child has that of its parent */
};

enum trace_type_flag { TRACE_TYPE_IS_STACK_BASED = 1 };
enum trace_field_flag { TRACE_FIELD_IS_HIDDEN = 1 };

/* Flags; 0: marker chart, marker table and overview. */
enum trace_display {
    TRACE_DISPLAY_CHART = 1,
    TRACE_DISPLAY_TABLE = 2,
    TRACE_DISPLAY_OVERVIEW = 4,
    TRACE_DISPLAY_MEMORY = 8,
    TRACE_DISPLAY_IPC = 16,
    TRACE_DISPLAY_FILEIO = 32,
    TRACE_DISPLAY_STACK_CHART = 64,
    TRACE_DISPLAY_NETWORK = 128,
};

enum trace_category_color {
    TRACE_COLOR_GREY = 0,
    TRACE_COLOR_TRANSPARENT,
    TRACE_COLOR_PURPLE,
    TRACE_COLOR_GREEN,
    TRACE_COLOR_ORANGE,
    TRACE_COLOR_YELLOW,
    TRACE_COLOR_LIGHTBLUE,
    TRACE_COLOR_BLUE,
    TRACE_COLOR_BROWN,
    TRACE_COLOR_MAGENTA,
    TRACE_COLOR_RED,
    TRACE_COLOR_LIGHTRED,
    TRACE_COLOR_DARKGREY,
    TRACE_COLOR_COUNT
};

enum trace_graph_color {
    TRACE_GRAPH_BLUE = 0,
    TRACE_GRAPH_GREEN,
    TRACE_GRAPH_GREY,
    TRACE_GRAPH_INK,
    TRACE_GRAPH_MAGENTA,
    TRACE_GRAPH_ORANGE,
    TRACE_GRAPH_PURPLE,
    TRACE_GRAPH_RED,
    TRACE_GRAPH_TEAL,
    TRACE_GRAPH_YELLOW,
    TRACE_GRAPH_COLOR_COUNT
};
