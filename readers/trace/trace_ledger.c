#include "trace_ledger.h"

#include "recorder/trace_format.h"

static const struct trace_cause_traits {
    struct text cause;
    enum gecko_convert_unit unit;
    enum gecko_convert_fate fate;
} CAUSES[TRACE_CAUSE_COUNT] = {
    [TRACE_PROCESS] = {TEXT("process of the next entries"), LEDGER_RECORDS, LEDGER_KEPT},
    [TRACE_THREAD] = {TEXT("thread of the next entries"), LEDGER_RECORDS, LEDGER_KEPT},
    [TRACE_THREAD_END] = {TEXT("end of a thread"), LEDGER_RECORDS, LEDGER_KEPT},
    [TRACE_PROCESS_END] = {TEXT("end of a process"), LEDGER_RECORDS, LEDGER_KEPT},
    [TRACE_CLOCK] = {TEXT("calibration of the clock"), LEDGER_RECORDS, LEDGER_KEPT},
    [TRACE_INSTANT] = {TEXT("instant marker"), LEDGER_RECORDS, LEDGER_KEPT},
    [TRACE_INTERVAL] = {TEXT("interval marker"), LEDGER_RECORDS, LEDGER_KEPT},
    [TRACE_INTERVAL_START] = {TEXT("start of an interval"), LEDGER_RECORDS, LEDGER_KEPT},
    [TRACE_INTERVAL_END] = {TEXT("end of an interval"), LEDGER_RECORDS, LEDGER_KEPT},
    [TRACE_MARKER] = {TEXT("marker with options"), LEDGER_RECORDS, LEDGER_KEPT},
    [TRACE_COUNT] = {TEXT("change of a counter"), LEDGER_RECORDS, LEDGER_KEPT},
    [TRACE_COUNT_SET] = {TEXT("value of a counter"), LEDGER_RECORDS, LEDGER_KEPT},
    [TRACE_COUNT_SAMPLE] = {TEXT("sample of a counter"), LEDGER_RECORDS, LEDGER_KEPT},
    [TRACE_SAMPLE] = {TEXT("sample"), LEDGER_SAMPLES, LEDGER_KEPT},
    [TRACE_PAUSE] = {TEXT("start of a pause"), LEDGER_RECORDS, LEDGER_KEPT},
    [TRACE_RESUME] = {TEXT("end of a pause"), LEDGER_RECORDS, LEDGER_KEPT},
    [TRACE_MESSAGE] = {TEXT("message of the recorder"), LEDGER_RECORDS, LEDGER_KEPT},
    [TRACE_SAMPLED_THREAD] = {TEXT("thread of samples that follow"), LEDGER_RECORDS, LEDGER_KEPT},
    [TRACE_THREAD_SAMPLE] = {TEXT("sample of another thread"), LEDGER_SAMPLES, LEDGER_KEPT},
    [TRACE_THREAD_SAME] = {TEXT("sample of another thread, same as the previous one"), LEDGER_SAMPLES, LEDGER_KEPT},
    [TRACE_SAMPLED_THREAD_END] = {TEXT("end of a sampled thread"), LEDGER_RECORDS, LEDGER_KEPT},
    [TRACE_MAPPINGS] = {TEXT("mappings of the next entries"), LEDGER_RECORDS, LEDGER_KEPT},
    [TRACE_TICK] = {TEXT("round of the sampler"), LEDGER_RECORDS, LEDGER_KEPT},
    [TRACE_ALLOCATION] = {TEXT("allocation"), LEDGER_RECORDS, LEDGER_KEPT},
    [TRACE_KEPT_DEFINITION] = {TEXT("definition"), LEDGER_RECORDS, LEDGER_KEPT},

    [TRACE_LOST_CHUNK] = {TEXT("chunk with a damaged header"), LEDGER_RECORDS, LEDGER_LOST},
    [TRACE_LOST_HASH] = {TEXT("block of a chunk whose hash is wrong"), LEDGER_RECORDS, LEDGER_LOST},
    [TRACE_LOST_DAMAGED] = {TEXT("damaged block, or one after it in its chunk"), LEDGER_RECORDS, LEDGER_LOST},
    [TRACE_LOST_CUT] = {TEXT("block after the end of a trace that is cut off"), LEDGER_RECORDS, LEDGER_LOST},
    [TRACE_LOST_KIND] = {TEXT("entry of an unknown kind"), LEDGER_RECORDS, LEDGER_LOST},
    [TRACE_LOST_MARKER_TIME] = {TEXT("marker whose start or end is impossible"), LEDGER_RECORDS, LEDGER_LOST},
    [TRACE_LOST_MARKER] = {TEXT("marker whose definition is missing"), LEDGER_RECORDS, LEDGER_LOST},
    [TRACE_LOST_COUNTER] = {TEXT("value of a counter whose definition is missing"), LEDGER_RECORDS, LEDGER_LOST},
    [TRACE_LOST_THREADLESS] = {TEXT("entry without a process or thread named before it"), LEDGER_RECORDS, LEDGER_LOST},
    [TRACE_LOST_THREADLESS_SAMPLE] = {TEXT("sample without a thread named before it"), LEDGER_SAMPLES, LEDGER_LOST},
    [TRACE_LOST_BEYOND] = {TEXT("entry of a thread or process beyond the first 524288"), LEDGER_RECORDS, LEDGER_LOST},
    [TRACE_LOST_BEYOND_SAMPLE] = {TEXT("sample of a thread beyond the first 524288"), LEDGER_SAMPLES, LEDGER_LOST},
    [TRACE_LOST_UNNAMED] = {TEXT("end of a sampled thread that was not named"), LEDGER_RECORDS, LEDGER_LOST},
    [TRACE_LOST_UNNAMED_SAMPLE] = {TEXT("sample of a thread that was not named"), LEDGER_SAMPLES, LEDGER_LOST},
    [TRACE_LOST_SAMPLE_BASE] = {TEXT("sample that continues a missing one"), LEDGER_SAMPLES, LEDGER_LOST},
    [TRACE_LOST_SAMPLE_FLAGS] = {TEXT("sample with unknown flags"), LEDGER_SAMPLES, LEDGER_LOST},
    [TRACE_LOST_DEFINITION_DAMAGED] = {TEXT("damaged definition"), LEDGER_RECORDS, LEDGER_LOST},
    [TRACE_LOST_DEFINITION_KIND] = {TEXT("definition of an unknown kind"), LEDGER_RECORDS, LEDGER_LOST},

    [TRACE_LOST_BY_RECORDER] = {TEXT("event that the recorder had no room for"), LEDGER_RECORDS, LEDGER_LOST},
    [TRACE_LOST_STALE_MARKER] = {TEXT("marker that was aimed at a thread of another recording or process"),
                                 LEDGER_RECORDS, LEDGER_LOST},
    [TRACE_LOST_DEFINITION_BY_RECORDER] = {TEXT("definition that the recorder had no room for"), LEDGER_RECORDS,
                                           LEDGER_LOST},
    [TRACE_LOST_VALUE_BY_RECORDER] = {TEXT("value beyond the fields of its marker's type"), LEDGER_VALUES, LEDGER_LOST},

    [TRACE_LOST_VALUE_TYPE] = {TEXT("value that its field cannot have"), LEDGER_VALUES, LEDGER_LOST},
    [TRACE_LOST_VALUE_TEXT] = {TEXT("value whose text's definition is missing"), LEDGER_VALUES, LEDGER_LOST},
    [TRACE_LOST_PAYLOAD] = {TEXT("payload whose marker type is missing"), LEDGER_VALUES, LEDGER_LOST},
    [TRACE_LOST_STACK] = {TEXT("stack with a frame of an unknown kind"), LEDGER_VALUES, LEDGER_LOST},
    [TRACE_LOST_LABEL] = {TEXT("frame whose label's definition is missing"), LEDGER_VALUES, LEDGER_LOST},
    [TRACE_LOST_FIELD] = {TEXT("field, column or graph of a marker type that cannot be shown"), LEDGER_VALUES,
                          LEDGER_LOST},

    [TRACE_NOTE_RECYCLED] = {TEXT("chunk that was recycled under the limit: its older events are gone"), LEDGER_RECORDS,
                             LEDGER_NOTED},
    [TRACE_NOTE_STOPPED] = {TEXT("recording that stopped by itself: the file could not grow"), LEDGER_RECORDS,
                            LEDGER_NOTED},
    [TRACE_NOTE_KILLED] = {TEXT("process that was killed, or ended by _exit, while it recorded"), LEDGER_RECORDS,
                           LEDGER_NOTED},
    [TRACE_NOTE_STILL_RECORDING] = {TEXT("process that still records: later events are missing"), LEDGER_RECORDS,
                                    LEDGER_NOTED},
    [TRACE_NOTE_CUT] = {TEXT("trace that is cut off within a chunk"), LEDGER_RECORDS, LEDGER_NOTED},
    [TRACE_NOTE_CUT_TEXT] = {TEXT("text that the recorder cut to its limit"), LEDGER_VALUES, LEDGER_NOTED},
    [TRACE_NOTE_CATEGORY] = {TEXT("definition whose category is missing, now in the category Other"), LEDGER_VALUES,
                             LEDGER_NOTED},
    [TRACE_NOTE_REVERSED] = {TEXT("interval that ends before it starts, now without length"), LEDGER_RECORDS,
                             LEDGER_NOTED},
    [TRACE_NOTE_BLOCK_COUNT] = {TEXT("chunk with a wrong number of blocks"), LEDGER_RECORDS, LEDGER_NOTED},
    [TRACE_NOTE_DEFINITION_UNFINISHED] = {TEXT("definition that was never finished"), LEDGER_RECORDS, LEDGER_NOTED},
    [TRACE_NOTE_TRUNCATED] = {TEXT("sample whose outermost frames are missing"), LEDGER_SAMPLES, LEDGER_NOTED},
    [TRACE_NOTE_UNREACHED] = {TEXT("sample of a thread that could not be stopped: it has no stack"), LEDGER_SAMPLES,
                              LEDGER_NOTED},
    [TRACE_NOTE_LIBRARY] = {TEXT("mapping whose library's definition is missing"), LEDGER_RECORDS, LEDGER_NOTED},
    [TRACE_NOTE_JIT_FILE] = {TEXT("file about generated code that cannot be used"), LEDGER_RECORDS, LEDGER_NOTED},
    [TRACE_NOTE_JIT_OWNER] = {TEXT("file about generated code that belongs to another user, not read"), LEDGER_RECORDS,
                              LEDGER_NOTED},
    [TRACE_NOTE_JIT_KIND] = {TEXT("file about generated code that is not a regular file, not read"), LEDGER_RECORDS,
                             LEDGER_NOTED},
    [TRACE_NOTE_JIT_SIZE] = {TEXT("file about generated code of more than 1 GiB, not read"), LEDGER_RECORDS,
                             LEDGER_NOTED},
    [TRACE_NOTE_JIT_RECORD] = {TEXT("damaged part of a file about generated code"), LEDGER_RECORDS, LEDGER_NOTED},
};
_Static_assert((int)TRACE_ALLOCATION <= (int)TRACE_KEPT_LAST, "every known kind has its row");

void trace_ledger_enter(const struct trace_ledger *ledger, struct ledger *out) {
    for (size_t i = 0; i < TRACE_CAUSE_COUNT; i++) {
        const struct trace_tally *tally = &ledger->tallies[i];
        const struct trace_cause_traits *traits = &CAUSES[i];
        struct position first = {.offset = tally->first_offset};
        if (traits->fate != LEDGER_NOTED) ledger_read(out, traits->unit, tally->count);
        ledger_enter(out, traits->unit, traits->fate, traits->cause, tally->count, tally->has_first ? &first : NULL);
    }
}
