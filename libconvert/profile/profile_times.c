#include <stddef.h>
#include <stdlib.h>

#include "libconvert/base/memory.h"
#include "profile_finish.h"
#include "time_range.h"

/* Returns when the last thread or process ended; TIME_NONE if none did. */
static int64_t find_last_end(const struct profile *profile) {
    int64_t last_ns = TIME_NONE;
    for (size_t i = 0; i < profile->threads.count; i++)
        last_ns = time_later(last_ns, ((const struct thread *)column_at(&profile->threads, i))->end_ns);
    for (size_t i = 0; i < profile->processes.count; i++)
        last_ns = time_later(last_ns, ((const struct process *)column_at(&profile->processes, i))->end_ns);
    return last_ns;
}

/* What becomes of the times of a profile. */
struct time_map {
    time_mapper *map;
    void *context;
};

static void map_time(const struct time_map *map, int64_t *time) {
    if (*time != TIME_NONE) *time = map->map(map->context, *time);
}

static void map_value(void *map, void *time) { map_time(map, time); }

/* Maps the times in a column of rows; `time_at` is the offset of the time in a row. */
static void map_column(const struct time_map *map, struct column *column, size_t time_at) {
    for (size_t i = 0, run_count; i < column->count; i += run_count) {
        char *run = column_run(column, i, &run_count);
        for (size_t j = 0; j < run_count; j++) map_time(map, (int64_t *)(run + j * column->element_bytes + time_at));
    }
}

static void map_markers(struct time_map *map, const struct profile *profile, const struct column *markers) {
    COLUMN_EACH(struct marker, marker, markers) {
        int64_t *origin_ns = profile_origin_time(profile, marker);
        map_time(map, &marker->start_ns);
        map_time(map, &marker->end_ns);
        if (origin_ns) map_time(map, origin_ns);
        profile_visit_marker(profile, marker, VALUE_TIME, map_value, map);
    }
}

#define MAP_COLUMN(map, column, row_type, member) map_column(map, column, offsetof(row_type, member))

void profile_map_times(struct profile *profile, time_mapper *mapper, void *context) {
    struct time_map map = {mapper, context};
    MAP_COLUMN(&map, &profile->processes, struct process, start_ns);
    MAP_COLUMN(&map, &profile->processes, struct process, end_ns);
    MAP_COLUMN(&map, &profile->threads, struct thread, start_ns);
    MAP_COLUMN(&map, &profile->threads, struct thread, end_ns);
    COLUMN_EACH(struct thread, thread, &profile->threads) {
        MAP_COLUMN(&map, &thread->samples.rows, struct sample, time_ns);
        map_markers(&map, profile, &thread->markers);
        MAP_COLUMN(&map, &thread->allocations, struct allocation, time_ns);
    }
    COLUMN_EACH(struct counter, counter, &profile->counters)
        MAP_COLUMN(&map, &counter->samples, struct counter_sample, time_ns);
    MAP_COLUMN(&map, &profile->paused_ranges, struct paused_range, start_ns);
    MAP_COLUMN(&map, &profile->paused_ranges, struct paused_range, end_ns);
    MAP_COLUMN(&map, &profile->overheads, struct overhead, time_ns);
    MAP_COLUMN(&map, &profile->profiling_log, struct log_line, time_ns);
    MAP_COLUMN(&map, &profile->gathering_log, struct log_line, time_ns);
    map_time(&map, &profile->recording.program_start_ns);
    map_time(&map, &profile->recording.start_ns);
    map_time(&map, &profile->recording.end_ns);
}

/* Damaged inputs can have any times, so the sum may wrap around. */
static int64_t shifted(void *delta_ns, int64_t time_ns) {
    return (int64_t)((uint64_t)time_ns + (uint64_t) * (int64_t *)delta_ns);
}

void profile_shift_times(struct profile *profile, int64_t delta_ns) {
    if (delta_ns) profile_map_times(profile, shifted, &delta_ns);
}

/* Clips the start and the end of a task to the profile. If the task began before, its start becomes unknown. */
static void clip_times(int64_t *start_ns, int64_t *end_ns) {
    if (*start_ns < 0) *start_ns = TIME_NONE;
    if (*end_ns != TIME_NONE && *end_ns < 0) *end_ns = 0;
}

static void clip_all_times(struct profile *profile) {
    COLUMN_EACH(struct process, process, &profile->processes) clip_times(&process->start_ns, &process->end_ns);
    COLUMN_EACH(struct thread, thread, &profile->threads) clip_times(&thread->start_ns, &thread->end_ns);
    COLUMN_EACH(struct paused_range, range, &profile->paused_ranges) clip_times(&range->start_ns, &range->end_ns);
}

/* Finds the range of the profile, and its origin, on the trace's clock. */
static void find_range(struct profile *profile) {
    const struct recording_times *recording = &profile->recording;
    struct time_range events = profile_events(profile);
    if (events.first_ns > events.last_ns) return;
    profile->start_ns = time_earlier(events.first_ns, recording->start_ns);
    profile->last_event_ns = events.last_ns;
    profile->end_ns = time_later(find_last_end(profile), time_later(events.last_ns, recording->end_ns));
    /* An unknown end is before every start. */
    bool is_known = recording->start_ns != TIME_NONE && recording->end_ns > recording->start_ns;
    if (profile->meta.was_profile && is_known) {
        profile->start_ns = recording->start_ns;
        profile->end_ns = recording->end_ns;
        /* What is drawn up to the end, such as a counter, is not an event. */
        profile->last_event_ns = time_earlier(profile->last_event_ns, profile->end_ns - profile->meta.interval_ns);
    }
    profile->origin_ns = time_earlier(profile->start_ns, recording->program_start_ns);
}

void profile_make_times_relative(struct profile *profile) {
    find_range(profile);
    int64_t delta_ns = -profile->origin_ns;
    profile_shift_times(profile, delta_ns);
    struct time_map map = {shifted, &delta_ns};
    map_time(&map, &profile->start_ns);
    map_time(&map, &profile->last_event_ns);
    map_time(&map, &profile->end_ns);
    clip_all_times(profile);
}

int64_t profile_shown_end(const struct profile *profile) {
    int64_t after_last_ns;
    if (__builtin_add_overflow(profile->last_event_ns, profile->meta.interval_ns, &after_last_ns))
        after_last_ns = INT64_MAX;
    return time_later(profile->end_ns, after_last_ns);
}

/* How many distances are measured, and how many must contradict the configured interval. */
enum { INTERVAL_DELTAS_MAX = 65536, INTERVAL_DELTAS_MIN = 32 };
static const int64_t DEFAULT_INTERVAL_NS = 1000000;

static int compare_deltas(const void *a, const void *b) { return ORDER(*(const int64_t *)a, *(const int64_t *)b); }

/* Returns the configured interval unless the sorted distances contradict it: hardly any is as short. Many are longer in
 * a program that works in bursts. */
static int64_t choose_interval_ns(const struct profile *profile, const int64_t *deltas, size_t delta_count) {
    enum { DELTAS_PER_SHORT_ONE_MAX = 20 };
    int64_t configured_ns = profile->meta.configuration.interval_ns;
    if (!configured_ns) return delta_count ? deltas[delta_count / 2] : DEFAULT_INTERVAL_NS;
    if (delta_count < INTERVAL_DELTAS_MIN) return configured_ns;
    bool is_kept = deltas[delta_count / DELTAS_PER_SHORT_ONE_MAX] - configured_ns <= configured_ns / 4;
    return is_kept ? configured_ns : deltas[delta_count / 2];
}

/* Returns for how many distances there must be room. */
static size_t count_deltas(const struct profile *profile) {
    size_t count = 0;
    for (size_t i = 0; i < profile->threads.count && count < INTERVAL_DELTAS_MAX; i++)
        count += samples_count(&((const struct thread *)column_at(&profile->threads, i))->samples);
    return count < INTERVAL_DELTAS_MAX ? count : INTERVAL_DELTAS_MAX;
}

int64_t profile_estimate_interval_ns(const struct profile *profile) {
    size_t count_max = count_deltas(profile);
    if (!count_max) return choose_interval_ns(profile, NULL, 0);
    int64_t *deltas = memory_allocate(profile->failure, count_max * sizeof *deltas);
    if (!deltas) return DEFAULT_INTERVAL_NS;
    size_t count = 0;
    for (size_t i = 0; i < profile->threads.count && count < count_max; i++) {
        const struct thread *thread = column_at(&profile->threads, i);
        const struct samples *samples = &thread->samples;
        if (thread_is_track(thread)) continue;
        for (uint32_t j = 1; j < samples_count(samples) && count < count_max; j++) {
            /* A thread may be left unsampled while it sleeps, so this distance is not the interval. */
            if (samples_cpu_ns(samples, j) == 0) continue;
            int64_t delta_ns = samples_at(samples, j)->time_ns - samples_at(samples, j - 1)->time_ns;
            if (delta_ns > 0) deltas[count++] = delta_ns;
        }
    }
    qsort(deltas, count, sizeof *deltas, compare_deltas);
    int64_t interval_ns = choose_interval_ns(profile, deltas, count);
    memory_free(deltas);
    return interval_ns;
}
