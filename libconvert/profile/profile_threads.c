#include <inttypes.h>

#include "libconvert/base/memory.h"
#include "profile_finish.h"

static struct text id_text(struct profile *profile, int64_t id, uint32_t generation) {
    if (generation) return profile_text_format(profile, "%" PRId64 ".%" PRIu32, id, generation + 1);
    return profile_text_format(profile, "%" PRId64, id);
}

/* The main thread is the one whose tid is the pid; if the tid was reused, the first one. */
static void mark_main_threads(struct profile *profile) {
    if (profile->meta.was_profile) return;
    for (uint32_t i = 0; i < profile->threads.count; i++) {
        struct thread *thread = column_at(&profile->threads, i);
        struct process *process = profile_process_at(profile, thread->process);
        if (thread_is_track(thread) || process->pid != thread->tid || !thread_is_none(process->main_thread)) continue;
        process->main_thread = (thread_id){i};
        thread->is_main = true;
    }
}

/* The viewer shows the main thread's name as that of the process. */
static void title_processes(struct profile *profile) {
    COLUMN_EACH(struct process, process, &profile->processes) {
        if (thread_is_none(process->main_thread)) continue;
        const struct thread *thread = profile_thread_at(profile, process->main_thread);
        bool is_same = profile->meta.was_profile || text_starts_with(thread->name, process->name);
        struct text name = process_label(process).bytes_count ? process_label(process)
                           : is_same                          ? thread->name
                                                              : process->name;
        process->title =
            is_same ? name : profile_text_format(profile, "%.*s (%.*s)", TEXT_ARGS(name), TEXT_ARGS(thread->name));
    }
}

static int compare_generations(const void *left, const void *right) {
    const struct process *a = *(struct process *const *)left, *b = *(struct process *const *)right;
    return ORDER(a->pid, b->pid) ?: ORDER(a->generation, b->generation);
}

/* Numbers the processes with one pid. If programs execute each other, the last one is of interest, and gets the number
 * of the first one: usually the pid alone. */
static void number_processes(struct profile *profile) {
    size_t count = profile->processes.count;
    struct process **order = memory_allocate(profile->failure, count * sizeof *order);
    if (!order) return;
    for (size_t i = 0; i < count; i++) order[i] = column_at(&profile->processes, i);
    memory_sort(profile->failure, order, count, sizeof(struct process *), compare_generations);
    uint32_t first = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_first = !i || order[i - 1]->pid != order[i]->pid || !order[i - 1]->is_replaced;
        bool is_last = !order[i]->is_replaced || i + 1 == count || order[i + 1]->pid != order[i]->pid;
        if (is_first) first = order[i]->generation;
        uint32_t number = is_last ? first : order[i]->generation + 1;
        if (!order[i]->pid_text.bytes_count) order[i]->pid_text = id_text(profile, order[i]->pid, number);
    }
    memory_free(order);
}

/* A track is named after its thread, which has a name: it was added before. The front-end needs tids that differ. */
static void name_track(struct profile *profile, struct thread *track) {
    const struct thread *owner = profile_thread_at(profile, profile_track_of(profile, track)->owner);
    struct text event = profile_track_of(profile, track)->event;
    struct text tid =
        owner->tid_text.bytes_count ? owner->tid_text : profile_text_format(profile, "%" PRId64, owner->tid);
    track->name = profile_is_processor(profile, track)
                      ? event
                      : profile_text_format(profile, "%.*s · %.*s", TEXT_ARGS(owner->name), TEXT_ARGS(event));
    track->tid_text = profile_text_format(profile, "%.*s %.*s", TEXT_ARGS(tid), TEXT_ARGS(event));
}

static void name_thread(struct profile *profile, struct thread *thread) {
    if (thread->generation && !thread->tid_text.bytes_count)
        thread->tid_text = id_text(profile, thread->tid, thread->generation);
    if (!thread->name.bytes_count) thread->name = profile_text_format(profile, "thread %" PRId64, thread->tid);
}

static void name_threads(struct profile *profile) {
    number_processes(profile);
    COLUMN_EACH(struct thread, thread, &profile->threads)
        (thread_is_track(thread) ? name_track : name_thread)(profile, thread);
    COLUMN_EACH(struct process, process, &profile->processes) {
        if (process->name.bytes_count) continue;
        /* Names of other threads tell what they do, not what program the process is. */
        process->name = thread_is_none(process->main_thread)
                            ? profile_text_format(profile, "process %.*s", TEXT_ARGS(process->pid_text))
                            : profile_thread_at(profile, process->main_thread)->name;
    }
}

/* The threads of each process that will be written, as a linked list through `next`: one pass over all threads
 * instead of one for each process. */
struct process_threads {
    uint32_t first;
    uint32_t last;
    uint32_t spare;    /* the first thread without content; ID_NONE: none */
    bool needs_thread; /* to show the counters of the process, or the process itself */
};

static void list_thread(struct process_threads *list, uint32_t *next, uint32_t thread) {
    if (list->first == ID_NONE)
        list->first = thread;
    else
        next[list->last] = thread;
    list->last = thread;
}

/* The tracks of each thread, as linked lists; ID_NONE ends them. */
struct track_lists {
    uint32_t *first; /* by owner; NULL: there are no tracks */
    uint32_t *next;  /* by track */
};

static void list_tracks(const struct profile *profile, struct track_lists *tracks) {
    uint32_t count = (uint32_t)profile->threads.count;
    *tracks = (struct track_lists){0};
    if (!profile->tracks.count) return;
    tracks->first = memory_allocate(profile->failure, count * sizeof *tracks->first);
    tracks->next = memory_allocate(profile->failure, count * sizeof *tracks->next);
    if (failure_is_set(profile->failure)) return;
    for (uint32_t i = 0; i < count; i++) tracks->first[i] = ID_NONE;
    for (uint32_t i = count; i-- > 0;) {
        const struct thread *thread = column_at(&profile->threads, i);
        if (!thread_is_track(thread)) continue;
        uint32_t owner = profile_track_of(profile, thread)->owner.index;
        tracks->next[i] = tracks->first[owner];
        tracks->first[owner] = i;
    }
}

/* Tracks that share one may be in another process than their owner: see libconvert/tracks/crowds.h. */
static void list_with_tracks(const struct profile *profile, struct process_threads *lists, uint32_t *next,
                             const struct track_lists *tracks, uint32_t thread) {
    const struct thread *owner = column_at(&profile->threads, thread);
    struct process_threads *list = &lists[owner->process.index];
    next[thread] = ID_NONE;
    if (!owner->is_main && thread_has_content(owner))
        list_thread(list, next, thread);
    else if (!owner->is_main && list->spare == ID_NONE)
        list->spare = thread;
    if (!tracks->first) return;
    for (uint32_t i = tracks->first[thread]; i != ID_NONE; i = tracks->next[i]) {
        const struct thread *track = column_at(&profile->threads, i);
        next[i] = ID_NONE;
        if (thread_has_content(track)) list_thread(&lists[track->process.index], next, i);
    }
}

static void list_threads(const struct profile *profile, struct process_threads *lists, uint32_t *next,
                         const struct track_lists *tracks) {
    for (size_t i = 0; i < profile->processes.count; i++)
        lists[i] = (struct process_threads){
            ID_NONE, ID_NONE, ID_NONE, ((const struct process *)column_at(&profile->processes, i))->has_lost_content};
    for (int is_other = 0; is_other <= 1; is_other++)
        for (uint32_t i = 0; i < profile->threads.count; i++) {
            const struct thread *thread = column_at(&profile->threads, i);
            if (!thread_is_track(thread) && thread->is_main == !is_other)
                list_with_tracks(profile, lists, next, tracks, i);
        }
    COLUMN_EACH(const struct counter, counter, &profile->counters) lists[counter->process.index].needs_thread = true;
}

static void order_process(struct profile *profile, struct process *process, const struct process_threads *list,
                          const uint32_t *next) {
    size_t place = profile->thread_order.count;
    bool has_others = list->first != ID_NONE;
    if (!thread_is_none(process->main_thread)) {
        const struct thread *main_thread = profile_thread_at(profile, process->main_thread);
        if (has_others || list->needs_thread || thread_has_content(main_thread))
            column_add(&profile->thread_order, &process->main_thread);
    } else if (!has_others && list->needs_thread && list->spare != ID_NONE) {
        column_add(&profile->thread_order, &(thread_id){list->spare});
    }
    for (uint32_t thread = list->first; thread != ID_NONE; thread = next[thread])
        column_add(&profile->thread_order, &(thread_id){thread});
    process->place = profile->thread_order.count > place ? (uint32_t)place : ID_NONE;
}

/* The order in which processes are written. A trace that is damaged may have processes that descend from themselves. */
struct ancestry {
    uint32_t *path;   /* a process and its ancestors, as far as they are not written yet */
    bool *is_visited; /* it is written, or in the path */
};

/* Orders the process after its ancestors. */
static void order_family(struct profile *profile, uint32_t process, const struct ancestry *ancestry,
                         const struct process_threads *lists, const uint32_t *next) {
    uint32_t count = 0;
    for (uint32_t i = process; i != ID_NONE && !ancestry->is_visited[i];
         i = profile_process_at(profile, (process_id){i})->parent.index) {
        ancestry->is_visited[i] = true;
        ancestry->path[count++] = i;
    }
    while (count) {
        uint32_t i = ancestry->path[--count];
        order_process(profile, column_at(&profile->processes, i), &lists[i], next);
    }
}

static void mark_parents(struct profile *profile) {
    COLUMN_EACH(const struct process, process, &profile->processes)
        if (process->place != ID_NONE && !process_is_none(process->parent))
            profile_process_at(profile, process->parent)->has_children = true;
}

static void list_in_order(struct profile *profile) {
    size_t process_count = profile->processes.count;
    struct process_threads *lists = memory_allocate(profile->failure, process_count * sizeof *lists);
    size_t thread_count = profile->threads.count;
    uint32_t *next = memory_allocate(profile->failure, thread_count * sizeof *next);
    struct track_lists tracks;
    list_tracks(profile, &tracks);
    struct ancestry ancestry = {memory_allocate(profile->failure, process_count * sizeof *ancestry.path),
                                memory_allocate_zeroed(profile->failure, process_count, sizeof *ancestry.is_visited)};
    if (!failure_is_set(profile->failure)) {
        list_threads(profile, lists, next, &tracks);
        for (uint32_t i = 0; i < process_count; i++) order_family(profile, i, &ancestry, lists, next);
        mark_parents(profile);
    }
    MEMORY_FREE_ALL(ancestry.path, ancestry.is_visited, tracks.first, tracks.next, lists, next);
}

/* Renumbers the ids with which rows begin. */
static void renumber_rows(struct column *rows, const uint32_t *numbers) {
    COLUMN_EACH(process_id, id, rows)
        if (!process_is_none(*id)) id->index = numbers[id->index];
}

static int compare_places(const void *a, const void *b) { return ORDER_BY(struct process, place, a, b); }

/* Numbers the processes in the order of their threads, so that what is sorted by process is in that order, too. */
static void renumber_processes(struct profile *profile) {
    struct column *processes = &profile->processes;
    struct column *const others[] = {&profile->counters, &profile->paused_ranges, &profile->overheads,
                                     &profile->profiling_log, &profile->gathering_log};
    uint32_t *numbers = memory_allocate(profile->failure, processes->count * sizeof *numbers);
    if (!numbers) return;
    for (uint32_t i = 0; i < processes->count; i++) ((struct process *)column_at(processes, i))->number = i;
    column_sort(processes, compare_places);
    for (uint32_t i = 0; i < processes->count; i++)
        numbers[((const struct process *)column_at(processes, i))->number] = i;
    for (size_t i = 0; i < processes->count; i++) {
        process_id *parent = &((struct process *)column_at(processes, i))->parent;
        if (!process_is_none(*parent)) parent->index = numbers[parent->index];
    }
    for (size_t i = 0; i < profile->threads.count; i++) {
        process_id *process = &((struct thread *)column_at(&profile->threads, i))->process;
        process->index = numbers[process->index];
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        renumber_rows(others[i], numbers);
        column_sort(others[i], profile_compare_processes);
    }
    memory_free(numbers);
}

int profile_compare_processes(const void *a, const void *b) { return ORDER_BY(process_id, index, a, b); }

void profile_name_tasks(struct profile *profile) {
    mark_main_threads(profile);
    name_threads(profile);
}

void profile_order_threads(struct profile *profile) {
    profile_name_tasks(profile);
    title_processes(profile);
    list_in_order(profile);
    renumber_processes(profile);
}

static void renumber_thread(thread_id *thread, const uint32_t *numbers) {
    if (!thread_is_none(*thread)) thread->index = numbers[thread->index];
}

void profile_renumber_threads(struct profile *profile, const uint32_t *numbers) {
    COLUMN_EACH(const struct thread, thread, &profile->threads) {
        COLUMN_EACH(struct allocation, allocation, &thread->allocations) renumber_thread(&allocation->thread, numbers);
        for (size_t row = 0; row < thread->markers.count; row++) {
            thread_id *origin = profile_origin_thread(profile, column_at(&thread->markers, row));
            if (origin) renumber_thread(origin, numbers);
        }
    }
}
