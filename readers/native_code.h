/* Native code of a trace: addresses in, frames out. */
#ifndef GECKO_NATIVE_CODE_H
#define GECKO_NATIVE_CODE_H

#include "native_definitions.h"
#include "native_jit.h"
#include "native_tasks.h"

struct native_code {
    struct profile *profile;                /* borrowed */
    struct native_definitions *definitions; /* borrowed */
    struct native_jit jit;
    struct row_table keys; /* of addresses; row numbers are those of `frames` */
    struct column frames;  /* frame_id; none: it depends on the time */
};

/* An address of a process's code. */
struct native_address {
    const struct native_process *process; /* NULL: not known */
    uint64_t mappings_id;                 /* it is in what the definitions up to this one map; 0: in nothing known */
    uint64_t address;
    bool is_return; /* the call is before it */
};

void native_code_init(struct native_code *code, struct profile *profile, struct native_definitions *definitions,
                      struct native_clock *clock, const struct reader_options *options);
void native_code_fini(struct native_code *code);

/* The frame of the address at that time. Sets *is_open when that is known only when all of the trace is read. None when
 * memory ran out (latched). */
frame_id native_code_frame(struct native_code *code, const struct native_address *address, int64_t ticks,
                           bool *is_open);

#endif
