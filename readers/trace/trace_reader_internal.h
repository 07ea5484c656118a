/* The state of one reading of a recorder trace. It is shared by trace_reader.c (the whole reading), trace_chunks.c
 * (header, chunks), trace_blocks.c (their blocks), trace_events.c (entries), trace_payload.c and trace_stack.c (their
 * parts) and trace_log.c (the logs). */
#pragma once

#include "libconvert/base/byte_buffer.h"
#include "libconvert/base/value_table.h"
#include "libconvert/profile/cut_stacks.h"
#include "readers/reader.h"
#include "recorder/trace_format.h"
#include "trace_clock.h"
#include "trace_code.h"
#include "trace_counters.h"
#include "trace_cursor.h"
#include "trace_definitions.h"
#include "trace_ledger.h"
#include "trace_tasks.h"

/* A thread that the sampler of a chunk samples. A sample may continue its thread's previous stack. */
struct trace_sampled_thread {
    struct trace_thread *thread; /* NULL if it exceeds the limit on threads */
    bool has_stack;              /* the thread's last full sample is known */
    uint64_t flags;              /* enum trace_sample_flag, of the last full sample */
    stack_id stack;
    struct stack_path path;  /* frames of `stack` */
    int64_t last_idle_ticks; /* when a sample last found that the thread had not run; TIME_NONE: never in this chunk */
    int64_t last_run_ticks;  /* when a sample was last taken that stands for processor time */
    uint32_t idle_count;     /* how many have followed that one */
    int64_t interval_ns;     /* interval of its samples while it runs; 0: unknown */
    int64_t uncounted_ns;    /* CPU time for which too few samples were added so far; negative: too many */
};

/* State within a chunk: what earlier entries define for later ones. */
struct trace_chunk_context {
    struct trace_process *process; /* NULL until an entry names it */
    struct trace_thread *thread;
    bool is_beyond;              /* the named process or thread exceeds the limit on their number */
    bool is_live;                /* the recorder never returned the chunk */
    process_id counted;          /* the last process that the chunk was counted for; none at first */
    int64_t now_ticks;           /* time of the last entry, since the start of the trace */
    int64_t base_ticks;          /* base time of the chunk, since the start of the trace */
    uint64_t base_ns;            /* the same time in nanoseconds of CLOCK_MONOTONIC */
    uint64_t pid_namespace;      /* namespace of the chunk's pids; 0: unknown */
    uint64_t address;            /* last address; the next one is relative to it */
    bool is_address_lost;        /* an entry that may have changed `address` was not understood */
    uint64_t mappings_id;        /* the last definition of a mapping that applies here; 0 if none does */
    struct value_table *sampled; /* struct trace_sampled_thread by uid, a uint64_t; owned; NULL until one is named */
};

/* Adjacent blocks of a chunk. */
struct trace_blocks {
    struct trace_chunk_context context;
    struct text bytes;
    uint64_t offset;      /* offset of the first byte in the trace */
    uint64_t block_count; /* number of blocks, according to the chunk */
    bool is_cut;          /* the trace ends within the blocks */
};

struct trace_pause {
    uint32_t process; /* number in the profile */
    bool is_resume;
    int64_t ticks;
};

/* A chunk of events that could not be read. */
struct trace_skipped {
    uint32_t pid;
    uint64_t base_ns;
};

/* Counts for the logs. */
struct trace_counts {
    uint64_t chunk_count; /* chunks that are not free */
    uint64_t live_chunk_count;
    uint64_t free_chunk_count;
    uint64_t set_aside_count;
    uint64_t wrong_hash_count;
    uint64_t skipped_bytes;
    uint64_t unknown_kinds[256]; /* entries of each unknown kind */
};

struct trace_reader {
    struct profile *profile; /* borrowed */
    struct filter *filter;   /* borrowed; NULL: everything is kept */
    struct trace_header header;
    struct trace_clock clock;
    struct trace_definitions definitions;
    struct trace_tasks tasks;
    struct trace_counters counters;
    struct trace_code code;
    struct trace_ledger ledger;
    struct trace_counts counts;
    struct cut_stacks cut_stacks; /* without weights */
    struct column pauses;         /* struct trace_pause */
    struct column skipped;        /* struct trace_skipped */
    struct column set_aside; /* struct trace_blocks with their own bytes, read again once all definitions are known */
    size_t set_aside_bytes;
    struct column cells; /* union marker_value: cells of the current list or table */
    frame_id *frames;    /* frames of the current stack */
    size_t frame_capacity;
    struct byte_buffer scratch; /* for composed names */
};

enum trace_verdict {
    TRACE_READ,    /* the entry is in the profile or counted as lost */
    TRACE_OPEN,    /* the entry uses a definition that may still come; it had no effect */
    TRACE_DAMAGED, /* the bytes are not an entry */
};

/* ---- trace_chunks.c. ---- */

/* Reads and checks the header. Returns false after a failure (latched). */
bool trace_chunks_read_header(struct trace_reader *trace, struct input *input);

/* Reads all chunks in the order of the file. */
void trace_chunks_read(struct trace_reader *trace, struct input *input);

/* ---- trace_blocks.c. ---- */

/* Reads the blocks. If an entry uses a definition that may still come, sets it and the rest of the blocks aside. */
void trace_blocks_read(struct trace_reader *trace, struct trace_blocks blocks);

/* Reads what was set aside. Call it when all chunks are read. */
void trace_blocks_read_set_aside(struct trace_reader *trace);

/* ---- trace_events.c. ---- */

/* Frees the sampled threads of a context; NULL is allowed. */
void trace_sampled_destroy(struct value_table *sampled);

/* Reads the entry of a block at that offset of the trace, and counts it. Only if the verdict is TRACE_READ has it had
 * an effect. */
enum trace_verdict trace_entry_read(struct trace_reader *trace, struct trace_chunk_context *context, struct text bytes,
                                    uint64_t offset);

/* Adds the time of an entry of that kind to *now_ticks, without reading the entry. `fields` are what follows its kind.
 * Returns false if times after this entry are unknown. */
bool trace_entry_pass(const struct trace_reader *trace, const struct trace_chunk_context *context,
                      struct trace_cursor *fields, uint8_t kind, int64_t *now_ticks);

/* ---- trace_payload.c. ---- */

/* Reads a payload at the given time into `values`, one for each field of the marker's type, which it must have. A
 * damaged payload makes the cursor bad. */
void trace_payload_read(struct trace_reader *trace, struct trace_cursor *payload, const struct trace_marker *marker,
                        bool has_tags, int64_t time_ticks, union marker_value *values, bool *is_open);

/* ---- trace_stack.c. ---- */

/* The frames of a stack, outermost first, and the chunk's running address after them. */
struct trace_frames {
    uint32_t count; /* how many of trace->frames are used */
    bool is_lost;   /* the frames could not be read */
    uint64_t address;
    bool is_address_lost;
};

/* Reads frames at the given time. Damaged frames make the cursor bad. */
struct trace_frames trace_stack_read_frames(struct trace_reader *trace, const struct trace_chunk_context *context,
                                            int64_t ticks, struct trace_cursor *cursor, bool *is_open);

/* Updates the running address. Call it once the entry with these frames is read. */
static inline void trace_stack_pass(struct trace_chunk_context *context, const struct trace_frames *frames) {
    context->address = frames->address;
    context->is_address_lost = frames->is_address_lost;
}

/* Reads frames and returns their stack for the current thread, which must be known. Returns none if the stack is empty
 * or cannot be read. */
stack_id trace_stack_read(struct trace_reader *trace, struct trace_chunk_context *context, int64_t ticks,
                          struct trace_cursor *cursor, bool *is_open);

/* ---- trace_log.c. ---- */

/* Writes what recorder and reader report to the logs and the panel, and counts it. Times in the logs are still ticks.
 */
void trace_log_write(struct trace_reader *trace);
