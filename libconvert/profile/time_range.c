#include "time_range.h"

struct time_range thread_events(const struct thread *thread) {
    struct time_range range = TIME_RANGE_EMPTY;
    for (uint32_t i = 0; i < samples_count(&thread->samples); i++)
        time_range_add(&range, samples_at(&thread->samples, i)->time_ns);
    for (size_t i = 0; i < thread->allocations.count; i++)
        time_range_add(&range, ((const struct allocation *)column_at(&thread->allocations, i))->time_ns);
    for (size_t i = 0; i < thread->markers.count; i++) {
        const struct marker *marker = column_at(&thread->markers, i);
        time_range_extend(&range, marker->start_ns, marker->end_ns);
    }
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
        for (size_t j = 0; j < samples->count; j++)
            time_range_add(&range, ((const struct counter_sample *)column_at(samples, j))->time_ns);
    }
    return range;
}
