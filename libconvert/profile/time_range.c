#include "time_range.h"

struct time_range thread_events(const struct thread *thread) {
    struct time_range range = TIME_RANGE_EMPTY;
    COLUMN_EACH(const struct sample, sample, &thread->samples.rows) time_range_add(&range, sample->time_ns);
    COLUMN_EACH(const struct allocation, allocation, &thread->allocations) time_range_add(&range, allocation->time_ns);
    COLUMN_EACH(const struct marker, marker, &thread->markers)
        time_range_extend(&range, marker->start_ns, marker->end_ns);
    return range;
}

struct time_range profile_events(const struct profile *profile) {
    struct time_range range = TIME_RANGE_EMPTY;
    for (size_t i = 0; i < profile->threads.count; i++) {
        struct time_range events = thread_events(column_at(&profile->threads, i));
        time_range_extend(&range, events.first_ns, events.last_ns);
    }
    for (size_t i = 0; i < profile->counters.count; i++) {
        const struct column *samples = &((const struct counter *)column_at(&profile->counters, i))->samples;
        COLUMN_EACH(const struct counter_sample, counter_sample, samples)
            time_range_add(&range, counter_sample->time_ns);
    }
    return range;
}
