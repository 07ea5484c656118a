#include "perf_recording.h"

#include "libconvert/base/memory.h"
#include "perf_callers.h"
#include "perf_cut_stacks.h"
#include "perf_deferred.h"
#include "perf_filter.h"
#include "perf_occurrences.h"
#include "perf_off_cpu.h"
#include "perf_programs.h"
#include "perf_switches.h"

/* Distance between samples without a time. */
static const int64_t MADE_UP_INTERVAL_NS = 1000000;

void perf_recording_init(struct perf_recording *recording, struct profile *profile,
                         const struct reader_options *options) {
    struct filter *filter = options->filter;
    *recording = (struct perf_recording){.profile = profile,
                                         .filter = filter,
                                         .keeps_processors = options->keeps_processors,
                                         .first_time_ns = TIME_NONE};
    perf_tasks_init(&recording->tasks, profile, filter);
    perf_events_init(&recording->events, filter, profile->failure);
    perf_activity_init(&recording->activity, profile, filter);
    perf_waits_init(&recording->waits, &recording->activity, &recording->tallies);
    perf_tracing_init(&recording->tracing, profile);
    arena_init(&recording->payloads, profile->failure);
}

void perf_recording_fini(struct perf_recording *recording) {
    perf_deferred_free(&recording->tasks);
    perf_tasks_fini(&recording->tasks);
    perf_events_fini(&recording->events);
    perf_activity_fini(&recording->activity);
    perf_waits_fini(&recording->waits);
    perf_tracing_fini(&recording->tracing);
    arena_fini(&recording->payloads);
}

static struct perf_task *task_of(struct perf_recording *recording, const struct perf_record *record) {
    return perf_tasks_find(&recording->tasks, record->machine, record->pid, record->tid);
}

static int64_t time_of(const struct perf_recording *recording, const struct perf_record *record) {
    return record->time_ns == TIME_NONE ? recording->last_time_ns : record->time_ns;
}

/* Returns the time of a sample that has none. */
static int64_t made_up_time(const struct perf_recording *recording) {
    int64_t time_ns;
    bool is_late = __builtin_add_overflow(recording->last_time_ns, MADE_UP_INTERVAL_NS, &time_ns);
    return is_late ? INT64_MAX : time_ns;
}

/* ---- Tasks. ---- */

static void use_comm(struct perf_recording *recording, const struct perf_record *record) {
    struct perf_task *task = task_of(recording, record);
    recording->tasks.has_records = true;
    if (task && record->is_exec)
        perf_programs_execute(&recording->tasks, task, record->name, time_of(recording, record));
    else if (task)
        perf_programs_rename(&recording->tasks, task, record->name, time_of(recording, record));
}

/* The time of the sample, if it has none, is about to be made up. */
static void use_name(struct perf_recording *recording, const struct perf_record *record) {
    struct perf_task *task = task_of(recording, record);
    int64_t time_ns = record->time_ns == TIME_NONE ? made_up_time(recording) : record->time_ns;
    if (task) perf_programs_see_name(&recording->tasks, task, record->name, time_ns);
}

/* The recording does not have the start of a task that ran before it began. The kernel may report it again. */
static void use_fork(struct perf_recording *recording, const struct perf_record *record) {
    struct perf_tasks *tasks = &recording->tasks;
    const struct perf_fork *fork = &record->fork;
    const struct perf_task *parent = perf_tasks_find(tasks, record->machine, fork->parent_pid, fork->parent_tid);
    if (fork->is_before) {
        tasks->has_records = true;
        perf_tasks_adopt(tasks, record->machine, record->pid, record->tid, parent);
    } else {
        perf_tasks_fork(tasks, record->machine, record->pid, record->tid, parent, time_of(recording, record));
    }
}

static void use_exit(struct perf_recording *recording, const struct perf_record *record) {
    perf_tasks_exit(&recording->tasks, record->machine, record->pid, record->tid, time_of(recording, record));
}

static void use_mapping(struct perf_recording *recording, const struct perf_record *record) {
    if (record->pid != PID_KERNEL) task_of(recording, record);
}

static void use_namespaces(struct perf_recording *recording, const struct perf_record *record) {
    const struct perf_namespace_list *list = &record->namespaces;
    struct perf_task *task = task_of(recording, record);
    if (task) perf_activity_set_namespaces(&recording->activity, task, list->kinds, list->count, record->time_ns);
}

static void use_cgroup(struct perf_recording *recording, const struct perf_record *record) {
    perf_activity_name_cgroup(&recording->activity, record->cgroup, record->name);
}

static void use_throttle(struct perf_recording *recording, const struct perf_record *record) {
    const struct perf_throttle_change *change = &record->throttle;
    const struct perf_task *task = change->is_end ? NULL : task_of(recording, record);
    if (change->is_end)
        perf_activity_unthrottle(&recording->activity, change->stream, record->time_ns);
    else if (task)
        perf_activity_throttle(&recording->activity, task, change->stream,
                               perf_events_at(&recording->events, change->event)->name, record->time_ns);
}

static void use_switch(struct perf_recording *recording, const struct perf_record *record) {
    struct perf_task *task = perf_activity_has_switches(record->tid) ? task_of(recording, record) : NULL;
    if (task) perf_switches_use_record(recording, task, record);
}

/* ---- The recording. ---- */

static void use_header(struct perf_recording *recording, const struct perf_record *record) {
    perf_header_enter(&recording->header, recording->profile, record->name, record->text);
}

static void use_event(struct perf_recording *recording, const struct perf_record *record) {
    const struct perf_event_description *event = &record->event;
    perf_events_add(&recording->events, record->name, event, record->position);
    if (recording->header.frequency_hz <= 0) recording->header.frequency_hz = event->frequency_hz;
    recording->profile->meta.is_clock_monotonic |= event->is_clock_monotonic;
    recording->has_named_clock |= event->has_clock;
}

static void use_event_name(struct perf_recording *recording, const struct perf_record *record) {
    perf_events_set_name(&recording->events, record->event.event, record->name);
}

static void use_formats(struct perf_recording *recording, const struct perf_record *record) {
    bool is_good = perf_tracing_read(&recording->tracing, record->text);
    perf_tally(&recording->tallies, TALLY_BAD_FEATURE, !is_good, record->position);
}

static void use_clock(struct perf_recording *recording, const struct perf_record *record) {
    recording->profile->meta.epoch_offset_ns = (int64_t)(record->clock.wall_ns - record->clock.clock_ns);
}

static void use_times(struct perf_recording *recording, const struct perf_record *record) {
    if (recording->filter)
        recording->filter->range = (struct time_range){record->times.first_ns, record->times.last_ns};
}

static void use_ticks(struct perf_recording *recording, const struct perf_record *record) {
    recording->profile->meta.tick_relation = (struct tick_relation){.is_known = record->ticks.multiplier,
                                                                    .base_ns = record->ticks.base_ns,
                                                                    .multiplier = record->ticks.multiplier,
                                                                    .shift = record->ticks.shift};
}

static void use_loss(struct perf_recording *recording, const struct perf_record *record) {
    uint64_t *counts = recording->lost_counts;
    if (!counts[0] && !counts[1]) recording->first_lost = record->position;
    counts[record->loss.is_of_samples] += record->loss.count;
    const struct perf_task *task = record->time_ns != TIME_NONE && record->tid >= 0 ? task_of(recording, record) : NULL;
    if (task && record->loss.count)
        perf_activity_mark_loss(&recording->activity, task, record->loss.count, record->time_ns);
}

static void use_count(struct perf_recording *recording, const struct perf_record *record) {
    const struct perf_count *count = &record->count;
    struct ledger *ledger = &recording->profile->ledger;
    ledger_read(ledger, count->unit, count->count);
    ledger_enter(ledger, count->unit, count->fate, record->name, count->count, &record->position);
}

/* ---- Samples. ---- */

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

/* Without the text that perf prints of it, a tracepoint's payload is empty. */
static void add_payload(struct perf_recording *recording, struct perf_series *series,
                        const struct perf_record *record) {
    struct perf_tasks *tasks = &recording->tasks;
    struct text bytes = arena_copy(&recording->payloads, text_slice(record->text, 0, UINT32_MAX));
    struct perf_payload *payload = tasks->payload_count < UINT32_MAX ? column_push(&series->payloads) : NULL;
    if (!payload) return;
    *payload = (struct perf_payload){.bytes = bytes.bytes,
                                     .bytes_count = (uint32_t)bytes.bytes_count,
                                     .sample = samples_count(&series->samples) - 1,
                                     .order = tasks->payload_count++,
                                     .processor = record->sample.processor};
    recording->has_raw_payloads |= record->sample.is_raw;
}

/* Other events count accesses to data, and their addresses mean little one by one. */
static void add_address(struct perf_recording *recording, struct perf_series *series,
                        const struct perf_record *record) {
    const struct perf_sample *sample = &record->sample;
    struct perf_event *event = perf_events_at(&recording->events, series->event);
    bool is_kept = sample->has_address && !event->is_tracepoint && perf_role_has_address(event->name);
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
    if (record->sample.is_repeated) return time_of(recording, record);
    if (record->time_ns != TIME_NONE) {
        recording->has_times = true;
    } else {
        perf_tally(&recording->tallies, TALLY_NO_TIME, 1, record->position);
        recording->last_time_ns = made_up_time(recording);
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
    recording->has_copies |= sample->addresses && sample->addresses->copy;
    recording->last_stack = recording->code.add_stack(recording->code.context, record, pid_of_maps(task));
}

static enum perf_tally tally_of_no_stack(struct position position) {
    return position.line ? TALLY_LINE_WITHOUT_STACK : TALLY_NO_STACK;
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
        perf_tally(tallies, tally_of_no_stack(record->position), 1, record->position);
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
    occurrence->task->has_samples = true;
    if (event->is_tracepoint && !sample->has_stack) {
        ledger_tally_add(&event->bare, 1, occurrence->position);
        return;
    }
    event->sample_count++;
    if (occurrence->has_period) event->period_sum += occurrence->period;
}

static void use_sample(struct perf_recording *recording, const struct perf_record *record) {
    const struct perf_sample *sample = &record->sample;
    struct perf_event *event = sample->event == ID_NONE ? NULL : perf_events_at(&recording->events, sample->event);
    const struct perf_occurrence occurrence = {.task = task_of(recording, record),
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
    bool is_switch = !is_of_dropped && perf_switches_begin(recording, &occurrence, record, &wait);
    bool is_dropped = recording->filter && perf_filter_drops(recording, &occurrence, record);
    if (!is_dropped && is_of_dropped) drop(&occurrence, sample);
    is_dropped |= is_of_dropped;
    if (!is_dropped && !sample->is_repeated) begin_sample(recording, &occurrence, record);
    struct perf_series *series = NULL;
    if (!is_dropped && event) series = add_occurrence(recording, &occurrence, record);
    if (is_switch) perf_switches_finish(recording, &occurrence, &wait, series);
}

static void use_user_stack(struct perf_recording *recording, const struct perf_record *record) {
    struct perf_task *task = task_of(recording, record);
    if (!task) return;
    if (recording->filter && perf_filter_drops_user_stack(recording, task, record)) return;
    recording->has_times |= record->time_ns != TIME_NONE;
    recording->has_stacks |= record->sample.has_stack;
    stack_id outer = recording->code.add_stack(recording->code.context, record, pid_of_maps(task));
    perf_deferred_join(&recording->tasks, task, record, outer, recording->code.stacks, &recording->tallies);
}

/* ---- All records. ---- */

/* What becomes of a record besides what it means for code. */
static void (*const uses[PERF_RECORD_TYPE_COUNT])(struct perf_recording *, const struct perf_record *) = {
    [PERF_HEADER] = use_header,
    [PERF_EVENT] = use_event,
    [PERF_EVENT_NAME] = use_event_name,
    [PERF_FORMATS] = use_formats,
    [PERF_CLOCK] = use_clock,
    [PERF_TIMES] = use_times,
    [PERF_TICKS] = use_ticks,
    [PERF_COMM] = use_comm,
    [PERF_NAME] = use_name,
    [PERF_FORK] = use_fork,
    [PERF_EXIT] = use_exit,
    [PERF_NAMESPACES] = use_namespaces,
    [PERF_CGROUP] = use_cgroup,
    [PERF_MAPPING] = use_mapping,
    [PERF_SAMPLE] = use_sample,
    [PERF_USER_STACK] = use_user_stack,
    [PERF_SWITCH] = use_switch,
    [PERF_THROTTLE] = use_throttle,
    [PERF_LOSS] = use_loss,
    [PERF_COUNT] = use_count,
};

static void take(void *context, const struct perf_record *record) {
    struct perf_recording *recording = context;
    /* After an allocation has failed, a table can lack rows that another table refers to. */
    if (failure_is_set(recording->profile->failure)) return;
    if (record->time_ns != TIME_NONE) recording->last_time_ns = record->time_ns;
    if (record->time_ns > 0) recording->first_time_ns = time_earlier(recording->first_time_ns, record->time_ns);
    if (uses[record->type]) uses[record->type](recording, record);
    recording->code.use(recording->code.context, record);
}

struct perf_sink perf_recording_sink(struct perf_recording *recording) {
    return (struct perf_sink){take, recording};
}

/* ---- The end. ---- */

static int64_t interval_ns(const struct perf_recording *recording, const struct perf_event *event) {
    if (!perf_event_period_fits(event)) return 0;
    bool is_even = event->has_period && event->period_min == event->period_max;
    if (event->unit == PERF_EVENT_CLOCK_NS && is_even && event->period_min > 1 && event->period_min <= INT32_MAX)
        return (int64_t)event->period_min;
    return recording->header.frequency_hz > 0 ? (int64_t)(1e9 / recording->header.frequency_hz) : 0;
}

static void set_weights(struct perf_recording *recording, const struct perf_event *event,
                        enum gecko_convert_weight choice) {
    struct profile_meta *meta = &recording->profile->meta;
    if (!event->has_period) return;
    if (perf_events_overlap(&recording->events))
        profile_add_extra(recording->profile, TEXT("perf"), TEXT("processor time"),
                          TEXT("unknown: several events measure the same"));
    else if (!perf_event_period_fits(event))
        profile_add_extra(recording->profile, TEXT("perf"), TEXT("processor time"),
                          TEXT("unknown: samples are much further apart than their period"));
    else if (event->unit == PERF_EVENT_CLOCK_NS)
        meta->cpu_delta_unit = CPU_DELTA_NS;
    else if (event->unit == PERF_EVENT_CYCLES)
        meta->cpu_delta_unit = CPU_DELTA_CYCLES;
    if (choice != GECKO_CONVERT_WEIGHT_PERIOD) return;
    meta->weight_type = event->unit == PERF_EVENT_CLOCK_NS ? WEIGHT_TRACING_MS : WEIGHT_SAMPLES;
    meta->weight_unit = profile_text(recording->profile, perf_event_base_name(event->name));
}

static void describe_weights(struct profile *profile, const struct perf_event *event) {
    if (profile->meta.weight_type == WEIGHT_ONE) return;
    struct text unit = profile->meta.weight_unit;
    profile_add_extra(profile, TEXT("perf"), TEXT("weight of a sample"),
                      event->unit == PERF_EVENT_CLOCK_NS
                          ? TEXT("its period, in milliseconds of the clock")
                          : profile_text_format(profile, "its period, in %.*s", (int)unit.bytes_count, unit.bytes));
}

/* LOST and LOST_SAMPLES records count the same losses. */
static void count_losses(struct perf_recording *recording) {
    uint64_t count = recording->lost_counts[true] ? recording->lost_counts[true] : recording->lost_counts[false];
    perf_tally(&recording->tallies, TALLY_LOST_BY_PERF, count, recording->first_lost);
}

static enum perf_tally tally_of_bare(const struct perf_event *event) {
    if (event->treatment == EVENT_DROPPED) return TALLY_BARE_DROPPED;
    if (!perf_event_marks(event, true)) return tally_of_no_stack(event->bare.first);
    return event->is_tracepoint ? TALLY_BARE_TRACEPOINT : TALLY_BARE_OCCURRENCE;
}

static void count_bare(struct perf_recording *recording) {
    for (uint32_t i = 0; i < recording->events.rows.count; i++) {
        const struct perf_event *event = perf_events_at(&recording->events, i);
        perf_tally(&recording->tallies, tally_of_bare(event), event->bare.count, event->bare.first);
    }
}

/* Replaces the stacks of the recording's code, which samples have so far, by the profile's. */
static void finish_stacks(struct perf_recording *recording) {
    stack_id *stacks = recording->code.finish(recording->code.context);
    struct column *all = &recording->tasks.series;
    for (size_t i = 0; stacks && !failure_is_set(recording->profile->failure) && i < all->count; i++) {
        struct samples *samples = &((struct perf_series *)column_at(all, i))->samples;
        for (uint32_t row = 0; row < samples_count(samples); row++) {
            stack_id *stack = &samples_at(samples, row)->stack;
            if (!stack_is_none(*stack)) *stack = stacks[stack->index];
        }
    }
    memory_free(stacks);
}

static void set_meta(struct perf_recording *recording, const struct perf_event *event,
                     enum gecko_convert_weight weight) {
    struct profile *profile = recording->profile;
    bool has_waits = profile->meta.has_waits;
    if (!has_waits) {
        profile->meta.interval_ns = interval_ns(recording, event);
        set_weights(recording, event, weight);
    }
    if (event->name.bytes_count)
        profile_add_extra(profile, TEXT("perf"), TEXT("sampled event"),
                          perf_events_names(&recording->events, EVENT_SAMPLES, profile));
    if (!has_waits) describe_weights(profile, event);
}

static void describe_tracks(const struct perf_recording *recording) {
    struct text events = perf_events_names(&recording->events, EVENT_TRACKS, recording->profile);
    if (!events.bytes_count) return;
    profile_add_extra(recording->profile, TEXT("perf"), TEXT("tracks"), events);
    profile_add_extra(recording->profile, TEXT("perf"), TEXT("weight in a track"),
                      TEXT("its period: how often the event happened since the sample before"));
}

void perf_recording_finish(struct perf_recording *recording, const struct reader_options *options) {
    struct profile *profile = recording->profile;
    bool has_waits = perf_off_cpu_begin(recording, options->off_cpu);
    perf_events_treat(&recording->events);
    uint32_t main = recording->events.main;
    const struct perf_event *event = main == ID_NONE ? NULL : perf_events_at(&recording->events, main);
    count_losses(recording);
    count_bare(recording);
    perf_deferred_count(&recording->tasks, &recording->tallies);
    if (event && !has_waits && options->weight == GECKO_CONVERT_WEIGHT_PERIOD && !event->has_period)
        perf_tally(&recording->tallies, TALLY_NO_PERIOD, event->sample_count, event->first);
    finish_stacks(recording);
    if (failure_is_set(profile->failure)) return;
    perf_waits_take_stacks(&recording->waits);
    perf_occurrences_mark(&recording->tasks, &recording->events, &recording->tracing, recording->has_raw_payloads,
                          &recording->tallies);
    if (!has_waits) perf_waits_forget_tallies(&recording->waits);
    perf_tallies_enter(&recording->tallies, &profile->ledger);
    if (recording->filter) filter_enter(recording->filter, &profile->ledger);
    perf_activity_finish(&recording->activity, &recording->tasks, recording->last_time_ns);
    perf_waits_finish(&recording->waits, &recording->tasks, recording->last_time_ns);
    perf_events_enter(&recording->events, profile);
    if (recording->events.off_cpu_time == ID_NONE) perf_off_cpu_place_sums(recording);
    perf_tasks_finish(&recording->tasks, &recording->events);
    if (has_waits) {
        profile->meta.interval_ns = event ? interval_ns(recording, event) : 0;
        has_waits = perf_off_cpu_add(recording, event, options->off_cpu);
    }
    if (recording->filter) filter_forget_ends(recording->filter, profile);
    if (failure_is_set(profile->failure)) return;
    perf_programs_name_processes(&recording->tasks);
    if (recording->has_libraries) perf_callers_drop(profile);
    if (recording->has_stacks) perf_cut_stacks_note(profile, recording->has_copies);
    profile->meta.product = profile->meta.product.bytes_count
                                ? perf_programs_last(&recording->tasks, profile->meta.product)
                                : perf_programs_busiest(&recording->tasks);
    profile->meta.imported_from = profile_text(profile, TEXT("Linux perf"));
    profile->meta.has_file_offsets = true;
    profile->meta.has_stacks = recording->has_stacks;
    profile->meta.has_times = recording->has_times;
    if (recording->has_named_clock) profile->meta.tick_relation = (struct tick_relation){.is_known = false};
    if (event) set_meta(recording, event, options->weight);
    describe_tracks(recording);
    if (has_waits) profile_add_extra(profile, TEXT("perf"), TEXT("weight of a sample"), TEXT(PERF_OFF_CPU_WEIGHT));
}
