/* Stacks whose outermost callers are missing. */
#pragma once

#include "profile.h"

/* The function at the root of a stack that is known to lack callers. */
#define TRUNCATED_STACK_NAME "[truncated stack]"

/* How notes about many such stacks begin in the ledger; what to do about it follows. The summary shows them. */
#define CUT_STACKS_CAUSE "stack that ends early: "

/* How the notes about stacks of perf begin, without and with copies of stacks (--call-graph dwarf). */
#define CUT_STACKS_WITHOUT_COPIES CUT_STACKS_CAUSE "record with --call-graph dwarf"
#define CUT_STACKS_WITH_COPIES    CUT_STACKS_CAUSE "record with a larger --call-graph dwarf,BYTES"

/* The note of recorder traces, whose reader knows the share, too. */
#define CUT_STACKS_OF_TRACE \
    CUT_STACKS_CAUSE        \
    "have generated code, and what else lacks .eh_frame, keep frame pointers (java -XX:+PreserveFramePointer)"

/* Weights are absolute values. */
struct cut_stacks {
    uint64_t sample_count; /* samples in a function of the program */
    uint64_t cut_count;    /* those of them whose stack ends early */
    double weight;         /* weight of these sample_count samples */
    double cut_weight;     /* weight of these cut_count samples */
    double stack_weight;   /* weight of all samples with a stack, which a wait alone is not */
};

/* Counts the stacks that have one function of the program and no caller, and if perf copied stacks (has_copies), those
 * that are truncated. Leaves out tracks of events. If memory runs out, that is latched, and there are none. */
struct cut_stacks cut_stacks_count(const struct profile *profile, bool has_copies);

/* Returns whether stacks that end early are worth a note: more than one in ten by weight, of enough samples. */
bool cut_stacks_are_many(const struct cut_stacks *sum);
