#include "trace_times.h"

struct times {
    struct profile *profile;
    struct trace_clock *clock;
};

/* Members _ticks and _ns of one name share their place. */
static void convert(const struct times *times, int64_t *time) {
    if (*time != TIME_NONE) *time = trace_clock_convert(times->clock, *time);
}

static void convert_value(void *context, void *time) { convert(context, time); }

static void convert_marker(struct times *times, struct marker *marker) {
    bool is_instant = marker->end_ticks == marker->start_ticks;
    convert(times, &marker->start_ticks);
    if (is_instant)
        marker->end_ns = marker->start_ns;
    else
        convert(times, &marker->end_ticks);
    int64_t *origin = profile_origin_time(times->profile, marker);
    if (origin) convert(times, origin);
    profile_visit_marker(times->profile, marker, VALUE_TIME, convert_value, times);
}

static void convert_thread(struct times *times, struct thread *thread) {
    convert(times, &thread->start_ticks);
    convert(times, &thread->end_ticks);
    for (uint32_t i = 0; i < samples_count(&thread->samples); i++)
        convert(times, &samples_at(&thread->samples, i)->time_ticks);
    for (size_t i = 0, run_count; i < thread->markers.count; i += run_count) {
        struct marker *run = column_run(&thread->markers, i, &run_count);
        for (size_t j = 0; j < run_count; j++) convert_marker(times, &run[j]);
    }
    for (size_t i = 0; i < thread->allocations.count; i++)
        convert(times, &((struct allocation *)column_at(&thread->allocations, i))->time_ticks);
}

static void convert_counter(const struct times *times, struct counter *counter) {
    for (size_t i = 0; i < counter->samples.count; i++) {
        struct counter_sample *sample = column_at(&counter->samples, i);
        convert(times, &sample->time_ticks);
    }
}

void trace_times_convert(struct profile *profile, struct trace_clock *clock) {
    struct times times = {profile, clock};
    for (size_t i = 0; i < profile->processes.count; i++)
        convert(&times, &((struct process *)column_at(&profile->processes, i))->end_ticks);
    for (size_t i = 0; i < profile->threads.count; i++) convert_thread(&times, column_at(&profile->threads, i));
    for (size_t i = 0; i < profile->counters.count; i++) convert_counter(&times, column_at(&profile->counters, i));
    for (size_t i = 0; i < profile->overheads.count; i++)
        convert(&times, &((struct overhead *)column_at(&profile->overheads, i))->time_ticks);
    for (size_t i = 0; i < profile->profiling_log.count; i++)
        convert(&times, &((struct log_line *)column_at(&profile->profiling_log, i))->time_ticks);
}
