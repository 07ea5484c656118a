#include "trace_times.h"

struct times {
    struct profile *profile;
    struct trace_clock *clock;
};

static void convert(const struct times *times, int64_t *time) {
    if (*time != TIME_NONE) *time = trace_clock_convert(times->clock, *time);
}

static void convert_value(void *context, union marker_value *value) { convert(context, &value->time_ns); }

static void convert_thread(struct times *times, struct thread *thread) {
    convert(times, &thread->start_ns);
    convert(times, &thread->end_ns);
    for (uint32_t i = 0; i < samples_count(&thread->samples); i++)
        convert(times, &samples_at(&thread->samples, i)->time_ns);
    for (size_t i = 0; i < thread->markers.count; i++) {
        struct marker *marker = column_at(&thread->markers, i);
        bool is_instant = marker->end_ns == marker->start_ns;
        convert(times, &marker->start_ns);
        if (is_instant)
            marker->end_ns = marker->start_ns;
        else
            convert(times, &marker->end_ns);
        struct stack_origin *origin = profile_marker_origin(times->profile, marker);
        if (origin) convert(times, &origin->time_ns);
        profile_visit_marker(times->profile, marker, VALUE_TIME, convert_value, times);
    }
    for (size_t i = 0; i < thread->allocations.count; i++)
        convert(times, &((struct allocation *)column_at(&thread->allocations, i))->time_ns);
}

static void convert_counter(const struct times *times, struct counter *counter) {
    for (size_t i = 0; i < counter->samples.count; i++) {
        struct counter_sample *sample = column_at(&counter->samples, i);
        convert(times, &sample->time_ns);
    }
}

void trace_times_convert(struct profile *profile, struct trace_clock *clock) {
    struct times times = {profile, clock};
    for (size_t i = 0; i < profile->processes.count; i++)
        convert(&times, &((struct process *)column_at(&profile->processes, i))->end_ns);
    for (size_t i = 0; i < profile->threads.count; i++) convert_thread(&times, column_at(&profile->threads, i));
    for (size_t i = 0; i < profile->counters.count; i++) convert_counter(&times, column_at(&profile->counters, i));
    for (size_t i = 0; i < profile->paused_ranges.count; i++) {
        struct paused_range *range = column_at(&profile->paused_ranges, i);
        convert(&times, &range->start_ns);
        convert(&times, &range->end_ns);
    }
    for (size_t i = 0; i < profile->overheads.count; i++)
        convert(&times, &((struct overhead *)column_at(&profile->overheads, i))->time_ns);
    for (size_t i = 0; i < profile->profiling_log.count; i++)
        convert(&times, &((struct log_line *)column_at(&profile->profiling_log, i))->time_ns);
}
