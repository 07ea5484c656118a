/* Counts while a recorder trace is read: every entry, definition and chunk by its fate. */
#pragma once

#include "libconvert/profile/profile.h"

/* What is lost and noted, in the order in which the ledger has it: the unit, the fate and the cause. */
#define TRACE_LOSSES(CAUSE)                                                                                            \
    /* Lost blocks. */                                                                                                 \
    CAUSE(TRACE_LOST_CHUNK, RECORDS, LOST, "chunk with a damaged header")                                              \
    CAUSE(TRACE_LOST_HASH, RECORDS, LOST, "block of a chunk whose hash is wrong")                                      \
    CAUSE(TRACE_LOST_DAMAGED, RECORDS, LOST, "damaged block, or one after it in its chunk")                            \
    CAUSE(TRACE_LOST_CUT, RECORDS, LOST, "block after the end of a trace that is cut off")                             \
    CAUSE(TRACE_LOST_CUT_CHUNK, RECORDS, LOST, "chunk after the end of a trace that is cut off")                       \
    CAUSE(TRACE_LOST_KIND, RECORDS, LOST, "entry of an unknown kind")                                                  \
    CAUSE(TRACE_LOST_MARKER, RECORDS, LOST, "marker whose definition is missing")                                      \
    CAUSE(TRACE_LOST_MARKER_TIME, RECORDS, LOST, "marker whose start or end is impossible")                            \
    CAUSE(TRACE_LOST_COUNTER, RECORDS, LOST, "value of a counter whose definition is missing")                         \
    CAUSE(TRACE_LOST_THREADLESS, RECORDS, LOST, "entry without a process or thread named before it")                   \
    CAUSE(TRACE_LOST_THREADLESS_SAMPLE, SAMPLES, LOST, "sample without a thread named before it")                      \
    CAUSE(TRACE_LOST_BEYOND, RECORDS, LOST, "entry of a thread or process beyond the first 524288")                    \
    CAUSE(TRACE_LOST_BEYOND_SAMPLE, SAMPLES, LOST, "sample of a thread beyond the first 524288")                       \
    CAUSE(TRACE_LOST_UNNAMED, RECORDS, LOST, "end of a sampled thread that was not named")                             \
    CAUSE(TRACE_LOST_UNNAMED_SAMPLE, SAMPLES, LOST, "sample of a thread that was not named")                           \
    CAUSE(TRACE_LOST_SAMPLE_BASE, SAMPLES, LOST, "sample that continues a missing one")                                \
    CAUSE(TRACE_LOST_SAMPLE_FLAGS, SAMPLES, LOST, "sample with unknown flags")                                         \
    CAUSE(TRACE_LOST_DEFINITION_DAMAGED, RECORDS, LOST, "damaged definition")                                          \
    CAUSE(TRACE_LOST_DEFINITION_KIND, RECORDS, LOST, "definition of an unknown kind")                                  \
    /* What the recorder reports as lost. */                                                                           \
    CAUSE(TRACE_LOST_BY_RECORDER, RECORDS, LOST, "event that the recorder had no room for")                            \
    CAUSE(TRACE_LOST_STALE_MARKER, RECORDS, LOST, "marker that was aimed at a thread of another recording or process") \
    CAUSE(TRACE_LOST_DEFINITION_BY_RECORDER, RECORDS, LOST, "definition that the recorder had no room for")            \
    CAUSE(TRACE_LOST_VALUE_BY_RECORDER, VALUES, LOST, "value beyond the fields of its marker's type")                  \
    /* Lost parts of entries that are kept. */                                                                         \
    CAUSE(TRACE_LOST_VALUE_TYPE, VALUES, LOST, "value that its field cannot have")                                     \
    CAUSE(TRACE_LOST_VALUE_TEXT, VALUES, LOST, "value whose text's definition is missing")                             \
    CAUSE(TRACE_LOST_PAYLOAD, VALUES, LOST, "payload whose marker type is missing")                                    \
    CAUSE(TRACE_LOST_STACK, VALUES, LOST, "stack with a frame of an unknown kind")                                     \
    CAUSE(TRACE_LOST_LABEL, VALUES, LOST, "frame whose label's definition is missing")                                 \
    CAUSE(TRACE_LOST_FIELD, VALUES, LOST, "field, column or graph of a marker type that cannot be shown")              \
    CAUSE(TRACE_LOST_INTERVALS, VALUES, LOST, "intervals of a sample beyond the first 1048576")                        \
    /* Notes. */                                                                                                       \
    CAUSE(TRACE_NOTE_RECYCLED, RECORDS, NOTED, "chunk that was recycled under the limit: its older events are gone")   \
    CAUSE(TRACE_NOTE_STOPPED, RECORDS, NOTED, "recording that stopped by itself: the file could not grow")             \
    CAUSE(TRACE_NOTE_KILLED, RECORDS, NOTED, "process that was killed, or ended by _exit, while it recorded")          \
    CAUSE(TRACE_NOTE_SILENT, RECORDS, NOTED,                                                                           \
          "process of which nothing was recorded: it ended before its first sample, or could not be sampled")          \
    CAUSE(TRACE_NOTE_STILL_RECORDING, RECORDS, NOTED, "process that still records: later events are missing")          \
    CAUSE(TRACE_NOTE_CUT, RECORDS, NOTED, "trace that is cut off within a chunk")                                      \
    CAUSE(TRACE_NOTE_CUT_TEXT, VALUES, NOTED, "text that the recorder cut to its limit")                               \
    CAUSE(TRACE_NOTE_CATEGORY, VALUES, NOTED, "definition whose category is missing, now in the category Other")       \
    CAUSE(TRACE_NOTE_REVERSED, RECORDS, NOTED, "interval that ends before it starts, now without length")              \
    CAUSE(TRACE_NOTE_BLOCK_COUNT, RECORDS, NOTED, "chunk with a wrong number of blocks")                               \
    CAUSE(TRACE_NOTE_DEFINITION_UNFINISHED, RECORDS, NOTED, "definition that was never finished")                      \
    CAUSE(TRACE_NOTE_TRUNCATED, SAMPLES, NOTED, "sample whose outermost frames are missing")                           \
    CAUSE(TRACE_NOTE_UNREACHED, SAMPLES, NOTED, "sample of a thread that could not be stopped: it has no stack")       \
    CAUSE(TRACE_NOTE_LIBRARY, RECORDS, NOTED, "mapping whose library's definition is missing")                         \
    CAUSE(TRACE_NOTE_JIT_FILE, RECORDS, NOTED, "file about generated code that cannot be used")                        \
    CAUSE(TRACE_NOTE_JIT_OWNER, RECORDS, NOTED, "file about generated code that belongs to another user, not read")    \
    CAUSE(TRACE_NOTE_JIT_KIND, RECORDS, NOTED, "file about generated code that is not a regular file, not read")       \
    CAUSE(TRACE_NOTE_JIT_SIZE, RECORDS, NOTED, "file about generated code of more than 1 GiB, not read")               \
    CAUSE(TRACE_NOTE_JIT_RECORD, RECORDS, NOTED, "damaged part of a file about generated code")

#define CAUSE_NAME(name, unit, fate, cause) name,
enum trace_cause {
    /* Kept entries, numbered by kind. */
    TRACE_KEPT_LAST = 31,
    TRACE_KEPT_DEFINITION,
    TRACE_LOSSES(CAUSE_NAME) TRACE_CAUSE_COUNT,
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
