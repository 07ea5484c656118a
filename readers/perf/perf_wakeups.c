#include "perf_wakeups.h"

#include <inttypes.h>
#include <string.h>

#include "libconvert/base/memory.h"

enum { HOST = 0 };

static const struct text waking = TEXT("sched:sched_waking");

static bool is_hit(const struct perf_event *event) {
    return event->is_tracepoint && event->treatment != EVENT_DROPPED && (event->sample_count || event->bare.count);
}

static bool has_waking(const struct perf_events *events) {
    for (uint32_t i = 0; i < events->rows.count; i++)
        if (is_hit(perf_events_at(events, i)) &&
            text_equal(perf_event_base_name(perf_events_at(events, i)->name), waking))
            return true;
    return false;
}

/* The processor of the woken thread may report the wakeup later, in another thread. So sched_waking, which is always
 * hit in the waking thread, is used if the recording has it. Only sched_wakeup_new reports a new thread. */
static bool is_wakeup(const struct perf_event *event, bool has_waking) {
    struct text name = perf_event_base_name(event->name);
    if (text_equal(name, waking) || text_equal(name, TEXT("sched:sched_wakeup_new"))) return true;
    return !has_waking && text_equal(name, TEXT("sched:sched_wakeup"));
}

void perf_wakeups_init(struct perf_wakeups *wakeups, struct perf_recording *recording) {
    struct failure *failure = recording->profile->failure;
    size_t event_count = recording->events.rows.count;
    bool is_waking_told = has_waking(&recording->events);
    *wakeups = (struct perf_wakeups){.recording = recording, .woken_schema = MARKER_SCHEMA_NONE};
    wakeups->roles = memory_allocate(failure, (event_count + 1) * sizeof *wakeups->roles);
    wakeups->values = memory_allocate(failure, (PERF_FIELDS_MAX + 1) * sizeof *wakeups->values);
    for (uint32_t i = 0; wakeups->roles && i < event_count; i++)
        wakeups->roles[i] =
            (struct perf_wakeup_role){.is_wakeup = is_wakeup(perf_events_at(&recording->events, i), is_waking_told),
                                      .schema = MARKER_SCHEMA_NONE};
}

void perf_wakeups_fini(struct perf_wakeups *wakeups) { MEMORY_FREE_ALL(wakeups->roles, wakeups->values); }

/* Returns the task that had the tid at that time; NULL if the recording has nothing of it. */
static const struct perf_task *find_woken(const struct perf_wakeups *wakeups, int64_t tid, int64_t time_ns) {
    const struct perf_task *task = perf_tasks_known(&wakeups->recording->tasks, HOST, tid);
    if (!task || !task->last_series) return NULL;
    const struct thread *thread = profile_thread_at(wakeups->recording->profile, task->thread);
    bool is_alive = (thread->start_ns == TIME_NONE || thread->start_ns <= time_ns) &&
                    (thread->end_ns == TIME_NONE || thread->end_ns >= time_ns);
    return is_alive ? task : NULL;
}

/* ---- The waking thread. ---- */

static uint16_t make_schema(struct profile *profile, const struct perf_layout *layout) {
    struct marker_field fields[PERF_FIELDS_MAX + 1];
    memcpy(fields, layout->fields, layout->field_count * sizeof *fields);
    fields[layout->field_count] =
        (struct marker_field){.key = TEXT("flow"), .label = TEXT("Flow"), .format = MARKER_FLOW_ID};
    const struct marker_schema schema = {
        .name = layout->name,
        .description = TEXT("The thread woke another one."),
        .table_label = perf_layout_label(profile, fields, layout->field_count),
        .fields = fields,
        .field_count = layout->field_count + 1,
    };
    return profile_marker_schema(profile, &schema);
}

/* ---- The woken thread. ---- */

static const struct marker_field woken_fields[] = {
    {.key = TEXT("waker"), .label = TEXT("Woken by"), .format = MARKER_UNIQUE_STRING},
    {.key = TEXT("flow"), .label = TEXT("Flow"), .format = MARKER_TERMINATING_FLOW_ID},
};

static const struct marker_schema woken_schema = {
    .name = TEXT("Woken"),
    .description = TEXT("Another thread woke this one."),
    .chart_label = TEXT("{marker.data.waker}"),
    .table_label = TEXT("{marker.data.waker}"),
    .fields = woken_fields,
    .field_count = sizeof woken_fields / sizeof *woken_fields,
};

static void mark_woken(struct perf_wakeups *wakeups, const struct perf_task *task, const struct thread *waker,
                       int64_t time_ns, string_id flow) {
    struct profile *profile = wakeups->recording->profile;
    if (wakeups->woken_schema == MARKER_SCHEMA_NONE)
        wakeups->woken_schema = profile_marker_schema(profile, &woken_schema);
    const union marker_value values[] = {
        {.string = strings_intern_format(&profile->strings, "%.*s (%" PRId64 ")", TEXT_ARGS(waker->name), waker->tid)},
        {.string = flow},
    };
    const struct marker marker = {
        .start_ns = time_ns,
        .end_ns = time_ns,
        .name = profile_string(profile, woken_schema.name),
        .stack = stack_none(),
        .schema = wakeups->woken_schema,
        .phase = MARKER_INSTANT,
        .is_routine = true,
        .category = categories_intern_code(&profile->categories, CODE_KERNEL, TEXT("")).category,
    };
    profile_add_marker(profile, profile_thread_at(profile, task->thread), marker, values);
}

/* ---- Both. ---- */

/* The time, mixed by the golden ratio, makes flows of several recordings differ, and the payload's order those of
 * one. */
static string_id flow_of(struct profile *profile, int64_t time_ns, uint32_t order) {
    uint32_t mixed = (uint32_t)((uint64_t)time_ns * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    return strings_intern_format(&profile->strings, "%08" PRIx32 "%08" PRIx32, mixed, order);
}

uint16_t perf_wakeups_link(struct perf_wakeups *wakeups, const struct perf_series *series, const struct sample *sample,
                           const struct perf_payload *payload, const struct perf_layout *layout,
                           const union marker_value **values) {
    struct profile *profile = wakeups->recording->profile;
    const struct thread *waker = profile_thread_at(profile, series->thread);
    struct perf_wakeup_role *role = &wakeups->roles[series->event];
    int64_t tid;
    if (!role->is_wakeup || !perf_layout_number(layout, *values, TEXT("pid"), &tid)) return MARKER_SCHEMA_NONE;
    const struct perf_task *woken = find_woken(wakeups, tid, sample->time_ns);
    string_id flow = woken ? flow_of(profile, sample->time_ns, payload->order) : string_none();
    if (role->schema == MARKER_SCHEMA_NONE) role->schema = make_schema(profile, layout);
    memcpy(wakeups->values, *values, layout->field_count * sizeof *wakeups->values);
    wakeups->values[layout->field_count] = marker_value_absent(VALUE_STRING);
    if (woken) {
        wakeups->values[layout->field_count].string = flow;
        mark_woken(wakeups, woken, waker, sample->time_ns, flow);
    }
    *values = wakeups->values;
    return role->schema;
}
