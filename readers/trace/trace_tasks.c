#include "trace_tasks.h"

#include "libconvert/base/first_row.h"
#include "libconvert/base/memory.h"
#include "recorder/trace_format.h"

struct process_key {
    int64_t pid;
    uint64_t start_ns;
};

struct thread_key {
    uint64_t process;
    uint64_t uid;
};

void trace_tasks_init(struct trace_tasks *tasks, struct profile *profile) {
    *tasks = (struct trace_tasks){.profile = profile};
    row_table_init(&tasks->process_keys, sizeof(struct process_key), profile->failure);
    row_table_init(&tasks->thread_keys, sizeof(struct thread_key), profile->failure);
    column_init(&tasks->processes, sizeof(struct trace_process), profile->failure);
    column_init(&tasks->threads, sizeof(struct trace_thread), profile->failure);
}

void trace_tasks_fini(struct trace_tasks *tasks) {
    row_table_fini(&tasks->process_keys);
    row_table_fini(&tasks->thread_keys);
    COLUMNS_FINI(&tasks->processes, &tasks->threads);
}

static struct trace_process *add_process(struct trace_tasks *tasks, const struct process_key *key) {
    process_id id = profile_add_process(tasks->profile, key->pid, 0);
    struct trace_process *process = process_is_none(id) ? NULL : column_push(&tasks->processes);
    if (process)
        *process = (struct trace_process){.id = id,
                                          .start_ns = key->start_ns,
                                          .parent_pid = PID_UNKNOWN,
                                          .first_ticks = TIME_NONE,
                                          .last_ticks = TIME_NONE,
                                          .successor = process_none()};
    return process;
}

struct trace_process *trace_tasks_process(struct trace_tasks *tasks, int64_t pid, uint64_t start_ns) {
    struct process_key key = {pid, start_ns};
    uint32_t row = row_table_intern(&tasks->process_keys, &key);
    if (row < tasks->processes.count) return column_at(&tasks->processes, row);
    /* Rows of the table without a process come after all rows with one. */
    if (row != tasks->processes.count || row >= TRACE_TASK_COUNT_MAX) return NULL;
    return add_process(tasks, &key);
}

struct trace_process *trace_tasks_find_process(struct trace_tasks *tasks, int64_t pid, uint64_t time_ns) {
    struct trace_process *found = NULL;
    COLUMN_EACH(struct trace_process, process, &tasks->processes) {
        bool has_pid = profile_process_at(tasks->profile, process->id)->pid == pid && process->start_ns <= time_ns;
        if (has_pid && (!found || process->start_ns >= found->start_ns)) found = process;
    }
    return found;
}

void trace_tasks_set_arguments(struct trace_tasks *tasks, int64_t pid, uint64_t start_ns, struct text arguments) {
    const struct process_key key = {pid, start_ns};
    uint32_t row = row_table_find(&tasks->process_keys, &key);
    if (row >= tasks->processes.count) return;
    const struct trace_process *process = column_at(&tasks->processes, row);
    struct command_line *line = profile_allocate(tasks->profile, sizeof *line);
    if (!line) return;
    *line = (struct command_line){.arguments = arguments};
    profile_process_at(tasks->profile, process->id)->command_line = line;
}

static struct trace_thread *add_thread(struct trace_tasks *tasks, const struct thread_key *key, int64_t tid) {
    thread_id id = profile_add_thread(tasks->profile, (process_id){(uint32_t)key->process}, tid, 0);
    struct trace_thread *thread = thread_is_none(id) ? NULL : column_push(&tasks->threads);
    if (thread) *thread = (struct trace_thread){.id = id, .uid = key->uid};
    return thread;
}

struct trace_thread *trace_tasks_thread(struct trace_tasks *tasks, const struct trace_process *process, uint64_t uid,
                                        int64_t tid) {
    struct thread_key key = {process->id.index, uid};
    uint32_t row = row_table_intern(&tasks->thread_keys, &key);
    if (row < tasks->threads.count) return column_at(&tasks->threads, row);
    if (row != tasks->threads.count || row >= TRACE_TASK_COUNT_MAX) return NULL;
    return add_thread(tasks, &key, tid);
}

static bool is_sampler(const struct thread *thread) { return text_equal(thread->name, TEXT(SAMPLER_THREAD_NAME)); }

bool trace_tasks_is_sampler(const struct trace_tasks *tasks, const struct trace_thread *thread) {
    return is_sampler(profile_thread_at(tasks->profile, thread->id));
}

void trace_tasks_name_process(struct trace_tasks *tasks, struct trace_process *process, struct text name,
                              int64_t ticks) {
    if (!name.bytes_count || (process->has_name && ticks < process->name_ticks)) return;
    process->has_name = true;
    process->name_ticks = ticks;
    profile_process_at(tasks->profile, process->id)->name = profile_text(tasks->profile, name);
}

void trace_tasks_name_thread(struct trace_tasks *tasks, struct trace_thread *thread, struct text name,
                             enum trace_name_rank rank, int64_t ticks) {
    bool is_older = rank < thread->name_rank || (rank == thread->name_rank && ticks < thread->name_ticks);
    if (!name.bytes_count || is_older) return;
    thread->name_rank = rank;
    thread->name_ticks = ticks;
    profile_thread_at(tasks->profile, thread->id)->name = profile_text(tasks->profile, name);
}

/* ---- Generations. ---- */

/* A process or thread in the order of those with the same pid or tid. */
struct generation {
    uint64_t group; /* the process of a thread; 0 for processes */
    int64_t number; /* pid or tid */
    uint64_t order; /* start time or uid, which ascend */
    uint64_t row;
    uint32_t *generation; /* borrowed; receives the number of the generation */
};

static int compare_generations(const void *left, const void *right) {
    const struct generation *a = left, *b = right;
    if (a->group != b->group) return ORDER(a->group, b->group);
    return ORDER(a->number, b->number) ?: ORDER(a->order, b->order) ?: ORDER(a->row, b->row);
}

static struct generation *allocate_generations(struct trace_tasks *tasks, size_t count) {
    return memory_allocate(tasks->profile->failure, count * sizeof(struct generation));
}

/* Returns the process that had the pid at that time: the last one that started until then. NULL if there is none. */
static const struct generation *find_process(const struct generation *generations, size_t count, int64_t pid,
                                             uint64_t start_ns) {
    size_t next = FIRST_ROW(
        i, count, generations[i].number > pid || (generations[i].number == pid && generations[i].order > start_ns));
    return next && generations[next - 1].number == pid ? &generations[next - 1] : NULL;
}

static void find_parents(struct trace_tasks *tasks, const struct generation *generations, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct trace_process *child = column_at(&tasks->processes, i);
        const struct generation *parent = find_process(generations, count, child->parent_pid, child->start_ns);
        if (!parent || parent->row == i) continue;
        const struct trace_process *row = column_at(&tasks->processes, parent->row);
        profile_process_at(tasks->profile, child->id)->parent = row->id;
    }
}

/* Sorts the generations and numbers them. */
static void number_generations(struct trace_tasks *tasks, struct generation *generations, size_t count) {
    memory_sort(tasks->profile->failure, generations, count, sizeof *generations, compare_generations);
    for (size_t i = 0; i < count; i++) {
        const struct generation *this = &generations[i], *previous = i ? &generations[i - 1] : NULL;
        bool is_same = previous && previous->group == this->group && previous->number == this->number;
        *this->generation = is_same ? *previous->generation + 1 : 0;
    }
}

static int compare_ages(const void *left, const void *right) {
    const struct generation *a = left, *b = right;
    return ORDER(a->order, b->order) ?: ORDER(a->row, b->row);
}

/* A forked child has its parent's command line, and does not record it. One that executes another program does. Sorts
 * the generations: a parent comes before its children. */
static void inherit_arguments(struct trace_tasks *tasks, struct generation *generations, size_t count) {
    memory_sort(tasks->profile->failure, generations, count, sizeof *generations, compare_ages);
    for (size_t i = 0; i < count; i++) {
        const struct trace_process *row = column_at(&tasks->processes, generations[i].row);
        struct process *process = profile_process_at(tasks->profile, row->id);
        if (process->command_line || process_is_none(process->parent)) continue;
        const struct process *parent = profile_process_at(tasks->profile, process->parent);
        if (text_equal(parent->name, process->name)) process->command_line = parent->command_line;
    }
}

/* Finds the processes that have taken over the pid of one that has no end, usually by executing another program. */
static void find_successors(struct trace_tasks *tasks, const struct generation *generations, size_t count) {
    for (size_t i = 1; i < count; i++) {
        struct trace_process *process = column_at(&tasks->processes, generations[i - 1].row);
        const struct trace_process *next = column_at(&tasks->processes, generations[i].row);
        if (generations[i - 1].number == generations[i].number && !process->has_ended) process->successor = next->id;
    }
}

static void number_processes(struct trace_tasks *tasks) {
    size_t count = tasks->processes.count;
    struct generation *generations = allocate_generations(tasks, count);
    if (!generations) return;
    for (size_t i = 0; i < count; i++) {
        const struct trace_process *row = column_at(&tasks->processes, i);
        struct process *process = profile_process_at(tasks->profile, row->id);
        generations[i] = (struct generation){0, process->pid, row->start_ns, i, &process->generation};
    }
    number_generations(tasks, generations, count);
    find_parents(tasks, generations, count);
    find_successors(tasks, generations, count);
    inherit_arguments(tasks, generations, count);
    memory_free(generations);
}

static void number_threads(struct trace_tasks *tasks) {
    size_t count = tasks->threads.count;
    struct generation *generations = allocate_generations(tasks, count);
    if (!generations) return;
    for (size_t i = 0; i < count; i++) {
        const struct trace_thread *row = column_at(&tasks->threads, i);
        struct thread *thread = profile_thread_at(tasks->profile, row->id);
        generations[i] = (struct generation){thread->process.index, thread->tid, row->uid, i, &thread->generation};
    }
    number_generations(tasks, generations, count);
    memory_free(generations);
}

/* ---- Processes of which the sampler saw nothing. ---- */

/* In place of the number of a process's only thread. */
enum { NO_THREAD = UINT32_MAX, SEVERAL_THREADS = UINT32_MAX - 1 };

/* A program that ran for less than one interval has counters, and no thread but the sampler's. The viewer needs a
 * thread to show counters. The track of the main thread, which has the program's name, is more useful than one of the
 * sampler. */
static void show_main_thread(struct trace_tasks *tasks, uint32_t row) {
    struct thread *thread = column_at(&tasks->profile->threads, row);
    const struct process *process = profile_process_at(tasks->profile, thread->process);
    if (thread_has_content(thread) || !is_sampler(thread)) return;
    thread->tid = process->pid;
    thread->name = process->name;
    thread->start_ticks = TIME_NONE;
}

static void show_main_threads(struct trace_tasks *tasks) {
    size_t count = tasks->processes.count;
    uint32_t *only_threads = memory_allocate(tasks->profile->failure, count * sizeof *only_threads);
    if (!only_threads) return;
    for (size_t i = 0; i < count; i++) only_threads[i] = NO_THREAD;
    for (uint32_t i = 0; i < tasks->threads.count; i++) {
        uint32_t *only = &only_threads[((const struct thread *)column_at(&tasks->profile->threads, i))->process.index];
        *only = *only == NO_THREAD ? i : SEVERAL_THREADS;
    }
    for (size_t i = 0; i < count; i++)
        if (only_threads[i] < SEVERAL_THREADS) show_main_thread(tasks, only_threads[i]);
    memory_free(only_threads);
}

/* Returns when a process without an end in the trace ended; TIME_NONE if it still records. */
static int64_t find_end_ns(const struct trace_tasks *tasks, const struct trace_process *process,
                           struct trace_clock *clock) {
    if (!process_is_none(process->successor)) return profile_process_at(tasks->profile, process->successor)->start_ns;
    bool is_known = process->fate != TRACE_FATE_STILL_RECORDING && process->last_ticks != TIME_NONE;
    return is_known ? trace_clock_convert(clock, process->last_ticks) : TIME_NONE;
}

static struct text ending_of(const struct trace_process *process) {
    static const struct text of_ends[] = {[TRACE_END_STOPPED] = TEXT("stopped recording"),
                                          [TRACE_END_EXITED] = TEXT("exited"),
                                          [TRACE_END_TOLD] = TEXT("stopped recording")};
    static const struct text of_fates[] = {[TRACE_FATE_STILL_RECORDING] = TEXT("still recording"),
                                           [TRACE_FATE_KILLED] = TEXT("killed, or ended by _exit"),
                                           [TRACE_FATE_REPLACED] = TEXT("executed another program")};
    if (process->has_ended) return process->end <= TRACE_END_TOLD ? of_ends[process->end] : (struct text){0};
    enum trace_fate fate = process_is_none(process->successor) ? process->fate : TRACE_FATE_REPLACED;
    return fate <= TRACE_FATE_REPLACED ? of_fates[fate] : (struct text){0};
}

static void start_processes(struct trace_tasks *tasks) {
    COLUMN_EACH(const struct trace_process, row, &tasks->processes) {
        bool is_known = row->start_ns && row->start_ns <= INT64_MAX / 2;
        if (is_known) profile_process_at(tasks->profile, row->id)->start_ns = (int64_t)row->start_ns;
    }
}

static void end_processes(struct trace_tasks *tasks, struct trace_clock *clock) {
    COLUMN_EACH(const struct trace_process, row, &tasks->processes) {
        struct process *process = profile_process_at(tasks->profile, row->id);
        process->is_replaced = !process_is_none(row->successor);
        process->ending = ending_of(row);
        process->lives_on = row->has_ended && (row->end == TRACE_END_STOPPED || row->end == TRACE_END_TOLD);
        if (process->end_ns == TIME_NONE) process->end_ns = find_end_ns(tasks, row, clock);
    }
}

/* Ends the threads that have no end of their own, such as the main thread, with their process. */
static void end_with_process(struct trace_tasks *tasks) {
    COLUMN_EACH(const struct trace_thread, row, &tasks->threads) {
        struct thread *thread = profile_thread_at(tasks->profile, row->id);
        if (thread->end_ns == TIME_NONE)
            thread->end_ns = process_shutdown_ns(profile_process_at(tasks->profile, thread->process));
    }
}

/* A process at the limit may have just one chunk left, in which it has ended and nothing else. */
static void note_lost_content(struct trace_tasks *tasks) {
    COLUMN_EACH(const struct trace_process, row, &tasks->processes)
        profile_process_at(tasks->profile, row->id)->has_lost_content = row->taken_count > row->chunk_count;
}

/* If the samples have less time themselves, most of them are missing, since the trace is limited. But a short thread
 * may have one sample, of little time, and then use up to an interval. */
static void add_rests(struct trace_tasks *tasks) {
    COLUMN_EACH(const struct trace_thread, row, &tasks->threads) {
        struct thread *thread = profile_thread_at(tasks->profile, row->id);
        if (row->rest_ns) samples_spread_cpu(&thread->samples, row->rest_ns, row->interval_ns);
    }
}

/* Without a sampler, nothing is known of the CPU time of the samples that the thread took itself. */
static void drop_unknown_cpu(struct trace_tasks *tasks) {
    COLUMN_EACH(const struct trace_thread, row, &tasks->threads)
        if (!row->has_sampled_cpu) samples_forget_cpu(&profile_thread_at(tasks->profile, row->id)->samples);
}

/* The viewer greys out what is outside of a life. The sampler takes a sample first, and then asks which thread that
 * was. While a process ends, the sampler still takes a last one. */
static void cover_samples(struct trace_tasks *tasks) {
    COLUMN_EACH(struct thread, thread, &tasks->profile->threads) {
        struct process *process = profile_process_at(tasks->profile, thread->process);
        for (uint32_t j = 0; j < samples_count(&thread->samples); j++) {
            int64_t ticks = samples_at(&thread->samples, j)->time_ticks;
            if (ticks < thread->start_ticks) thread->start_ticks = ticks;
            if (thread->end_ticks != TIME_NONE && ticks > thread->end_ticks) thread->end_ticks = ticks;
            if (process->end_ticks != TIME_NONE && ticks > process->end_ticks) process->end_ticks = ticks;
        }
    }
}

void trace_tasks_finish(struct trace_tasks *tasks) {
    drop_unknown_cpu(tasks);
    cover_samples(tasks);
    add_rests(tasks);
    note_lost_content(tasks);
    show_main_threads(tasks);
    number_processes(tasks);
    number_threads(tasks);
}

void trace_tasks_end(struct trace_tasks *tasks, struct trace_clock *clock) {
    start_processes(tasks);
    end_processes(tasks, clock);
    end_with_process(tasks);
}
