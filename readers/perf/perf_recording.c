#include "perf_recording.h"

#include "perf_callers.h"
#include "perf_programs.h"

void perf_recording_init(struct perf_recording *recording, struct profile *profile) {
    *recording = (struct perf_recording){.profile = profile, .tracepoint_schema = UINT16_MAX};
    perf_tasks_init(&recording->tasks, profile);
    perf_events_init(&recording->events, profile->failure);
    perf_activity_init(&recording->activity, profile);
}

void perf_recording_fini(struct perf_recording *recording) {
    perf_tasks_fini(&recording->tasks);
    perf_events_fini(&recording->events);
    perf_activity_fini(&recording->activity);
}

/* ---- Samples. ---- */

/* before_ns: time of the task's last sample of the event; TIME_NONE: there is none. */
static void count_period(struct perf_event *event, const struct perf_occurrence *occurrence, int64_t before_ns) {
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

struct perf_series *perf_recording_add_sample(struct perf_recording *recording,
                                              const struct perf_occurrence *occurrence, stack_id stack, bool *is_jump) {
    struct perf_task *task = occurrence->task;
    struct perf_series *series = perf_tasks_series(&recording->tasks, task, occurrence->event);
    if (!series) return NULL;
    uint32_t count = samples_count(&series->samples);
    int64_t before_ns = count ? samples_at(&series->samples, count - 1)->time_ns : TIME_NONE;
    samples_add(&series->samples, occurrence->time_ns, stack, encode_period(recording->profile, occurrence));
    count_period(perf_events_at(&recording->events, occurrence->event), occurrence, before_ns);
    *is_jump = task->last_time_ns != TIME_NONE && occurrence->time_ns < task->last_time_ns;
    task->last_time_ns = occurrence->time_ns;
    task->has_samples = true;
    return series;
}

static const struct marker_field tracepoint_fields[] = {
    {.key = TEXT("fields"), .label = TEXT("Fields"), .format = MARKER_UNIQUE_STRING},
};

static const struct marker_schema tracepoint_schema = {
    .name = TEXT("Tracepoint"),
    .description = TEXT("A kernel tracepoint that was hit, without a stack."),
    .table_label = TEXT("{marker.data.fields}"),
    .fields = tracepoint_fields,
    .field_count = sizeof tracepoint_fields / sizeof *tracepoint_fields,
};

void perf_recording_add_tracepoint(struct perf_recording *recording, const struct perf_occurrence *occurrence,
                                   uint16_t schema, const union marker_value *values) {
    struct profile *profile = recording->profile;
    struct text name = perf_events_at(&recording->events, occurrence->event)->name;
    struct marker marker = {
        .start_ns = occurrence->time_ns,
        .end_ns = occurrence->time_ns,
        .name = profile_marker_name(profile, name, schema),
        .stack = stack_none(),
        .schema = schema,
        .phase = MARKER_INSTANT,
        .category = categories_intern_code(&profile->categories, CODE_KERNEL, TEXT("")).category,
    };
    profile_add_marker(profile, profile_thread_at(profile, occurrence->task->thread), marker, values);
    ledger_read(&profile->ledger, LEDGER_RECORDS, 1);
    ledger_enter(&profile->ledger, LEDGER_RECORDS, LEDGER_KEPT, TEXT("tracepoint without a stack: a marker"), 1,
                 &occurrence->position);
}

void perf_recording_add_tracepoint_text(struct perf_recording *recording, const struct perf_occurrence *occurrence,
                                        struct text fields) {
    struct profile *profile = recording->profile;
    if (recording->tracepoint_schema == UINT16_MAX)
        recording->tracepoint_schema = profile_marker_schema(profile, &tracepoint_schema);
    union marker_value value = {.string = profile_string(profile, fields)};
    perf_recording_add_tracepoint(recording, occurrence, recording->tracepoint_schema, &value);
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
    if (!perf_event_period_fits(event))
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

void perf_recording_finish(struct perf_recording *recording, uint32_t chosen, enum gecko_convert_weight weight) {
    struct profile *profile = recording->profile;
    perf_events_enter(&recording->events, chosen, profile);
    perf_tasks_finish(&recording->tasks, chosen);
    if (recording->has_libraries) perf_callers_drop(profile);
    profile->meta.product = profile->meta.product.bytes_count
                                ? perf_programs_last(&recording->tasks, profile->meta.product)
                                : perf_programs_busiest(&recording->tasks);
    profile->meta.imported_from = profile_text(profile, TEXT("Linux perf"));
    profile->meta.has_file_offsets = true;
    profile->meta.has_stacks = recording->has_stacks;
    profile->meta.has_times = recording->has_times;
    if (chosen == ID_NONE) return;
    const struct perf_event *event = perf_events_at(&recording->events, chosen);
    profile->meta.interval_ns = interval_ns(recording, event);
    set_weights(recording, event, weight);
    if (event->name.bytes_count) profile_add_extra(profile, TEXT("perf"), TEXT("sampled event"), event->name);
    describe_weights(profile, event);
}
