/* Converts the code addresses of a recorder trace to frames. */
#ifndef GECKO_TRACE_CODE_H
#define GECKO_TRACE_CODE_H

#include "libconvert/profile/stack_path.h"
#include "trace_definitions.h"
#include "trace_jit.h"
#include "trace_tasks.h"

struct trace_code {
    struct profile *profile;               /* borrowed */
    struct trace_definitions *definitions; /* borrowed */
    struct trace_jit jit;
    struct row_table keys; /* addresses; row numbers equal those of `frames` */
    struct column frames;  /* frame_id; none if it depends on the time */
    struct column roles;   /* uint8_t: enum trace_frame_role, by frame id */
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

void trace_code_init(struct trace_code *code, struct profile *profile, struct trace_definitions *definitions,
                     struct trace_clock *clock, const struct reader_options *options);
void trace_code_fini(struct trace_code *code);

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

#endif
