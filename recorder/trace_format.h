/* The trace on disk: what the recorder writes and the reader of native traces reads. docs/trace-format.md is the full
 * description; this header is its C face. All numbers are little-endian; structs have no padding.
 *
 *     trace header | chunk | chunk | chunk …
 *
 * A chunk is either a piece of what one thread after the other recorded (events), or a piece of the one log of
 * definitions, which is never recycled. Every event chunk can be read without any other event chunk. */
#ifndef GECKO_TRACE_FORMAT_H
#define GECKO_TRACE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

/* As in PNG: the line ends tell a transfer that took the file for text. */
#define TRACE_MAGIC "GREC\r\n\x1a\n"

enum {
    TRACE_MAGIC_BYTES = 8,
    /* Readers refuse another version. What can be skipped (kinds of entries and definitions, headers that grow at
     * their ends) does not change it. */
    TRACE_VERSION = 1,
    TRACE_HEADER_BYTES = 4096,
    TRACE_HEADER_BYTES_MIN = 616, /* of the first traces of this version */
    TRACE_CHUNK_MAGIC = 0x4b4e4843, /* "CHNK" */
    TRACE_CHUNK_HEADER_BYTES = 128,
    TRACE_CHUNK_BYTES_MIN = 4096, /* chunks are a power of two */
    TRACE_CHUNK_BYTES_MAX = 1024 * 1024,
};

/* What the ticks of a trace are. */
enum trace_clock {
    TRACE_CLOCK_MONOTONIC = 0, /* nanoseconds of CLOCK_MONOTONIC */
    TRACE_CLOCK_TSC = 1,       /* x86 time stamp counter */
    TRACE_CLOCK_CNTVCT = 2,    /* aarch64 virtual counter */
};

/* Why recording ended before it was told to. */
enum trace_stop_reason {
    TRACE_STOP_NONE = 0,
    TRACE_STOP_STORAGE = 1, /* the file could not grow: stop_errno */
};

/* Page 0. `hash` guards what never changes after the trace was created; the rest counts what happens. */
struct trace_header {
    char magic[TRACE_MAGIC_BYTES];
    uint32_t version;
    uint32_t header_bytes;  /* of this header: TRACE_HEADER_BYTES. Members beyond it count as 0 */
    uint64_t chunks_offset; /* of chunk 0 in the file; a multiple of 4096. Between header and chunks lies the recorder's
                               own bookkeeping, which says nothing to readers */
    uint32_t chunk_bytes;
    uint32_t clock;            /* enum trace_clock */
    uint64_t ticks_per_second; /* as estimated at the start; chunks calibrate better */
    uint64_t start_ticks;      /* the same instant on three clocks */
    uint64_t start_monotonic_ns;
    uint64_t start_realtime_ns; /* since the epoch */
    uint64_t session_id;        /* random */
    uint32_t creator_pid;
    uint32_t reserved;
    uint64_t hash; /* XXH3-64, seed 0, of all before */

    uint8_t gap[512 - 88];

    /* Changed while recording, by all processes, each with one atomic operation. */
    uint64_t limit_bytes;            /* of the file; 0: none */
    uint64_t next_global_index;      /* of chunk uses */
    uint64_t chunk_count;            /* chunks that the file has room for and that were ever given out */
    uint64_t next_thread_uid;        /* from 1 */
    uint64_t definition_hint;        /* the recorder's own */
    uint64_t recycled_chunk_count;   /* whose events are gone */
    uint64_t complete_from_ticks;    /* all events from here on are there; 0: from the start */
    uint64_t lost_event_count;       /* no chunk could be had, or nested too deeply */
    uint64_t cut_text_count;         /* texts cut to their limit */
    uint64_t lost_definition_count;  /* no room in the definitions' part of the limit */
    uint64_t mismatched_value_count; /* payload values beyond the fields of their marker type */
    uint64_t stop_ticks;             /* with stop_reason */
    uint32_t stop_reason;            /* enum trace_stop_reason */
    uint32_t stop_errno;
    uint64_t stale_marker_count; /* aimed at a thread of another recording; from TRACE_HEADER_BYTES_MIN on */
};
_Static_assert(offsetof(struct trace_header, hash) == 80, "the hash covers 80 bytes");
_Static_assert(offsetof(struct trace_header, limit_bytes) == 512, "docs/trace-format.md names this offset");
_Static_assert(offsetof(struct trace_header, stale_marker_count) == TRACE_HEADER_BYTES_MIN, "what came later is behind");
_Static_assert(sizeof(struct trace_header) == 624, "no padding");

enum trace_chunk_state {
    TRACE_CHUNK_FREE = 0,   /* nothing in it counts */
    TRACE_CHUNK_LIVE = 1,   /* being written, or left behind by a process that died */
    TRACE_CHUNK_SEALED = 2, /* complete, hashed */
};

enum trace_chunk_kind { TRACE_CHUNK_EVENTS = 1, TRACE_CHUNK_DEFINITIONS = 2 };

/* The first TRACE_CHUNK_HEADER_BYTES of a chunk. */
struct trace_chunk_header {
    uint32_t state; /* enum trace_chunk_state */
    uint32_t reserved;
    uint64_t hash; /* of a sealed chunk: XXH3-64, seed 0, of the bytes from `magic` to the end of the last block */

    uint32_t magic;   /* TRACE_CHUNK_MAGIC */
    uint16_t version; /* TRACE_VERSION */
    uint16_t kind;    /* enum trace_chunk_kind */
    uint32_t pid;     /* of the first writer, as all until `sequence` */
    uint32_t tid;
    uint64_t thread_uid;       /* tells threads with equal tids apart; 0 for definitions */
    uint64_t sequence;         /* chunks that this thread took before */
    uint64_t global_index;     /* chunks that all threads took before: the order of age */
    uint32_t first_block;      /* offset in the chunk of the first block */
    uint32_t next_chunk;       /* definitions: 1 + number of the chunk where they go on; 0: none */
    uint64_t first_definition; /* id of the first definition in this chunk; 0 for events */
    uint64_t base_ticks;       /* time of the first use, where the running time starts… */
    uint64_t base_ns;          /* …and the same instant on CLOCK_MONOTONIC */
    uint64_t end_ticks;        /* time when full or given up, 0 before… */
    uint64_t end_ns;           /* …and the same instant on CLOCK_MONOTONIC */
    uint64_t commit;           /* low half: offset past the last published block; high half: number of blocks.
                                  Definitions leave it 0: see TRACE_DEFINITION_PUBLISHED */
    uint64_t pid_namespace;    /* the recorder's own: in which the pid means a process */
    uint64_t gap;
};
_Static_assert(sizeof(struct trace_chunk_header) == TRACE_CHUNK_HEADER_BYTES, "no padding");
_Static_assert(offsetof(struct trace_chunk_header, magic) == 16, "the hash starts behind 16 bytes");

/* ---- Events: blocks of a LEB128 length (of what follows it) and an entry, which is a kind byte and its fields.
 *
 * leb: unsigned LEB128 of at most 10 bytes. zigzag: leb of (n << 1) ^ (n >> 63). text: leb length in bytes, bytes.
 * id: leb, number of a definition, 0 none. t: leb, ticks since the running time of the chunk, which becomes this time.
 * Readers skip unknown kinds by their length, and fields behind the ones they know. ---- */

enum trace_entry_kind {
    TRACE_PROCESS = 1,     /* leb pid, leb parent pid, leb start (ns of CLOCK_MONOTONIC), text name. What follows in the
                              chunk is of this process; (pid, start) is one life of a pid. Every event chunk starts so. */
    TRACE_THREAD = 2,      /* leb ticks since the chunk's base (the running time starts again here), leb uid, leb tid,
                              leb flags (enum trace_thread_flag), zigzag start (ticks since the chunk's base), text name.
                              What follows in the chunk is of this thread. Comes again when the name changes. */
    TRACE_THREAD_END = 3,  /* t */
    TRACE_PROCESS_END = 4, /* t. It ended in an orderly way */
    TRACE_CLOCK = 5,       /* t, leb ns of CLOCK_MONOTONIC since the chunk's base_ns: a calibration */
    TRACE_INSTANT = 6,     /* t, id marker, payload */
    TRACE_INTERVAL = 7,    /* t (the end), leb ticks of duration, id marker, payload */
    TRACE_INTERVAL_START = 8, /* t, id marker, payload */
    TRACE_INTERVAL_END = 9,   /* t, id marker, payload */
    TRACE_MARKER = 10,    /* t, leb flags (enum trace_marker_flag), id marker, and what the flags say, in their order */
    TRACE_COUNT = 11,     /* t, id counter, zigzag change */
    TRACE_COUNT_SET = 12, /* t, id counter, zigzag new value */
    TRACE_COUNT_SAMPLE = 13, /* t, id counter, zigzag sum of all changes in this process, leb number of changes */
    TRACE_SAMPLE = 14,       /* t, stack */
    TRACE_PAUSE = 15,        /* t. The process pauses… */
    TRACE_RESUME = 16,       /* t. …and goes on. What its counters came to meanwhile is told after it */
    TRACE_MESSAGE = 17,      /* t, text: what the recorder has to say */

    /* What a sampler writes of other threads of its process. It stands in the sampler's chunk. */
    TRACE_SAMPLED_THREAD = 18, /* leb uid, leb tid, leb flags (enum trace_thread_flag), zigzag start (ticks since the
                                  chunk's base), text name. Stands in a chunk before the thread's first sample there,
                                  and again when the name changes */
    TRACE_THREAD_SAMPLE = 19, /* t, leb uid, leb flags (enum trace_sample_flag), what the flags say, in their order, leb
                                 count of frames kept: as many outermost frames as the thread's THREAD_SAMPLE before in
                                 this chunk has, stack: the frames within those */
    TRACE_THREAD_SAME = 20,   /* t, leb uid, leb flags, what the flags say. The stack is that of the thread's last
                                 THREAD_SAMPLE, which is in this chunk */
    TRACE_SAMPLED_THREAD_END = 21, /* t, leb uid: the thread is gone. */
    /* id: addresses that follow in this chunk are in what the process has mapped by the definitions up to this one.
     * Before it, and behind a TRACE_PROCESS, addresses mean nothing. */
    TRACE_MAPPINGS = 22,
    TRACE_TICK = 23, /* t, leb ns on finding and locking threads, leb ns on counters, leb ns on threads: what one round
                        of the sampler took, t being its end */
    TRACE_ALLOCATION = 24, /* t, zigzag bytes that it stands for (below 0: freed), leb address, stack */
};

enum trace_sample_flag {
    TRACE_SAMPLE_HAS_CPU = 1,      /* leb ns of CPU time that the thread used since its sample before */
    TRACE_SAMPLE_HAS_DELAY = 2,    /* leb ns that an event sent to the thread would wait */
    TRACE_SAMPLE_IS_TRUNCATED = 4, /* its outermost frames are missing */
    TRACE_SAMPLE_IS_UNREACHED = 8, /* the thread could not be stopped: the stack is empty */
};

enum trace_thread_flag {
    TRACE_THREAD_IS_MAIN = 1,
    TRACE_THREAD_IS_NAMED = 2, /* by the program, not the system */
};

/* Phases are the front-end's. */
enum trace_marker_flag {
    TRACE_MARKER_PHASE = 3,      /* mask: 0 instant, 1 interval, 2 interval start, 3 interval end */
    TRACE_MARKER_HAS_TIMES = 4,  /* zigzag start, zigzag end: ticks before t; without it both are t */
    TRACE_MARKER_HAS_THREAD = 8, /* leb uid, leb tid: the marker is that thread's, of the same process */
    TRACE_MARKER_HAS_TAGS = 16,  /* each value of the payload stands behind its wire type (enum trace_wire, a byte) */
    TRACE_MARKER_HAS_STACK = 32, /* leb length in bytes of the payload, before it; the stack stands behind it */
    TRACE_MARKER_HAS_ORIGIN = 64, /* behind the stack: zigzag ticks before t at which it was taken; leb uid, leb tid of
                                     the thread that it was taken in, leb pid, leb start of its process. Without it: at
                                     t, in the thread whose entry this is */
};

/* Payload: a value for each field of the marker's type, in the type's order, in the wire type of the field's format;
 * absent or other values only with TRACE_MARKER_HAS_TAGS. A payload that ends early has no more values. */
enum trace_wire {
    TRACE_WIRE_ABSENT = 0,   /* nothing */
    TRACE_WIRE_INTEGER = 1,  /* zigzag */
    TRACE_WIRE_UNSIGNED = 2, /* leb */
    TRACE_WIRE_REAL = 3,     /* 8 bytes: IEEE double */
    TRACE_WIRE_TEXT = 4,     /* text */
    TRACE_WIRE_STRING = 5,   /* id of a string */
    TRACE_WIRE_TIME = 6,     /* zigzag ticks before t */
    TRACE_WIRE_TEXTS = 7,    /* leb count, texts */
    TRACE_WIRE_TABLE = 8,    /* leb count of values (rows times columns), each behind its wire type */
    TRACE_WIRE_COUNT
};

/* A field's format, with its unit in the trace. The number of TRACE_FIELD_PERCENTAGE is 1 for 100 %. */
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

/* The wire type of each format's values where there are no tags. */
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

/* Stack: leb count of frames, frames from the outermost on: a kind byte and its fields. A reader that meets an unknown
 * kind drops the stack. */
enum trace_frame_kind {
    TRACE_FRAME_LABEL = 0,      /* id label */
    TRACE_FRAME_LABEL_TEXT = 1, /* id label, text: shown behind the label's name */
    TRACE_FRAME_SCRIPT = 2,     /* id category, text function, text file, leb line, leb column (from 1; 0 unknown) */
    /* A run of native frames: leb count (from 1), then as many addresses, each a zigzag from the running address of the
     * chunk (0 at its start and behind each TRACE_PROCESS), which becomes this address. They count as `count` frames.
     */
    TRACE_FRAME_RETURNS = 3, /* return addresses: the call is before it */
    TRACE_FRAME_EXACT = 4,   /* addresses of the instruction that was about to run */
};

/* ---- Definitions. Ids count from 1 in the order of the log, across its chunks. A definition is, at a multiple of 4
 * bytes:
 *
 *     uint32_t word      TRACE_DEFINITION_PUBLISHED | length of the body in bytes
 *     uint32_t checksum  low half of the sum of the body's XXH3-64, seed 0, and the definition's id: so that a damaged
 *                        length cannot give the definitions behind it the ids of others
 *     body               a kind byte and its fields; zeros up to the next multiple of 4
 *
 * The word is set first without the bit, which takes the place, then with it, when the rest is there. A place without
 * the bit is a definition that was never finished: it has its id and means nothing. ---- */

#define TRACE_DEFINITION_PUBLISHED 0x80000000u
/* In place of a word: the log goes on in the next chunk. A word 0: nothing there yet. */
#define TRACE_DEFINITION_CHUNK_END 0x7fffffffu

enum trace_definition_kind {
    TRACE_DEFINE_META = 1,   /* text key, text value: of the machine and the program: see trace_meta_keys in the docs */
    TRACE_DEFINE_STRING = 2, /* text */
    TRACE_DEFINE_CATEGORY = 3,    /* text name, leb color (enum trace_category_color), id of the category that this is a
                                     subcategory of, or 0 */
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
    TRACE_DEFINE_LIBRARY = 8,     /* text path, text build id: its bytes, not hex; empty when it has none */
    TRACE_DEFINE_MAPPING = 9,     /* leb pid, leb start of the process (as in TRACE_PROCESS), leb address, leb size in
                                     bytes, leb offset from the image base, id library (0: nothing there any more). It holds
                                     from here on in the log, in place of what the process had there */
    TRACE_DEFINE_INHERITANCE =
        10, /* leb pid, leb start of the process, leb pid, leb start of its parent, id: where no
               mapping of its own tells what the process has at an address, it has what its parent
               had there by the definitions up to this one. Of the process's it is the first */
    TRACE_DEFINE_SYMBOL = 11, /* id library, leb offset from the image base, leb size in bytes, text name: of a function,
                                 where the library is no file that readers could find. Before mappings of the library */
};

enum trace_type_flag { TRACE_TYPE_IS_STACK_BASED = 1 };
enum trace_field_flag { TRACE_FIELD_IS_HIDDEN = 1 };

/* Bits; 0: marker chart, marker table and overview. */
enum trace_display {
    TRACE_DISPLAY_CHART = 1,
    TRACE_DISPLAY_TABLE = 2,
    TRACE_DISPLAY_OVERVIEW = 4,
    TRACE_DISPLAY_MEMORY = 8,
    TRACE_DISPLAY_IPC = 16,
    TRACE_DISPLAY_FILEIO = 32,
    TRACE_DISPLAY_STACK_CHART = 64,
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

#endif
