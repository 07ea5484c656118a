#include "perf_finish.h"

#include "libconvert/base/memory.h"
#include "libconvert/profile/cut_stacks.h"
#include "libconvert/profile/launchers.h"
#include "libconvert/profile/runtimes.h"
#include "perf_callers.h"
#include "perf_deferred.h"
#include "perf_occurrences.h"
#include "perf_off_cpu.h"
#include "perf_programs.h"

static struct text cut_stacks_advice(const struct perf_recording *recording) {
    struct profile *profile = recording->profile;
    const struct runtime *runtime = runtime_of_profile(profile);
    bool has_copies = recording->has_copies, is_own = recording->header.is_own;
    if (recording->has_32_bit_copies) return TEXT(CUT_STACKS_CAUSE "record 32-bit programs with --call-graph fp");
    const char *advice = has_copies ? CUT_STACKS_WITH_COPIES : CUT_STACKS_WITHOUT_COPIES;
    if (has_copies && is_own) advice = CUT_STACKS_CAUSE "record with --call-graph fp";
    if (runtime && runtime->keeps_stacks)
        return profile_text_format(profile, "%s, and run %s", advice, runtime->keeps_stacks);
    if (!has_copies) return TEXT(CUT_STACKS_WITHOUT_COPIES);
    if (is_own)
        return TEXT(CUT_STACKS_CAUSE
                    "record Go, and what else keeps frame pointers, with --call-graph fp, other programs "
                    "with a --stack-size of up to 65528, or name their libraries with --debug-dir");
    return TEXT(CUT_STACKS_WITH_COPIES ", or name its libraries with --debug-dir");
}

/* Enters the samples whose stacks end early in the ledger, if they are many: those with one function of the program and
 * no caller, and those with a truncated stack. Frame pointers are missing then, or copies of stacks are too small. Call
 * this when the samples, which were recorded with stacks, have their weights. */
static void note_cut_stacks(const struct perf_recording *recording) {
    struct profile *profile = recording->profile;
    struct cut_stacks sum = cut_stacks_count(profile, recording->has_copies);
    if (!cut_stacks_are_many(&sum)) return;
    ledger_enter(&profile->ledger, LEDGER_SAMPLES, LEDGER_NOTED, cut_stacks_advice(recording), sum.cut_count, NULL);
}

static int64_t interval_ns(const struct perf_recording *recording, const struct perf_event *event) {
    if (!perf_event_period_fits(event)) return 0;
    bool is_even = event->has_period && event->period_min == event->period_max;
    if (event->unit == PERF_EVENT_CLOCK_NS && is_even && event->period_min > 1 && event->period_min <= INT32_MAX)
        return (int64_t)event->period_min;
    double frequency_hz = event->frequency_hz > 0 ? event->frequency_hz : recording->header.frequency_hz;
    return frequency_hz > 0 ? (int64_t)(1e9 / frequency_hz) : 0;
}

static void set_weights(struct perf_recording *recording, const struct perf_event *event,
                        enum gecko_convert_weight choice) {
    struct profile_meta *meta = &recording->profile->meta;
    if (!event->has_period) return;
    if (perf_events_overlap(&recording->events))
        profile_add_extra(recording->profile, TEXT("perf"), TEXT("processor time"),
                          TEXT("unknown: several events measure the same"));
    else if (!perf_event_period_fits(event))
        profile_add_extra(recording->profile, TEXT("perf"), TEXT("processor time"),
                          TEXT("unknown: samples are much further apart than their period"));
    else if (event->unit == PERF_EVENT_CLOCK_NS)
        meta->cpu_delta_unit = CPU_DELTA_NS;
    else if (event->unit == PERF_EVENT_CYCLES)
        meta->cpu_delta_unit = CPU_DELTA_CYCLES;
    if (choice != GECKO_CONVERT_WEIGHT_PERIOD) return;
    bool is_time = event->unit == PERF_EVENT_CLOCK_NS;
    meta->weight_type = is_time ? WEIGHT_TRACING_MS : WEIGHT_SAMPLES;
    if (!is_time) meta->weight_unit = profile_text(recording->profile, perf_event_base_name(event->name));
}

static void describe_weights(struct profile *profile, const struct perf_event *event) {
    if (profile->meta.weight_type == WEIGHT_ONE) return;
    struct text unit = profile->meta.weight_unit;
    profile_add_extra(profile, TEXT(WEIGHT_SECTION), TEXT(WEIGHT_LABEL),
                      event->unit == PERF_EVENT_CLOCK_NS
                          ? TEXT(WEIGHT_PERIOD_IN "milliseconds of the clock")
                          : profile_text_format(profile, WEIGHT_PERIOD_IN "%.*s", TEXT_ARGS(unit)));
}

/* LOST and LOST_SAMPLES records count the same losses. */
static void count_losses(struct perf_recording *recording) {
    uint64_t count = recording->lost_counts[true] ? recording->lost_counts[true] : recording->lost_counts[false];
    perf_tally(&recording->tallies, TALLY_LOST_BY_PERF, count, recording->first_lost);
}

/* Counts what cannot be used without a stack. */
static void count_bare(struct perf_recording *recording) {
    COLUMN_EACH(const struct perf_event, event, &recording->events.rows) {
        bool is_lost = event->treatment != EVENT_DROPPED && !perf_event_marks(event, true);
        if (is_lost)
            perf_tally(&recording->tallies, perf_tally_of_no_stack(event->bare.first), event->bare.count,
                       event->bare.first);
    }
}

/* Replaces the stacks of the recording's code, which samples have so far, by the profile's. */
static void finish_stacks(struct perf_recording *recording) {
    stack_id *stacks = recording->code.finish(recording->code.context);
    struct column *all = &recording->tasks.series;
    for (size_t i = 0; stacks && !failure_is_set(recording->profile->failure) && i < all->count; i++) {
        struct samples *samples = &((struct perf_series *)column_at(all, i))->samples;
        for (uint32_t row = 0; row < samples_count(samples); row++) {
            stack_id *stack = &samples_at(samples, row)->stack;
            if (!stack_is_none(*stack)) *stack = stacks[stack->index];
        }
    }
    memory_free(stacks);
}

static void set_meta(struct perf_recording *recording, const struct perf_event *event,
                     enum gecko_convert_weight weight) {
    struct profile *profile = recording->profile;
    bool has_waits = profile->meta.has_waits;
    if (!has_waits) {
        profile->meta.interval_ns = interval_ns(recording, event);
        set_weights(recording, event, weight);
    }
    if (event->name.bytes_count)
        profile_add_extra(profile, TEXT("perf"), TEXT("sampled event"),
                          perf_events_names(&recording->events, EVENT_SAMPLES, profile));
    if (!has_waits) describe_weights(profile, event);
}

static void describe_tracks(const struct perf_recording *recording) {
    struct text events = perf_events_names(&recording->events, EVENT_TRACKS, recording->profile);
    if (!events.bytes_count) return;
    profile_add_extra(recording->profile, TEXT("perf"), TEXT("tracks"), events);
    profile_add_extra(recording->profile, TEXT("perf"), TEXT("weight in a track"),
                      TEXT("its period: how often the event happened since the sample before"));
}

/* A shell may run a script to its end, or execute another program in its place. Only records of tasks tell its own
 * programs from those that it starts. */
static struct text product_of(struct perf_recording *recording) {
    struct text started = recording->profile->meta.product, script = recording->header.script;
    struct text last = perf_programs_last(&recording->tasks, started);
    bool is_launcher = program_is_launcher(last);
    bool stays_shell = !recording->tasks.has_records || text_equal(last, started) || is_launcher;
    if (script.bytes_count && stays_shell) return script;
    if (last.bytes_count && !is_launcher) return last;
    struct text launched = program_launched(recording->profile, started, recording->header.arguments);
    return launched.bytes_count ? launched : perf_programs_busiest(&recording->tasks);
}

void perf_finish(struct perf_recording *recording, const struct reader_options *options) {
    struct profile *profile = recording->profile;
    perf_tasks_keep_names(&recording->tasks);
    bool has_waits = perf_off_cpu_begin(recording, options->off_cpu);
    perf_events_treat(&recording->events);
    uint32_t main = recording->events.main;
    const struct perf_event *event = main == ID_NONE ? NULL : perf_events_at(&recording->events, main);
    count_losses(recording);
    count_bare(recording);
    perf_deferred_count(&recording->tasks, &recording->tallies);
    if (event && !has_waits && options->weight == GECKO_CONVERT_WEIGHT_PERIOD && !event->has_period)
        perf_tally(&recording->tallies, TALLY_NO_PERIOD, event->sample_count, event->first);
    finish_stacks(recording);
    if (failure_is_set(profile->failure)) return;
    perf_waits_take_stacks(&recording->waits);
    perf_tasks_end_replacing(&recording->tasks);
    perf_waits_end_threads(&recording->waits, &recording->tasks);
    perf_occurrences_mark(recording);
    if (!has_waits) perf_waits_forget_tallies(&recording->waits);
    perf_tallies_enter(&recording->tallies, &profile->ledger);
    if (recording->filter) filter_enter(recording->filter, &profile->ledger);
    perf_activity_finish(&recording->activity, &recording->tasks, recording->last_time_ns);
    perf_waits_finish(&recording->waits, &recording->tasks, recording->last_time_ns);
    perf_events_enter(&recording->events, profile);
    if (recording->events.off_cpu_time == ID_NONE) perf_off_cpu_place_sums(recording);
    perf_tasks_finish(&recording->tasks, &recording->events);
    if (has_waits) {
        profile->meta.interval_ns = event ? interval_ns(recording, event) : 0;
        has_waits = perf_off_cpu_add(recording, options->off_cpu);
    }
    if (recording->filter) filter_cut_recording(recording->filter, profile, recording->last_time_ns);
    if (filter_leaves_tasks(recording->filter)) perf_tasks_forget_lives(&recording->tasks);
    if (failure_is_set(profile->failure)) return;
    perf_programs_name_processes(&recording->tasks);
    if (recording->has_libraries) perf_callers_drop(profile);
    profile->meta.product = product_of(recording);
    if (!profile->meta.imported_from.bytes_count) profile->meta.imported_from = TEXT("Linux perf");
    profile->meta.has_file_offsets = true;
    profile->meta.has_stacks = recording->has_stacks;
    profile->meta.has_times = recording->has_times;
    if (recording->has_named_clock) profile->meta.tick_relation = (struct tick_relation){.is_known = false};
    if (event) set_meta(recording, event, options->weight);
    describe_tracks(recording);
    if (recording->has_stacks) note_cut_stacks(recording);
    if (has_waits) profile_add_extra(profile, TEXT(WEIGHT_SECTION), TEXT(WEIGHT_LABEL), TEXT(WEIGHT_IS_TIME));
}
