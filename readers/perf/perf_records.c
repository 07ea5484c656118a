#include "perf_records.h"

#include "perf_programs.h"
#include "perf_samples.h"
#include "perf_switches.h"

/* ---- Tasks. ---- */

/* Returns whether nothing was known of the process before it executed a program. Processes that were started in order
 * to be recorded waited until then, unrecorded, and those from outside of a container came into it. */
static bool begins_by_executing(const struct perf_recording *recording, const struct perf_record *record) {
    const struct perf_tasks *tasks = &recording->tasks;
    return record->is_exec && record->tid != PID_UNKNOWN && !perf_tasks_known(tasks, record->machine, record->tid) &&
           !perf_tasks_has_process(tasks, record->machine, record->pid);
}

static void use_comm(struct perf_recording *recording, const struct perf_record *record) {
    int64_t time_ns = perf_recording_time(recording, record);
    if (begins_by_executing(recording, record))
        perf_tasks_fork(&recording->tasks, record->machine, record->pid, record->tid, NULL, time_ns);
    struct perf_task *task = perf_recording_task(recording, record);
    recording->tasks.has_records = true;
    if (task && record->is_exec) {
        bool is_taken_over = perf_tasks_execute(&recording->tasks, task, time_ns);
        if (is_taken_over) perf_waits_end(&recording->waits, task, time_ns, record->position);
        perf_programs_execute(&recording->tasks, task, record->name, time_ns);
        perf_programs_set_arguments(&recording->tasks, task, record->text);
    } else if (task) {
        perf_programs_rename(&recording->tasks, task, record->name, time_ns);
        if (record->text.bytes_count) perf_programs_set_arguments(&recording->tasks, task, record->text);
    }
}

/* The time of the sample, if it has none, is about to be made up. */
static void use_name(struct perf_recording *recording, const struct perf_record *record) {
    struct perf_task *task = perf_recording_task(recording, record);
    int64_t time_ns = record->time_ns == TIME_NONE ? perf_recording_made_up_time(recording) : record->time_ns;
    if (task) perf_programs_see_name(&recording->tasks, task, record->name, time_ns);
}

enum { TID_KTHREADD = 2 };

/* The recording does not have the start of a task that ran before it began. The kernel may report it again. */
static void use_fork(struct perf_recording *recording, const struct perf_record *record) {
    struct perf_tasks *tasks = &recording->tasks;
    const struct perf_fork *fork = &record->fork;
    const struct perf_task *parent = perf_tasks_find(tasks, record->machine, fork->parent_pid, fork->parent_tid);
    if (fork->is_before) {
        tasks->has_records = true;
        recording->is_of_processors |= record->tid == TID_KTHREADD && !fork->parent_tid;
        perf_tasks_adopt(tasks, record->machine, record->pid, record->tid, parent);
    } else {
        perf_tasks_fork(tasks, record->machine, record->pid, record->tid, parent,
                        perf_recording_time(recording, record));
    }
}

/* With filters, memory follows what is kept, so threads of which nothing is kept are forgotten. Each has ended long
 * before: records of a thread can come after that of its end. */
static void forget_after(struct perf_recording *recording, uint32_t ended_row) {
    uint32_t *place = &recording->ended_rows[recording->ended_count++ % PERF_ENDED_TASKS];
    bool is_full = recording->ended_count > PERF_ENDED_TASKS;
    struct perf_task *task = is_full ? column_at(&recording->tasks.rows, *place) : NULL;
    if (task && perf_tasks_can_forget(&recording->tasks, task) && perf_waits_forget(&recording->waits, task))
        perf_tasks_forget(&recording->tasks, *place);
    *place = ended_row;
}

static void use_exit(struct perf_recording *recording, const struct perf_record *record) {
    uint32_t row = perf_tasks_exit(&recording->tasks, record->machine, record->pid, record->tid,
                                   perf_recording_time(recording, record));
    if (filter_leaves_tasks(recording->filter) && row != ID_NONE) forget_after(recording, row);
}

static void use_mapping(struct perf_recording *recording, const struct perf_record *record) {
    if (record->pid != PID_KERNEL) perf_recording_task(recording, record);
}

static void use_namespaces(struct perf_recording *recording, const struct perf_record *record) {
    const struct perf_namespace_list *list = &record->namespaces;
    struct perf_task *task = perf_recording_task(recording, record);
    if (task) perf_activity_set_namespaces(&recording->activity, task, list->kinds, list->count, record->time_ns);
}

static void use_cgroup(struct perf_recording *recording, const struct perf_record *record) {
    perf_activity_name_cgroup(&recording->activity, record->cgroup, record->name);
}

static void use_throttle(struct perf_recording *recording, const struct perf_record *record) {
    const struct perf_throttle_change *change = &record->throttle;
    struct perf_task *task = change->is_end ? NULL : perf_recording_task(recording, record);
    if (change->is_end)
        perf_activity_unthrottle(&recording->activity, change->stream, record->time_ns);
    else if (task)
        perf_activity_throttle(&recording->activity, task, change->stream,
                               perf_events_at(&recording->events, change->event)->name, record->time_ns);
}

static void use_switch(struct perf_recording *recording, const struct perf_record *record) {
    struct perf_task *task = perf_activity_has_switches(record->tid) ? perf_recording_task(recording, record) : NULL;
    if (task) perf_switches_use_record(recording, task, record);
}

/* ---- The recording. ---- */

static void use_header(struct perf_recording *recording, const struct perf_record *record) {
    perf_header_enter(&recording->header, recording->profile, record->name, record->text);
}

static void use_event(struct perf_recording *recording, const struct perf_record *record) {
    const struct perf_event_description *event = &record->event;
    perf_events_add(&recording->events, record->name, event, record->position);
    recording->profile->meta.is_clock_monotonic |= event->is_clock_monotonic;
    recording->has_named_clock |= event->has_clock;
}

static void use_event_name(struct perf_recording *recording, const struct perf_record *record) {
    perf_events_set_name(&recording->events, record->event.event, record->name);
}

static void use_formats(struct perf_recording *recording, const struct perf_record *record) {
    bool is_good = perf_tracing_read(&recording->tracing, record->text);
    perf_tally(&recording->tallies, TALLY_BAD_FEATURE, !is_good, record->position);
}

static void use_clock(struct perf_recording *recording, const struct perf_record *record) {
    recording->profile->meta.epoch_offset_ns = (int64_t)(record->clock.wall_ns - record->clock.clock_ns);
}

static void use_times(struct perf_recording *recording, const struct perf_record *record) {
    if (recording->filter)
        recording->filter->range = (struct time_range){record->times.first_ns, record->times.last_ns};
}

static void use_ticks(struct perf_recording *recording, const struct perf_record *record) {
    recording->profile->meta.tick_relation = (struct tick_relation){.is_known = record->ticks.multiplier,
                                                                    .base_ns = record->ticks.base_ns,
                                                                    .multiplier = record->ticks.multiplier,
                                                                    .shift = record->ticks.shift};
}

static void use_loss(struct perf_recording *recording, const struct perf_record *record) {
    uint64_t *counts = recording->lost_counts;
    if (!counts[0] && !counts[1]) recording->first_lost = record->position;
    counts[record->loss.is_of_samples] += record->loss.count;
    recording->last_loss_ns = time_later(recording->last_loss_ns, record->time_ns);
    const struct perf_task *task =
        record->time_ns != TIME_NONE && record->tid >= 0 ? perf_recording_task(recording, record) : NULL;
    if (task && record->loss.count)
        perf_activity_mark_loss(&recording->activity, task, record->loss.count, record->time_ns);
}

static void use_count(struct perf_recording *recording, const struct perf_record *record) {
    const struct perf_count *count = &record->count;
    struct ledger *ledger = &recording->profile->ledger;
    ledger_account(ledger, count->unit, count->fate, record->name, count->count, &record->position);
}

/* ---- All records. ---- */

/* What becomes of a record besides what it means for code. */
static void (*const uses[PERF_RECORD_TYPE_COUNT])(struct perf_recording *, const struct perf_record *) = {
    [PERF_HEADER] = use_header,
    [PERF_EVENT] = use_event,
    [PERF_EVENT_NAME] = use_event_name,
    [PERF_FORMATS] = use_formats,
    [PERF_CLOCK] = use_clock,
    [PERF_TIMES] = use_times,
    [PERF_TICKS] = use_ticks,
    [PERF_COMM] = use_comm,
    [PERF_NAME] = use_name,
    [PERF_FORK] = use_fork,
    [PERF_EXIT] = use_exit,
    [PERF_NAMESPACES] = use_namespaces,
    [PERF_CGROUP] = use_cgroup,
    [PERF_MAPPING] = use_mapping,
    [PERF_SAMPLE] = perf_samples_use,
    [PERF_USER_STACK] = perf_samples_use_user_stack,
    [PERF_SWITCH] = use_switch,
    [PERF_THROTTLE] = use_throttle,
    [PERF_LOSS] = use_loss,
    [PERF_COUNT] = use_count,
};

/* Mappings of generated code have the times at which it was generated, which may be hours before the recording. */
static void note_start(struct perf_recording *recording, const struct perf_record *record) {
    bool is_event = record->type == PERF_SAMPLE || record->type == PERF_SWITCH;
    if (record->type == PERF_MAPPING) return;
    recording->first_time_ns = time_earlier(recording->first_time_ns, record->time_ns);
    if (is_event) recording->first_event_ns = time_earlier(recording->first_event_ns, record->time_ns);
    recording->is_of_processors |= is_event && record->tid == 0;
}

static void take(void *context, const struct perf_record *record) {
    struct perf_recording *recording = context;
    /* After an allocation has failed, a table can lack rows that another table refers to. */
    if (failure_is_set(recording->profile->failure)) return;
    if (record->time_ns != TIME_NONE) recording->last_time_ns = record->time_ns;
    if (record->time_ns > 0) note_start(recording, record);
    if (uses[record->type]) uses[record->type](recording, record);
    recording->code.use(recording->code.context, record);
}

struct perf_sink perf_records_sink(struct perf_recording *recording) {
    return (struct perf_sink){take, recording};
}
