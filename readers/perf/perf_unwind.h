/* Walks the copied user stacks of samples ("perf record --call-graph dwarf"). */
#pragma once

#include "libconvert/base/value_table.h"
#include "perf_places.h"
#include "perf_record.h"
#include "readers/unwind/unwinder.h"

struct perf_unwind {
    struct perf_places *code;     /* borrowed */
    struct failure *failure;      /* borrowed */
    struct unwinder *unwinder;    /* NULL before the first walk */
    struct column files;          /* struct unwind_file *, one per file in perf_places; NULL: not yet added */
    struct value_table codes;     /* struct unwind_file * by uint64_t: number of code with call frame information */
    struct unwound_frame *frames; /* frames of the last walk, innermost first */
};

void perf_unwind_init(struct perf_unwind *unwind, struct perf_places *code, struct failure *failure);
void perf_unwind_fini(struct perf_unwind *unwind);

/* Walks the copied stack of a process and writes its frames to unwind->frames. Returns their count; 0 if it has no
 * registers of a 64-bit thread. Sets *is_cut if outer frames could not be reached. */
size_t perf_unwind_walk(struct perf_unwind *unwind, int64_t pid, const struct perf_stack_copy *copy, bool *is_cut);

/* Enters the stacks that lost callers, since files could not be read, into the ledger. */
void perf_unwind_enter_losses(const struct perf_unwind *unwind, struct ledger *ledger);
