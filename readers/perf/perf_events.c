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

/* These letters are the modifiers in tools/perf/util/parse-events.l. */
static bool is_modifier(struct text text) {
    if (!text.bytes_count) return false;
    for (size_t i = 0; i < text.bytes_count; i++)
        if (!memchr("ukhpPGHISDWeRbX", text.bytes[i], 15)) return false;
    return true;
}

struct text perf_event_base_name(struct text name) {
    size_t colon = text_find_last(name, ':');
    return is_modifier(text_from(name, colon == name.bytes_count ? colon : colon + 1)) ? text_slice(name, 0, colon)
                                                                                       : name;
}

/* Recognises "subsystem:name". These have a colon too but are not tracepoints: "cpu/…/", an event with modifiers, and a
 * breakpoint ("mem:0x1000:rw"). */
static bool is_tracepoint(struct text name) {
    struct text base_name = perf_event_base_name(name);
    if (text_starts_with(name, TEXT("mem:0x"))) return false;
    return text_find(base_name, ':') < base_name.bytes_count && text_find(base_name, '/') == base_name.bytes_count;
}

static enum perf_event_unit unit_of(struct text name) {
    static const struct {
        struct text name;
        enum perf_event_unit unit;
    } units[] = {
        {TEXT("cpu-clock"), PERF_EVENT_CLOCK_NS},      {TEXT("task-clock"), PERF_EVENT_CLOCK_NS},
        {TEXT("cycles"), PERF_EVENT_CYCLES},           {TEXT("cpu-cycles"), PERF_EVENT_CYCLES},
        {TEXT("cpu/cycles/"), PERF_EVENT_CYCLES},      {TEXT("cpu/cpu-cycles/"), PERF_EVENT_CYCLES},
        {TEXT("cpu_core/cycles/"), PERF_EVENT_CYCLES}, {TEXT("cpu_atom/cycles/"), PERF_EVENT_CYCLES},
    };
    struct text base_name = perf_event_base_name(name);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (text_equal(base_name, units[i].name)) return units[i].unit;
    return PERF_EVENT_OTHER;
}

uint32_t perf_events_intern(struct perf_events *events, struct text name, struct position position) {
    /* Most recordings have one event. */
    if (events->rows.count == 1 && text_equal(perf_events_at(events, 0)->name, name)) return 0;
    string_id id = strings_intern(&events->names, name);
    if (string_is_none(id)) return ID_NONE;
    if (id.index >= PERF_EVENTS_MAX) id.index = PERF_EVENTS_MAX;
    if (id.index < events->rows.count) return id.index;
    struct perf_event *event = column_push(&events->rows);
    if (!event) return ID_NONE;
    struct text stored = id.index < PERF_EVENTS_MAX ? strings_text(&events->names, id) : TEXT("beyond the first 4096");
    *event = (struct perf_event){.name = stored,
                                 .unit = unit_of(stored),
                                 .is_tracepoint = is_tracepoint(stored),
                                 .period_min = UINT64_MAX,
                                 .first = position};
    column_init(&event->last_times_ns, sizeof(int64_t), events->rows.failure);
    return id.index;
}

uint32_t perf_events_add(struct perf_events *events, struct text name, bool is_tracepoint, struct position position) {
    uint32_t row = (uint32_t)events->rows.count;
    struct perf_event *event = column_push(&events->rows);
    if (!event) return ID_NONE;
    *event = (struct perf_event){.is_tracepoint = is_tracepoint, .period_min = UINT64_MAX, .first = position};
    column_init(&event->last_times_ns, sizeof(int64_t), events->rows.failure);
    perf_events_set_name(events, row, name);
    return row;
}

void perf_events_set_name(struct perf_events *events, uint32_t row, struct text name) {
    if (!name.bytes_count) return;
    struct perf_event *event = perf_events_at(events, row);
    event->name = strings_copy(&events->names, name);
    event->unit = unit_of(event->name);
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
    enum { FITTING_PERIODS_MAX = 2 };
    if (event->unit != PERF_EVENT_CLOCK_NS || processor >= PROCESSORS_MAX) return;
    if (processor >= 0) before_ns = exchange_last_time_ns(event, processor, time_ns);
    if (before_ns == TIME_NONE || time_ns <= before_ns) return;
    event->gap_count++;
    event->fitting_gap_count += (uint64_t)(time_ns - before_ns) / FITTING_PERIODS_MAX <= period;
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
