/* Walks the copied user stacks of samples ("perf record --call-graph dwarf"). */
#ifndef GECKO_DATA_UNWIND_H
#define GECKO_DATA_UNWIND_H

#include "data_code.h"
#include "readers/perf/perf_record.h"
#include "readers/unwind/unwinder.h"

struct data_unwind {
    struct data_code *code;       /* borrowed */
    struct failure *failure;      /* borrowed */
    struct unwinder *unwinder;    /* NULL before the first walk */
    struct column files;          /* struct unwind_file *, one per file in data_code; NULL: not yet added */
    struct unwound_frame *frames; /* frames of the last walk, innermost first */
};

void data_unwind_init(struct data_unwind *unwind, struct data_code *code, struct failure *failure);
void data_unwind_fini(struct data_unwind *unwind);

/* Walks the copied stack of a process and writes its frames to unwind->frames. Returns their count; 0 if it has no
 * registers of a 64-bit thread. Sets *is_cut if outer frames could not be reached. */
size_t data_unwind_walk(struct data_unwind *unwind, int64_t pid, const struct perf_stack_copy *copy, bool *is_cut);

/* Enters the stacks that lost callers, since files could not be read, into the ledger. */
void data_unwind_enter_losses(const struct data_unwind *unwind, struct ledger *ledger);

#endif
