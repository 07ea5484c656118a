/* Counts for the ledger, of parsers of recordings and of what gives their records a meaning. */
#ifndef GECKO_PERF_TALLIES_H
#define GECKO_PERF_TALLIES_H

#include "libconvert/profile/ledger.h"

/* In the order in which the ledger has them. */
enum perf_tally {
    TALLY_BLANK,
    TALLY_HEADER,
    TALLY_EVENT,
    TALLY_FRAME,
    TALLY_SOURCE,
    TALLY_RECORD,
    TALLY_MESSAGE,
    TALLY_BRANCH_STACK,
    TALLY_FIELD_LINE,
    TALLY_TRACE_ERROR,
    TALLY_STRAY_FRAME,
    TALLY_NO_FRAME,
    TALLY_MALFORMED,
    TALLY_CUT_LINE,
    TALLY_DAMAGED_RECORD,
    TALLY_SKIPPED_BYTES,
    TALLY_CUT_OFF,
    TALLY_BAD_SAMPLE,
    TALLY_UNKNOWN_EVENT,
    TALLY_LINE_WITHOUT_STACK,
    TALLY_NO_STACK,
    TALLY_BAD_ATTR,
    TALLY_BAD_FEATURE,
    TALLY_BAD_COMPRESSION,
    TALLY_JUMP,
    TALLY_SWITCH_JUMP,
    TALLY_BAD_SWITCH,
    TALLY_NO_TIME,
    TALLY_SUM_OF_WAITS,
    TALLY_LOST_BY_PERF,
    TALLY_LATE,
    TALLY_CPU,
    TALLY_THREAD_TOTAL,
    TALLY_BAD_CHAIN,
    TALLY_BRANCHES,
    TALLY_ADDRESS,
    TALLY_DATA_NAME,
    TALLY_CUT_STACK,
    TALLY_DEEP_STACK,
    TALLY_NO_USER_STACK,
    TALLY_UNUSED_USER_STACK,
    TALLY_UNUSED_LINES,
    TALLY_SKIPPED_FIELD,
    TALLY_NO_PERIOD,
    TALLY_BRANCH_TARGET,
    TALLY_REGISTERS,
    TALLY_INSTRUCTION,
    TALLY_CYCLES,
    TALLY_FIELD,
    TALLY_JIT_REFUSED,
    TALLY_JIT_DAMAGED,
    TALLY_UNKNOWN_FORMAT,
    TALLY_MANY_FIELDS,
    TALLY_DEEP_FRAME,
    TALLY_COUNT
};

/* Zeroed at first. */
struct perf_tallies {
    struct ledger_tally rows[TALLY_COUNT];
};

static inline void perf_tally(struct perf_tallies *tallies, enum perf_tally tally, uint64_t count,
                              struct position position) {
    ledger_tally_add(&tallies->rows[tally], count, position);
}

/* Returns how a sample without a stack counts. Positions in text have lines. */
static inline enum perf_tally perf_tally_of_no_stack(struct position position) {
    return position.line ? TALLY_LINE_WITHOUT_STACK : TALLY_NO_STACK;
}

/* Adds the counts of another part. */
void perf_tallies_add(struct perf_tallies *tallies, const struct perf_tallies *more);

void perf_tallies_enter(const struct perf_tallies *tallies, struct ledger *ledger);

#endif
