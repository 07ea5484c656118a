#include "collapsed_threads.h"

struct thread_key {
    int64_t process;
    int64_t tid;
};

void collapsed_threads_init(struct collapsed_threads *threads, struct profile *profile, const struct dialect *dialect) {
    *threads = (struct collapsed_threads){.profile = profile, .dialect = dialect, .others = thread_none()};
    strings_init(&threads->texts, profile->failure);
    row_table_init(&threads->pids, sizeof(int64_t), profile->failure);
    value_table_init(&threads->last_threads, sizeof(struct thread_key), sizeof(thread_id), profile->failure);
    column_init(&threads->owners, sizeof(struct collapsed_owner), profile->failure);
}

void collapsed_threads_fini(struct collapsed_threads *threads) {
    strings_fini(&threads->texts);
    row_table_fini(&threads->pids);
    value_table_fini(&threads->last_threads);
    column_fini(&threads->owners);
}

/* Returns the process of the pid. Threads without a pid share one process. */
static process_id find_process(struct collapsed_threads *threads, int64_t pid, struct text name) {
    struct profile *profile = threads->profile;
    uint32_t row = row_table_intern(&threads->pids, &pid);
    if (row < profile->processes.count || row == ID_NONE) return (process_id){row};
    process_id id = profile_add_process(profile, pid, 0);
    if (process_is_none(id)) return id;
    struct process *process = profile_process_at(profile, id);
    if (name.bytes_count) process->name = profile_text(profile, name);
    if (pid != PID_UNKNOWN) return id;
    process->name = TEXT("collapsed stacks");
    process->pid_text = TEXT("unknown pid");
    return id;
}

static process_id find_process_of(struct collapsed_threads *threads, const struct collapsed_thread *parts) {
    process_id parent = process_none();
    if (parts->parent_pid != PID_UNKNOWN) parent = find_process(threads, parts->parent_pid, parts->parent_name);
    process_id process = find_process(threads, parts->pid, parts->process_name);
    bool has_parent = !process_is_none(parent) && !process_is_none(process) && parent.index != process.index;
    if (has_parent) profile_process_at(threads->profile, process)->parent = parent;
    return process;
}

/* A mark of a profiler tells the thread by its ids, and its name can become known later. Other names with the ids of an
 * earlier thread are a later generation. */
static thread_id find_thread(struct collapsed_threads *threads, const struct collapsed_thread *parts, bool is_marked) {
    struct profile *profile = threads->profile;
    process_id process = find_process_of(threads, parts);
    if (process_is_none(process)) return thread_none();
    int64_t tid = parts->tid == PID_UNKNOWN ? ++threads->invented_tid : parts->tid;
    const thread_id none = thread_none();
    thread_id *last = value_table_intern(&threads->last_threads, &(struct thread_key){process.index, tid}, &none);
    if (!last) return thread_none();
    struct thread *known = thread_is_none(*last) ? NULL : profile_thread_at(profile, *last);
    if (!known || !is_marked) *last = profile_add_thread(profile, process, tid, known ? known->generation + 1 : 0);
    if (thread_is_none(*last)) return thread_none();
    struct thread *thread = profile_thread_at(profile, *last);
    if (!thread->name.bytes_count) thread->name = profile_text(profile, parts->name);
    return *last;
}

/* The thread gets the tid of its process, which makes it the main thread. */
void collapsed_threads_add_whole(struct collapsed_threads *threads) {
    static const struct collapsed_thread parts = {.name = TEXT("all stacks"), .parent_pid = PID_UNKNOWN};
    thread_id whole = find_thread(threads, &parts, false);
    if (!thread_is_none(whole)) profile_thread_at(threads->profile, whole)->is_made_up = true;
}

static thread_id find_others(struct collapsed_threads *threads) {
    static const struct collapsed_thread parts = {
        .name = TEXT("other threads"), .pid = PID_UNKNOWN, .parent_pid = PID_UNKNOWN, .tid = PID_UNKNOWN};
    if (thread_is_none(threads->others)) threads->others = find_thread(threads, &parts, false);
    return threads->others;
}

struct collapsed_owner collapsed_threads_take(struct collapsed_threads *threads, struct text *stack) {
    static const struct collapsed_owner none = {.thread = {ID_NONE}};
    struct text rest = *stack;
    struct collapsed_thread parts;
    bool is_marked = dialect_take_thread(threads->dialect, &rest, &parts);
    if (!is_marked) rest = text_from(*stack, text_find(*stack, ';') + 1);
    struct text text = text_slice(*stack, 0, stack->bytes_count - rest.bytes_count);
    if (text_ends_with(text, TEXT(";"))) text.bytes_count--;
    string_id string = strings_intern(&threads->texts, text);
    if (string_is_none(string)) return none;
    if (string.index >= COLLAPSED_THREAD_COUNT_MAX)
        return (struct collapsed_owner){.thread = find_others(threads), .is_beyond = true};
    *stack = rest;
    if (string.index < threads->owners.count)
        return *(struct collapsed_owner *)column_at(&threads->owners, string.index);
    if (!is_marked) dialect_parse_comm(text, &parts);
    thread_id thread = find_thread(threads, &parts, is_marked);
    struct collapsed_owner *added = column_push(&threads->owners);
    if (!added) return none;
    *added = (struct collapsed_owner){.thread = thread, .has_tid = parts.tid != PID_UNKNOWN};
    return *added;
}
