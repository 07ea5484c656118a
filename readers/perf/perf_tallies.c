#include "perf_tallies.h"

static const struct ledger_cause causes[TALLY_COUNT] = {
    [TALLY_BLANK] = {LEDGER_LINES, LEDGER_KEPT, TEXT("blank line")},
    [TALLY_HEADER] = {LEDGER_LINES, LEDGER_KEPT, TEXT("header comment")},
    [TALLY_EVENT] = {LEDGER_LINES, LEDGER_KEPT, TEXT("event line")},
    [TALLY_FRAME] = {LEDGER_LINES, LEDGER_KEPT, TEXT("frame line")},
    [TALLY_SOURCE] = {LEDGER_LINES, LEDGER_KEPT, TEXT("source line of a frame")},
    [TALLY_RECORD] = {LEDGER_LINES, LEDGER_KEPT, TEXT("record")},
    [TALLY_MESSAGE] = {LEDGER_LINES, LEDGER_KEPT, TEXT("message of perf")},
    [TALLY_BRANCH_STACK] = {LEDGER_LINES, LEDGER_LOST, TEXT("branch stack")},
    [TALLY_FIELD_LINE] = {LEDGER_LINES, LEDGER_LOST, TEXT("registers, instructions, source code or other fields")},
    [TALLY_TRACE_ERROR] = {LEDGER_LINES, LEDGER_LOST, TEXT("instruction trace error: samples are missing there")},
    [TALLY_STRAY_FRAME] = {LEDGER_LINES, LEDGER_LOST, TEXT("frame line without an event line before it")},
    [TALLY_NO_FRAME] = {LEDGER_LINES, LEDGER_LOST, TEXT("line in a stack that is no frame")},
    [TALLY_MALFORMED] = {LEDGER_LINES, LEDGER_LOST, TEXT("line that is no event, frame or record")},
    [TALLY_CUT_LINE] = {LEDGER_VALUES, LEDGER_LOST, TEXT("end of a line longer than 4 MiB")},
    [TALLY_DAMAGED_RECORD] = {LEDGER_RECORDS, LEDGER_LOST, TEXT("damaged record")},
    [TALLY_SKIPPED_BYTES] = {LEDGER_VALUES, LEDGER_LOST,
                             TEXT("byte between a damaged record and the next whole round")},
    [TALLY_CUT_OFF] = {LEDGER_RECORDS, LEDGER_LOST, TEXT("record after which the recording is cut off")},
    [TALLY_BAD_SAMPLE] = {LEDGER_SAMPLES, LEDGER_LOST, TEXT("damaged sample")},
    [TALLY_UNKNOWN_EVENT] = {LEDGER_SAMPLES, LEDGER_LOST,
                             TEXT("sample of an event that the recording does not describe")},
    [TALLY_LINE_WITHOUT_STACK] = {LEDGER_SAMPLES, LEDGER_LOST, TEXT("event line without a stack")},
    [TALLY_NO_STACK] = {LEDGER_SAMPLES, LEDGER_LOST, TEXT("sample without a stack")},
    [TALLY_BAD_ATTR] = {LEDGER_RECORDS, LEDGER_LOST, TEXT("damaged description of an event")},
    [TALLY_BAD_FEATURE] = {LEDGER_RECORDS, LEDGER_LOST, TEXT("damaged section of the header")},
    [TALLY_BAD_COMPRESSION] = {LEDGER_RECORDS, LEDGER_LOST, TEXT("damaged compressed records")},
    [TALLY_JUMP] = {LEDGER_SAMPLES, LEDGER_NOTED, TEXT("sample earlier than the one before it in its thread: sorted")},
    [TALLY_SWITCH_JUMP] = {LEDGER_RECORDS, LEDGER_NOTED,
                           TEXT("switch earlier than the one before it in its thread: no time of waiting")},
    [TALLY_BAD_SWITCH] = {LEDGER_RECORDS, LEDGER_NOTED,
                          TEXT("sched_switch whose payload is damaged or of another thread: only its stack is used")},
    [TALLY_NO_TIME] = {LEDGER_SAMPLES, LEDGER_NOTED, TEXT("sample without a time: made up from the order")},
    [TALLY_SUM_OF_WAITS] =
        {LEDGER_SAMPLES, LEDGER_NOTED,
         TEXT("sum of the times in which a thread waited in one place (perf record --off-cpu): put where the "
              "thread ends, as it is not known when they were")},
    [TALLY_LOST_BY_PERF] = {LEDGER_SAMPLES, LEDGER_NOTED, TEXT("sample that perf itself lost while recording")},
    [TALLY_LATE] = {LEDGER_RECORDS, LEDGER_NOTED, TEXT("record that came long after later ones: used late")},
    [TALLY_CPU] = {LEDGER_VALUES, LEDGER_NOTED, TEXT("processor number: profiles have no place for it")},
    [TALLY_THREAD_TOTAL] = {LEDGER_VALUES, LEDGER_NOTED,
                            TEXT("total of an event in a thread (READ record): profiles have no place for it")},
    [TALLY_BAD_CHAIN] = {LEDGER_SAMPLES, LEDGER_NOTED, TEXT("sample whose outer frames are garbage: left out")},
    [TALLY_BRANCHES] = {LEDGER_VALUES, LEDGER_LOST, TEXT("branch stack")},
    [TALLY_DATA_NAME] = {LEDGER_VALUES, LEDGER_NOTED, TEXT("symbol or library of an address of data: left out")},
    [TALLY_ADDRESS] = {LEDGER_VALUES, LEDGER_NOTED, TEXT("address or weight of data: profiles have no place for it")},
    [TALLY_DEEP_STACK] =
        {LEDGER_SAMPLES, LEDGER_NOTED,
         TEXT("sample whose stack is deeper than kernel.perf_event_max_stack: outer callers are missing")},
    [TALLY_CUT_STACK] = {LEDGER_SAMPLES, LEDGER_NOTED,
                         TEXT("sample whose copied stack could not be followed to its outermost frame")},
    [TALLY_NO_USER_STACK] = {LEDGER_SAMPLES, LEDGER_NOTED, TEXT("sample whose deferred user stack never came")},
    [TALLY_UNUSED_USER_STACK] = {LEDGER_RECORDS, LEDGER_NOTED, TEXT("deferred user stack that no sample waits for")},
    [TALLY_UNUSED_LINES] = {LEDGER_RECORDS, LEDGER_LOST, TEXT("deferred user stack that no sample waits for")},
    [TALLY_SKIPPED_FIELD] = {LEDGER_VALUES, LEDGER_NOTED,
                             TEXT("flags, time of day or virtual processor: profiles have no place for them")},
    [TALLY_NO_PERIOD] = {LEDGER_SAMPLES, LEDGER_NOTED, TEXT("sample that weighs one: the trace tells no periods")},
    [TALLY_BRANCH_TARGET] = {LEDGER_VALUES, LEDGER_LOST, TEXT("target of a branch")},
    [TALLY_REGISTERS] = {LEDGER_VALUES, LEDGER_LOST, TEXT("registers")},
    [TALLY_INSTRUCTION] = {LEDGER_VALUES, LEDGER_LOST, TEXT("instruction")},
    [TALLY_CYCLES] = {LEDGER_VALUES, LEDGER_LOST, TEXT("instructions per cycle")},
    [TALLY_FIELD] = {LEDGER_VALUES, LEDGER_LOST, TEXT("field behind the event")},
    [TALLY_JIT_REFUSED] = {LEDGER_VALUES, LEDGER_NOTED,
                           TEXT("perf map or jitdump that was not read, as others own it or it is not a regular file")},
    [TALLY_JIT_DAMAGED] = {LEDGER_VALUES, LEDGER_NOTED, TEXT("damaged part of a perf map or jitdump")},
    [TALLY_UNKNOWN_FORMAT] = {LEDGER_VALUES, LEDGER_LOST, TEXT("payload of a tracepoint of an unknown format")},
    [TALLY_MANY_FIELDS] = {LEDGER_VALUES, LEDGER_LOST,
                           TEXT("field of a tracepoint beyond the first 128, or named as another")},
    [TALLY_DEEP_FRAME] = {LEDGER_VALUES, LEDGER_LOST, TEXT("frame deeper than 65535")},
};

void perf_tallies_add(struct perf_tallies *tallies, const struct perf_tallies *more) {
    for (size_t i = 0; i < TALLY_COUNT; i++)
        ledger_tally_add(&tallies->rows[i], more->rows[i].count, more->rows[i].first);
}

void perf_tallies_enter(const struct perf_tallies *tallies, struct ledger *ledger) {
    ledger_enter_tallies(ledger, causes, tallies->rows, TALLY_COUNT);
}
