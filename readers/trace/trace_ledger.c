#include "trace_ledger.h"

#include <inttypes.h>

#include "recorder/trace_format.h"

static const struct ledger_cause CAUSES[TRACE_CAUSE_COUNT] = {
    [TRACE_PROCESS] = {LEDGER_RECORDS, LEDGER_KEPT, TEXT("process of the next entries")},
    [TRACE_THREAD] = {LEDGER_RECORDS, LEDGER_KEPT, TEXT("thread of the next entries")},
    [TRACE_THREAD_END] = {LEDGER_RECORDS, LEDGER_KEPT, TEXT("end of a thread")},
    [TRACE_PROCESS_END] = {LEDGER_RECORDS, LEDGER_KEPT, TEXT("end of a process")},
    [TRACE_CLOCK] = {LEDGER_RECORDS, LEDGER_KEPT, TEXT("calibration of the clock")},
    [TRACE_INSTANT] = {LEDGER_RECORDS, LEDGER_KEPT, TEXT("instant marker")},
    [TRACE_INTERVAL] = {LEDGER_RECORDS, LEDGER_KEPT, TEXT("interval marker")},
    [TRACE_INTERVAL_START] = {LEDGER_RECORDS, LEDGER_KEPT, TEXT("start of an interval")},
    [TRACE_INTERVAL_END] = {LEDGER_RECORDS, LEDGER_KEPT, TEXT("end of an interval")},
    [TRACE_MARKER] = {LEDGER_RECORDS, LEDGER_KEPT, TEXT("marker with options")},
    [TRACE_COUNT] = {LEDGER_RECORDS, LEDGER_KEPT, TEXT("change of a counter")},
    [TRACE_COUNT_SET] = {LEDGER_RECORDS, LEDGER_KEPT, TEXT("value of a counter")},
    [TRACE_COUNT_SAMPLE] = {LEDGER_RECORDS, LEDGER_KEPT, TEXT("sample of a counter")},
    [TRACE_SAMPLE] = {LEDGER_SAMPLES, LEDGER_KEPT, TEXT("sample")},
    [TRACE_PAUSE] = {LEDGER_RECORDS, LEDGER_KEPT, TEXT("start of a pause")},
    [TRACE_RESUME] = {LEDGER_RECORDS, LEDGER_KEPT, TEXT("end of a pause")},
    [TRACE_MESSAGE] = {LEDGER_RECORDS, LEDGER_KEPT, TEXT("message of the recorder")},
    [TRACE_SAMPLED_THREAD] = {LEDGER_RECORDS, LEDGER_KEPT, TEXT("thread of samples that follow")},
    [TRACE_THREAD_SAMPLE] = {LEDGER_SAMPLES, LEDGER_KEPT, TEXT("sample of another thread")},
    [TRACE_THREAD_SAME] = {LEDGER_SAMPLES, LEDGER_KEPT, TEXT("sample of another thread, same as the previous one")},
    [TRACE_SAMPLED_THREAD_END] = {LEDGER_RECORDS, LEDGER_KEPT, TEXT("end of a sampled thread")},
    [TRACE_MAPPINGS] = {LEDGER_RECORDS, LEDGER_KEPT, TEXT("mappings of the next entries")},
    [TRACE_TICK] = {LEDGER_RECORDS, LEDGER_KEPT, TEXT("round of the sampler")},
    [TRACE_ALLOCATION] = {LEDGER_RECORDS, LEDGER_KEPT, TEXT("allocation")},
    [TRACE_THREAD_REST] = {LEDGER_RECORDS, LEDGER_KEPT, TEXT("CPU time between the samples of a thread")},
    [TRACE_COUNT_START] = {LEDGER_RECORDS, LEDGER_KEPT, TEXT("level of a counter before the recording")},
    [TRACE_COUNT_LEVEL] = {LEDGER_RECORDS, LEDGER_KEPT, TEXT("level of a counter")},
    [TRACE_KEPT_DEFINITION] = {LEDGER_RECORDS, LEDGER_KEPT, TEXT("definition")},

    [TRACE_LOST_CHUNK] = {LEDGER_RECORDS, LEDGER_LOST, TEXT("chunk with a damaged header")},
    [TRACE_LOST_HASH] = {LEDGER_RECORDS, LEDGER_LOST, TEXT("block of a chunk whose hash is wrong")},
    [TRACE_LOST_DAMAGED] = {LEDGER_RECORDS, LEDGER_LOST, TEXT("damaged block, or one after it in its chunk")},
    [TRACE_LOST_CUT] = {LEDGER_RECORDS, LEDGER_LOST, TEXT("block after the end of a trace that is cut off")},
    [TRACE_LOST_KIND] = {LEDGER_RECORDS, LEDGER_LOST, TEXT("entry of an unknown kind")},
    [TRACE_LOST_MARKER_TIME] = {LEDGER_RECORDS, LEDGER_LOST, TEXT("marker whose start or end is impossible")},
    [TRACE_LOST_MARKER] = {LEDGER_RECORDS, LEDGER_LOST, TEXT("marker whose definition is missing")},
    [TRACE_LOST_COUNTER] = {LEDGER_RECORDS, LEDGER_LOST, TEXT("value of a counter whose definition is missing")},
    [TRACE_LOST_THREADLESS] = {LEDGER_RECORDS, LEDGER_LOST, TEXT("entry without a process or thread named before it")},
    [TRACE_LOST_THREADLESS_SAMPLE] = {LEDGER_SAMPLES, LEDGER_LOST, TEXT("sample without a thread named before it")},
    [TRACE_LOST_BEYOND] = {LEDGER_RECORDS, LEDGER_LOST, TEXT("entry of a thread or process beyond the first 524288")},
    [TRACE_LOST_BEYOND_SAMPLE] = {LEDGER_SAMPLES, LEDGER_LOST, TEXT("sample of a thread beyond the first 524288")},
    [TRACE_LOST_UNNAMED] = {LEDGER_RECORDS, LEDGER_LOST, TEXT("end of a sampled thread that was not named")},
    [TRACE_LOST_UNNAMED_SAMPLE] = {LEDGER_SAMPLES, LEDGER_LOST, TEXT("sample of a thread that was not named")},
    [TRACE_LOST_SAMPLE_BASE] = {LEDGER_SAMPLES, LEDGER_LOST, TEXT("sample that continues a missing one")},
    [TRACE_LOST_SAMPLE_FLAGS] = {LEDGER_SAMPLES, LEDGER_LOST, TEXT("sample with unknown flags")},
    [TRACE_LOST_DEFINITION_DAMAGED] = {LEDGER_RECORDS, LEDGER_LOST, TEXT("damaged definition")},
    [TRACE_LOST_DEFINITION_KIND] = {LEDGER_RECORDS, LEDGER_LOST, TEXT("definition of an unknown kind")},

    [TRACE_LOST_BY_RECORDER] = {LEDGER_RECORDS, LEDGER_LOST, TEXT("event that the recorder had no room for")},
    [TRACE_LOST_STALE_MARKER] = {LEDGER_RECORDS, LEDGER_LOST,
                                 TEXT("marker that was aimed at a thread of another recording or process")},
    [TRACE_LOST_DEFINITION_BY_RECORDER] = {LEDGER_RECORDS, LEDGER_LOST,
                                           TEXT("definition that the recorder had no room for")},
    [TRACE_LOST_VALUE_BY_RECORDER] = {LEDGER_VALUES, LEDGER_LOST, TEXT("value beyond the fields of its marker's type")},

    [TRACE_LOST_VALUE_TYPE] = {LEDGER_VALUES, LEDGER_LOST, TEXT("value that its field cannot have")},
    [TRACE_LOST_VALUE_TEXT] = {LEDGER_VALUES, LEDGER_LOST, TEXT("value whose text's definition is missing")},
    [TRACE_LOST_PAYLOAD] = {LEDGER_VALUES, LEDGER_LOST, TEXT("payload whose marker type is missing")},
    [TRACE_LOST_STACK] = {LEDGER_VALUES, LEDGER_LOST, TEXT("stack with a frame of an unknown kind")},
    [TRACE_LOST_LABEL] = {LEDGER_VALUES, LEDGER_LOST, TEXT("frame whose label's definition is missing")},
    [TRACE_LOST_FIELD] = {LEDGER_VALUES, LEDGER_LOST,
                          TEXT("field, column or graph of a marker type that cannot be shown")},

    [TRACE_NOTE_RECYCLED] = {LEDGER_RECORDS, LEDGER_NOTED,
                             TEXT("chunk that was recycled under the limit: its older events are gone")},
    [TRACE_NOTE_STOPPED] = {LEDGER_RECORDS, LEDGER_NOTED,
                            TEXT("recording that stopped by itself: the file could not grow")},
    [TRACE_NOTE_KILLED] = {LEDGER_RECORDS, LEDGER_NOTED,
                           TEXT("process that was killed, or ended by _exit, while it recorded")},
    [TRACE_NOTE_STILL_RECORDING] = {LEDGER_RECORDS, LEDGER_NOTED,
                                    TEXT("process that still records: later events are missing")},
    [TRACE_NOTE_CUT] = {LEDGER_RECORDS, LEDGER_NOTED, TEXT("trace that is cut off within a chunk")},
    [TRACE_NOTE_CUT_TEXT] = {LEDGER_VALUES, LEDGER_NOTED, TEXT("text that the recorder cut to its limit")},
    [TRACE_NOTE_CATEGORY] = {LEDGER_VALUES, LEDGER_NOTED,
                             TEXT("definition whose category is missing, now in the category Other")},
    [TRACE_NOTE_REVERSED] = {LEDGER_RECORDS, LEDGER_NOTED,
                             TEXT("interval that ends before it starts, now without length")},
    [TRACE_NOTE_BLOCK_COUNT] = {LEDGER_RECORDS, LEDGER_NOTED, TEXT("chunk with a wrong number of blocks")},
    [TRACE_NOTE_DEFINITION_UNFINISHED] = {LEDGER_RECORDS, LEDGER_NOTED, TEXT("definition that was never finished")},
    [TRACE_NOTE_TRUNCATED] = {LEDGER_SAMPLES, LEDGER_NOTED, TEXT("sample whose outermost frames are missing")},
    [TRACE_NOTE_UNREACHED] = {LEDGER_SAMPLES, LEDGER_NOTED,
                              TEXT("sample of a thread that could not be stopped: it has no stack")},
    [TRACE_NOTE_LIBRARY] = {LEDGER_RECORDS, LEDGER_NOTED, TEXT("mapping whose library's definition is missing")},
    [TRACE_NOTE_JIT_FILE] = {LEDGER_RECORDS, LEDGER_NOTED, TEXT("file about generated code that cannot be used")},
    [TRACE_NOTE_JIT_OWNER] = {LEDGER_RECORDS, LEDGER_NOTED,
                              TEXT("file about generated code that belongs to another user, not read")},
    [TRACE_NOTE_JIT_KIND] = {LEDGER_RECORDS, LEDGER_NOTED,
                             TEXT("file about generated code that is not a regular file, not read")},
    [TRACE_NOTE_JIT_SIZE] = {LEDGER_RECORDS, LEDGER_NOTED,
                             TEXT("file about generated code of more than 1 GiB, not read")},
    [TRACE_NOTE_JIT_RECORD] = {LEDGER_RECORDS, LEDGER_NOTED, TEXT("damaged part of a file about generated code")},
};
_Static_assert((int)TRACE_COUNT_LEVEL <= (int)TRACE_KEPT_LAST, "every known kind has its row");

/* Returns NULL if there are too many. */
static struct trace_misfit *find_misfit(struct trace_ledger *ledger, string_id marker, struct text field) {
    for (uint32_t i = 0; i < ledger->misfit_count; i++) {
        struct trace_misfit *misfit = &ledger->misfits[i];
        if (string_is_same(misfit->marker, marker) && text_equal(misfit->field, field)) return misfit;
    }
    if (ledger->misfit_count == TRACE_MISFIT_COUNT_MAX) return NULL;
    struct trace_misfit *added = &ledger->misfits[ledger->misfit_count++];
    *added = (struct trace_misfit){.marker = marker, .field = field};
    return added;
}

void trace_ledger_defer_misfit(struct trace_ledger *ledger, string_id marker, struct text field) {
    struct trace_misfit *misfit = find_misfit(ledger, marker, field);
    if (!misfit) {
        trace_ledger_defer(ledger, TRACE_LOST_VALUE_TYPE);
        return;
    }
    misfit->count_in_entry++;
    ledger->has_parts = true;
}

static void enter_misfit(const struct trace_misfit *misfit, struct profile *profile) {
    const struct ledger_tally *tally = &misfit->tally;
    if (!tally->count || failure_is_set(profile->failure)) return;
    struct text marker = strings_text(&profile->strings, misfit->marker);
    struct text cause = profile_text_format(profile, "value that field \"%.*s\" of marker \"%.*s\" cannot have",
                                            TEXT_ARGS(misfit->field), TEXT_ARGS(marker));
    ledger_enter_tallies(&profile->ledger, &(struct ledger_cause){LEDGER_VALUES, LEDGER_LOST, cause}, tally, 1);
    profile_log_line(
        profile, &profile->gathering_log, process_none(), TIME_NONE,
        profile_text_format(profile, "lost %" PRIu64 " %s: %.*s, first at byte %" PRIu64, tally->count,
                            ledger_unit_noun(LEDGER_VALUES, tally->count), TEXT_ARGS(cause), tally->first.offset));
}

void trace_ledger_enter(const struct trace_ledger *ledger, struct profile *profile) {
    ledger_enter_tallies(&profile->ledger, CAUSES, ledger->tallies, TRACE_CAUSE_COUNT);
    for (uint32_t i = 0; i < ledger->misfit_count; i++) enter_misfit(&ledger->misfits[i], profile);
}
