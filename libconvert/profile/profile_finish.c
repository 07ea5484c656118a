/* Puts a profile in order when its reader is done. */
#include <inttypes.h>

#include "profile_finish.h"

/* ---- Order. ---- */

static int compare_marker_starts(const void *a, const void *b) { return ORDER_BY(struct marker, start_ns, a, b); }

static int compare_paused_ranges(const void *left, const void *right) {
    const struct paused_range *a = left, *b = right;
    return profile_compare_processes(a, b) ?: ORDER(a->start_ns, b->start_ns);
}

static int compare_overheads(const void *left, const void *right) {
    const struct overhead *a = left, *b = right;
    return profile_compare_processes(a, b) ?: ORDER(a->time_ns, b->time_ns);
}

/* The order in which the front-end shows the counters of a process. */
static int compare_counters(const void *left, const void *right) {
    return profile_compare_processes(left, right) ?: ORDER_BY(struct counter, sort_weight, left, right);
}

static int compare_log_lines(const void *left, const void *right) {
    const struct log_line *a = left, *b = right;
    return profile_compare_processes(a, b) ?: ORDER(a->time_ns, b->time_ns);
}

void profile_order_markers(struct thread *thread) { column_sort(&thread->markers, compare_marker_starts); }

static void order_rows(struct profile *profile) {
    COLUMN_EACH(struct thread, thread, &profile->threads) {
        samples_sort(&thread->samples, profile->failure);
        profile_order_markers(thread);
    }
    profile_order_allocations(profile);
    for (size_t i = 0; i < profile->counters.count; i++) counter_order(column_at(&profile->counters, i));
    column_sort(&profile->counters, compare_counters);
    column_sort(&profile->paused_ranges, compare_paused_ranges);
    column_sort(&profile->overheads, compare_overheads);
    column_sort(&profile->profiling_log, compare_log_lines);
    column_sort(&profile->gathering_log, compare_log_lines);
}

/* ---- What is dropped. ---- */

void profile_filter_counters(struct profile *profile,
                             bool is_kept(struct profile *profile, const struct counter *counter)) {
    struct column *counters = &profile->counters;
    uint32_t kept_count = 0;
    COLUMN_EACH(struct counter, counter, counters) {
        if (is_kept(profile, counter))
            *(struct counter *)column_at(counters, kept_count++) = *counter;
        else
            column_fini(&counter->samples);
    }
    counters->count = kept_count;
}

static bool counter_has_samples(struct profile *profile, const struct counter *counter) {
    if (counter->samples.count) return true;
    ledger_enter(&profile->ledger, LEDGER_VALUES, LEDGER_NOTED, TEXT("counter without values"), 1, NULL);
    return false;
}

static bool counter_has_thread(struct profile *profile, const struct counter *counter) {
    if (profile_place_of_process(profile, counter->process) < profile->thread_order.count) return true;
    ledger_account(&profile->ledger, LEDGER_VALUES, LEDGER_LOST, TEXT("counter of a process without threads"), 1, NULL);
    return false;
}

/* Drops the overheads of processes without threads: the front-end needs a thread to show them. */
static void filter_overheads(struct profile *profile) {
    struct column *overheads = &profile->overheads;
    uint32_t kept_count = 0;
    COLUMN_EACH(const struct overhead, overhead, overheads)
        if (profile_place_of_process(profile, overhead->process) < profile->thread_order.count)
            *(struct overhead *)column_at(overheads, kept_count++) = *overhead;
    uint64_t lost_count = overheads->count - kept_count;
    ledger_account(&profile->ledger, LEDGER_VALUES, LEDGER_LOST,
                   TEXT("overhead of recording in a process without threads"), lost_count, NULL);
    overheads->count = kept_count;
}

/* ---- The whole. ---- */

/* Returns whether an earlier conversion, whose profile is the input, has left the same line. */
static bool is_shown(const struct profile *profile, struct text label, struct text value) {
    COLUMN_EACH(const struct extra_entry, entry, &profile->meta.extra)
        if (text_equal(entry->section, TEXT(LEDGER_SECTION)) && text_equal(entry->label, label) &&
            text_equal(entry->value, value))
            return true;
    return false;
}

/* A note states a fact, so it is not repeated if an earlier conversion has left the same note. Losses add up. */
static void show_ledger_entry(struct profile *profile, const struct ledger_entry *entry) {
    static const char *const labels[] = {
        [LEDGER_LOST] = "Lost", [LEDGER_NOTED] = "Note", [LEDGER_FILTERED] = "Filtered"};
    struct text label = profile_text_format(profile, "%s: %.*s", labels[entry->fate], TEXT_ARGS(entry->cause));
    struct text value =
        profile_text_format(profile, "%" PRIu64 " %s", entry->count, ledger_unit_noun(entry->unit, entry->count));
    if (entry->has_first) {
        bool has_line = entry->first.line != 0;
        value = profile_text_format(profile, "%.*s, first at %s %" PRIu64, TEXT_ARGS(value), has_line ? "line" : "byte",
                                    has_line ? entry->first.line : entry->first.offset);
    }
    if (entry->fate == LEDGER_NOTED && is_shown(profile, label, value)) return;
    profile_add_extra(profile, TEXT(LEDGER_SECTION), label, value);
}

void profile_show_ledger(struct profile *profile, size_t first) {
    const struct ledger *ledger = &profile->ledger;
    for (size_t i = first; i < ledger->entries.count; i++)
        if (ledger_at(ledger, i)->fate != LEDGER_KEPT) show_ledger_entry(profile, ledger_at(ledger, i));
}

void profile_show_sums(struct profile *profile) {
    const struct ledger *ledger = &profile->ledger;
    for (enum gecko_convert_unit unit = 0; unit < LEDGER_UNIT_COUNT; unit++) {
        if (!ledger->read[unit]) continue;
        struct text value =
            profile_text_format(profile, "%" PRIu64 " read, %" PRIu64 " kept, %" PRIu64 " lost", ledger->read[unit],
                                ledger_sum(ledger, unit, LEDGER_KEPT), ledger_sum(ledger, unit, LEDGER_LOST));
        uint64_t filtered = ledger_sum(ledger, unit, LEDGER_FILTERED);
        if (filtered) value = profile_text_format(profile, "%.*s, %" PRIu64 " filtered", TEXT_ARGS(value), filtered);
        profile_add_extra(profile, TEXT(LEDGER_SECTION), text_of(gecko_convert_unit_name(unit)), value);
    }
}

/* Returns when the process ended; the profile's end if that is unknown or earlier. */
static int64_t end_of_process(const struct profile *profile, process_id id) {
    int64_t end_ns = profile_process_at(profile, id)->end_ns;
    return end_ns == TIME_NONE || end_ns > profile->end_ns ? profile->end_ns : end_ns;
}

/* The counters of a profile stay as they are drawn, but filters may have left out their first samples. */
static void draw_counter(const struct profile *profile, struct counter *counter) {
    const struct profile_meta *meta = &profile->meta;
    if (!meta->was_profile) counter_bin(counter, meta->interval_ns);
    counter_start_at_zero(counter, meta->interval_ns);
    if (meta->was_profile) return;
    counter_limit_cpu(counter, meta->logical_cpu_count);
    counter_hold_steps(counter);
    counter_extend(counter, end_of_process(profile, counter->process));
}

void profile_finish(struct profile *profile) {
    struct profile_meta *meta = &profile->meta;
    if (failure_is_set(profile->failure)) return;
    profile_filter_counters(profile, counter_has_samples);
    order_rows(profile);
    if (failure_is_set(profile->failure)) return;
    profile_make_times_relative(profile);
    if (!meta->interval_ns) meta->interval_ns = profile_estimate_interval_ns(profile);
    if (!meta->start_time_ms && meta->captured_at_ms && meta->has_times)
        meta->start_time_ms = meta->captured_at_ms - profile->end_ns / 1000000;
    if (!meta->start_time_ms && meta->epoch_offset_ns) {
        int64_t start_ns = meta->epoch_offset_ns + profile->origin_ns;
        meta->start_time_ms = start_ns / 1000000;
        /* Otherwise the rounding of nested merges would add up. */
        if (meta->was_profile) meta->start_rest_ns = start_ns % 1000000;
    }
    profile_order_threads(profile);
    profile_filter_counters(profile, counter_has_thread);
    filter_overheads(profile);
    ledger_enter(&profile->ledger, LEDGER_VALUES, LEDGER_NOTED,
                 TEXT("category, or library of one, shown as Other: it has 255 others"),
                 strings_count(&profile->categories.left_out), NULL);
    /* The counters of merged runs stay as the profile of each run has them: a run does not extend into the next one. */
    bool is_of_runs = profile_extra(profile, TEXT(RUNS_SECTION), TEXT(RUNS_LABEL)).bytes_count;
    for (size_t i = 0; i < profile->counters.count && !is_of_runs; i++)
        draw_counter(profile, column_at(&profile->counters, i));
    meta->read_extra_count = meta->extra.count;
    if (!meta->was_profile) profile_show_sums(profile);
    if (!meta->tells_ledger) profile_show_ledger(profile, 0);
}
