#include "crowd_steps.h"
#include "libconvert/base/memory.h"
#include "libconvert/profile/profile_finish.h"
#include "task_markers.h"

struct moving {
    struct profile *profile;
    struct task_markers markers;
    const struct crowd_heads *heads;
    /* For each thread and process: how many have its track, itself included. */
    uint32_t *thread_counts;
    uint32_t *process_counts;
    bool *are_shown;           /* for each thread: a thread of its track has content */
    bool *are_processes_shown; /* for each process: it has a thread with content */
};

static uint32_t head_of(const uint32_t *heads, uint32_t row) { return row == ID_NONE ? ID_NONE : heads[row]; }

/* ---- Members. ---- */

/* Counts the members of each head. Returns how many of all have no track of their own. */
static uint64_t count_members(const uint32_t *heads, size_t count, uint32_t *counts) {
    uint64_t merged_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        counts[heads[i]]++;
        merged_count += heads[i] != i;
    }
    return merged_count;
}

/* Counts what is merged and would have a track of its own. */
static void count_merged(const struct moving *moving) {
    const struct profile *profile = moving->profile;
    const struct crowd_heads *heads = moving->heads;
    for (uint32_t i = 0; i < profile->threads.count; i++) {
        const struct thread *thread = column_at(&profile->threads, i);
        if (!thread_has_content(thread)) continue;
        moving->are_shown[heads->threads[i]] = moving->are_processes_shown[thread->process.index] = true;
        if (heads->threads[i] != i) profile_thread_at(profile, (thread_id){heads->threads[i]})->merged_count++;
    }
    for (uint32_t i = 0; i < profile->processes.count; i++)
        if (heads->processes[i] != i && moving->are_processes_shown[i])
            profile_process_at(profile, (process_id){heads->processes[i]})->merged_count++;
}

static void add_thread_marker(struct moving *moving, uint32_t row) {
    struct profile *profile = moving->profile;
    const struct crowd_heads *heads = moving->heads;
    const struct thread *thread = column_at(&profile->threads, row);
    uint32_t head = heads->threads[row];
    struct time_range range = thread->is_main ? crowd_lifetime_of_process(profile, heads, thread->process.index)
                                              : crowd_lifetime_of_thread(profile, heads, row);
    if (moving->thread_counts[head] < 2 || !moving->are_shown[head] || time_range_is_empty(&range)) return;
    struct thread *to = column_at(&profile->threads, head);
    if (thread->is_main)
        task_markers_add_process(&moving->markers, to, profile_process_at(profile, thread->process), range);
    else
        task_markers_add_thread(&moving->markers, to, thread, range);
}

/* The markers go to the heads, before other rows follow them. */
static void add_markers(struct moving *moving) {
    const struct profile *profile = moving->profile;
    if (!profile->meta.has_times) return;
    for (uint32_t i = 0; i < profile->threads.count && !failure_is_set(profile->failure); i++)
        add_thread_marker(moving, i);
}

/* ---- Counters. ---- */

struct placed_counter {
    uint32_t head; /* row of the head of its process */
    uint32_t row;
};

static int compare_counters(const void *left, const void *right) {
    const struct placed_counter *a = left, *b = right;
    return ORDER(a->head, b->head) ?: ORDER(a->row, b->row);
}

/* Ends the counter of a process at 0, where the value of the next process begins. */
static void end_counter(const struct moving *moving, struct counter *counter) {
    struct counter_span span = counter_span_of(counter);
    int64_t end_ns = crowd_lifetime_of_process(moving->profile, moving->heads, counter->process.index).last_ns;
    if (counter->graph != COUNTER_ACCUMULATED || !span.first) return;
    if (end_ns <= span.last_ns && span.last_ns < INT64_MAX) end_ns = span.last_ns + 1;
    column_add(&counter->samples,
               &(struct counter_sample){.time_ns = end_ns, .change = (int64_t)(0 - (uint64_t)span.sum)});
}

/* Moves the counter's samples to one of the first `count` counters with the same head. Returns false if there is none
 * like it. */
static bool join_counter(const struct profile *profile, const struct placed_counter *places, size_t count,
                         struct counter *counter) {
    for (size_t i = 0; i < count; i++) {
        struct counter *first = column_at(&profile->counters, places[i].row);
        if (!counter_is_same(first, counter)) continue;
        column_take(&first->samples, &counter->samples);
        counter->process = process_none();
        return true;
    }
    return false;
}

/* Joins the counters of the members of a process. The first places get those that stay. */
static void join_counters(const struct moving *moving, struct placed_counter *places, size_t count) {
    size_t kept_count = 0;
    if (moving->process_counts[places->head] < 2) return;
    for (size_t i = 0; i < count; i++) {
        struct counter *counter = column_at(&moving->profile->counters, places[i].row);
        end_counter(moving, counter);
        counter->process.index = places->head;
        if (!join_counter(moving->profile, places, kept_count, counter)) places[kept_count++] = places[i];
    }
}

static bool is_not_joined(struct profile *profile, const struct counter *counter) {
    (void)profile;
    return !process_is_none(counter->process);
}

static void move_counters(const struct moving *moving) {
    struct column *counters = &moving->profile->counters;
    struct failure *failure = moving->profile->failure;
    struct placed_counter *places = memory_allocate(failure, counters->count * sizeof *places);
    if (!places) return;
    for (uint32_t i = 0; i < counters->count; i++) {
        const struct counter *counter = column_at(counters, i);
        places[i] = (struct placed_counter){moving->heads->processes[counter->process.index], i};
    }
    memory_sort(failure, places, counters->count, sizeof *places, compare_counters);
    for (size_t i = 0, count; i < counters->count && !failure_is_set(failure); i += count) {
        for (count = 1; i + count < counters->count && places[i + count].head == places[i].head;) count++;
        join_counters(moving, &places[i], count);
    }
    if (!failure_is_set(failure)) profile_filter_counters(moving->profile, is_not_joined);
    memory_free(places);
}

/* ---- Processes. ---- */

/* The paused ranges of a member end with it. */
static void move_paused_ranges(const struct moving *moving) {
    const struct column *ranges = &moving->profile->paused_ranges;
    COLUMN_EACH(struct paused_range, range, ranges) {
        uint32_t row = range->process.index, head = moving->heads->processes[row];
        struct time_range life = crowd_lifetime_of_process(moving->profile, moving->heads, row);
        if (moving->process_counts[head] < 2) continue;
        if (range->start_ns == TIME_NONE) range->start_ns = life.first_ns;
        if (range->end_ns == TIME_NONE) range->end_ns = life.last_ns;
        range->process.index = head;
    }
}

static void move_overheads(const struct moving *moving) {
    const struct column *overheads = &moving->profile->overheads;
    COLUMN_EACH(struct overhead, overhead, overheads)
        overhead->process.index = moving->heads->processes[overhead->process.index];
}

/* Returns the time if both are known. */
static int64_t time_of_both(int64_t a, int64_t b, int64_t time_ns) {
    return a == TIME_NONE || b == TIME_NONE ? TIME_NONE : time_ns;
}

static void move_processes(const struct moving *moving) {
    const uint32_t *heads = moving->heads->processes;
    for (uint32_t i = 0; i < moving->profile->processes.count; i++) {
        struct process *process = column_at(&moving->profile->processes, i);
        struct process *head = column_at(&moving->profile->processes, heads[i]);
        process->parent.index = head_of(heads, process->parent.index);
        if (head == process) continue;
        int64_t start_ns = time_earlier(head->start_ns, process->start_ns);
        int64_t end_ns = time_later(head->end_ns, process->end_ns);
        head->start_ns = time_of_both(head->start_ns, process->start_ns, start_ns);
        head->end_ns = time_of_both(head->end_ns, process->end_ns, end_ns);
        head->command_line = NULL;
        head->lives_on |= process->lives_on;
        head->has_lost_content |= process->has_lost_content;
        process->has_lost_content = false;
    }
}

/* ---- Threads. ---- */

static void move_thread(const struct moving *moving, uint32_t row) {
    struct thread *thread = column_at(&moving->profile->threads, row);
    struct thread *head = column_at(&moving->profile->threads, moving->heads->threads[row]);
    thread->process.index = moving->heads->processes[thread->process.index];
    if (head == thread) return;
    int64_t start_ns = time_earlier(head->start_ns, thread->start_ns);
    int64_t end_ns = time_later(head->end_ns, thread->end_ns);
    head->start_ns = time_of_both(head->start_ns, thread->start_ns, start_ns);
    head->end_ns = time_of_both(head->end_ns, thread->end_ns, end_ns);
    thread->is_main = false;
    samples_take(&head->samples, &thread->samples);
    column_take(&head->markers, &thread->markers);
    column_take(&head->allocations, &thread->allocations);
}

static void move_threads(const struct moving *moving) {
    struct profile *profile = moving->profile;
    profile_renumber_threads(profile, moving->heads->threads);
    for (uint32_t i = 0; i < profile->threads.count && !failure_is_set(profile->failure); i++) move_thread(moving, i);
    /* Weights that are times say how long each wait takes, so waits do not move then. */
    bool moves_waits = text_equal(profile_weight_unit(&profile->meta), TEXT("samples"));
    bool has_times = profile->meta.cpu_delta_unit != CPU_DELTA_CYCLES;
    for (uint32_t i = 0; i < profile->threads.count; i++) {
        struct thread *thread = column_at(&profile->threads, i);
        uint32_t count = moving->thread_counts[i];
        if (count < 2) continue;
        thread->name = profile_text_format(profile, "%.*s and %u more", TEXT_ARGS(thread->name), count - 1);
        if (has_times) crowd_level_cpu(&thread->samples, moves_waits, profile->failure);
    }
}

/* ---- The whole. ---- */

static void move(struct moving *moving) {
    struct profile *profile = moving->profile;
    uint64_t threads = count_members(moving->heads->threads, profile->threads.count, moving->thread_counts);
    uint64_t processes = count_members(moving->heads->processes, profile->processes.count, moving->process_counts);
    if (!threads && !processes) return;
    /* The front-end would sort tracks by their names: "serve and 2 more", then "serve and 900 more". */
    profile->meta.keeps_thread_order = true;
    count_merged(moving);
    add_markers(moving);
    move_counters(moving);
    move_paused_ranges(moving);
    move_overheads(moving);
    move_threads(moving);
    move_processes(moving);
    ledger_enter(&profile->ledger, LEDGER_RECORDS, LEDGER_NOTED,
                 TEXT("thread in the track of an earlier one of its name"), threads, NULL);
    ledger_enter(&profile->ledger, LEDGER_RECORDS, LEDGER_NOTED,
                 TEXT("process in the track of an earlier one of its name"), processes, NULL);
}

void crowd_moves_run(struct profile *profile, const struct crowd_heads *heads) {
    struct failure *failure = profile->failure;
    size_t thread_count = profile->threads.count, process_count = profile->processes.count;
    struct moving moving = {.profile = profile, .heads = heads};
    task_markers_init(&moving.markers, profile);
    moving.thread_counts = memory_allocate_zeroed(failure, thread_count, sizeof *moving.thread_counts);
    moving.process_counts = memory_allocate_zeroed(failure, process_count, sizeof *moving.process_counts);
    moving.are_shown = memory_allocate_zeroed(failure, thread_count, sizeof *moving.are_shown);
    moving.are_processes_shown = memory_allocate_zeroed(failure, process_count, sizeof *moving.are_processes_shown);
    if (!failure_is_set(failure)) move(&moving);
    MEMORY_FREE_ALL(moving.thread_counts, moving.process_counts, moving.are_shown, moving.are_processes_shown);
}
