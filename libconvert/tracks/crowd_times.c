#include "crowd_steps.h"

static void extend_by_life(struct time_range *range, int64_t start_ns, int64_t end_ns) {
    if (start_ns != TIME_NONE) time_range_add(range, start_ns);
    if (end_ns != TIME_NONE) time_range_add(range, end_ns);
}

struct time_range crowd_life_of_thread(const struct profile *profile, const struct crowd_heads *heads, uint32_t row) {
    const struct thread *thread = column_at(&profile->threads, row);
    struct time_range range = heads->thread_times[row];
    extend_by_life(&range, thread->start_ns, thread->end_ns);
    return range;
}

struct time_range crowd_life_of_process(const struct profile *profile, const struct crowd_heads *heads, uint32_t row) {
    const struct process *process = column_at(&profile->processes, row);
    struct time_range range = heads->process_times[row];
    extend_by_life(&range, process->start_ns, process_shutdown_ns(process));
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
            heads->thread_times[i] = crowd_life_of_thread(profile, heads, i);
    for (uint32_t i = 0; i < profile->processes.count; i++)
        if (time_range_is_empty(&heads->process_times[i]))
            heads->process_times[i] = crowd_life_of_process(profile, heads, i);
}

void crowd_times_find(const struct profile *profile, struct crowd_heads *heads) {
    make_up_times(heads->thread_times, profile->threads.count);
    make_up_times(heads->process_times, profile->processes.count);
    if (profile->meta.has_times) find_times(profile, heads);
}
