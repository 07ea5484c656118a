#include "crowd_steps.h"
#include "libconvert/base/memory.h"

static void extend_by_lifetime(struct time_range *range, int64_t start_ns, int64_t end_ns) {
    if (start_ns != TIME_NONE) time_range_add(range, start_ns);
    if (end_ns != TIME_NONE) time_range_add(range, end_ns);
}

struct time_range crowd_lifetime_of_thread(const struct profile *profile, const struct crowd_heads *heads,
                                           uint32_t row) {
    const struct thread *thread = column_at(&profile->threads, row);
    struct time_range range = heads->thread_times[row];
    extend_by_lifetime(&range, thread->start_ns, thread->end_ns);
    return range;
}

struct time_range crowd_lifetime_of_process(const struct profile *profile, const struct crowd_heads *heads,
                                            uint32_t row) {
    const struct process *process = column_at(&profile->processes, row);
    struct time_range range = heads->process_times[row];
    extend_by_lifetime(&range, process->start_ns, process_shutdown_ns(process));
    return range;
}

static void make_up_times(struct time_range *times, size_t count) {
    for (size_t i = 0; i < count; i++) times[i] = (struct time_range){(int64_t)i, (int64_t)i};
}

static void find_times(const struct profile *profile, struct crowd_heads *heads) {
    for (size_t i = 0; i < profile->processes.count; i++) heads->process_times[i] = TIME_RANGE_EMPTY;
    for (uint32_t i = 0; i < profile->threads.count; i++) {
        const struct thread *thread = column_at(&profile->threads, i);
        struct time_range *of_process = &heads->process_times[thread->process.index];
        heads->thread_times[i] = thread_events(thread);
        time_range_extend(of_process, heads->thread_times[i].first_ns, heads->thread_times[i].last_ns);
    }
    for (uint32_t i = 0; i < profile->threads.count; i++)
        if (time_range_is_empty(&heads->thread_times[i]))
            heads->thread_times[i] = crowd_lifetime_of_thread(profile, heads, i);
    for (uint32_t i = 0; i < profile->processes.count; i++)
        if (time_range_is_empty(&heads->process_times[i]))
            heads->process_times[i] = crowd_lifetime_of_process(profile, heads, i);
}

void crowd_times_find(const struct profile *profile, struct crowd_heads *heads) {
    make_up_times(heads->thread_times, profile->threads.count);
    make_up_times(heads->process_times, profile->processes.count);
    if (profile->meta.has_times) find_times(profile, heads);
}

/* ---- Turns. ---- */

static int compare_ends(const void *a, const void *b) { return ORDER_BY(struct time_range, last_ns, a, b); }

/* Returns TIME_NONE if it is unknown. */
static int64_t cpu_ns_of(const struct profile *profile, const struct thread *thread, uint32_t sample) {
    if (thread_is_track(thread)) return TIME_NONE;
    if (!profile_are_weights_cpu(profile)) return samples_cpu_ns(&thread->samples, sample);
    return profile->meta.interval_ns ? profile->meta.interval_ns : TIME_NONE;
}

static struct time_range turn_of(const struct profile *profile, const struct thread *thread, uint32_t sample) {
    int64_t time_ns = samples_at(&thread->samples, sample)->time_ns, start_ns;
    int64_t cpu_ns = cpu_ns_of(profile, thread, sample);
    /* A thread whose processor time is unknown may have run since the sample before. */
    if (cpu_ns == TIME_NONE || __builtin_sub_overflow(time_ns, cpu_ns, &start_ns))
        start_ns = sample ? INT64_MIN : time_ns;
    return (struct time_range){start_ns, time_ns};
}

struct time_range *crowd_turns_of_thread(const struct profile *profile, uint32_t row, uint32_t *count) {
    const struct thread *thread = column_at(&profile->threads, row);
    uint32_t sample_count = samples_count(&thread->samples);
    *count = sample_count ? sample_count : thread_has_content(thread);
    struct time_range *turns = memory_allocate(profile->failure, *count * sizeof *turns);
    if (!turns) *count = 0;
    if (turns && *count) turns[0] = thread_events(thread);
    for (uint32_t i = 0; turns && i < sample_count; i++) turns[i] = turn_of(profile, thread, i);
    if (turns) memory_sort(profile->failure, turns, *count, sizeof *turns, compare_ends);
    for (uint32_t i = 1; i < *count; i++)
        if (turns[i].first_ns < turns[i - 1].last_ns) turns[i].first_ns = turns[i - 1].last_ns;
    return turns;
}

int64_t crowd_period_ns(const struct profile *profile) {
    enum { INTERVAL_COUNT = 4, NS_PER_MS = 1000000 };
    int64_t interval_ns = profile->meta.interval_ns, period_ns;
    if (interval_ns <= 0) interval_ns = NS_PER_MS;
    return __builtin_mul_overflow(interval_ns, INTERVAL_COUNT, &period_ns) ? INT64_MAX : period_ns;
}

/* ---- Processor time of a track. ---- */

static void swap_details(struct column *column, uint32_t row) {
    if (!column->count) return;
    int64_t *a = column_at(column, row - 1), *b = column_at(column, row), value = *a;
    *a = *b;
    *b = value;
}

static void swap_with_previous(struct samples *samples, uint32_t row) {
    struct sample *a = samples_at(samples, row - 1), *b = samples_at(samples, row), sample = *a;
    *a = *b;
    *b = sample;
    swap_details(&samples->details->cpu_ns, row);
    swap_details(&samples->details->delay_ns, row);
    swap_details(&samples->details->processors, row);
}

/* Moves the waiting samples just before this one out of the time in which another thread ran, to its end. So they stay
 * before all samples of their thread that run, and in order. */
static void move_waits(struct samples *samples, uint32_t row) {
    int64_t end_ns = samples_at(samples, row)->time_ns, cpu_ns = samples_cpu_ns(samples, row);
    for (; cpu_ns > 0 && row; row--) {
        struct sample *wait = samples_at(samples, row - 1);
        if (samples_cpu_ns(samples, row - 1) != 0 || end_ns - wait->time_ns >= cpu_ns) return;
        wait->time_ns = end_ns;
        swap_with_previous(samples, row);
    }
}

/* Gives excess_ns to the sample if it has processor time. Returns what is more than a thread can use since the sample
 * before. */
static int64_t pass_excess(struct samples *samples, uint32_t row, int64_t excess_ns) {
    int64_t *cpu_ns = column_at(&samples->details->cpu_ns, row), all_ns;
    int64_t possible_ns = samples_at(samples, row)->time_ns - samples_at(samples, row - 1)->time_ns;
    if (*cpu_ns <= 0 || __builtin_add_overflow(*cpu_ns, excess_ns, &all_ns)) return excess_ns;
    *cpu_ns = all_ns < possible_ns ? all_ns : possible_ns;
    return all_ns - *cpu_ns;
}

void crowd_level_cpu(struct samples *samples, bool moves_waits, struct failure *failure) {
    int64_t excess_ns = 0;
    uint32_t count = samples_count(samples);
    samples_sort(samples, failure);
    if (count < 2 || !samples_have_cpu(samples)) return;
    for (uint32_t i = count; moves_waits && i-- > 0;) move_waits(samples, i);
    for (uint32_t i = count; i-- > 1;) excess_ns = pass_excess(samples, i, excess_ns);
    for (uint32_t i = 1; i < count; i++) excess_ns = pass_excess(samples, i, excess_ns);
    if (!excess_ns) return;
    while (samples_cpu_ns(samples, count - 1) == TIME_NONE) count--;
    *(int64_t *)column_at(&samples->details->cpu_ns, count - 1) += excess_ns;
}
