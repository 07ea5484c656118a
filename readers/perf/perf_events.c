#include "perf_events.h"

#include <stdio.h>

void perf_events_init(struct perf_events *events, struct failure *failure) {
    strings_init(&events->names, failure);
    column_init(&events->rows, sizeof(struct perf_event), failure);
}

void perf_events_fini(struct perf_events *events) {
    for (size_t i = 0; i < events->rows.count; i++)
        column_fini(&((struct perf_event *)column_at(&events->rows, i))->last_times_ns);
    strings_fini(&events->names);
    column_fini(&events->rows);
}

uint32_t perf_events_add(struct perf_events *events, struct text name, const struct perf_event_description *description,
                         struct position position) {
    uint32_t row = (uint32_t)events->rows.count;
    struct perf_event *event = column_push(&events->rows);
    if (!event) return ID_NONE;
    *event = (struct perf_event){.is_tracepoint = description->is_tracepoint,
                                 .tracepoint_id = description->tracepoint_id,
                                 .period_min = UINT64_MAX,
                                 .first = position};
    column_init(&event->last_times_ns, sizeof(int64_t), events->rows.failure);
    perf_events_set_name(events, row, name);
    return row;
}

void perf_events_set_name(struct perf_events *events, uint32_t row, struct text name) {
    if (!name.bytes_count) return;
    struct perf_event *event = perf_events_at(events, row);
    event->name = strings_copy(&events->names, name);
    event->unit = perf_role_unit(event->name);
}

/* ---- Whether periods are the times between samples. ---- */

enum { PROCESSORS_MAX = 65536 };

/* Returns the time of the event's last sample on that processor, and sets it to this one's. */
static int64_t exchange_last_time_ns(struct perf_event *event, int32_t processor, int64_t time_ns) {
    while (event->last_times_ns.count <= (size_t)processor) {
        int64_t *added = column_push(&event->last_times_ns);
        if (!added) return TIME_NONE;
        *added = TIME_NONE;
    }
    int64_t *last_ns = column_at(&event->last_times_ns, (size_t)processor), before_ns = *last_ns;
    *last_ns = time_ns;
    return before_ns;
}

void perf_event_count_gap(struct perf_event *event, int32_t processor, int64_t before_ns, int64_t time_ns,
                          uint64_t period) {
    enum { FITTING_PERIODS_MAX = 2, SLOWEST_TIMER_NS = 12000000 };
    if (event->unit != PERF_EVENT_CLOCK_NS || processor >= PROCESSORS_MAX) return;
    if (processor >= 0) before_ns = exchange_last_time_ns(event, processor, time_ns);
    if (before_ns == TIME_NONE || time_ns <= before_ns) return;
    uint64_t gap_ns = (uint64_t)time_ns - (uint64_t)before_ns;
    bool is_fitting = gap_ns / FITTING_PERIODS_MAX <= period;
    /* A kernel without precise timers samples at its ticks, at least every 10 ms. A longer gap is one in the work. */
    if (!is_fitting && gap_ns > SLOWEST_TIMER_NS) return;
    event->gap_count++;
    event->fitting_gap_count += is_fitting;
}

/* Even in a program that mostly waits, some samples are only one period apart. A few samples prove nothing. */
bool perf_event_period_fits(const struct perf_event *event) {
    enum { GAPS_MIN = 8, GAPS_PER_FITTING_GAP_MAX = 20 };
    return event->gap_count < GAPS_MIN || event->fitting_gap_count > event->gap_count / GAPS_PER_FITTING_GAP_MAX;
}

/* Readers may know the events in another order, so a clock is better than another event with as many samples. */
static bool is_better(const struct perf_event *event, const struct perf_event *than) {
    if (event->is_tracepoint != than->is_tracepoint) return than->is_tracepoint;
    if (event->sample_count != than->sample_count) return event->sample_count > than->sample_count;
    return event->unit == PERF_EVENT_CLOCK_NS && than->unit != PERF_EVENT_CLOCK_NS;
}

uint32_t perf_events_choose(const struct perf_events *events) {
    uint32_t best = ID_NONE;
    for (uint32_t i = 0; i < events->rows.count; i++) {
        const struct perf_event *event = perf_events_at(events, i);
        if (!event->sample_count) continue;
        if (best == ID_NONE || is_better(event, perf_events_at(events, best))) best = i;
    }
    return best;
}

void perf_events_enter(const struct perf_events *events, uint32_t chosen, struct profile *profile) {
    struct ledger *ledger = &profile->ledger;
    for (uint32_t i = 0; i < events->rows.count; i++) {
        const struct perf_event *event = perf_events_at(events, i);
        struct text name = event->name.bytes_count ? event->name : TEXT("without a name");
        char cause[256];
        int wanted = snprintf(cause, sizeof cause, "event %.*s", (int)name.bytes_count, name.bytes);
        struct text text = {cause, (size_t)wanted < sizeof cause ? (size_t)wanted : sizeof cause - 1};
        enum gecko_convert_fate fate = i == chosen ? LEDGER_KEPT : LEDGER_LOST;
        ledger_read(ledger, LEDGER_SAMPLES, event->sample_count);
        ledger_enter(ledger, LEDGER_SAMPLES, fate, text, event->sample_count, &event->first);
        ledger_read(ledger, LEDGER_PERIODS, event->period_sum);
        ledger_enter(ledger, LEDGER_PERIODS, fate, text, event->period_sum, &event->first);
    }
}
