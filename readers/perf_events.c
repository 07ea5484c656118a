#include "perf_events.h"

#include <stdio.h>

void perf_events_init(struct perf_events *events, struct failure *failure) {
    strings_init(&events->names, failure);
    column_init(&events->rows, sizeof(struct perf_event), failure);
}

void perf_events_fini(struct perf_events *events) {
    strings_fini(&events->names);
    column_fini(&events->rows);
}

/* The letters of tools/perf/util/parse-events.l. */
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

/* "subsystem:name"; what perf prints as "cpu/…/" or with modifiers only is none, nor a breakpoint, "mem:0x1000:rw". */
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
    return id.index;
}

static bool is_better(const struct perf_event *event, const struct perf_event *than) {
    if (event->is_tracepoint != than->is_tracepoint) return than->is_tracepoint;
    return event->sample_count > than->sample_count;
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
        enum ledger_fate fate = i == chosen ? LEDGER_KEPT : LEDGER_LOST;
        ledger_read(ledger, LEDGER_SAMPLES, event->sample_count);
        ledger_enter(ledger, LEDGER_SAMPLES, fate, text, event->sample_count, &event->first);
        ledger_read(ledger, LEDGER_PERIODS, event->period_sum);
        ledger_enter(ledger, LEDGER_PERIODS, fate, text, event->period_sum, &event->first);
    }
}
