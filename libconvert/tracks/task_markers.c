#include "task_markers.h"

#include <inttypes.h>

#include "libconvert/base/memory.h"
#include "libconvert/profile/profile_finish.h"

/* These markers are not shown in the overview: they say when a task ran, which is no event, and would fill it. */
enum { DISPLAY = MARKER_DISPLAY_CHART | MARKER_DISPLAY_TABLE };

static const struct marker_field thread_fields[] = {
    {.key = TEXT("tid"), .label = TEXT("Thread"), .format = MARKER_TID},
    {.key = TEXT("samples"), .label = TEXT("Samples"), .format = MARKER_INTEGER}};
#define THREAD_OF_TRACK TEXT("ThreadOfTrack")
static const struct marker_schema thread_schema = {
    .name = THREAD_OF_TRACK,
    .description =
        TEXT("A thread of this track ran from its start, or its first event, to its end, or its last event."),
    .display = DISPLAY,
    .fields = thread_fields,
    .field_count = sizeof thread_fields / sizeof *thread_fields};

static const struct marker_field process_fields[] = {
    {.key = TEXT("pid"), .label = TEXT("Process"), .format = MARKER_PID},
    {.key = TEXT("end"), .label = TEXT("End"), .format = MARKER_STRING},
    {.key = TEXT("label"), .label = TEXT("Label"), .format = MARKER_STRING, .is_hidden = true},
    {.key = TEXT("command"), .label = TEXT("Command line"), .format = MARKER_STRING}};
enum { FIELDS_WITHOUT_COMMAND = 2 };
#define PROCESS_DESCRIPTION TEXT("A process ran from its start, or its first event, to its end, or its last event.")
static const struct marker_schema process_schema = {.name = TEXT("Process"),
                                                    .description = PROCESS_DESCRIPTION,
                                                    .display = DISPLAY,
                                                    .fields = process_fields,
                                                    .field_count = FIELDS_WITHOUT_COMMAND};
/* Labels have the arguments, and names do not: the marker chart has a row for each name. The table has room for all. */
static const struct marker_schema command_schema = {.name = TEXT("Process"),
                                                    .description = PROCESS_DESCRIPTION,
                                                    .chart_label = TEXT("{marker.data.label}"),
                                                    .tooltip_label = TEXT("{marker.data.label}"),
                                                    .table_label = TEXT("{marker.data.command}"),
                                                    .display = DISPLAY,
                                                    .fields = process_fields,
                                                    .field_count = sizeof process_fields / sizeof *process_fields};
/* Processes of a track have markers in it, and others in their parents. */
#define PROCESS_OF_TRACK TEXT("ProcessOfTrack")

void task_markers_init(struct task_markers *markers, struct profile *profile) {
    *markers = (struct task_markers){.profile = profile, .within = profile_events(profile)};
    for (size_t i = 0; i < profile->processes.count && !markers->has_commands; i++)
        markers->has_commands = process_command(column_at(&profile->processes, i)).bytes_count;
}

static void add(const struct task_markers *markers, struct thread *to, struct text name, struct time_range range,
                const struct marker_schema *schema, const union marker_value *values) {
    struct profile *profile = markers->profile;
    if (range.first_ns < markers->within.first_ns) range.first_ns = markers->within.first_ns;
    if (range.last_ns > markers->within.last_ns) range.last_ns = markers->within.last_ns;
    if (time_range_is_empty(&range)) return;
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

void task_markers_add_thread(const struct task_markers *markers, struct thread *to, const struct thread *thread,
                             struct time_range range) {
    struct text tid = thread->tid_text.bytes_count ? thread->tid_text
                                                   : profile_text_format(markers->profile, "%" PRId64, thread->tid);
    const union marker_value values[] = {{.text = tid}, {.number = {.mantissa = samples_count(&thread->samples)}}};
    add(markers, to, thread->name, range, &thread_schema, values);
}

static void add_process(const struct task_markers *markers, struct thread *to, const struct process *process,
                        struct time_range range, struct text type) {
    struct marker_schema schema = markers->has_commands ? command_schema : process_schema;
    schema.name = type;
    struct text label = process_label(process);
    if (!label.bytes_count) label = process->name;
    const union marker_value values[] = {
        {.text = process->pid_text}, {.text = process->ending}, {.text = label}, {.text = process_command(process)}};
    add(markers, to, process->name, range, &schema, values);
}

void task_markers_add_process(const struct task_markers *markers, struct thread *to, const struct process *process,
                              struct time_range range) {
    add_process(markers, to, process, range, PROCESS_OF_TRACK);
}

/* Returns for each process whether one of its threads has anything to show. Returns NULL if memory ran out (latched).
 */
static bool *list_shown(const struct profile *profile) {
    bool *are_shown = memory_allocate_zeroed(profile->failure, profile->processes.count, sizeof *are_shown);
    for (uint32_t i = 0; are_shown && i < profile->threads.count; i++) {
        const struct thread *thread = column_at(&profile->threads, i);
        are_shown[thread->process.index] |= thread_has_content(thread);
    }
    return are_shown;
}

void task_markers_add_children(const struct task_markers *markers, bool needs_content) {
    struct profile *profile = markers->profile;
    if (!profile->meta.has_times) return;
    bool *are_shown = needs_content ? list_shown(profile) : NULL;
    if (needs_content && !are_shown) return;
    profile_name_tasks(profile);
    for (uint32_t i = 0; i < profile->processes.count && !failure_is_set(profile->failure); i++) {
        const struct process *process = column_at(&profile->processes, i);
        if (process_is_none(process->parent) || process->start_ns == TIME_NONE) continue;
        if (are_shown && !are_shown[process->parent.index]) continue;
        thread_id parent = profile_process_at(profile, process->parent)->main_thread;
        int64_t end_ns = process_shutdown_ns(process);
        struct time_range range = {process->start_ns, end_ns == TIME_NONE ? INT64_MAX : end_ns};
        if (!thread_is_none(parent))
            add_process(markers, profile_thread_at(profile, parent), process, range, process_schema.name);
    }
    memory_free(are_shown);
}

static bool is_of_track(const struct profile *profile, const struct marker *marker) {
    if (marker->schema == MARKER_SCHEMA_NONE) return false;
    struct text type = ((const struct marker_schema *)column_at(&profile->marker_schemas, marker->schema))->name;
    return text_equal(type, THREAD_OF_TRACK) || text_equal(type, PROCESS_OF_TRACK);
}

uint64_t task_markers_count_members(struct profile *profile) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < profile->threads.count; i++)
        COLUMN_EACH(const struct marker, marker, &profile_thread_at(profile, (thread_id){i})->markers)
            count += is_of_track(profile, marker);
    return count;
}

void task_markers_drop_members(struct profile *profile) {
    for (uint32_t i = 0; i < profile->threads.count; i++) {
        struct column *markers = &profile_thread_at(profile, (thread_id){i})->markers;
        uint32_t kept_count = 0;
        COLUMN_EACH(const struct marker, marker, markers)
            if (!is_of_track(profile, marker)) *(struct marker *)column_at(markers, kept_count++) = *marker;
        markers->count = kept_count;
    }
}
