/* Putting a profile in order when its reader is done. */
#include <inttypes.h>
#include <stdlib.h>

#include "memory.h"
#include "profile.h"

/* ---- Order ---- */

struct sample_row {
    int64_t time_ns;
    uint32_t place; /* in the thread's order of arrival: makes the order total, so any sort is stable */
    stack_id stack;
    uint32_t weight;
};

static int compare_sample_rows(const void *left, const void *right) {
    const struct sample_row *a = left, *b = right;
    if (a->time_ns != b->time_ns) return a->time_ns < b->time_ns ? -1 : 1;
    return a->place < b->place ? -1 : 1;
}

static bool times_ascend(const struct column *time_ns) {
    int64_t last_ns = INT64_MIN;
    for (size_t i = 0, run_count; i < time_ns->count; i += run_count) {
        const int64_t *run = column_run(time_ns, i, &run_count);
        for (size_t j = 0; j < run_count; j++) {
            if (run[j] < last_ns) return false;
            last_ns = run[j];
        }
    }
    return true;
}

/* Puts the values of a column into the order of the rows. */
static void reorder(struct column *column, const struct sample_row *rows, uint32_t count, struct failure *failure) {
    if (!column->count) return;
    int64_t *values = memory_allocate(failure, count * sizeof *values);
    if (!values) return;
    for (uint32_t i = 0; i < count; i++) values[i] = *(int64_t *)column_at(column, rows[i].place);
    for (uint32_t i = 0; i < count; i++) *(int64_t *)column_at(column, i) = values[i];
    memory_free(values);
}

static void sort_samples(struct samples *samples, struct failure *failure) {
    if (times_ascend(&samples->time_ns)) return;
    uint32_t count = samples_count(samples);
    struct sample_row *rows = memory_allocate(failure, count * sizeof *rows);
    if (!rows) return;
    for (uint32_t i = 0; i < count; i++)
        rows[i] = (struct sample_row){*(int64_t *)column_at(&samples->time_ns, i), i,
                                      *(stack_id *)column_at(&samples->stack, i),
                                      *(uint32_t *)column_at(&samples->weight, i)};
    memory_sort(failure, rows, count, sizeof *rows, compare_sample_rows);
    for (uint32_t i = 0; i < count; i++) {
        *(int64_t *)column_at(&samples->time_ns, i) = rows[i].time_ns;
        *(stack_id *)column_at(&samples->stack, i) = rows[i].stack;
        *(uint32_t *)column_at(&samples->weight, i) = rows[i].weight;
    }
    if (samples->details) {
        reorder(&samples->details->cpu_ns, rows, count, failure);
        reorder(&samples->details->delay_ns, rows, count, failure);
    }
    memory_free(rows);
}

static int compare_marker_starts(const void *left, const void *right) {
    const struct marker *a = left, *b = right;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* Counters, paused ranges, overheads and lines of logs begin with their process. Those of no process come last. */
static int compare_processes(const void *left, const void *right) {
    const process_id *a = left, *b = right;
    return (a->index > b->index) - (a->index < b->index);
}

static int compare_paused_ranges(const void *left, const void *right) {
    const struct paused_range *a = left, *b = right;
    int result = compare_processes(a, b);
    return result ? result : (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static int compare_overheads(const void *left, const void *right) {
    const struct overhead *a = left, *b = right;
    int result = compare_processes(a, b);
    return result ? result : (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static int compare_log_lines(const void *left, const void *right) {
    const struct log_line *a = left, *b = right;
    int result = compare_processes(a, b);
    return result ? result : (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

/* Keeps the counters that is_kept says so of, in their order. */
static void filter_counters(struct profile *profile, bool is_kept(struct profile *profile, struct counter *counter)) {
    struct column *counters = &profile->counters;
    uint32_t kept_count = 0;
    for (size_t i = 0; i < counters->count; i++) {
        struct counter *counter = column_at(counters, i);
        if (is_kept(profile, counter))
            *(struct counter *)column_at(counters, kept_count++) = *counter;
        else
            column_fini(&counter->samples);
    }
    counters->count = kept_count;
}

static bool counter_has_samples(struct profile *profile, struct counter *counter) {
    if (counter->samples.count) return true;
    ledger_enter(&profile->ledger, LEDGER_VALUES, LEDGER_NOTED, TEXT("counter without values"), 1, NULL);
    return false;
}

static void order_rows(struct profile *profile) {
    for (size_t i = 0; i < profile->threads.count; i++) {
        struct thread *thread = column_at(&profile->threads, i);
        sort_samples(&thread->samples, profile->failure);
        column_sort(&thread->markers, compare_marker_starts);
    }
    profile_order_allocations(profile);
    for (size_t i = 0; i < profile->counters.count; i++) counter_order(column_at(&profile->counters, i));
    filter_counters(profile, counter_has_samples);
    column_sort(&profile->counters, compare_processes);
    column_sort(&profile->paused_ranges, compare_paused_ranges);
    column_sort(&profile->overheads, compare_overheads);
    column_sort(&profile->profiling_log, compare_log_lines);
    column_sort(&profile->gathering_log, compare_log_lines);
}

/* ---- Times ---- */

struct time_range {
    int64_t first_ns;
    int64_t last_ns;
};

static void extend_range(struct time_range *range, int64_t first_ns, int64_t last_ns) {
    if (first_ns < range->first_ns) range->first_ns = first_ns;
    if (last_ns > range->last_ns) range->last_ns = last_ns;
}

static void extend_by_allocations(struct time_range *range, const struct column *allocations) {
    if (!allocations->count) return;
    const struct allocation *first = column_at(allocations, 0), *last = column_at(allocations, allocations->count - 1);
    extend_range(range, first->time_ns, last->time_ns);
}

/* The first and the last time of all sorted samples, markers, allocations and counters' samples; the last one is before
 * the first when there are none. */
static struct time_range find_time_range(const struct profile *profile) {
    struct time_range range = {INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < profile->threads.count; i++) {
        const struct thread *thread = column_at(&profile->threads, i);
        const struct column *time_ns = &thread->samples.time_ns;
        if (time_ns->count)
            extend_range(&range, *(int64_t *)column_at(time_ns, 0), *(int64_t *)column_at(time_ns, time_ns->count - 1));
        for (size_t j = 0; j < thread->markers.count; j++) {
            const struct marker *marker = column_at(&thread->markers, j);
            extend_range(&range, marker->start_ns, marker->end_ns);
        }
        extend_by_allocations(&range, &thread->allocations);
    }
    for (size_t i = 0; i < profile->counters.count; i++) {
        const struct column *samples = &((const struct counter *)column_at(&profile->counters, i))->samples;
        const struct counter_sample *first = column_at(samples, 0), *last = column_at(samples, samples->count - 1);
        extend_range(&range, first->time_ns, last->time_ns);
    }
    return range;
}

/* Before the profile's zero nothing is known of a thread but that it existed. */
static int64_t relative_start_ns(int64_t start_ns, int64_t origin_ns) {
    return start_ns == TIME_NONE || start_ns < origin_ns ? TIME_NONE : start_ns - origin_ns;
}

static int64_t relative_end_ns(int64_t end_ns, int64_t origin_ns) {
    if (end_ns == TIME_NONE) return TIME_NONE;
    return end_ns < origin_ns ? 0 : end_ns - origin_ns;
}

static void make_value_relative(void *context, enum marker_value_kind kind, union marker_value *value) {
    const struct profile *profile = context;
    if (kind == VALUE_TIME) value->time_ns -= profile->origin_ns;
}

static void make_thread_relative(struct profile *profile, struct thread *thread) {
    int64_t origin_ns = profile->origin_ns;
    thread->start_ns = relative_start_ns(thread->start_ns, origin_ns);
    thread->end_ns = relative_end_ns(thread->end_ns, origin_ns);
    struct column *time_ns = &thread->samples.time_ns;
    for (size_t i = 0, run_count; i < time_ns->count; i += run_count) {
        int64_t *run = column_run(time_ns, i, &run_count);
        for (size_t j = 0; j < run_count; j++) run[j] -= origin_ns;
    }
    for (size_t i = 0; i < thread->markers.count; i++) {
        struct marker *marker = column_at(&thread->markers, i);
        marker->start_ns -= origin_ns;
        marker->end_ns -= origin_ns;
        profile_visit_marker(profile, marker, make_value_relative, profile);
    }
    for (size_t i = 0; i < thread->allocations.count; i++) {
        struct allocation *allocation = column_at(&thread->allocations, i);
        allocation->time_ns -= origin_ns;
    }
}

static void make_counter_relative(struct counter *counter, int64_t origin_ns) {
    for (size_t i = 0; i < counter->samples.count; i++) {
        struct counter_sample *sample = column_at(&counter->samples, i);
        sample->time_ns -= origin_ns;
    }
}

static void make_log_relative(struct column *log, int64_t origin_ns) {
    for (size_t i = 0; i < log->count; i++) {
        struct log_line *line = column_at(log, i);
        if (line->time_ns != TIME_NONE) line->time_ns -= origin_ns;
    }
}

static void make_times_relative(struct profile *profile) {
    int64_t origin_ns = profile->origin_ns;
    for (size_t i = 0; i < profile->processes.count; i++) {
        struct process *process = column_at(&profile->processes, i);
        process->start_ns = relative_start_ns(process->start_ns, origin_ns);
        process->end_ns = relative_end_ns(process->end_ns, origin_ns);
    }
    for (size_t i = 0; i < profile->threads.count; i++) make_thread_relative(profile, column_at(&profile->threads, i));
    for (size_t i = 0; i < profile->counters.count; i++)
        make_counter_relative(column_at(&profile->counters, i), origin_ns);
    for (size_t i = 0; i < profile->paused_ranges.count; i++) {
        struct paused_range *range = column_at(&profile->paused_ranges, i);
        range->start_ns = relative_start_ns(range->start_ns, origin_ns);
        range->end_ns = relative_end_ns(range->end_ns, origin_ns);
    }
    for (size_t i = 0; i < profile->overheads.count; i++) {
        struct overhead *overhead = column_at(&profile->overheads, i);
        overhead->time_ns -= origin_ns;
    }
    for (size_t i = 0; i < profile->stack_origins.count; i++)
        ((struct stack_origin *)column_at(&profile->stack_origins, i))->time_ns -= origin_ns;
    make_log_relative(&profile->profiling_log, origin_ns);
    make_log_relative(&profile->gathering_log, origin_ns);
}

enum { INTERVAL_DELTAS_MAX = 65536 };
static const int64_t DEFAULT_INTERVAL_NS = 1000000;

static int compare_deltas(const void *left, const void *right) {
    const int64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* The median of the times between neighbouring samples of a thread, over the first of them. */
static int64_t estimate_interval_ns(const struct profile *profile) {
    int64_t *deltas = memory_allocate(profile->failure, INTERVAL_DELTAS_MAX * sizeof *deltas);
    if (!deltas) return DEFAULT_INTERVAL_NS;
    size_t count = 0;
    for (size_t i = 0; i < profile->threads.count && count < INTERVAL_DELTAS_MAX; i++) {
        const struct thread *thread = column_at(&profile->threads, i);
        const struct column *time_ns = &thread->samples.time_ns;
        for (size_t j = 1; j < time_ns->count && count < INTERVAL_DELTAS_MAX; j++) {
            int64_t delta_ns = *(int64_t *)column_at(time_ns, j) - *(int64_t *)column_at(time_ns, j - 1);
            if (delta_ns > 0) deltas[count++] = delta_ns;
        }
    }
    qsort(deltas, count, sizeof *deltas, compare_deltas);
    int64_t interval_ns = count ? deltas[count / 2] : DEFAULT_INTERVAL_NS;
    memory_free(deltas);
    return interval_ns;
}

/* ---- Processes and threads ---- */

static bool thread_has_content(const struct thread *thread) {
    return thread->samples.time_ns.count > 0 || thread->markers.count > 0 || thread->allocations.count > 0;
}

static struct text id_text(struct profile *profile, int64_t id, uint32_t life) {
    if (life) return profile_text_format(profile, "%" PRId64 ".%" PRIu32, id, life + 1);
    return profile_text_format(profile, "%" PRId64, id);
}

/* The thread whose tid is the pid, of the lives of that tid the first. */
static void mark_main_threads(struct profile *profile) {
    for (uint32_t i = 0; i < profile->threads.count; i++) {
        struct thread *thread = column_at(&profile->threads, i);
        struct process *process = profile_process_at(profile, thread->process);
        if (process->pid != thread->tid || !thread_is_none(process->main_thread)) continue;
        process->main_thread = (thread_id){i};
        thread->is_main = true;
    }
}

static void name_threads(struct profile *profile) {
    for (size_t i = 0; i < profile->processes.count; i++) {
        struct process *process = column_at(&profile->processes, i);
        if (!process->pid_text.bytes_count) process->pid_text = id_text(profile, process->pid, process->life);
    }
    for (size_t i = 0; i < profile->threads.count; i++) {
        struct thread *thread = column_at(&profile->threads, i);
        if (thread->life) thread->tid_text = id_text(profile, thread->tid, thread->life);
        if (!thread->name.bytes_count) thread->name = profile_text_format(profile, "thread %" PRId64, thread->tid);
    }
    for (size_t i = 0; i < profile->threads.count; i++) {
        struct thread *thread = column_at(&profile->threads, i);
        struct process *process = profile_process_at(profile, thread->process);
        if (process->name.bytes_count) continue;
        bool has_main = !thread_is_none(process->main_thread);
        process->name = has_main ? profile_thread_at(profile, process->main_thread)->name : thread->name;
    }
}

static void append_to_order(struct profile *profile, uint32_t thread) {
    thread_id *row = column_push(&profile->thread_order);
    if (row) *row = (thread_id){thread};
}

/* Threads to write in a list for each process, as heads and next links: one pass instead of one a process. */
struct process_threads {
    uint32_t first;
    uint32_t last;
    uint32_t spare;    /* the first thread without content; ID_NONE: none */
    bool has_counters; /* which the client wants a thread for */
};

static void list_thread(struct process_threads *list, uint32_t *next, uint32_t thread) {
    if (list->first == ID_NONE)
        list->first = thread;
    else
        next[list->last] = thread;
    list->last = thread;
}

static void list_threads(const struct profile *profile, struct process_threads *lists, uint32_t *next) {
    for (size_t i = 0; i < profile->processes.count; i++)
        lists[i] = (struct process_threads){ID_NONE, ID_NONE, ID_NONE, false};
    for (uint32_t i = 0; i < profile->threads.count; i++) {
        const struct thread *thread = column_at(&profile->threads, i);
        struct process_threads *list = &lists[thread->process.index];
        next[i] = ID_NONE;
        if (thread->is_main) continue;
        if (thread_has_content(thread))
            list_thread(list, next, i);
        else if (list->spare == ID_NONE)
            list->spare = i;
    }
    for (size_t i = 0; i < profile->counters.count; i++)
        lists[((const struct counter *)column_at(&profile->counters, i))->process.index].has_counters = true;
}

static void order_process(struct profile *profile, const struct process *process, const struct process_threads *list,
                          const uint32_t *next) {
    bool has_others = list->first != ID_NONE;
    if (!thread_is_none(process->main_thread)) {
        const struct thread *main_thread = profile_thread_at(profile, process->main_thread);
        if (has_others || list->has_counters || thread_has_content(main_thread))
            append_to_order(profile, process->main_thread.index);
    } else if (!has_others && list->has_counters && list->spare != ID_NONE) {
        append_to_order(profile, list->spare);
    }
    for (uint32_t thread = list->first; thread != ID_NONE; thread = next[thread]) append_to_order(profile, thread);
}

static void order_threads(struct profile *profile) {
    size_t process_count = profile->processes.count;
    struct process_threads *lists = memory_allocate(profile->failure, process_count * sizeof *lists);
    uint32_t *next = memory_allocate(profile->failure, profile->threads.count * sizeof *next);
    if (lists && next) {
        list_threads(profile, lists, next);
        for (size_t i = 0; i < process_count; i++)
            order_process(profile, column_at(&profile->processes, i), &lists[i], next);
    }
    memory_free(lists);
    memory_free(next);
}

static bool counter_has_thread(struct profile *profile, struct counter *counter) {
    if (profile_place_of_process(profile, counter->process) < profile->thread_order.count) return true;
    ledger_read(&profile->ledger, LEDGER_VALUES, 1);
    ledger_enter(&profile->ledger, LEDGER_VALUES, LEDGER_LOST, TEXT("counter of a process without threads"), 1, NULL);
    return false;
}

/* The client wants a thread for them. */
static void filter_overheads(struct profile *profile) {
    struct column *overheads = &profile->overheads;
    uint32_t kept_count = 0;
    for (size_t i = 0; i < overheads->count; i++) {
        const struct overhead *overhead = column_at(overheads, i);
        if (profile_place_of_process(profile, overhead->process) < profile->thread_order.count)
            *(struct overhead *)column_at(overheads, kept_count++) = *overhead;
    }
    uint64_t lost_count = overheads->count - kept_count;
    ledger_read(&profile->ledger, LEDGER_VALUES, lost_count);
    ledger_enter(&profile->ledger, LEDGER_VALUES, LEDGER_LOST,
                 TEXT("overhead of recording in a process without threads"), lost_count, NULL);
    overheads->count = kept_count;
}

/* ---- The whole ---- */

static void show_ledger_entry(struct profile *profile, const struct ledger_entry *entry) {
    struct text label = profile_text_format(profile, "%s: %.*s", entry->fate == LEDGER_LOST ? "Lost" : "Note",
                                            (int)entry->cause.bytes_count, entry->cause.bytes);
    struct text value = profile_text_format(profile, "%" PRIu64 " %s", entry->count, ledger_unit_name(entry->unit));
    if (entry->has_first) {
        bool has_line = entry->first.line != 0;
        value = profile_text_format(profile, "%.*s, first at %s %" PRIu64, (int)value.bytes_count, value.bytes,
                                    has_line ? "line" : "byte", has_line ? entry->first.line : entry->first.offset);
    }
    profile_add_extra(profile, TEXT("Conversion"), label, value);
}

static void show_ledger(struct profile *profile) {
    const struct ledger *ledger = &profile->ledger;
    for (enum ledger_unit unit = 0; unit < LEDGER_UNIT_COUNT; unit++) {
        if (!ledger->read[unit]) continue;
        struct text value =
            profile_text_format(profile, "%" PRIu64 " read, %" PRIu64 " kept, %" PRIu64 " lost", ledger->read[unit],
                                ledger_sum(ledger, unit, LEDGER_KEPT), ledger_sum(ledger, unit, LEDGER_LOST));
        profile_add_extra(profile, TEXT("Conversion"), text_of(ledger_unit_name(unit)), value);
    }
    for (size_t i = 0; i < ledger->entries.count; i++)
        if (ledger_at(ledger, i)->fate != LEDGER_KEPT) show_ledger_entry(profile, ledger_at(ledger, i));
}

/* The first and the last event make the profile's zero and its length. */
static void place_times(struct profile *profile) {
    struct time_range range = find_time_range(profile);
    if (range.first_ns <= range.last_ns) {
        profile->origin_ns = range.first_ns;
        profile->end_ns = range.last_ns - range.first_ns;
    } else {
        profile->origin_ns = 0;
    }
    make_times_relative(profile);
}

void profile_finish(struct profile *profile) {
    struct profile_meta *meta = &profile->meta;
    if (failure_is_set(profile->failure)) return;
    order_rows(profile);
    if (failure_is_set(profile->failure)) return;
    place_times(profile);
    if (!meta->interval_ns) meta->interval_ns = estimate_interval_ns(profile);
    if (!meta->start_time_ms && meta->captured_at_ms)
        meta->start_time_ms = meta->captured_at_ms - profile->end_ns / 1000000;
    if (!meta->start_time_ms && meta->epoch_offset_ns)
        meta->start_time_ms = (meta->epoch_offset_ns + profile->origin_ns) / 1000000;
    mark_main_threads(profile);
    name_threads(profile);
    order_threads(profile);
    filter_counters(profile, counter_has_thread);
    filter_overheads(profile);
    for (size_t i = 0; i < profile->counters.count; i++) {
        struct counter *counter = column_at(&profile->counters, i);
        counter_start_at_zero(counter, meta->interval_ns);
        counter_hold_steps(counter);
    }
    show_ledger(profile);
}
