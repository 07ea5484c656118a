#include "product_name.h"

#include "libconvert/base/cursor.h"
#include "libconvert/base/memory.h"

/* Returns whether the process has a pid and a name of its own: threads without names are called "thread 12", and
 * processes without main threads "process 12". */
static bool is_program(const struct process *process) {
    static const struct text nameless = TEXT("thread "), mainless = TEXT("process ");
    if (process->pid <= 0 || !process->name.bytes_count) return false;
    if (text_starts_with(process->name, mainless) &&
        text_equal(text_from(process->name, mainless.bytes_count), process->pid_text))
        return false;
    return !text_starts_with(process->name, nameless) ||
           !cursor_is_digit(process->name.bytes[process->name.bytes_count - 1]);
}

/* How much a process did. */
struct activity {
    int64_t cpu_ns;        /* as far as it is known: a thread that waits has samples too */
    uint64_t sample_count; /* one more for each thread, as some traces have no samples */
};

/* Returns whether a process did more than the other. Differences in processor time below the sampling interval do not
 * count. */
static bool is_more(const struct activity *activity, const struct activity *other, int64_t interval_ns) {
    int64_t interval_count = activity->cpu_ns / interval_ns, other_count = other->cpu_ns / interval_ns;
    if (interval_count != other_count) return interval_count > other_count;
    return activity->sample_count > other->sample_count;
}

static void add_thread(struct activity *activity, const struct samples *samples) {
    activity->sample_count += 1 + samples_count(samples);
    for (uint32_t i = 0; i < samples_count(samples); i++) {
        int64_t cpu_ns = samples_cpu_ns(samples, i);
        if (cpu_ns <= 0) continue; /* unknown, or nonsense in a profile */
        if (__builtin_add_overflow(activity->cpu_ns, cpu_ns, &activity->cpu_ns)) activity->cpu_ns = INT64_MAX;
    }
}

/* Returns the process that used the most processor time; if that is unknown, the one that has the most samples. NULL if
 * none is a program. */
static const struct process *busiest_process(const struct profile *profile) {
    struct activity *activities =
        memory_allocate_zeroed(profile->failure, profile->processes.count, sizeof *activities);
    int64_t interval_ns = profile->meta.interval_ns > 0 ? profile->meta.interval_ns : 1;
    const struct process *busiest = NULL;
    struct activity most = {0};
    for (size_t i = 0; activities && i < profile->thread_order.count; i++) {
        const struct thread *thread = profile_ordered_thread(profile, i);
        add_thread(&activities[thread->process.index], &thread->samples);
    }
    for (size_t i = 0; activities && i < profile->thread_order.count; i++) {
        process_id id = profile_ordered_thread(profile, i)->process;
        const struct process *process = profile_process_at(profile, id);
        if (!is_program(process) || !is_more(&activities[id.index], &most, interval_ns)) continue;
        most = activities[id.index];
        busiest = process;
    }
    memory_free(activities);
    return busiest;
}

struct text profile_product_name(struct profile *profile, const char *given, const char *reader_title) {
    const struct profile_meta *meta = &profile->meta;
    if (given && *given) return profile_text(profile, text_of(given));
    if (meta->product.bytes_count) return meta->product;
    const struct process *process = busiest_process(profile);
    if (process) return process->name;
    if (meta->imported_from.bytes_count) return meta->imported_from;
    return text_of(reader_title);
}
