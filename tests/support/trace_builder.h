/* Builds traces of the recorder in memory, for tests. This encoder follows docs/trace-format.md. It shares no
 * declaration with the reader or the recorder, so that it shows their mistakes.
 *
 * Fields are put one by one. trace_block and trace_definition then make a block or a definition of the fields put
 * since the previous one. */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "libconvert/base/text.h"

enum {
    BUILD_PROCESS = 1,
    BUILD_THREAD = 2,
    BUILD_THREAD_END = 3,
    BUILD_PROCESS_END = 4,
    BUILD_CLOCK = 5,
    BUILD_INSTANT = 6,
    BUILD_INTERVAL = 7,
    BUILD_INTERVAL_START = 8,
    BUILD_INTERVAL_END = 9,
    BUILD_MARKER = 10,
    BUILD_COUNT = 11,
    BUILD_COUNT_SET = 12,
    BUILD_COUNT_SAMPLE = 13,
    BUILD_SAMPLE = 14,
    BUILD_PAUSE = 15,
    BUILD_RESUME = 16,
    BUILD_MESSAGE = 17,
    BUILD_SAMPLED_THREAD = 18,
    BUILD_THREAD_SAMPLE = 19,
    BUILD_THREAD_SAME = 20,
    BUILD_SAMPLED_THREAD_END = 21,
    BUILD_MAPPINGS = 22,
    BUILD_TICK = 23,
    BUILD_ALLOCATION = 24,
    BUILD_THREAD_REST = 25,
    BUILD_COUNT_START = 26,
    BUILD_COUNT_LEVEL = 27,
};

/* Flags of samples that the sampler takes of other threads. */
enum { BUILD_HAS_CPU = 1, BUILD_HAS_DELAY = 2, BUILD_IS_TRUNCATED = 4, BUILD_IS_UNREACHED = 8, BUILD_HAS_AGE = 16 };

enum { BUILD_FRAME_LABEL = 0, BUILD_FRAME_SCRIPT = 2, BUILD_FRAME_RETURNS = 3, BUILD_FRAME_EXACT = 4 };

enum {
    BUILD_META = 1,
    BUILD_STRING = 2,
    BUILD_CATEGORY = 3,
    BUILD_MARKER_TYPE = 4,
    BUILD_MARKER_DEFINITION = 5,
    BUILD_LABEL = 6,
    BUILD_COUNTER = 7,
    BUILD_LIBRARY = 8,
    BUILD_MAPPING = 9,
    BUILD_INHERITANCE = 10,
    BUILD_SYMBOL = 11,
    BUILD_ARGUMENTS = 12,
};

enum { BUILD_FREE = 0, BUILD_LIVE = 1, BUILD_SEALED = 2 };

struct trace_builder {
    unsigned char *bytes; /* freed by trace_builder_fini */
    size_t bytes_count;
    size_t capacity_bytes;
    size_t chunks_offset;
    size_t chunk_bytes;
    size_t chunk_at; /* offset of the open chunk; 0 if none is open */
    size_t chunk_used;
    uint32_t block_count;
    uint64_t next_id;
    uint64_t global_index;
    size_t pending_count;
    unsigned char pending[16384];
};

static inline void trace_write(struct trace_builder *trace, size_t at, uint64_t value, size_t width) {
    for (size_t i = 0; i < width; i++) trace->bytes[at + i] = (unsigned char)(value >> (8 * i));
}

static inline uint64_t trace_read(const struct trace_builder *trace, size_t at, size_t width) {
    uint64_t value = 0;
    for (size_t i = 0; i < width; i++) value |= (uint64_t)trace->bytes[at + i] << (8 * i);
    return value;
}

/* Appends zeros to the trace. */
static inline void trace_grow(struct trace_builder *trace, size_t more_bytes) {
    if (trace->bytes_count + more_bytes > trace->capacity_bytes) {
        trace->capacity_bytes = 2 * (trace->bytes_count + more_bytes);
        trace->bytes = realloc(trace->bytes, trace->capacity_bytes);
        if (!trace->bytes) abort();
    }
    memset(trace->bytes + trace->bytes_count, 0, more_bytes);
    trace->bytes_count += more_bytes;
}

/* ---- Header. ---- */

enum {
    BUILD_HEADER_BYTES = 4096,
    BUILD_AT_VERSION = 8,
    BUILD_AT_HEADER_BYTES = 12,
    BUILD_AT_CHUNKS_OFFSET = 16,
    BUILD_AT_CHUNK_BYTES = 24,
    BUILD_AT_CLOCK = 28,
    BUILD_AT_RATE = 32,
    BUILD_AT_START_TICKS = 40,
    BUILD_AT_START_NS = 48,
    BUILD_AT_START_REALTIME = 56,
    BUILD_AT_CREATOR_PID = 72,
    BUILD_AT_HASH = 80,
    BUILD_AT_LIMIT = 512,
    BUILD_AT_GLOBAL_INDEX = 520,
    BUILD_AT_CHUNK_COUNT = 528,
    BUILD_AT_THREAD_UID = 536,
    BUILD_AT_RECYCLED = 552,
    BUILD_AT_COMPLETE_FROM = 560,
    BUILD_AT_LOST_EVENTS = 568,
    BUILD_AT_CUT_TEXTS = 576,
    BUILD_AT_LOST_DEFINITIONS = 584,
    BUILD_AT_MISMATCHED = 592,
    BUILD_AT_STOP_TICKS = 600,
    BUILD_AT_STOP_REASON = 608,
    BUILD_AT_STOP_ERRNO = 612,
    BUILD_AT_STALE_MARKERS = 616,
    BUILD_AT_SILENT_PROCESSES = 624,
};

/* The usual clock of a test's trace: a tick is half a nanosecond, and ticks count from 1000. */
enum { BUILD_START_TICKS = 1000, BUILD_START_NS = 5000000, BUILD_CHUNK_BYTES = 4096 };
#define BUILD_RATE           2000000000u
#define BUILD_START_REALTIME 1700000000000000000u

static inline void trace_hash_header(struct trace_builder *trace) {
    trace_write(trace, BUILD_AT_HASH, XXH3_64bits(trace->bytes, BUILD_AT_HASH), 8);
}

static inline void trace_builder_init(struct trace_builder *trace) {
    *trace = (struct trace_builder){.chunks_offset = 8192, .chunk_bytes = BUILD_CHUNK_BYTES, .next_id = 1};
    trace_grow(trace, trace->chunks_offset);
    memcpy(trace->bytes, "GREC\r\n\x1a\n", 8);
    trace_write(trace, BUILD_AT_VERSION, 1, 4);
    trace_write(trace, BUILD_AT_HEADER_BYTES, BUILD_HEADER_BYTES, 4);
    trace_write(trace, BUILD_AT_CHUNKS_OFFSET, trace->chunks_offset, 8);
    trace_write(trace, BUILD_AT_CHUNK_BYTES, trace->chunk_bytes, 4);
    trace_write(trace, BUILD_AT_CLOCK, 1, 4);
    trace_write(trace, BUILD_AT_RATE, BUILD_RATE, 8);
    trace_write(trace, BUILD_AT_START_TICKS, BUILD_START_TICKS, 8);
    trace_write(trace, BUILD_AT_START_NS, BUILD_START_NS, 8);
    trace_write(trace, BUILD_AT_START_REALTIME, BUILD_START_REALTIME, 8);
    trace_write(trace, BUILD_AT_THREAD_UID, 1, 8);
    trace_hash_header(trace);
}

static inline void trace_builder_fini(struct trace_builder *trace) { free(trace->bytes); }

static inline struct text trace_text(const struct trace_builder *trace) {
    return (struct text){(const char *)trace->bytes, trace->bytes_count};
}

/* ---- Fields. ---- */

static inline void put_byte(struct trace_builder *trace, unsigned value) {
    if (trace->pending_count == sizeof trace->pending) abort();
    trace->pending[trace->pending_count++] = (unsigned char)value;
}

static inline void put_leb(struct trace_builder *trace, uint64_t value) {
    for (; value >= 0x80; value >>= 7) put_byte(trace, (unsigned)(value & 0x7f) | 0x80);
    put_byte(trace, (unsigned)value);
}

static inline void put_leb_list(struct trace_builder *trace, const uint64_t *values, size_t count) {
    for (size_t i = 0; i < count; i++) put_leb(trace, values[i]);
}

/* Puts several numbers, each as a leb. */
#define put_lebs(trace, ...) \
    put_leb_list(trace, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static inline void put_zigzag(struct trace_builder *trace, int64_t value) {
    put_leb(trace, ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0));
}

static inline void put_bytes(struct trace_builder *trace, const void *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) put_byte(trace, ((const unsigned char *)bytes)[i]);
}

static inline void put_text(struct trace_builder *trace, const char *text) {
    put_leb(trace, strlen(text));
    put_bytes(trace, text, strlen(text));
}

static inline void put_real(struct trace_builder *trace, double value) { put_bytes(trace, &value, sizeof value); }

/* ---- Chunks. ---- */

enum {
    CHUNK_AT_STATE = 0,
    CHUNK_AT_HASH = 8,
    CHUNK_AT_MAGIC = 16,
    CHUNK_AT_VERSION = 20,
    CHUNK_AT_KIND = 22,
    CHUNK_AT_FIRST_BLOCK = 56,
    CHUNK_AT_NEXT = 60,
    CHUNK_AT_FIRST_DEFINITION = 64,
    CHUNK_AT_BASE_TICKS = 72,
    CHUNK_AT_BASE_NS = 80,
    CHUNK_AT_END_TICKS = 88,
    CHUNK_AT_END_NS = 96,
    CHUNK_AT_COMMIT = 104,
    CHUNK_HEADER_BYTES = 128,
};

static inline void trace_open_chunk(struct trace_builder *trace, unsigned kind) {
    trace->chunk_at = trace->bytes_count;
    trace->chunk_used = CHUNK_HEADER_BYTES;
    trace->block_count = 0;
    trace_grow(trace, trace->chunk_bytes);
    trace_write(trace, trace->chunk_at + CHUNK_AT_STATE, BUILD_LIVE, 4);
    memcpy(trace->bytes + trace->chunk_at + CHUNK_AT_MAGIC, "CHNK", 4);
    trace_write(trace, trace->chunk_at + CHUNK_AT_VERSION, 1, 2);
    trace_write(trace, trace->chunk_at + CHUNK_AT_KIND, kind, 2);
    trace_write(trace, trace->chunk_at + 48, trace->global_index++, 8);
    trace_write(trace, trace->chunk_at + CHUNK_AT_FIRST_BLOCK, CHUNK_HEADER_BYTES, 4);
    trace_write(trace, BUILD_AT_GLOBAL_INDEX, trace->global_index, 8);
    trace_write(trace, BUILD_AT_CHUNK_COUNT, (trace->bytes_count - trace->chunks_offset) / trace->chunk_bytes, 8);
}

/* Begins a chunk of events. Times are relative to the start of the trace. */
static inline void trace_events_chunk(struct trace_builder *trace, uint64_t base_ticks, uint64_t base_ns) {
    trace_open_chunk(trace, 1);
    trace_write(trace, trace->chunk_at + CHUNK_AT_BASE_TICKS, BUILD_START_TICKS + base_ticks, 8);
    trace_write(trace, trace->chunk_at + CHUNK_AT_BASE_NS, BUILD_START_NS + base_ns, 8);
    trace_write(trace, trace->chunk_at + CHUNK_AT_COMMIT, CHUNK_HEADER_BYTES, 8);
}

static inline void trace_definitions_chunk(struct trace_builder *trace) {
    trace_open_chunk(trace, 2);
    trace_write(trace, trace->chunk_at + CHUNK_AT_FIRST_DEFINITION, trace->next_id, 8);
}

static inline void trace_append(struct trace_builder *trace, const void *bytes, size_t count) {
    if (trace->chunk_used + count > trace->chunk_bytes) abort();
    memcpy(trace->bytes + trace->chunk_at + trace->chunk_used, bytes, count);
    trace->chunk_used += count;
}

static inline void trace_commit(struct trace_builder *trace) {
    trace_write(trace, trace->chunk_at + CHUNK_AT_COMMIT, (uint64_t)trace->block_count << 32 | trace->chunk_used, 8);
}

/* Ends a block: writes its length and kind, then the fields put before. */
static inline void trace_block(struct trace_builder *trace, unsigned kind) {
    unsigned char head[11];
    size_t head_count = 0;
    uint64_t length = trace->pending_count + 1;
    for (; length >= 0x80; length >>= 7) head[head_count++] = (unsigned char)(length & 0x7f) | 0x80;
    head[head_count++] = (unsigned char)length;
    head[head_count++] = (unsigned char)kind;
    trace_append(trace, head, head_count);
    trace_append(trace, trace->pending, trace->pending_count);
    trace->pending_count = 0;
    trace->block_count++;
    trace_commit(trace);
}

/* Adds a block whose fields are all lebs. */
#define add_block(trace, kind, ...) (put_lebs(trace, __VA_ARGS__), trace_block(trace, kind))

static inline void trace_hash_chunk(struct trace_builder *trace, size_t chunk_at) {
    uint32_t end = (uint32_t)trace_read(trace, chunk_at + CHUNK_AT_COMMIT, 4);
    uint64_t hash = XXH3_64bits(trace->bytes + chunk_at + CHUNK_AT_MAGIC, end - CHUNK_AT_MAGIC);
    trace_write(trace, chunk_at + CHUNK_AT_HASH, hash, 8);
}

static inline void trace_seal(struct trace_builder *trace, uint64_t end_ticks, uint64_t end_ns) {
    trace_write(trace, trace->chunk_at + CHUNK_AT_END_TICKS, BUILD_START_TICKS + end_ticks, 8);
    trace_write(trace, trace->chunk_at + CHUNK_AT_END_NS, BUILD_START_NS + end_ns, 8);
    trace_hash_chunk(trace, trace->chunk_at);
    trace_write(trace, trace->chunk_at + CHUNK_AT_STATE, BUILD_SEALED, 4);
}

/* ---- Definitions. ---- */

/* Ends a definition of that kind, made of the fields put before. Returns its id. */
static inline uint64_t trace_definition(struct trace_builder *trace, unsigned kind) {
    unsigned char body[sizeof trace->pending + 1];
    size_t body_count = trace->pending_count + 1;
    body[0] = (unsigned char)kind;
    memcpy(body + 1, trace->pending, trace->pending_count);
    trace->pending_count = 0;
    size_t at = trace->chunk_at + trace->chunk_used;
    static const unsigned char head[8];
    trace_append(trace, head, sizeof head);
    trace_append(trace, body, body_count);
    trace->chunk_used = (trace->chunk_used + 3) / 4 * 4;
    trace_write(trace, at, 0x80000000u | body_count, 4);
    trace_write(trace, at + 4, (uint32_t)(XXH3_64bits(body, body_count) + trace->next_id), 4);
    return trace->next_id++;
}

/* Marks the end of this chunk's definitions: the log of definitions continues in another chunk. */
static inline void trace_end_definitions(struct trace_builder *trace) {
    if (trace->chunk_used + 4 > trace->chunk_bytes) return;
    trace_write(trace, trace->chunk_at + trace->chunk_used, 0x7fffffffu, 4);
}

static inline uint64_t define_meta(struct trace_builder *trace, const char *key, const char *value) {
    put_text(trace, key);
    put_text(trace, value);
    return trace_definition(trace, BUILD_META);
}

static inline uint64_t define_string(struct trace_builder *trace, const char *text) {
    put_text(trace, text);
    return trace_definition(trace, BUILD_STRING);
}

static inline uint64_t define_category(struct trace_builder *trace, const char *name, unsigned color, uint64_t parent) {
    put_text(trace, name);
    put_lebs(trace, color, parent);
    return trace_definition(trace, BUILD_CATEGORY);
}

static inline uint64_t define_marker(struct trace_builder *trace, const char *name, uint64_t category, uint64_t type) {
    put_text(trace, name);
    put_lebs(trace, category, type);
    return trace_definition(trace, BUILD_MARKER_DEFINITION);
}

static inline uint64_t define_label(struct trace_builder *trace, const char *name, uint64_t category, const char *file,
                                    unsigned line) {
    put_text(trace, name);
    put_leb(trace, category);
    put_text(trace, file);
    put_leb(trace, line);
    return trace_definition(trace, BUILD_LABEL);
}

static inline uint64_t define_counter(struct trace_builder *trace, const char *name, unsigned graph) {
    put_text(trace, name);
    put_text(trace, "Queues");
    put_text(trace, "about it");
    put_text(trace, "label");
    put_text(trace, "bytes");
    put_lebs(trace, graph, 5);
    put_zigzag(trace, -3);
    return trace_definition(trace, BUILD_COUNTER);
}

static inline uint64_t define_library(struct trace_builder *trace, const char *path, const char *build_id) {
    put_text(trace, path);
    put_text(trace, build_id);
    return trace_definition(trace, BUILD_LIBRARY);
}

/* Puts the fields of a mapping, for any process. */
static inline void put_mapping(struct trace_builder *trace, unsigned pid, uint64_t process_start_ns, uint64_t address,
                               uint64_t size, uint64_t offset, uint64_t library) {
    put_lebs(trace, pid, process_start_ns, address, size, offset, library);
}

/* Defines a mapping of process 10, which begins with the trace. */
static inline uint64_t define_mapping(struct trace_builder *trace, uint64_t address, uint64_t size, uint64_t offset,
                                      uint64_t library) {
    put_mapping(trace, 10, BUILD_START_NS, address, size, offset, library);
    return trace_definition(trace, BUILD_MAPPING);
}

/* Defines that process `pid` inherits the mappings of process `parent_pid`. Both processes begin with the trace. */
static inline uint64_t define_inheritance(struct trace_builder *trace, unsigned pid, unsigned parent_pid,
                                          uint64_t last_id) {
    put_lebs(trace, pid, BUILD_START_NS, parent_pid, BUILD_START_NS, last_id);
    return trace_definition(trace, BUILD_INHERITANCE);
}

static inline uint64_t define_symbol(struct trace_builder *trace, uint64_t library, uint64_t offset, uint64_t size,
                                     const char *name) {
    put_lebs(trace, library, offset, size);
    put_text(trace, name);
    return trace_definition(trace, BUILD_SYMBOL);
}

/* Puts the head of a marker type. Then put the number of fields, the fields, the number of graphs and the graphs,
 * and call trace_definition(trace, BUILD_MARKER_TYPE). */
static inline void put_type(struct trace_builder *trace, const char *name, unsigned display, unsigned flags) {
    put_text(trace, name);
    put_text(trace, "a type");
    put_text(trace, "chart");
    put_text(trace, "tooltip");
    put_text(trace, "table");
    put_text(trace, "");
    put_lebs(trace, display, flags);
}

/* Puts a field without table columns. */
static inline void put_field(struct trace_builder *trace, const char *key, unsigned format) {
    put_text(trace, key);
    put_text(trace, "");
    put_lebs(trace, format, 0, 0);
}

/* Defines a marker type that has one field "v" of that format. */
static inline uint64_t define_type(struct trace_builder *trace, const char *name, unsigned format) {
    put_type(trace, name, 0, 0);
    put_leb(trace, 1);
    put_field(trace, "v", format);
    put_leb(trace, 0);
    return trace_definition(trace, BUILD_MARKER_TYPE);
}

/* ---- Entries. ---- */

static inline void add_child_process(struct trace_builder *trace, unsigned pid, unsigned parent_pid, uint64_t start_ns,
                                     const char *name) {
    put_lebs(trace, pid, parent_pid, start_ns);
    put_text(trace, name);
    trace_block(trace, BUILD_PROCESS);
}

static inline void add_process(struct trace_builder *trace, unsigned pid, uint64_t start_ns, const char *name) {
    add_child_process(trace, pid, 1, start_ns, name);
}

static inline void add_thread_of(struct trace_builder *trace, uint64_t since_base, uint64_t uid, unsigned tid,
                                 unsigned flags, int64_t start_since_base, const char *name) {
    if (trace_read(trace, BUILD_AT_THREAD_UID, 8) <= uid) trace_write(trace, BUILD_AT_THREAD_UID, uid + 1, 8);
    put_lebs(trace, since_base, uid, tid, flags);
    put_zigzag(trace, start_since_base);
    put_text(trace, name);
    trace_block(trace, BUILD_THREAD);
}

static inline void add_thread(struct trace_builder *trace, uint64_t since_base, uint64_t uid, unsigned tid,
                              int64_t start_since_base, const char *name) {
    add_thread_of(trace, since_base, uid, tid, 0, start_since_base, name);
}

static inline void add_instant(struct trace_builder *trace, uint64_t t, uint64_t marker) {
    add_block(trace, BUILD_INSTANT, t, marker);
}

static inline void add_count(struct trace_builder *trace, unsigned kind, uint64_t t, uint64_t counter, int64_t value) {
    put_lebs(trace, t, counter);
    put_zigzag(trace, value);
    trace_block(trace, kind);
}

static inline void add_sampled_thread_of(struct trace_builder *trace, uint64_t uid, unsigned tid, unsigned flags,
                                         int64_t start_since_base, const char *name) {
    put_lebs(trace, uid, tid, flags);
    put_zigzag(trace, start_since_base);
    put_text(trace, name);
    trace_block(trace, BUILD_SAMPLED_THREAD);
}

static inline void add_sampled_thread(struct trace_builder *trace, uint64_t uid, unsigned tid, int64_t start_since_base,
                                      const char *name) {
    add_sampled_thread_of(trace, uid, tid, 0, start_since_base, name);
}

/* Puts the head of a full sample without CPU time and delay. Then put the number of frames and the frames, and call
 * trace_block(trace, BUILD_THREAD_SAMPLE). */
static inline void put_thread_sample(struct trace_builder *trace, uint64_t t, uint64_t uid, unsigned flags,
                                     uint64_t kept) {
    put_lebs(trace, t, uid, flags, kept);
}

static inline void add_thread_same(struct trace_builder *trace, uint64_t t, uint64_t uid) {
    add_block(trace, BUILD_THREAD_SAME, t, uid, 0);
}

/* Puts the origin of the preceding stack: how many ticks before the entry it was taken, and in which thread. The
 * thread's process began with the trace. */
static inline void put_origin(struct trace_builder *trace, int64_t before, uint64_t uid, unsigned tid, unsigned pid) {
    put_zigzag(trace, before);
    put_lebs(trace, uid, tid, pid, BUILD_START_NS);
}

static inline void add_mappings(struct trace_builder *trace, uint64_t id) { add_block(trace, BUILD_MAPPINGS, id); }

/* Adds a tick of the sampler. Durations are in nanoseconds. */
static inline void add_tick(struct trace_builder *trace, uint64_t t, uint64_t locking, uint64_t counters,
                            uint64_t threads) {
    add_block(trace, BUILD_TICK, t, locking, counters, threads);
}

/* Puts a run of one address. `delta` is the distance in bytes from the previous address. */
static inline void put_address(struct trace_builder *trace, unsigned kind, int64_t delta) {
    put_byte(trace, kind);
    put_leb(trace, 1);
    put_zigzag(trace, delta);
}

/* Adds an entry that has only a time. */
static inline void add_mark(struct trace_builder *trace, unsigned kind, uint64_t t) { add_block(trace, kind, t); }
