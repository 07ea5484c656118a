/* Converts the code addresses of a recorder trace to frames. */
#pragma once

#include "libconvert/base/value_table.h"
#include "libconvert/profile/stack_path.h"
#include "readers/code/jit_code.h"
#include "readers/reader.h"
#include "trace_clock.h"
#include "trace_definitions.h"
#include "trace_tasks.h"

struct trace_code {
    struct profile *profile;               /* borrowed */
    struct trace_definitions *definitions; /* borrowed */
    struct trace_clock *clock;             /* borrowed */
    struct jit jit;
    int64_t epoch_offset_ns;   /* Unix time less CLOCK_MONOTONIC, when the trace was recorded */
    size_t jitdump_count;      /* how many of definitions->jitdumps were offered to `jit` */
    size_t fork_count;         /* how many forks of the definitions were passed on to `jit` */
    bool is_ready;             /* the trace is read and the clock is complete, so generated code can be looked up */
    struct value_table frames; /* frame_id for each address; none if it depends on the time */
    struct column roles;       /* uint8_t: enum trace_frame_role, by frame id */
};

/* What the category of a frame means for the frames that it calls. */
enum trace_frame_role {
    TRACE_FRAME_IS_OTHER,
    TRACE_FRAME_IS_NATIVE, /* machine code of a file or at an address about which nothing is known */
    TRACE_FRAME_IS_LABEL,  /* a label or a script frame with a category, which native frames that it calls take over */
    TRACE_FRAME_IS_PLAIN_LABEL /* a label or a script frame without a category */
};

/* An address in a process's code. */
struct trace_address {
    const struct trace_process *process; /* NULL if unknown */
    uint64_t mappings_id; /* the last definition of a mapping that applies to the address; 0 if none does */
    uint64_t address;
    bool is_return; /* a return address: the call precedes it */
};

/* Files about generated code are only read if the trace, whose epoch_offset_ns is given, was recorded since this
 * machine booted. The owner of the trace is trusted. */
void trace_code_init(struct trace_code *code, struct profile *profile, struct trace_definitions *definitions,
                     struct trace_clock *clock, int64_t epoch_offset_ns, const struct input *trace,
                     const struct reader_options *options);
void trace_code_fini(struct trace_code *code);

/* Allows generated code to be looked up. Call it when the clock is complete and the whole trace is read except for
 * postponed chunks. */
void trace_code_make_ready(struct trace_code *code, const struct trace_tasks *tasks);

/* Returns whether a look-up waits for trace_code_make_ready. */
static inline bool trace_code_waits(const struct trace_code *code) { return code->jit.files.count; }

/* Counts what was wrong with files about generated code. Call it once, at the end. */
void trace_code_enter_notes(struct trace_code *code);

/* Returns the frame of the address at that time. Sets *is_open if that can only be known once the whole trace is read.
 * Returns none if memory ran out (latched). */
frame_id trace_code_frame(struct trace_code *code, const struct trace_address *address, int64_t ticks, bool *is_open);

/* Tells that the frame is a label or a script frame. */
void trace_code_note_label(struct trace_code *code, frame_id frame);

/* Gives frames the category of what encloses them, by replacing them in `frames`, of which the first one is the
 * outermost. The innermost of the first kept_count frames of the path calls it. Labels and script frames with a
 * category keep it. Native frames that they call, directly or through other native frames, take it over, and so do
 * labels and script frames without a category. A wait gets a subcategory of the label's category. */
void trace_code_inherit(struct trace_code *code, const struct stack_path *path, uint32_t kept_count, frame_id *frames,
                        uint32_t count);
