#include "perf_roles.h"

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

/* These have a colon too but are not tracepoints: "cpu/…/", an event with modifiers, a breakpoint ("mem:0x1000:rw"),
 * and an event of libpfm with several attributes ("mem_trans_retired:latency_above_threshold:ldlat=64"). */
bool perf_role_is_tracepoint(struct text name) {
    struct text base_name = perf_event_base_name(name);
    size_t colon = text_find(base_name, ':');
    if (text_starts_with(name, TEXT("mem:0x")) || colon != text_find_last(base_name, ':')) return false;
    return colon < base_name.bytes_count && text_find(base_name, '/') == base_name.bytes_count;
}

enum perf_event_unit perf_role_unit(struct text name) {
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
