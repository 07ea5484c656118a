#include "perf_activity.h"

#include <inttypes.h>
#include <stdio.h>

struct perf_throttle {
    thread_id thread;
    string_id event;
    int64_t start_ns; /* TIME_NONE: the stream is not throttled */
};

/* A kind of markers. Each has one field, which the table shows. */
struct kind {
    struct marker_schema schema; /* without its field */
    struct marker_field field;
};

#define KIND(name_, description_, key_, label_, format_)                  \
    .schema.name = TEXT(name_), .schema.description = TEXT(description_), \
    .schema.table_label = TEXT("{marker.data." key_ "}"),                 \
    .field = {.key = TEXT(key_), .label = TEXT(label_), .format = format_}

/* Markers of the time off the processor are not shown in the overview: they would fill it, and samples tell the same.
 */
static const struct kind kinds[PERF_ACTIVITY_KIND_COUNT] = {
    [PERF_ACTIVITY_OFF_CPU] = {KIND("Off CPU", "The thread did not run: it waited, or was preempted.", "reason",
                                    "Reason", MARKER_UNIQUE_STRING),
                               .schema.chart_label = TEXT("{marker.data.reason}"),
                               .schema.display = MARKER_DISPLAY_CHART | MARKER_DISPLAY_TABLE},
    [PERF_ACTIVITY_THROTTLED] = {KIND("Throttled",
                                      "The kernel stopped sampling, because samples took too much of its time.",
                                      "event", "Event", MARKER_UNIQUE_STRING)},
    [PERF_ACTIVITY_LOSS] = {KIND("Lost", "perf lost records or samples before this, because its buffer was full.",
                                 "count", "Count", MARKER_INTEGER),
                            .schema.chart_label = TEXT("{marker.data.count}")},
    [PERF_ACTIVITY_DISORDER] = {KIND("Out of order", "A sample of this time came after a later one of the thread.",
                                     "late", "Earlier than the sample before it by", MARKER_DURATION)},
    [PERF_ACTIVITY_NAMESPACES] = {KIND("Namespaces", "The thread entered these namespaces.", "namespaces", "Namespaces",
                                       MARKER_UNIQUE_STRING)},
    [PERF_ACTIVITY_CGROUP] = {KIND("Control group", "The thread was found in this control group.", "path", "Path",
                                   MARKER_UNIQUE_STRING)},
};

void perf_activity_init(struct perf_activity *activity, struct profile *profile, struct filter *filter) {
    struct failure *failure = profile->failure;
    *activity = (struct perf_activity){.profile = profile, .filter = filter};
    for (size_t i = 0; i < PERF_ACTIVITY_KIND_COUNT; i++) activity->schemas[i] = MARKER_SCHEMA_NONE;
    value_table_init(&activity->cgroup_paths, sizeof(uint64_t), sizeof(string_id), failure);
    row_table_init(&activity->namespaces, sizeof(struct perf_namespaces), failure);
    value_table_init(&activity->throttles, sizeof(uint64_t), sizeof(struct perf_throttle), failure);
}

void perf_activity_fini(struct perf_activity *activity) {
    value_table_fini(&activity->cgroup_paths);
    row_table_fini(&activity->namespaces);
    value_table_fini(&activity->throttles);
}

static uint16_t make_schema(struct profile *profile, const struct kind *kind) {
    struct marker_schema schema = kind->schema;
    schema.fields = &kind->field;
    schema.field_count = 1;
    return profile_marker_schema(profile, &schema);
}

static void mark(struct perf_activity *activity, enum perf_activity_kind kind, thread_id thread, int64_t start_ns,
                 int64_t end_ns, const union marker_value *value) {
    struct profile *profile = activity->profile;
    if (!filter_keeps_marker(activity->filter, profile, thread, &start_ns, &end_ns)) return;
    uint16_t *schema = &activity->schemas[kind];
    if (*schema == MARKER_SCHEMA_NONE) *schema = make_schema(profile, &kinds[kind]);
    bool is_interval = kind == PERF_ACTIVITY_OFF_CPU || kind == PERF_ACTIVITY_THROTTLED;
    struct marker marker = {
        .start_ns = start_ns,
        .end_ns = end_ns,
        .name = profile_string(profile, kinds[kind].schema.name),
        .stack = stack_none(),
        .schema = *schema,
        .phase = is_interval ? MARKER_INTERVAL : MARKER_INSTANT,
        .is_routine = true,
        .category = categories_intern_code(&profile->categories, CODE_KERNEL, TEXT("")).category,
    };
    profile_add_marker(profile, profile_thread_at(profile, thread), marker, value);
}

static void mark_text(struct perf_activity *activity, enum perf_activity_kind kind, thread_id thread, int64_t start_ns,
                      int64_t end_ns, string_id text) {
    mark(activity, kind, thread, start_ns, end_ns, &(union marker_value){.string = text});
}

/* ---- Running. ---- */

void perf_activity_mark_off_cpu(struct perf_activity *activity, const struct perf_task *task, int64_t start_ns,
                                int64_t end_ns, bool is_preempted) {
    struct text reason = is_preempted ? TEXT("preempted") : TEXT("waiting");
    mark_text(activity, PERF_ACTIVITY_OFF_CPU, task->thread, start_ns, end_ns,
              profile_string(activity->profile, reason));
}

/* ---- Throttling. ---- */

void perf_activity_throttle(struct perf_activity *activity, struct perf_task *task, uint64_t stream, struct text event,
                            int64_t time_ns) {
    task->is_throttled = true;
    const struct perf_throttle begun = {task->thread, profile_string(activity->profile, event), time_ns};
    struct perf_throttle *throttle = value_table_intern(&activity->throttles, &stream, &begun);
    if (throttle) *throttle = begun;
}

static void end_throttle(struct perf_activity *activity, struct perf_throttle *throttle, int64_t end_ns) {
    if (throttle->start_ns != TIME_NONE && end_ns >= throttle->start_ns)
        mark_text(activity, PERF_ACTIVITY_THROTTLED, throttle->thread, throttle->start_ns, end_ns, throttle->event);
    throttle->start_ns = TIME_NONE;
}

void perf_activity_unthrottle(struct perf_activity *activity, uint64_t stream, int64_t time_ns) {
    struct perf_throttle *throttle = value_table_find(&activity->throttles, &stream);
    if (throttle) end_throttle(activity, throttle, time_ns);
}

/* ---- Losses and disorder. ---- */

void perf_activity_mark_loss(struct perf_activity *activity, const struct perf_task *task, uint64_t count,
                             int64_t time_ns) {
    int64_t number = count > INT64_MAX ? INT64_MAX : (int64_t)count;
    mark(activity, PERF_ACTIVITY_LOSS, task->thread, time_ns, time_ns,
         &(union marker_value){.number = {.mantissa = number}});
}

void perf_activity_mark_disorder(struct perf_activity *activity, const struct perf_task *task, int64_t late_ns,
                                 int64_t time_ns) {
    mark(activity, PERF_ACTIVITY_DISORDER, task->thread, time_ns, time_ns,
         &(union marker_value){.duration_ns = late_ns});
}

/* ---- Namespaces. ---- */

enum { PID_NAMESPACE = 3 };

static const char *const namespace_names[PERF_NAMESPACES_MAX] = {"net",  "uts", "ipc",    "pid",
                                                                 "user", "mnt", "cgroup", "time"};

static bool is_same(const struct perf_namespace *left, const struct perf_namespace *right) {
    return left->device == right->device && left->inode == right->inode;
}

void perf_activity_set_namespaces(struct perf_activity *activity, struct perf_task *task,
                                  const struct perf_namespace *namespaces, uint32_t count, int64_t time_ns) {
    char entered[PERF_NAMESPACES_MAX * 32] = "";
    size_t used = 0;
    struct perf_namespaces now = {0};
    if (task->namespaces != ID_NONE)
        now = *(const struct perf_namespaces *)row_table_at(&activity->namespaces, task->namespaces);
    for (uint32_t i = 0; i < count; i++) {
        if (is_same(&namespaces[i], &now.kinds[i])) continue;
        now.kinds[i] = namespaces[i];
        used += (size_t)snprintf(entered + used, sizeof entered - used, "%s%s:[%" PRIu64 "]", used ? " " : "",
                                 namespace_names[i], namespaces[i].inode);
    }
    task->namespaces = row_table_intern(&activity->namespaces, &now);
    if (!used || time_ns == TIME_NONE) return;
    string_id value = profile_string(activity->profile, (struct text){entered, used});
    mark_text(activity, PERF_ACTIVITY_NAMESPACES, task->thread, time_ns, time_ns, value);
}

/* ---- Control groups. ---- */

/* Returns where the path of the group is stored; a group that has no path yet is called by its id. Returns NULL if
 * memory ran out (latched). */
static string_id *cgroup_path(struct perf_activity *activity, uint64_t id) {
    const string_id none = string_none();
    string_id *path = value_table_intern(&activity->cgroup_paths, &id, &none);
    if (path && string_is_none(*path)) *path = strings_intern_format(&activity->profile->strings, "id %" PRIu64, id);
    return path;
}

void perf_activity_name_cgroup(struct perf_activity *activity, uint64_t id, struct text path) {
    string_id *stored = cgroup_path(activity, id);
    if (stored && path.bytes_count) *stored = profile_string(activity->profile, path);
}

void perf_activity_set_cgroup(struct perf_activity *activity, struct perf_task *task, uint64_t id, int64_t time_ns) {
    if (task->cgroup == id) return;
    task->cgroup = id;
    const string_id *path = cgroup_path(activity, id);
    if (path) mark_text(activity, PERF_ACTIVITY_CGROUP, task->thread, time_ns, time_ns, *path);
}

/* ---- The end. ---- */

/* A task stays in one pid namespace until it ends. */
static void set_home_namespace(struct perf_activity *activity, const struct perf_task *task) {
    process_id process = profile_thread_at(activity->profile, task->thread)->process;
    if (task->namespaces == ID_NONE || process_is_none(process)) return;
    const struct perf_namespaces *namespaces = row_table_at(&activity->namespaces, task->namespaces);
    uint64_t inode = namespaces->kinds[PID_NAMESPACE].inode;
    if (inode) profile_process_at(activity->profile, process)->home_namespace = inode;
}

void perf_activity_finish(struct perf_activity *activity, const struct perf_tasks *tasks, int64_t end_ns) {
    for (size_t i = 0; i < value_table_count(&activity->throttles); i++)
        end_throttle(activity, value_table_at(&activity->throttles, (uint32_t)i), end_ns);
    for (size_t i = 0; i < tasks->rows.count; i++) set_home_namespace(activity, column_at(&tasks->rows, i));
}
