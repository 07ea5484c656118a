#include "perf_samples.h"

#include "perf_deferred.h"
#include "perf_filter.h"
#include "perf_switches.h"

/* before_ns: time of the task's last sample of the event; TIME_NONE: there is none. */
static void count_period(const struct perf_occurrence *occurrence, int64_t before_ns) {
    struct perf_event *event = occurrence->event;
    event->sample_count++;
    if (!occurrence->has_period) return;
    perf_event_count_gap(event, occurrence->processor, before_ns, occurrence->time_ns, occurrence->period);
    event->has_period = true;
    event->period_sum += occurrence->period;
    if (occurrence->period < event->period_min) event->period_min = occurrence->period;
    if (occurrence->period > event->period_max) event->period_max = occurrence->period;
}

static uint32_t encode_period(struct profile *profile, const struct perf_occurrence *occurrence) {
    if (!occurrence->has_period) return 1;
    int64_t period = occurrence->period > INT64_MAX ? INT64_MAX : (int64_t)occurrence->period;
    return profile_weight_encode(profile, (struct decimal){.mantissa = period});
}

/* The time of a wait is when it began, before samples of the thread that came earlier. */
static void count_time(struct perf_recording *recording, const struct perf_occurrence *occurrence) {
    struct perf_task *task = occurrence->task;
    if (occurrence->event->is_off_cpu_time) {
        perf_tally(&recording->tallies, TALLY_SUM_OF_WAITS, occurrence->time_ns == TIME_NONE, occurrence->position);
        return;
    }
    bool is_jump = task->last_time_ns != TIME_NONE && occurrence->time_ns < task->last_time_ns;
    perf_tally(&recording->tallies, TALLY_JUMP, is_jump, occurrence->position);
    if (is_jump)
        perf_activity_mark_disorder(&recording->activity, task, task->last_time_ns - occurrence->time_ns,
                                    occurrence->time_ns);
    task->last_time_ns = occurrence->time_ns;
}

/* Returns the series, in which the sample is now the last one; NULL if memory ran out (latched). */
static struct perf_series *add_sample(struct perf_recording *recording, const struct perf_occurrence *occurrence,
                                      stack_id stack) {
    struct perf_task *task = occurrence->task;
    struct perf_series *series = perf_tasks_series(&recording->tasks, task, occurrence->event_row, false);
    if (!series) return NULL;
    uint32_t count = samples_count(&series->samples);
    int64_t before_ns = count ? samples_at(&series->samples, count - 1)->time_ns : TIME_NONE;
    samples_add(&series->samples, occurrence->time_ns, stack, encode_period(recording->profile, occurrence));
    if (recording->keeps_processors) samples_set_processor(&series->samples, occurrence->processor);
    count_period(occurrence, before_ns);
    count_time(recording, occurrence);
    task->has_samples = true;
    return series;
}

/* Adds an occurrence without a stack. Returns the series as add_sample does. */
static struct perf_series *add_bare(struct perf_recording *recording, const struct perf_occurrence *occurrence) {
    struct perf_series *series = perf_tasks_series(&recording->tasks, occurrence->task, occurrence->event_row, true);
    if (!series) return NULL;
    samples_add(&series->samples, occurrence->time_ns, stack_none(), encode_period(recording->profile, occurrence));
    struct perf_event *event = occurrence->event;
    ledger_tally_add(&event->bare, 1, occurrence->position);
    if (occurrence->has_period) event->bare_period_sum += occurrence->period;
    return series;
}

/* Returns the last payload, which is empty; NULL if memory ran out (latched), or there are too many. */
static struct perf_payload *push_payload(struct perf_tasks *tasks, struct perf_series *series) {
    struct perf_payload *payload = tasks->payload_count < UINT32_MAX ? column_push(&series->payloads) : NULL;
    if (payload) *payload = (struct perf_payload){.order = tasks->payload_count++};
    return payload;
}

/* Without the text that perf prints of it, a tracepoint's payload is empty. So are those of samples that came before
 * the event's name, which tells that it has payloads. */
static void add_payload(struct perf_recording *recording, struct perf_series *series,
                        const struct perf_record *record) {
    struct text bytes = arena_copy(&series->bytes, text_slice(record->text, 0, UINT32_MAX));
    struct perf_payload *payload;
    do payload = push_payload(&recording->tasks, series);
    while (payload && series->payloads.count < samples_count(&series->samples));
    if (!payload) return;
    payload->bytes = bytes.bytes;
    payload->bytes_count = (uint32_t)bytes.bytes_count;
    recording->has_raw_payloads |= record->sample.is_raw;
    /* The idle thread runs on all processors at once. */
    if (!profile_thread_at(recording->profile, series->thread)->tid)
        samples_set_processor(&series->samples, record->sample.processor);
}

/* Other events count accesses to data, and their addresses mean little one by one. */
static void add_address(struct perf_recording *recording, struct perf_series *series,
                        const struct perf_record *record) {
    const struct perf_sample *sample = &record->sample;
    struct perf_event *event = perf_events_at(&recording->events, series->event);
    bool is_kept = sample->has_address && event->keeps_addresses;
    perf_tally(&recording->tallies, TALLY_ADDRESS, !is_kept && sample->has_address && sample->address,
               record->position);
    struct perf_data_address *added = is_kept ? column_push(&series->addresses) : NULL;
    if (!added) return;
    *added = (struct perf_data_address){sample->address, samples_count(&series->samples) - 1};
    event->has_addresses = true;
}

/* Returns the pid whose mappings apply to the task. The mappings of guests are not known. */
static int64_t pid_of_maps(const struct perf_task *task) { return task->machine ? PID_UNKNOWN : task->pid; }

/* Waits end at the time of the sample. That of a sum of waits is not known. */
static int64_t start_of_wait(const struct perf_record *record) {
    bool is_sum = record->time_ns == TIME_NONE || record->sample.period > (uint64_t)record->time_ns;
    return is_sum ? TIME_NONE : record->time_ns - (int64_t)record->sample.period;
}

static int64_t time_of_sample(struct perf_recording *recording, const struct perf_event *event,
                              const struct perf_record *record) {
    if (event && event->is_off_cpu_time) return start_of_wait(record);
    if (record->sample.is_repeated) return perf_recording_time(recording, record);
    if (record->time_ns != TIME_NONE) {
        recording->has_times = true;
    } else {
        perf_tally(&recording->tallies, TALLY_NO_TIME, 1, record->position);
        recording->last_time_ns = perf_recording_made_up_time(recording);
    }
    return recording->last_time_ns;
}

/* Adds what a sample tells apart from the event. */
static void begin_sample(struct perf_recording *recording, const struct perf_occurrence *occurrence,
                         const struct perf_record *record) {
    const struct perf_sample *sample = &record->sample;
    struct perf_task *task = occurrence->task;
    bool is_of_moment = occurrence->time_ns != TIME_NONE;
    if (sample->cgroup && is_of_moment)
        perf_activity_set_cgroup(&recording->activity, task, sample->cgroup, occurrence->time_ns);
    perf_tally(&recording->tallies, TALLY_CPU, sample->processor >= 0 && !recording->keeps_processors,
               record->position);
    recording->has_stacks |= sample->has_stack;
    const struct perf_stack_copy *copy = sample->addresses ? sample->addresses->copy : NULL;
    recording->has_copies |= copy != NULL;
    recording->has_32_bit_copies |= copy && copy->registers_abi == PERF_ABI_32_BIT;
    recording->last_stack = recording->code.add_stack(recording->code.context, record, pid_of_maps(task));
}

/* Returns the series, in which the sample is now the last one; NULL if it is lost. */
static struct perf_series *add_occurrence(struct perf_recording *recording, const struct perf_occurrence *occurrence,
                                          const struct perf_record *record) {
    const struct perf_sample *sample = &record->sample;
    struct perf_tallies *tallies = &recording->tallies;
    const struct perf_event *event = occurrence->event;
    stack_id stack = recording->last_stack;
    bool is_place = !stack_is_none(stack) || sample->cookie;
    bool is_bare = event->is_tracepoint ? !sample->has_stack : !is_place;
    if (is_bare && !perf_events_use_bare(&recording->events, event)) {
        perf_tally(tallies, perf_tally_of_no_stack(record->position), 1, record->position);
        return NULL;
    }
    struct perf_series *series = is_bare ? add_bare(recording, occurrence) : add_sample(recording, occurrence, stack);
    if (series) add_address(recording, series, record);
    if (series && event->has_payloads) add_payload(recording, series, record);
    if (series && !is_bare && sample->cookie &&
        !perf_deferred_add(&recording->tasks, occurrence->task, series, sample->cookie, sample->is_interrupted,
                           record->position))
        perf_tally(tallies, TALLY_NO_USER_STACK, 1, record->position);
    return series;
}

/* Counts a sample of an event that the options leave out. */
static void drop(const struct perf_occurrence *occurrence, const struct perf_sample *sample) {
    struct perf_event *event = occurrence->event;
    bool is_bare = event->is_tracepoint && !sample->has_stack;
    occurrence->task->has_samples = true;
    if (is_bare) ledger_tally_add(&event->bare, 1, occurrence->position);
    event->sample_count += !is_bare;
    if (occurrence->has_period) *(is_bare ? &event->bare_period_sum : &event->period_sum) += occurrence->period;
}

/* A thread that has ended runs on until it stops for good, but has no tid. Switches tell which one it is. */
static struct perf_task *task_of(struct perf_recording *recording, struct perf_event *event,
                                 const struct perf_record *record) {
    int64_t tid = record->tid == -1 ? perf_switches_tid(recording, event, record) : -1;
    struct perf_task *task = tid > 0 ? perf_tasks_known(&recording->tasks, record->machine, tid) : NULL;
    bool has_ended = task && profile_thread_at(recording->profile, task->thread)->end_ns != TIME_NONE;
    return has_ended ? task : perf_recording_task(recording, record);
}

void perf_samples_use(struct perf_recording *recording, const struct perf_record *record) {
    const struct perf_sample *sample = &record->sample;
    struct perf_event *event = sample->event == ID_NONE ? NULL : perf_events_at(&recording->events, sample->event);
    const struct perf_occurrence occurrence = {.task = task_of(recording, event, record),
                                               .event = event,
                                               .event_row = sample->event,
                                               .time_ns = time_of_sample(recording, event, record),
                                               .processor = sample->processor,
                                               .has_period = sample->has_period,
                                               .period = sample->period,
                                               .position = record->position};
    if (!occurrence.task) return;
    bool is_of_dropped = event && perf_event_is_dropped(event);
    struct perf_wait wait;
    struct perf_task *stopped = NULL;
    if (!is_of_dropped) stopped = perf_switches_begin(recording, &occurrence, record, &wait);
    bool is_dropped = recording->filter && perf_filter_drops(recording, &occurrence, record);
    if (!is_dropped && is_of_dropped) drop(&occurrence, sample);
    is_dropped |= is_of_dropped;
    if (!is_dropped && !sample->is_repeated) begin_sample(recording, &occurrence, record);
    struct perf_series *series = NULL;
    if (!is_dropped && event) series = add_occurrence(recording, &occurrence, record);
    if (stopped) perf_switches_finish(recording, stopped, &wait, series, record->position);
}

void perf_samples_use_user_stack(struct perf_recording *recording, const struct perf_record *record) {
    struct perf_task *task = perf_recording_task(recording, record);
    if (!task) return;
    if (recording->filter && perf_filter_drops_user_stack(recording, task, record)) return;
    recording->has_times |= record->time_ns != TIME_NONE;
    recording->has_stacks |= record->sample.has_stack;
    stack_id outer = recording->code.add_stack(recording->code.context, record, pid_of_maps(task));
    perf_deferred_join(&recording->tasks, task, record, outer, recording->code.stacks, &recording->tallies);
}
