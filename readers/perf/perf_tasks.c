#include "perf_tasks.h"

#include <inttypes.h>
#include <string.h>

#include "libconvert/base/first_row.h"
#include "libconvert/base/memory.h"

struct tid_key {
    int64_t id;
    uint32_t machine;
    uint32_t reserved; /* always 0: the key is hashed as bytes */
};

struct task_key {
    int64_t pid;
    int64_t tid;
    uint64_t machine;
};

struct series_key {
    thread_id thread;
    uint32_t event;
    uint32_t is_bare;
};

void perf_tasks_init(struct perf_tasks *tasks, struct profile *profile, struct filter *filter) {
    struct failure *failure = profile->failure;
    tasks->profile = profile;
    tasks->filter = filter;
    column_init(&tasks->rows, sizeof(struct perf_task), failure);
    column_init(&tasks->forgotten, sizeof(uint32_t), failure);
    column_init(&tasks->comms, sizeof(struct perf_comm), failure);
    value_table_init(&tasks->current, sizeof(struct tid_key), sizeof(uint32_t), failure);
    value_table_init(&tasks->processes, sizeof(struct tid_key), sizeof(process_id), failure);
    value_table_init(&tasks->former_counts, sizeof(struct task_key), sizeof(uint32_t), failure);
    column_init(&tasks->takeovers, sizeof(struct perf_takeover), failure);
    row_table_init(&tasks->series_keys, sizeof(struct series_key), failure);
    column_init(&tasks->series, sizeof(struct perf_series), failure);
    tasks->rename_schema = UINT16_MAX;
}

void perf_series_fini(struct perf_series *series) {
    samples_fini(&series->samples);
    COLUMNS_FINI(&series->payloads, &series->addresses);
    arena_fini(&series->bytes);
}

void perf_tasks_fini(struct perf_tasks *tasks) {
    for (size_t i = 0; i < tasks->series.count; i++) perf_series_fini(column_at(&tasks->series, i));
    COLUMNS_FINI(&tasks->rows, &tasks->forgotten, &tasks->comms, &tasks->takeovers, &tasks->series);
    value_table_fini(&tasks->current);
    value_table_fini(&tasks->processes);
    value_table_fini(&tasks->former_counts);
    row_table_fini(&tasks->series_keys);
}

/* ---- Processes. ---- */

static process_id add_process(struct perf_tasks *tasks, int64_t pid, uint32_t machine, uint32_t generation) {
    struct profile *profile = tasks->profile;
    process_id id = profile_add_process(profile, pid, generation);
    if (process_is_none(id) || (!machine && pid != PID_UNKNOWN)) return id;
    struct process *process = profile_process_at(profile, id);
    struct text unknown = TEXT("unknown pid");
    /* A guest's pids can equal the host's, so the text names the virtual machine. */
    if (pid != PID_UNKNOWN)
        process->pid_text = profile_text_format(profile, "%" PRId64 " (VM %" PRIu32 ")", pid, machine);
    else if (machine)
        process->pid_text = profile_text_format(profile, "%s (VM %" PRIu32 ")", unknown.bytes, machine);
    else
        process->pid_text = profile_text(profile, unknown);
    if (pid == PID_UNKNOWN) process->name = process->pid_text;
    return id;
}

/* Returns the slot of the process that has the pid now. Adds the process if it is new. NULL if memory ran out
 * (latched). */
static process_id *process_slot(struct perf_tasks *tasks, int64_t pid, uint32_t machine) {
    struct tid_key key = {.id = pid, .machine = machine};
    const process_id none = process_none();
    process_id *slot = value_table_intern(&tasks->processes, &key, &none);
    if (slot && process_is_none(*slot)) *slot = add_process(tasks, pid, machine, 0);
    return !slot || process_is_none(*slot) ? NULL : slot;
}

/* Returns the generation number of the task that has the tid now: how many tasks had these ids before. */
static uint32_t generation_of(const struct perf_tasks *tasks, uint32_t machine, int64_t pid, int64_t tid) {
    struct task_key key = {.pid = pid, .tid = tid, .machine = machine};
    const uint32_t *count = value_table_find(&tasks->former_counts, &key);
    return count ? *count : 0;
}

/* Counts a task whose tid another one gets. */
static void count_former(struct perf_tasks *tasks, const struct perf_task *task) {
    if (task->pid == PID_UNKNOWN) return;
    struct task_key key = {.pid = task->pid, .tid = perf_tasks_tid(tasks, task), .machine = task->machine};
    uint32_t *count = value_table_intern(&tasks->former_counts, &key, &(uint32_t){0});
    if (count) ++*count;
}

static void learn_pid(struct perf_tasks *tasks, struct perf_task *task, int64_t pid) {
    task->pid = pid;
    struct thread *thread = profile_thread_at(tasks->profile, task->thread);
    thread->generation = generation_of(tasks, task->machine, pid, thread->tid);
    process_id *slot = process_slot(tasks, pid, task->machine);
    if (slot) thread->process = *slot;
}

/* ---- Tasks. ---- */

/* Returns the slot of the task that has the tid now; it holds ID_NONE if there is no such task yet. NULL if memory ran
 * out. */
static uint32_t *current_slot(struct perf_tasks *tasks, uint32_t machine, int64_t tid) {
    struct perf_recent_tid *recent = &tasks->recent_tids[(uint64_t)tid % PERF_RECENT_TIDS];
    if (recent->slot && recent->tid == tid && recent->machine == machine) return recent->slot;
    const struct tid_key key = {.id = tid, .machine = machine};
    *recent = (struct perf_recent_tid){tid, machine, value_table_intern(&tasks->current, &key, &(uint32_t){ID_NONE})};
    return recent->slot;
}

/* Sets *row to that of the new task: the row of a forgotten one if the task is no main thread, otherwise a new row. The
 * rows of main threads are in order of first appearance. Returns the thread that is the task's; none if memory ran out
 * (latched). */
static thread_id add_row(struct perf_tasks *tasks, int64_t pid, int64_t tid, uint32_t *row) {
    struct column *forgotten = &tasks->forgotten;
    if (!forgotten->count || pid == tid) {
        *row = (uint32_t)tasks->rows.count;
        return column_push(&tasks->rows) ? profile_add_thread(tasks->profile, process_none(), tid, 0) : thread_none();
    }
    *row = *(const uint32_t *)column_at(forgotten, --forgotten->count);
    thread_id thread = ((const struct perf_task *)column_at(&tasks->rows, *row))->thread;
    profile_replace_thread(tasks->profile, thread, process_none(), tid, 0);
    return thread;
}

static struct perf_task *add_task(struct perf_tasks *tasks, uint32_t *slot, uint32_t machine, int64_t pid,
                                  int64_t tid) {
    uint32_t row;
    thread_id thread = add_row(tasks, pid, tid, &row);
    if (thread_is_none(thread)) return NULL;
    struct perf_task *task = column_at(&tasks->rows, row);
    *task = (struct perf_task){.pid = PID_UNKNOWN,
                               .machine = machine,
                               .thread = thread,
                               .namespaces = ID_NONE,
                               .first_program = string_none(),
                               .last_program = string_none(),
                               .first_wait = ID_NONE,
                               .last_wait = ID_NONE,
                               .last_time_ns = TIME_NONE,
                               .last_switch_ns = TIME_NONE};
    if (*slot != ID_NONE) count_former(tasks, column_at(&tasks->rows, *slot));
    *slot = row;
    if (tid == -1) profile_thread_at(tasks->profile, thread)->name = TEXT("unknown");
    if (tid == 0) profile_thread_at(tasks->profile, thread)->name = TEXT("swapper"); /* no record names it */
    if (pid != PID_UNKNOWN) learn_pid(tasks, task, pid);
    return task;
}

/* Some pids follow from the tid alone: those of idle tasks, and the "-1" of a task that perf lost track of. */
static int64_t known_pid(int64_t pid, int64_t tid) {
    if (tid == 0 || tid == -1) return tid;
    return pid == -1 ? PID_UNKNOWN : pid;
}

struct perf_task *perf_tasks_find(struct perf_tasks *tasks, uint32_t machine, int64_t pid, int64_t tid) {
    pid = known_pid(pid, tid);
    uint32_t *slot = current_slot(tasks, machine, tid);
    if (!slot) return NULL;
    if (*slot == ID_NONE) return add_task(tasks, slot, machine, pid, tid);
    struct perf_task *task = column_at(&tasks->rows, *slot);
    if (pid == PID_UNKNOWN || task->pid == pid) return task;
    if (task->pid != PID_UNKNOWN) return add_task(tasks, slot, machine, pid, tid);
    learn_pid(tasks, task, pid);
    return task;
}

struct perf_task *perf_tasks_known(const struct perf_tasks *tasks, uint32_t machine, int64_t tid) {
    struct tid_key key = {.id = tid, .machine = machine};
    const uint32_t *row = value_table_find(&tasks->current, &key);
    return !row || *row == ID_NONE ? NULL : column_at(&tasks->rows, *row);
}

bool perf_tasks_has_process(const struct perf_tasks *tasks, uint32_t machine, int64_t pid) {
    struct tid_key key = {.id = pid, .machine = machine};
    return value_table_find(&tasks->processes, &key);
}

bool perf_tasks_has_main(const struct perf_tasks *tasks, const struct perf_task *task) {
    return perf_tasks_known(tasks, task->machine, task->pid);
}

static const struct marker_field rename_fields[] = {
    {.key = TEXT("from"), .label = TEXT("From"), .format = MARKER_UNIQUE_STRING},
    {.key = TEXT("to"), .label = TEXT("To"), .format = MARKER_UNIQUE_STRING},
};

static const struct marker_schema rename_schema = {
    .name = TEXT("Renamed"),
    .description = TEXT("The thread changed its name."),
    .table_label = TEXT("{marker.data.from} → {marker.data.to}"),
    .display = MARKER_DISPLAY_CHART | MARKER_DISPLAY_TABLE, /* a strip for it would only make tracks higher */
    .fields = rename_fields,
    .field_count = sizeof rename_fields / sizeof *rename_fields,
};

static void mark_rename(struct perf_tasks *tasks, const struct perf_task *task, struct text to, int64_t time_ns) {
    struct profile *profile = tasks->profile;
    struct thread *thread = profile_thread_at(profile, task->thread);
    int64_t end_ns = time_ns;
    if (!filter_keeps_marker(tasks->filter, profile, task->thread, &time_ns, &end_ns)) return;
    if (tasks->rename_schema == UINT16_MAX) tasks->rename_schema = profile_marker_schema(profile, &rename_schema);
    union marker_value values[2] = {{.string = profile_string(profile, thread->name)},
                                    {.string = profile_string(profile, to)}};
    struct marker marker = {
        .start_ns = time_ns,
        .end_ns = time_ns,
        .name = profile_string(profile, TEXT("Renamed")),
        .stack = stack_none(),
        .schema = tasks->rename_schema,
        .phase = MARKER_INSTANT,
        .is_routine = true,
    };
    profile_add_marker(profile, thread, marker, values);
}

/* Returns where the thread's name is until it is known whether the thread is forgotten; NULL if memory ran out
 * (latched). */
static struct perf_comm *comm_of(struct perf_tasks *tasks, thread_id thread) {
    while (tasks->comms.count <= thread.index)
        if (!column_push(&tasks->comms)) return NULL;
    return column_at(&tasks->comms, thread.index);
}

/* With filters, most threads may be forgotten, and their names with them. */
static void set_name(struct perf_tasks *tasks, const struct perf_task *task, struct text name) {
    struct thread *thread = profile_thread_at(tasks->profile, task->thread);
    bool has_comm = name.bytes_count && name.bytes_count <= sizeof(struct perf_comm);
    struct perf_comm *comm = has_comm && filter_leaves_tasks(tasks->filter) ? comm_of(tasks, task->thread) : NULL;
    thread->name = comm ? (struct text){comm->bytes, name.bytes_count} : profile_text(tasks->profile, name);
    if (comm) memcpy(comm->bytes, name.bytes, name.bytes_count);
}

void perf_tasks_keep_names(struct perf_tasks *tasks) {
    COLUMN_EACH(const struct perf_task, task, &tasks->rows) {
        struct thread *thread = profile_thread_at(tasks->profile, task->thread);
        thread->name = profile_text(tasks->profile, thread->name);
    }
}

void perf_tasks_rename(struct perf_tasks *tasks, struct perf_task *task, struct text comm, int64_t time_ns) {
    struct thread *thread = profile_thread_at(tasks->profile, task->thread);
    if (thread->tid == -1 || !comm.bytes_count || text_equal(thread->name, comm)) return;
    if (task->has_samples) mark_rename(tasks, task, comm, time_ns);
    set_name(tasks, task, comm);
}

/* Adds the next generation of the process, since its main thread was created again. */
static void begin_process_generation(struct perf_tasks *tasks, uint32_t machine, int64_t pid, int64_t time_ns) {
    process_id *slot = process_slot(tasks, pid, machine);
    if (!slot) return;
    uint32_t generation = profile_process_at(tasks->profile, *slot)->generation + 1;
    process_id next = add_process(tasks, pid, machine, generation);
    if (process_is_none(next)) return;
    *slot = next;
    profile_process_at(tasks->profile, next)->start_ns = time_ns;
}

/* True if a fork that creates the task's tid must create another task. A task that only records have named so far may
 * be the one that the fork creates. */
static bool is_used_up(const struct perf_tasks *tasks, const struct perf_task *task) {
    bool has_ended = profile_thread_at(tasks->profile, task->thread)->end_ns != TIME_NONE;
    return task->is_forked || task->has_samples || has_ended;
}

/* If there are several parents, the first one stays. */
static void set_parent(struct perf_tasks *tasks, const struct perf_task *task, const struct perf_task *parent) {
    process_id child = profile_thread_at(tasks->profile, task->thread)->process;
    process_id of_parent = profile_thread_at(tasks->profile, parent->thread)->process;
    if (process_is_none(child) || process_is_none(of_parent) || process_is_same(child, of_parent)) return;
    struct process *process = profile_process_at(tasks->profile, child);
    if (process_is_none(process->parent)) process->parent = of_parent;
}

/* A forked process has its parent's command line until it executes a program. */
static void inherit_command_line(struct perf_tasks *tasks, const struct thread *child, const struct perf_task *parent) {
    process_id of_parent = profile_thread_at(tasks->profile, parent->thread)->process;
    if (process_is_none(child->process) || process_is_none(of_parent)) return;
    struct command_line *line = profile_process_at(tasks->profile, of_parent)->command_line;
    profile_process_at(tasks->profile, child->process)->command_line = line;
}

void perf_tasks_adopt(struct perf_tasks *tasks, uint32_t machine, int64_t pid, int64_t tid,
                      const struct perf_task *parent) {
    const struct perf_task *task = perf_tasks_find(tasks, machine, pid, tid);
    if (task && parent) set_parent(tasks, task, parent);
}

void perf_tasks_fork(struct perf_tasks *tasks, uint32_t machine, int64_t pid, int64_t tid,
                     const struct perf_task *parent, int64_t time_ns) {
    tasks->has_records = true;
    uint32_t *slot = current_slot(tasks, machine, tid);
    if (!slot) return;
    struct perf_task *task = *slot == ID_NONE ? NULL : column_at(&tasks->rows, *slot);
    bool is_next = task ? is_used_up(tasks, task) : tasks->has_forgotten;
    if (is_next && pid == tid && perf_tasks_has_process(tasks, machine, pid))
        begin_process_generation(tasks, machine, pid, time_ns);
    task = is_next ? add_task(tasks, slot, machine, pid, tid) : perf_tasks_find(tasks, machine, pid, tid);
    if (!task) return;
    task->is_forked = true;
    if (parent) set_parent(tasks, task, parent);
    struct thread *thread = profile_thread_at(tasks->profile, task->thread);
    thread->start_ns = time_ns;
    if (pid == tid && !process_is_none(thread->process))
        profile_process_at(tasks->profile, thread->process)->start_ns = time_ns;
    if (parent) inherit_command_line(tasks, thread, parent);
    if (parent) task->namespaces = parent->namespaces;
    if (parent) task->last_program = parent->last_program;
    if (parent && !thread->name.bytes_count)
        set_name(tasks, task, profile_thread_at(tasks->profile, parent->thread)->name);
}

uint32_t perf_tasks_exit(struct perf_tasks *tasks, uint32_t machine, int64_t pid, int64_t tid, int64_t time_ns) {
    struct perf_task *task = perf_tasks_find(tasks, machine, pid, tid);
    tasks->has_records = true;
    if (!task) return ID_NONE;
    profile_thread_at(tasks->profile, task->thread)->end_ns = time_ns;
    return *current_slot(tasks, machine, tid);
}

bool perf_tasks_can_forget(const struct perf_tasks *tasks, const struct perf_task *task) {
    const struct thread *thread = profile_thread_at(tasks->profile, task->thread);
    bool is_needed = task->last_series || task->is_throttled || thread->markers.count || thread->tid == task->pid;
    return !task->is_forgotten && !is_needed && thread->end_ns != TIME_NONE && !process_is_none(thread->process);
}

void perf_tasks_forget(struct perf_tasks *tasks, uint32_t row) {
    struct perf_task *task = column_at(&tasks->rows, row);
    const struct thread *thread = profile_thread_at(tasks->profile, task->thread);
    struct process *process = profile_process_at(tasks->profile, thread->process);
    uint32_t *slot = current_slot(tasks, task->machine, thread->tid);
    uint32_t *forgotten = slot ? column_push(&tasks->forgotten) : NULL;
    if (!forgotten) return;
    *forgotten = row;
    task->is_forgotten = tasks->has_forgotten = true;
    if (*slot == row) *slot = ID_NONE;
    process->end_ns = time_later(process->end_ns, thread->end_ns);
}

bool perf_tasks_execute(struct perf_tasks *tasks, struct perf_task *task, int64_t time_ns) {
    struct thread *thread = profile_thread_at(tasks->profile, task->thread);
    thread->executed_ns = time_ns;
    if (thread->end_ns == TIME_NONE) return false;
    thread->end_ns = TIME_NONE;
    struct perf_takeover *takeover = time_ns == TIME_NONE ? NULL : column_push(&tasks->takeovers);
    if (takeover) *takeover = (struct perf_takeover){task->thread, time_ns};
    return true;
}

void perf_tasks_forget_lives(struct perf_tasks *tasks) {
    COLUMN_EACH(const struct perf_task, task, &tasks->rows) {
        struct thread *thread = profile_thread_at(tasks->profile, task->thread);
        if (!thread_has_content(thread) && thread->tid != task->pid) thread->start_ns = thread->end_ns = TIME_NONE;
    }
}

static int compare_takeovers(const void *left, const void *right) {
    const struct perf_takeover *a = left, *b = right;
    return ORDER(a->main.index, b->main.index) ?: ORDER(a->time_ns, b->time_ns);
}

/* Returns when all other threads of the process ended after that time, because one of them took the place of the main
 * one; TIME_NONE: never. */
static int64_t taken_over_ns(const struct perf_tasks *tasks, thread_id main, int64_t after_ns) {
    const struct column *all = &tasks->takeovers;
    const struct perf_takeover last = {main, after_ns};
    size_t next = FIRST_ROW(row, all->count, compare_takeovers(column_at(all, row), &last) > 0);
    const struct perf_takeover *found = next < all->count ? column_at(all, next) : NULL;
    return found && found->main.index == main.index ? found->time_ns : TIME_NONE;
}

void perf_tasks_end_replacing(struct perf_tasks *tasks) {
    column_sort(&tasks->takeovers, compare_takeovers);
    COLUMN_EACH(const struct perf_task, task, &tasks->rows) {
        const struct perf_task *main = perf_tasks_known(tasks, task->machine, task->pid);
        struct thread *thread = profile_thread_at(tasks->profile, task->thread);
        if (thread->end_ns != TIME_NONE || !main || main == task) continue;
        thread->end_ns = taken_over_ns(tasks, main->thread, time_later(thread->start_ns, task->last_time_ns));
    }
}

/* ---- Samples. ---- */

struct perf_series *perf_tasks_series(struct perf_tasks *tasks, struct perf_task *task, uint32_t event, bool is_bare) {
    struct perf_series *last = task->last_series;
    if (last && last->event == event && last->is_bare == is_bare) return last;
    struct series_key key = {task->thread, event, is_bare};
    uint32_t row = row_table_intern(&tasks->series_keys, &key);
    if (row == ID_NONE) return NULL;
    if (row < tasks->series.count) return task->last_series = column_at(&tasks->series, row);
    struct perf_series *series = column_push(&tasks->series);
    if (!series) return NULL;
    *series = (struct perf_series){.event = event, .is_bare = is_bare, .thread = task->thread};
    samples_init(&series->samples, tasks->profile->failure);
    column_init(&series->payloads, sizeof(struct perf_payload), tasks->profile->failure);
    arena_init(&series->bytes, tasks->profile->failure);
    column_init(&series->addresses, sizeof(struct perf_data_address), tasks->profile->failure);
    return task->last_series = series;
}

static void start_until(struct thread *thread, int64_t time_ns) {
    if (thread->start_ns == TIME_NONE || time_ns < thread->start_ns) thread->start_ns = time_ns;
}

/* Without records of tasks, nothing is known of a thread before its first sample or marker. */
static void start_threads_with_content(struct perf_tasks *tasks, const struct perf_events *events) {
    struct profile *profile = tasks->profile;
    COLUMN_EACH(const struct perf_series, series, &tasks->series) {
        struct thread *thread = profile_thread_at(profile, series->thread);
        if (perf_events_at(events, series->event)->treatment == EVENT_DROPPED) continue;
        for (uint32_t j = 0; j < samples_count(&series->samples); j++) {
            int64_t time_ns = samples_at(&series->samples, j)->time_ns;
            if (time_ns != TIME_NONE) start_until(thread, time_ns);
        }
    }
    COLUMN_EACH(struct thread, thread, &profile->threads)
        for (size_t j = 0; j < thread->markers.count; j++)
            start_until(thread, ((const struct marker *)column_at(&thread->markers, j))->start_ns);
}

struct track_key {
    uint32_t thread;
    uint32_t name; /* row in the names of the events */
};

/* Returns the track of the series's event in its thread; none if memory ran out (latched). tracks: those that were
 * added, thread_id by struct track_key. */
static thread_id track_of(const struct perf_tasks *tasks, const struct perf_events *events, struct value_table *tracks,
                          const struct perf_series *series) {
    const struct perf_event *event = perf_events_at(events, series->event);
    const thread_id none = thread_none();
    thread_id *known = value_table_intern(tracks, &(struct track_key){series->thread.index, event->track.index}, &none);
    if (!known || !thread_is_none(*known)) return known ? *known : none;
    struct text name = profile_text(tasks->profile, strings_text(&events->names, event->track));
    const struct event_track track = {.event = name.bytes_count ? name : TEXT("without a name"),
                                      .counts_ns = event->unit == PERF_EVENT_CLOCK_NS || event->is_off_cpu_time,
                                      .owner = series->thread};
    return *known = profile_add_track(tasks->profile, &track);
}

/* Moves the samples into their threads, which have none yet, or into tracks. */
static void place_samples(struct perf_tasks *tasks, const struct perf_events *events) {
    struct value_table tracks;
    value_table_init(&tracks, sizeof(struct track_key), sizeof(thread_id), tasks->profile->failure);
    for (size_t i = 0; i < tasks->series.count && !failure_is_set(tasks->profile->failure); i++) {
        struct perf_series *series = column_at(&tasks->series, i);
        enum event_treatment treatment = perf_events_at(events, series->event)->treatment;
        if (series->is_bare || series->event == events->off_cpu_time ||
            (treatment != EVENT_SAMPLES && treatment != EVENT_TRACKS))
            continue;
        thread_id thread = treatment == EVENT_TRACKS ? track_of(tasks, events, &tracks, series) : series->thread;
        if (thread_is_none(thread)) break;
        samples_take(&profile_thread_at(tasks->profile, thread)->samples, &series->samples);
    }
    value_table_fini(&tracks);
}

/* ---- Counters. ---- */

/* Makes counters of the samples of one event, one for each process. */
static void count_event(struct perf_tasks *tasks, const struct perf_events *events, uint32_t row,
                        struct counter **counters) {
    struct profile *profile = tasks->profile;
    const struct perf_event *event = perf_events_at(events, row);
    struct text name = event->name.bytes_count ? event->name : TEXT("without a name");
    const struct counter like = {.name = profile_text(profile, name),
                                 .category = TEXT("perf"),
                                 .description = TEXT("How often the event happened, from the periods of its samples."),
                                 .graph = COUNTER_RATE,
                                 .color = GRAPH_ORANGE,
                                 .has_each_change = true,
                                 .sort_weight = 60};
    memset(counters, 0, profile->processes.count * sizeof *counters);
    COLUMN_EACH(const struct perf_series, series, &tasks->series) {
        if (series->event != row) continue;
        process_id process = profile_thread_at(profile, series->thread)->process;
        struct counter **counter = &counters[process.index];
        struct counter added = like;
        added.process = process;
        if (!*counter) *counter = profile_add_counter(profile, &added);
        for (uint32_t j = 0; *counter && j < samples_count(&series->samples); j++) {
            const struct sample *sample = samples_at(&series->samples, j);
            column_add(&(*counter)->samples,
                       &(struct counter_sample){.time_ns = sample->time_ns,
                                                .change = profile_weight_decode(profile, sample->weight).mantissa});
        }
    }
}

static void add_counters(struct perf_tasks *tasks, const struct perf_events *events) {
    struct failure *failure = tasks->profile->failure;
    struct counter **counters = memory_allocate(failure, tasks->profile->processes.count * sizeof *counters);
    for (uint32_t i = 0; counters && i < events->rows.count && !failure_is_set(failure); i++)
        if (perf_events_at(events, i)->treatment == EVENT_COUNTER) count_event(tasks, events, i, counters);
    memory_free(counters);
}

/* A process ends with the last of its threads. If the end of one thread is unknown, so is the end of the process. */
static void end_processes(struct perf_tasks *tasks) {
    struct profile *profile = tasks->profile;
    COLUMN_EACH(const struct thread, thread, &profile->threads) {
        struct process *process = profile_process_at(profile, thread->process);
        if (thread->end_ns > process->end_ns) process->end_ns = thread->end_ns;
    }
    COLUMN_EACH(const struct thread, thread, &profile->threads)
        if (thread->end_ns == TIME_NONE) profile_process_at(profile, thread->process)->end_ns = TIME_NONE;
}

void perf_tasks_finish(struct perf_tasks *tasks, const struct perf_events *events) {
    struct profile *profile = tasks->profile;
    profile->meta.are_starts_guessed = !tasks->has_records;
    if (!tasks->has_records) start_threads_with_content(tasks, events);
    COLUMN_EACH(const struct perf_task, task, &tasks->rows) {
        struct thread *thread = profile_thread_at(profile, task->thread);
        if (process_is_none(thread->process)) {
            const process_id *unknown = process_slot(tasks, PID_UNKNOWN, task->machine);
            if (!unknown) return;
            thread->process = *unknown;
        }
    }
    place_samples(tasks, events);
    add_counters(tasks, events);
    end_processes(tasks);
}
