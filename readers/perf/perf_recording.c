#include "perf_recording.h"

#include "perf_deferred.h"

/* Distance between samples without a time. */
static const int64_t MADE_UP_INTERVAL_NS = 1000000;

void perf_recording_init(struct perf_recording *recording, struct profile *profile,
                         const struct reader_options *options) {
    struct filter *filter = options->filter;
    *recording = (struct perf_recording){.profile = profile,
                                         .filter = filter,
                                         .keeps_processors = options->keeps_processors,
                                         .first_time_ns = TIME_NONE,
                                         .last_loss_ns = TIME_NONE,
                                         .first_event_ns = TIME_NONE};
    perf_tasks_init(&recording->tasks, profile, filter);
    perf_events_init(&recording->events, filter, profile->failure);
    perf_activity_init(&recording->activity, profile, filter);
    perf_waits_init(&recording->waits, &recording->activity, &recording->tallies);
    perf_tracing_init(&recording->tracing, profile);
}

void perf_recording_fini(struct perf_recording *recording) {
    perf_deferred_free(&recording->tasks);
    perf_tasks_fini(&recording->tasks);
    perf_events_fini(&recording->events);
    perf_activity_fini(&recording->activity);
    perf_waits_fini(&recording->waits);
    perf_tracing_fini(&recording->tracing);
}

int64_t perf_recording_made_up_time(const struct perf_recording *recording) {
    int64_t time_ns;
    bool is_late = __builtin_add_overflow(recording->last_time_ns, MADE_UP_INTERVAL_NS, &time_ns);
    return is_late ? INT64_MAX : time_ns;
}
