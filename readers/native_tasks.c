#include "native_tasks.h"

#include "libconvert/memory.h"

struct process_key {
    int64_t pid;
    uint64_t start_ns;
};

struct thread_key {
    uint64_t process;
    uint64_t uid;
};

void native_tasks_init(struct native_tasks *tasks, struct profile *profile) {
    *tasks = (struct native_tasks){.profile = profile};
    row_table_init(&tasks->process_keys, sizeof(struct process_key), profile->failure);
    row_table_init(&tasks->thread_keys, sizeof(struct thread_key), profile->failure);
    column_init(&tasks->processes, sizeof(struct native_process), profile->failure);
    column_init(&tasks->threads, sizeof(struct native_thread), profile->failure);
}

void native_tasks_fini(struct native_tasks *tasks) {
    for (size_t i = 0; i < tasks->threads.count; i++) {
        struct native_thread *thread = column_at(&tasks->threads, i);
        stack_path_fini(&thread->path);
    }
    row_table_fini(&tasks->process_keys);
    row_table_fini(&tasks->thread_keys);
    column_fini(&tasks->processes);
    column_fini(&tasks->threads);
}

static struct native_process *add_process(struct native_tasks *tasks, const struct process_key *key) {
    process_id id = profile_add_process(tasks->profile, key->pid, 0);
    struct native_process *process = process_is_none(id) ? NULL : column_push(&tasks->processes);
    if (process) *process = (struct native_process){.id = id, .start_ns = key->start_ns};
    return process;
}

struct native_process *native_tasks_process(struct native_tasks *tasks, int64_t pid, uint64_t start_ns) {
    struct process_key key = {pid, start_ns};
    uint32_t row = row_table_intern(&tasks->process_keys, &key);
    if (row < tasks->processes.count) return column_at(&tasks->processes, row);
    /* Rows of the table that did not become processes come after all that did. */
    if (row != tasks->processes.count || row >= NATIVE_TASK_COUNT_MAX) return NULL;
    return add_process(tasks, &key);
}

static struct native_thread *add_thread(struct native_tasks *tasks, const struct thread_key *key, int64_t tid) {
    thread_id id = profile_add_thread(tasks->profile, (process_id){(uint32_t)key->process}, tid, 0);
    struct native_thread *thread = thread_is_none(id) ? NULL : column_push(&tasks->threads);
    if (thread) *thread = (struct native_thread){.id = id, .uid = key->uid};
    return thread;
}

struct native_thread *native_tasks_thread(struct native_tasks *tasks, const struct native_process *process,
                                          uint64_t uid, int64_t tid) {
    struct thread_key key = {process->id.index, uid};
    uint32_t row = row_table_intern(&tasks->thread_keys, &key);
    if (row < tasks->threads.count) return column_at(&tasks->threads, row);
    if (row != tasks->threads.count || row >= NATIVE_TASK_COUNT_MAX) return NULL;
    return add_thread(tasks, &key, tid);
}

void native_tasks_name_process(struct native_tasks *tasks, struct native_process *process, struct text name,
                               int64_t ticks) {
    if (!name.bytes_count || (process->has_name && ticks < process->name_ticks)) return;
    process->has_name = true;
    process->name_ticks = ticks;
    profile_process_at(tasks->profile, process->id)->name = profile_text(tasks->profile, name);
}

void native_tasks_name_thread(struct native_tasks *tasks, struct native_thread *thread, struct text name,
                              enum native_name_rank rank, int64_t ticks) {
    bool is_older = rank < thread->name_rank || (rank == thread->name_rank && ticks < thread->name_ticks);
    if (!name.bytes_count || is_older) return;
    thread->name_rank = rank;
    thread->name_ticks = ticks;
    profile_thread_at(tasks->profile, thread->id)->name = profile_text(tasks->profile, name);
}

/* ---- Lives ---- */

/* A process or a thread among those of the same pid or tid. */
struct life {
    uint64_t group; /* process of a thread; 0 for processes */
    int64_t number; /* pid, tid */
    uint64_t order; /* the start, the uid: the order of birth */
    uint64_t row;
};

static int compare_lives(const void *left, const void *right) {
    const struct life *a = left, *b = right;
    if (a->group != b->group) return a->group < b->group ? -1 : 1;
    if (a->number != b->number) return a->number < b->number ? -1 : 1;
    if (a->order != b->order) return a->order < b->order ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

static struct life *allocate_lives(struct native_tasks *tasks, size_t count) {
    return memory_allocate(tasks->profile->failure, count * sizeof(struct life));
}

/* Which life the one at `i` is, knowing that of the one before. */
static uint32_t next_life(const struct life *lives, size_t i, uint32_t life_before) {
    bool is_same = i && lives[i].group == lives[i - 1].group && lives[i].number == lives[i - 1].number;
    return is_same ? life_before + 1 : 0;
}

static void settle_processes(struct native_tasks *tasks) {
    struct profile *profile = tasks->profile;
    size_t count = tasks->processes.count;
    struct life *lives = allocate_lives(tasks, count);
    if (!lives) return;
    for (size_t i = 0; i < count; i++) {
        const struct native_process *row = column_at(&tasks->processes, i);
        lives[i] = (struct life){0, profile_process_at(profile, row->id)->pid, row->start_ns, i};
    }
    memory_sort(profile->failure, lives, count, sizeof *lives, compare_lives);
    uint32_t life = 0;
    for (size_t i = 0; i < count; i++) {
        const struct native_process *row = column_at(&tasks->processes, lives[i].row);
        struct process *process = profile_process_at(profile, row->id);
        process->life = life = next_life(lives, i, life);
        if (row->start_ns && row->start_ns <= INT64_MAX / 2) process->start_ns = (int64_t)row->start_ns;
    }
    memory_free(lives);
}

static void settle_threads(struct native_tasks *tasks) {
    struct profile *profile = tasks->profile;
    size_t count = tasks->threads.count;
    struct life *lives = allocate_lives(tasks, count);
    if (!lives) return;
    for (size_t i = 0; i < count; i++) {
        const struct native_thread *row = column_at(&tasks->threads, i);
        const struct thread *thread = profile_thread_at(profile, row->id);
        lives[i] = (struct life){thread->process.index, thread->tid, row->uid, i};
    }
    memory_sort(profile->failure, lives, count, sizeof *lives, compare_lives);
    uint32_t life = 0;
    for (size_t i = 0; i < count; i++) {
        const struct native_thread *row = column_at(&tasks->threads, lives[i].row);
        profile_thread_at(profile, row->id)->life = life = next_life(lives, i, life);
    }
    memory_free(lives);
}

/* Threads that were there when their process ended, its main thread for one, ended with it. */
static void end_with_process(struct native_tasks *tasks) {
    for (size_t i = 0; i < tasks->threads.count; i++) {
        const struct native_thread *row = column_at(&tasks->threads, i);
        struct thread *thread = profile_thread_at(tasks->profile, row->id);
        if (thread->end_ns == TIME_NONE) thread->end_ns = profile_process_at(tasks->profile, thread->process)->end_ns;
    }
}

void native_tasks_settle(struct native_tasks *tasks) {
    settle_processes(tasks);
    settle_threads(tasks);
    end_with_process(tasks);
}
