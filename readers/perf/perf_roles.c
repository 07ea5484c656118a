#include "perf_roles.h"

/* The kernel's software events (tools/perf/util/parse-events.c) that do not measure time. */
static const struct text occurrences[] = {
    TEXT("page-faults"),      TEXT("faults"),           TEXT("minor-faults"),
    TEXT("major-faults"),     TEXT("context-switches"), TEXT("cs"),
    TEXT("cpu-migrations"),   TEXT("migrations"),       TEXT("alignment-faults"),
    TEXT("emulation-faults"), TEXT("bpf-output"),       TEXT("cgroup-switches"),
};

static bool is_listed_occurrence(struct text name) { return TEXT_IS_IN(name, occurrences); }

static const struct {
    struct text measure;
    enum perf_event_unit unit;
} units[] = {
    {TEXT("cpu-clock"), PERF_EVENT_CLOCK_NS},
    {TEXT("task-clock"), PERF_EVENT_CLOCK_NS},
    {TEXT("cycles"), PERF_EVENT_CYCLES},
    {TEXT("cpu-cycles"), PERF_EVENT_CYCLES},
};

static enum perf_event_unit unit_of(struct text measure) {
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (text_equal(measure, units[i].measure)) return units[i].unit;
    return PERF_EVENT_OTHER;
}

/* These letters are the modifiers in tools/perf/util/parse-events.l. */
static bool is_modifier(struct text text) {
    if (!text.bytes_count) return false;
    for (size_t i = 0; i < text.bytes_count; i++)
        if (!memchr("ukhpPGHISDWeRbX", text.bytes[i], 15)) return false;
    return true;
}

struct text perf_event_base_name(struct text name) {
    struct text before = text_slice(name, 0, text_find(name, '/'));
    if (is_listed_occurrence(before) || unit_of(before) != PERF_EVENT_OTHER) return before;
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

bool perf_role_is_occurrence(struct text name) {
    return text_starts_with(name, TEXT("mem:0x")) || is_listed_occurrence(perf_event_base_name(name));
}

bool perf_role_has_address(struct text name) {
    return text_starts_with(name, TEXT("mem:0x")) || text_ends_with(perf_event_base_name(name), TEXT("faults"));
}

bool perf_role_is_switch(struct text name) {
    return text_equal(perf_event_base_name(name), TEXT("sched:sched_switch"));
}

bool perf_role_counts_switches(struct text name) {
    static const struct text names[] = {TEXT("context-switches"), TEXT("cs")};
    return TEXT_IS_IN(perf_event_base_name(name), names);
}

bool perf_role_is_off_cpu_time(struct text name) { return text_equal(perf_event_base_name(name), TEXT("offcpu-time")); }

/* ---- What an event measures, and where. ---- */

enum { MODES = 7, P_CORE_SHIFT = 3 };

/* The units of a processor that count its events, and the kinds of processors that have them. */
static const struct {
    struct text start;
    uint32_t scope;
} processors[] = {
    {TEXT("cpu/"), MODES | MODES << P_CORE_SHIFT},
    {TEXT("cpu_core/"), MODES << P_CORE_SHIFT},
    {TEXT("cpu_atom/"), MODES},
};

/* Parts of the name of an event: "cpu_core/cycles/u". */
struct event_name {
    struct text measure;
    uint32_t processors;
};

static struct event_name split_name(struct text name) {
    struct event_name parts = {perf_event_base_name(name), MODES | MODES << P_CORE_SHIFT};
    for (size_t i = 0; i < sizeof processors / sizeof *processors; i++) {
        size_t slash = text_find_last(name, '/');
        if (!text_starts_with(name, processors[i].start) || slash < processors[i].start.bytes_count) continue;
        parts.measure = text_slice(name, processors[i].start.bytes_count, slash);
        parts.processors = processors[i].scope;
    }
    return parts;
}

struct text perf_role_plain_name(struct text name) {
    return split_name(name).measure;
}

enum perf_event_unit perf_role_unit(struct text name) { return unit_of(split_name(name).measure); }

struct text perf_role_measure(struct text name) {
    static const struct text of_units[] = {
        [PERF_EVENT_CLOCK_NS] = TEXT("cpu-clock"), [PERF_EVENT_CYCLES] = TEXT("cycles")};
    enum perf_event_unit unit = perf_role_unit(name);
    return unit == PERF_EVENT_OTHER ? split_name(name).measure : of_units[unit];
}

uint32_t perf_role_scope(struct text name) {
    size_t slash = text_find_last(name, '/');
    bool has_terms = slash < name.bytes_count;
    struct text modifiers = text_from(name, has_terms ? slash + 1 : perf_event_base_name(name).bytes_count);
    uint32_t modes = 0;
    for (size_t i = 0; i < modifiers.bytes_count; i++)
        modes |= modifiers.bytes[i] == 'u' ? 1 : modifiers.bytes[i] == 'k' ? 2 : 0;
    if (!modes) modes = MODES;
    return (modes | modes << P_CORE_SHIFT) & split_name(name).processors;
}
