/* The state of one reading of a native trace, shared by native_trace.c (the story), native_chunks.c (header, chunks,
 * blocks), native_events.c (entries), native_payload.c and native_stack.c (their parts) and native_log.c (what is to be
 * said of all). */
#ifndef GECKO_NATIVE_TRACE_INTERNAL_H
#define GECKO_NATIVE_TRACE_INTERNAL_H

#include "native_clock.h"
#include "native_code.h"
#include "native_counters.h"
#include "native_cursor.h"
#include "native_definitions.h"
#include "native_ledger.h"
#include "native_sampled.h"
#include "native_tasks.h"
#include "reader.h"
#include "recorder/trace_format.h"

/* Where in a chunk reading is: what the entries before say of those behind. */
struct native_place {
    struct native_process *process; /* NULL: not named yet */
    struct native_thread *thread;
    bool is_beyond;                 /* there is no room for the process or the thread that is named */
    bool is_live;                   /* the chunk was never given back */
    int64_t now_ticks;              /* the running time, since the start of the trace */
    int64_t base_ticks;             /* of the chunk, as well */
    uint64_t base_ns;               /* of CLOCK_MONOTONIC */
    uint64_t address;               /* the running address */
    bool is_address_lost;           /* something was not understood that may have changed it */
    uint64_t mappings_id;           /* of the last definition of a mapping that is known here; 0: none */
    struct native_sampled *sampled; /* owned; NULL: no thread was named yet */
};

/* Blocks of a chunk that lie side by side. */
struct native_blocks {
    struct native_place place;
    struct text bytes;
    uint64_t offset;      /* of their first byte in the trace */
    uint64_t block_count; /* as many the chunk says that there are */
    bool is_cut;          /* the trace ends among them */
};

struct native_pause {
    uint32_t process; /* of the profile */
    bool is_resume;
    int64_t ticks;
};

/* What is counted for the logs. */
struct native_counts {
    uint64_t chunk_count; /* with something in them */
    uint64_t live_chunk_count;
    uint64_t free_chunk_count;
    uint64_t set_aside_count;
    uint64_t wrong_hash_count;
    uint64_t skipped_bytes;
    uint64_t unknown_kinds[256]; /* entries of each kind that is not known */
};

struct native_trace {
    struct profile *profile; /* borrowed */
    struct trace_header header;
    struct native_clock clock;
    struct native_definitions definitions;
    struct native_tasks tasks;
    struct native_counters counters;
    struct native_code code;
    struct native_ledger ledger;
    struct native_counts counts;
    struct column pauses;    /* struct native_pause */
    struct column set_aside; /* struct native_blocks with bytes of their own, to be read when all definitions are */
    size_t set_aside_bytes;
    struct column cells; /* union marker_value: of the list or table that is read */
    frame_id *frames;    /* of the stack that is read */
    size_t frame_capacity;
    char *scratch; /* for a composed name */
    size_t scratch_bytes;
};

enum native_verdict {
    NATIVE_READ,    /* the entry is in the profile, or counted as lost */
    NATIVE_OPEN,    /* it uses a definition that may still come; nothing of it was done */
    NATIVE_DAMAGED, /* it is no entry */
};

/* ---- native_chunks.c ---- */

/* Reads and checks the header; failures are latched. */
bool native_chunks_read_header(struct native_trace *trace, struct input *input);

/* All chunks, in the order of the file. */
void native_chunks_read(struct native_trace *trace, struct input *input);

/* ---- native_events.c ---- */

/* Reads the blocks. What is behind one that uses a definition that may still come is set aside. */
void native_events_read(struct native_trace *trace, struct native_blocks blocks);

/* Reads what was set aside, when all definitions are known. */
void native_events_read_set_aside(struct native_trace *trace);

/* ---- native_payload.c ---- */

/* The values of an entry at that time: as many as the type has fields. `payload` is spoilt where it is damaged. */
void native_payload_read(struct native_trace *trace, struct native_cursor *payload,
                         const struct native_marker_type *type, bool has_tags, int64_t time_ticks,
                         union marker_value *values, bool *is_open);

/* ---- native_stack.c ---- */

/* The frames of a stack, outermost first, and what the chunk's running address is behind them. */
struct native_frames {
    uint32_t count; /* of trace->frames */
    bool is_lost;   /* they cannot be read */
    uint64_t address;
    bool is_address_lost;
};

/* The frames that the cursor stands before, at that time. `cursor` is spoilt where it is damaged. */
struct native_frames native_stack_read_frames(struct native_trace *trace, const struct native_place *place,
                                              int64_t ticks, struct native_cursor *cursor, bool *is_open);

/* The entry with these frames is read. */
static inline void native_stack_pass(struct native_place *place, const struct native_frames *frames) {
    place->address = frames->address;
    place->is_address_lost = frames->is_address_lost;
}

/* Both, for the place's thread, which there must be: the stack; none when it is empty or cannot be read. */
stack_id native_stack_read(struct native_trace *trace, struct native_place *place, int64_t ticks,
                           struct native_cursor *cursor, bool *is_open);

/* ---- native_log.c ---- */

/* What recorder and reader have to say: logs, panel, ledger. Times in them are ticks still. */
void native_log_write(struct native_trace *trace);

#endif
