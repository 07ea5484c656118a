/* Counts for the ledger, of parsers of recordings and of what gives their records a meaning. */
#pragma once

#include "libconvert/profile/ledger.h"
#include "readers/code/jit_code.h"

/* What is counted, in the order in which the ledger has it: the unit, the fate and the cause. */
#define PERF_TALLIES(TALLY)                                                                                          \
    TALLY(TALLY_COMM_RECORD, RECORDS, KEPT, "COMM record")                                                           \
    TALLY(TALLY_FORK_RECORD, RECORDS, KEPT, "FORK record")                                                           \
    TALLY(TALLY_EXIT_RECORD, RECORDS, KEPT, "EXIT record")                                                           \
    TALLY(TALLY_MMAP_RECORD, RECORDS, KEPT, "MMAP record")                                                           \
    TALLY(TALLY_LOST_RECORD, RECORDS, KEPT, "LOST record")                                                           \
    TALLY(TALLY_SWITCH_RECORD, RECORDS, KEPT, "SWITCH record")                                                       \
    TALLY(TALLY_NAMESPACES_RECORD, RECORDS, KEPT, "NAMESPACES record")                                               \
    TALLY(TALLY_CGROUP_RECORD, RECORDS, KEPT, "CGROUP record")                                                       \
    TALLY(TALLY_KSYMBOL_RECORD, RECORDS, KEPT, "KSYMBOL record")                                                     \
    TALLY(TALLY_BPF_EVENT_RECORD, RECORDS, KEPT, "BPF_EVENT record")                                                 \
    TALLY(TALLY_FINISHED_ROUND_RECORD, RECORDS, KEPT, "FINISHED_ROUND record")                                       \
    TALLY(TALLY_BLANK, LINES, KEPT, "blank line")                                                                    \
    TALLY(TALLY_HEADER, LINES, KEPT, "header comment")                                                               \
    TALLY(TALLY_EVENT, LINES, KEPT, "event line")                                                                    \
    TALLY(TALLY_FRAME, LINES, KEPT, "frame line")                                                                    \
    TALLY(TALLY_SOURCE, LINES, KEPT, "source line of a frame")                                                       \
    TALLY(TALLY_BROKEN_LINE, LINES, KEPT, "rest of a frame line that was broken: joined with it")                    \
    TALLY(TALLY_RECORD, LINES, KEPT, "record")                                                                       \
    TALLY(TALLY_MESSAGE, LINES, KEPT, "message of perf")                                                             \
    TALLY(TALLY_BRANCH_STACK, LINES, LOST, "branch stack")                                                           \
    TALLY(TALLY_FIELD_LINE, LINES, LOST, "registers, instructions, source code or other fields")                     \
    TALLY(TALLY_TRACE_ERROR, LINES, LOST, "instruction trace error: samples are missing there")                      \
    TALLY(TALLY_STRAY_FRAME, LINES, LOST, "frame line without an event line before it")                              \
    TALLY(TALLY_NO_FRAME, LINES, LOST, "line in a stack that is no frame")                                           \
    TALLY(TALLY_MALFORMED, LINES, LOST, "line that is no event, frame or record")                                    \
    TALLY(TALLY_CUT_LINE, VALUES, LOST, "end of a line longer than 4 MiB")                                           \
    TALLY(TALLY_DAMAGED_RECORD, RECORDS, LOST, "damaged record")                                                     \
    TALLY(TALLY_SKIPPED_BYTES, VALUES, LOST, "byte between a damaged record and the next whole round")               \
    TALLY(TALLY_CUT_OFF, RECORDS, LOST, "record after which the recording is cut off")                               \
    TALLY(TALLY_NEXT_RECORDING, RECORDS, LOST, "recording after the end of the first one: convert it alone")         \
    TALLY(TALLY_BAD_SAMPLE, SAMPLES, LOST, "damaged sample")                                                         \
    TALLY(TALLY_UNKNOWN_EVENT, SAMPLES, LOST, "sample of an event that the recording does not describe")             \
    TALLY(TALLY_LINE_WITHOUT_STACK, SAMPLES, LOST, "event line without a stack")                                     \
    TALLY(TALLY_NO_STACK, SAMPLES, LOST, "sample without a stack")                                                   \
    TALLY(TALLY_BAD_ATTR, RECORDS, LOST, "damaged description of an event")                                          \
    TALLY(TALLY_BAD_FEATURE, RECORDS, LOST, "damaged section of the header")                                         \
    TALLY(TALLY_BAD_COMPRESSION, RECORDS, LOST, "damaged compressed records")                                        \
    TALLY(TALLY_JUMP, SAMPLES, NOTED, "sample earlier than the one before it in its thread: sorted")                 \
    TALLY(TALLY_SWITCH_JUMP, RECORDS, NOTED,                                                                         \
          "switch earlier than the one before it in its thread: no time of waiting")                                 \
    TALLY(TALLY_BAD_SWITCH, RECORDS, NOTED,                                                                          \
          "sched_switch whose payload is damaged or of another thread: only its stack is used")                      \
    TALLY(TALLY_NO_TIME, SAMPLES, NOTED, "sample without a time: made up from the order")                            \
    TALLY(TALLY_DIFFERENCE, VALUES, NOTED, "time since the line before it (perf script --deltatime): added up")      \
    TALLY(TALLY_SUM_OF_WAITS, SAMPLES, NOTED,                                                                        \
          "sum of the times in which a thread waited in one place (perf record --off-cpu): put where the thread "    \
          "ends, as it is not known when they were")                                                                 \
    TALLY(TALLY_LOST_BY_PERF, SAMPLES, NOTED, "sample that perf itself lost while recording")                        \
    TALLY(TALLY_LATE, RECORDS, NOTED, "record that came long after later ones: used late")                           \
    TALLY(TALLY_CPU, VALUES, NOTED, "processor number: profiles have no place for it")                               \
    TALLY(TALLY_THREAD_TOTAL, VALUES, NOTED,                                                                         \
          "total of an event in a thread (READ record): profiles have no place for it")                              \
    TALLY(TALLY_BAD_CHAIN, SAMPLES, NOTED, "sample whose outer frames are garbage: left out")                        \
    TALLY(TALLY_BRANCHES, VALUES, LOST, "branch stack")                                                              \
    TALLY(TALLY_ADDRESS, VALUES, NOTED, "address or weight of data: profiles have no place for it")                  \
    TALLY(TALLY_CUT_LIBRARY, VALUES, NOTED, "library of a frame line that is cut off: left out")                     \
    TALLY(TALLY_DATA_NAME, VALUES, NOTED, "symbol or library of an address of data: left out")                       \
    TALLY(TALLY_CUT_STACK, SAMPLES, NOTED, "sample whose copied stack could not be followed to its outermost frame") \
    TALLY(TALLY_DEEP_STACK, SAMPLES, NOTED,                                                                          \
          "sample whose stack is deeper than kernel.perf_event_max_stack: outer callers are missing")                \
    TALLY(TALLY_DEEP_INLINING, SAMPLES, NOTED, "sample with more than 255 frames inlined into each other")           \
    TALLY(TALLY_NO_USER_STACK, SAMPLES, NOTED, "sample whose deferred user stack never came")                        \
    TALLY(TALLY_UNUSED_USER_STACK, RECORDS, NOTED, "deferred user stack that no sample waits for")                   \
    TALLY(TALLY_UNUSED_LINES, RECORDS, LOST, "deferred user stack that no sample waits for")                         \
    TALLY(TALLY_SKIPPED_FIELD, VALUES, NOTED,                                                                        \
          "flags, time of day or virtual processor: profiles have no place for them")                                \
    TALLY(TALLY_NO_PERIOD, SAMPLES, NOTED, "sample that weighs one: the trace tells no periods")                     \
    TALLY(TALLY_BRANCH_TARGET, VALUES, LOST, "target of a branch")                                                   \
    TALLY(TALLY_REGISTERS, VALUES, LOST, "registers")                                                                \
    TALLY(TALLY_INSTRUCTION, VALUES, LOST, "instruction")                                                            \
    TALLY(TALLY_CYCLES, VALUES, LOST, "instructions per cycle")                                                      \
    TALLY(TALLY_FIELD, VALUES, LOST, "field after the event")                                                        \
    TALLY(TALLY_JIT_REFUSED, VALUES, NOTED,                                                                          \
          "perf map or jitdump that was not read, as others own it or it is not a regular file")                     \
    TALLY(TALLY_JIT_DAMAGED, VALUES, NOTED, "damaged part of a perf map or jitdump")                                 \
    TALLY(TALLY_UNKNOWN_FORMAT, VALUES, LOST, "payload of a tracepoint of an unknown format")                        \
    TALLY(TALLY_LOST_FIELD, VALUES, LOST,                                                                            \
          "field of a tracepoint beyond the first 128, named as another, or outside of the payload")                 \
    TALLY(TALLY_DEEP_FRAME, VALUES, LOST, "frame deeper than 65535")

#define TALLY_NAME(tally, unit, fate, cause) tally,
enum perf_tally { PERF_TALLIES(TALLY_NAME) TALLY_COUNT };

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

/* Counts the files of generated code that were refused or damaged, by jit_note. */
void perf_tally_generated(struct perf_tallies *tallies, const uint64_t notes[JIT_NOTE_COUNT]);

/* Adds the counts of another part. */
void perf_tallies_add(struct perf_tallies *tallies, const struct perf_tallies *more);

void perf_tallies_enter(const struct perf_tallies *tallies, struct ledger *ledger);
