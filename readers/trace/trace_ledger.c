#include "trace_ledger.h"

#include <inttypes.h>

#include "recorder/trace_format.h"

#define LOSS(name, unit, fate, cause) [name] = {LEDGER_##unit, LEDGER_##fate, TEXT(cause)},
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
    TRACE_LOSSES(LOSS)};
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
