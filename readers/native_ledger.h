/* What is counted while a native trace is read: each entry, definition and chunk by what becomes of it. */
#ifndef GECKO_NATIVE_LEDGER_H
#define GECKO_NATIVE_LEDGER_H

#include "libconvert/ledger.h"

enum native_cause {
    /* Kept entries, by the number of their kind. */
    NATIVE_KEPT_FIRST = 0,
    NATIVE_KEPT_LAST = 31,
    NATIVE_KEPT_DEFINITION,
    /* Lost blocks. */
    NATIVE_LOST_CHUNK,
    NATIVE_LOST_HASH,
    NATIVE_LOST_DAMAGED,
    NATIVE_LOST_CUT,
    NATIVE_LOST_KIND,
    NATIVE_LOST_MARKER,
    NATIVE_LOST_MARKER_TIME,
    NATIVE_LOST_COUNTER,
    NATIVE_LOST_THREADLESS,
    NATIVE_LOST_THREADLESS_SAMPLE,
    NATIVE_LOST_BEYOND,
    NATIVE_LOST_BEYOND_SAMPLE,
    NATIVE_LOST_UNNAMED,
    NATIVE_LOST_UNNAMED_SAMPLE,
    NATIVE_LOST_SAMPLE_BASE,
    NATIVE_LOST_SAMPLE_FLAGS,
    NATIVE_LOST_DEFINITION_DAMAGED,
    NATIVE_LOST_DEFINITION_KIND,
    /* What the recorder says that it lost. */
    NATIVE_LOST_BY_RECORDER,
    NATIVE_LOST_STALE_MARKER,
    NATIVE_LOST_DEFINITION_BY_RECORDER,
    NATIVE_LOST_VALUE_BY_RECORDER,
    /* Lost parts of entries that are kept. */
    NATIVE_LOST_VALUE_TYPE,
    NATIVE_LOST_VALUE_TEXT,
    NATIVE_LOST_PAYLOAD,
    NATIVE_LOST_STACK,
    NATIVE_LOST_LABEL,
    NATIVE_LOST_FIELD,
    /* Worth saying. */
    NATIVE_NOTE_RECYCLED,
    NATIVE_NOTE_STOPPED,
    NATIVE_NOTE_CUT,
    NATIVE_NOTE_CUT_TEXT,
    NATIVE_NOTE_CATEGORY,
    NATIVE_NOTE_REVERSED,
    NATIVE_NOTE_BLOCK_COUNT,
    NATIVE_NOTE_DEFINITION_UNFINISHED,
    NATIVE_NOTE_TRUNCATED,
    NATIVE_NOTE_UNREACHED,
    NATIVE_NOTE_LIBRARY,
    NATIVE_NOTE_JIT_FILE,
    NATIVE_NOTE_JIT_OWNER,
    NATIVE_NOTE_JIT_KIND,
    NATIVE_NOTE_JIT_SIZE,
    NATIVE_NOTE_JIT_RECORD,
    NATIVE_CAUSE_COUNT,
    NATIVE_PART_FIRST = NATIVE_LOST_VALUE_TYPE,
    NATIVE_PART_COUNT = NATIVE_LOST_LABEL + 1 - NATIVE_PART_FIRST
};

struct native_tally {
    uint64_t count;
    bool has_first;
    uint64_t first_offset; /* the lowest: chunks are not always read in the order of the file */
};

struct native_ledger {
    struct native_tally tallies[NATIVE_CAUSE_COUNT];
    /* Lost parts of the entry that is read, counted when the entry is: it may come to be read again. */
    uint32_t parts[NATIVE_PART_COUNT];
    bool has_parts;
};

static inline void native_ledger_count(struct native_ledger *ledger, enum native_cause cause, uint64_t count,
                                       uint64_t offset) {
    struct native_tally *tally = &ledger->tallies[cause];
    if (!count) return;
    tally->count += count;
    if (!tally->has_first || offset < tally->first_offset) tally->first_offset = offset;
    tally->has_first = true;
}

/* Something without a place in the trace. */
static inline void native_ledger_count_placeless(struct native_ledger *ledger, enum native_cause cause,
                                                 uint64_t count) {
    ledger->tallies[cause].count += count;
}

static inline void native_ledger_defer(struct native_ledger *ledger, enum native_cause part) {
    ledger->parts[part - NATIVE_PART_FIRST]++;
    ledger->has_parts = true;
}

/* The entry at that place is kept. */
static inline void native_ledger_settle(struct native_ledger *ledger, uint64_t offset) {
    if (!ledger->has_parts) return;
    for (int i = 0; i < NATIVE_PART_COUNT; i++) {
        native_ledger_count(ledger, (enum native_cause)(NATIVE_PART_FIRST + i), ledger->parts[i], offset);
        ledger->parts[i] = 0;
    }
    ledger->has_parts = false;
}

/* The next entry begins. */
static inline void native_ledger_drop(struct native_ledger *ledger) {
    if (!ledger->has_parts) return;
    for (int i = 0; i < NATIVE_PART_COUNT; i++) ledger->parts[i] = 0;
    ledger->has_parts = false;
}

/* Enters all of it, once. */
void native_ledger_enter(const struct native_ledger *ledger, struct ledger *out);

#endif
