#include "task_markers.h"

#include <inttypes.h>

/* These markers are not shown in the overview: they say when a task ran, which is no event, and would fill it. */
enum { DISPLAY = MARKER_DISPLAY_CHART | MARKER_DISPLAY_TABLE };

static const struct marker_field thread_fields[] = {
    {.key = TEXT("tid"), .label = TEXT("Thread"), .format = MARKER_TID},
    {.key = TEXT("samples"), .label = TEXT("Samples"), .format = MARKER_INTEGER}};
static const struct marker_schema thread_schema = {
    .name = TEXT("Thread"),
    .description = TEXT("A thread ran from its start, or its first event, to its end, or its last event."),
    .display = DISPLAY,
    .fields = thread_fields,
    .field_count = sizeof thread_fields / sizeof *thread_fields};

static const struct marker_field process_fields[] = {
    {.key = TEXT("pid"), .label = TEXT("Process"), .format = MARKER_PID}};
static const struct marker_schema process_schema = {
    .name = TEXT("Process"),
    .description = TEXT("A process ran from its start, or its first event, to its end, or its last event."),
    .display = DISPLAY,
    .fields = process_fields,
    .field_count = sizeof process_fields / sizeof *process_fields};

static void add(struct profile *profile, struct thread *to, struct text name, struct time_range range,
                const struct marker_schema *schema, const union marker_value *values) {
    uint16_t number = profile_marker_schema(profile, schema);
    struct marker marker = {.start_ns = range.first_ns,
                            .end_ns = range.last_ns,
                            .name = profile_marker_name(profile, name, number),
                            .stack = stack_none(),
                            .schema = number,
                            .phase = MARKER_INTERVAL,
                            .is_routine = true};
    if (!failure_is_set(profile->failure)) profile_add_marker(profile, to, marker, values);
}

void task_markers_add_thread(struct profile *profile, struct thread *to, const struct thread *thread,
                             struct time_range range) {
    struct text tid =
        thread->tid_text.bytes_count ? thread->tid_text : profile_text_format(profile, "%" PRId64, thread->tid);
    const union marker_value values[] = {{.text = tid}, {.number = {.mantissa = samples_count(&thread->samples)}}};
    add(profile, to, thread->name, range, &thread_schema, values);
}

void task_markers_add_process(struct profile *profile, struct thread *to, const struct process *process,
                              struct time_range range) {
    const union marker_value values[] = {{.text = process->pid_text}};
    add(profile, to, process->name, range, &process_schema, values);
}
