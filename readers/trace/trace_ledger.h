/* Counts while a recorder trace is read: every entry, definition and chunk by its fate. */
#ifndef GECKO_TRACE_LEDGER_H
#define GECKO_TRACE_LEDGER_H

#include "libconvert/profile/profile.h"

enum trace_cause {
    /* Kept entries, numbered by kind. */
    TRACE_KEPT_LAST = 31,
    TRACE_KEPT_DEFINITION,
    /* Lost blocks. */
    TRACE_LOST_CHUNK,
    TRACE_LOST_HASH,
    TRACE_LOST_DAMAGED,
    TRACE_LOST_CUT,
    TRACE_LOST_KIND,
    TRACE_LOST_MARKER,
    TRACE_LOST_MARKER_TIME,
    TRACE_LOST_COUNTER,
    TRACE_LOST_THREADLESS,
    TRACE_LOST_THREADLESS_SAMPLE,
    TRACE_LOST_BEYOND,
    TRACE_LOST_BEYOND_SAMPLE,
    TRACE_LOST_UNNAMED,
    TRACE_LOST_UNNAMED_SAMPLE,
    TRACE_LOST_SAMPLE_BASE,
    TRACE_LOST_SAMPLE_FLAGS,
    TRACE_LOST_DEFINITION_DAMAGED,
    TRACE_LOST_DEFINITION_KIND,
    /* What the recorder reports as lost. */
    TRACE_LOST_BY_RECORDER,
    TRACE_LOST_STALE_MARKER,
    TRACE_LOST_DEFINITION_BY_RECORDER,
    TRACE_LOST_VALUE_BY_RECORDER,
    /* Lost parts of entries that are kept. */
    TRACE_LOST_VALUE_TYPE,
    TRACE_LOST_VALUE_TEXT,
    TRACE_LOST_PAYLOAD,
    TRACE_LOST_STACK,
    TRACE_LOST_LABEL,
    TRACE_LOST_FIELD,
    /* Notes. */
    TRACE_NOTE_RECYCLED,
    TRACE_NOTE_STOPPED,
    TRACE_NOTE_KILLED,
    TRACE_NOTE_STILL_RECORDING,
    TRACE_NOTE_CUT,
    TRACE_NOTE_CUT_TEXT,
    TRACE_NOTE_CATEGORY,
    TRACE_NOTE_REVERSED,
    TRACE_NOTE_BLOCK_COUNT,
    TRACE_NOTE_DEFINITION_UNFINISHED,
    TRACE_NOTE_TRUNCATED,
    TRACE_NOTE_UNREACHED,
    TRACE_NOTE_LIBRARY,
    TRACE_NOTE_JIT_FILE,
    TRACE_NOTE_JIT_OWNER,
    TRACE_NOTE_JIT_KIND,
    TRACE_NOTE_JIT_SIZE,
    TRACE_NOTE_JIT_RECORD,
    TRACE_CAUSE_COUNT,
    TRACE_PART_FIRST = TRACE_LOST_VALUE_TYPE,
    TRACE_PART_COUNT = TRACE_LOST_LABEL + 1 - TRACE_PART_FIRST
};

/* A field of a marker with values that it cannot have. */
struct trace_misfit {
    string_id marker;  /* its name */
    struct text field; /* its key; borrowed from the profile */
    struct ledger_tally tally;
    uint32_t count_in_entry; /* count in the current entry, as in trace_ledger.parts */
};

/* How many of those are told apart. Programs make a few such mistakes, and a damaged trace any number. */
enum { TRACE_MISFIT_COUNT_MAX = 16 };

struct trace_ledger {
    struct ledger_tally tallies[TRACE_CAUSE_COUNT]; /* chunks are not always read in file order */
    struct trace_misfit misfits[TRACE_MISFIT_COUNT_MAX];
    uint32_t misfit_count;
    /* Lost parts of the current entry. They are counted once the entry is kept, since it may have to be read again. */
    uint32_t parts[TRACE_PART_COUNT];
    bool has_parts;
};

static inline void trace_ledger_account(struct trace_ledger *ledger, enum trace_cause cause, uint64_t count,
                                        uint64_t offset) {
    ledger_tally_add(&ledger->tallies[cause], count, (struct position){.offset = offset});
}

/* Counts something that has no position in the trace. */
static inline void trace_ledger_count_placeless(struct trace_ledger *ledger, enum trace_cause cause, uint64_t count) {
    ledger->tallies[cause].count += count;
}

static inline void trace_ledger_defer(struct trace_ledger *ledger, enum trace_cause part) {
    ledger->parts[part - TRACE_PART_FIRST]++;
    ledger->has_parts = true;
}

/* Does what trace_ledger_defer does, for a value that the field of that key, of the marker of that name, cannot have.
 */
void trace_ledger_defer_misfit(struct trace_ledger *ledger, string_id marker, struct text field);

/* Forgets the lost parts of the previous entry. Call it before each entry. */
static inline void trace_ledger_drop(struct trace_ledger *ledger) {
    if (!ledger->has_parts) return;
    for (int i = 0; i < TRACE_PART_COUNT; i++) ledger->parts[i] = 0;
    for (uint32_t i = 0; i < ledger->misfit_count; i++) ledger->misfits[i].count_in_entry = 0;
    ledger->has_parts = false;
}

/* Counts the lost parts of the entry at that offset, which is kept. */
static inline void trace_ledger_commit(struct trace_ledger *ledger, uint64_t offset) {
    if (!ledger->has_parts) return;
    for (int i = 0; i < TRACE_PART_COUNT; i++)
        trace_ledger_account(ledger, (enum trace_cause)(TRACE_PART_FIRST + i), ledger->parts[i], offset);
    for (uint32_t i = 0; i < ledger->misfit_count; i++) {
        struct trace_misfit *misfit = &ledger->misfits[i];
        ledger_tally_add(&misfit->tally, misfit->count_in_entry, (struct position){.offset = offset});
    }
    trace_ledger_drop(ledger);
}

/* Enters all counts in the profile's ledger, and the values that their fields cannot have in its log, too. Call it
 * once. */
void trace_ledger_enter(const struct trace_ledger *ledger, struct profile *profile);

#endif
