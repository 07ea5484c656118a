#include "perf_occurrences.h"

#include "libconvert/base/memory.h"
#include "perf_text_payload.h"

/* ---- Occurrences without a payload. ---- */

static const struct marker_field count_fields[] = {
    {.key = TEXT("count"), .label = TEXT("Count since the previous one"), .format = MARKER_INTEGER},
};

static uint16_t make_count_schema(struct profile *profile, const struct perf_event *event) {
    const struct marker_schema schema = {
        .name = profile_text(profile, perf_event_base_name(event->name)),
        .description = TEXT("The event happened here. perf may record only some of them: each one counts those since "
                            "the previous one."),
        .table_label = TEXT("{marker.data.count}"),
        .fields = count_fields,
        .field_count = sizeof count_fields / sizeof *count_fields,
    };
    return profile_marker_schema(profile, &schema);
}

/* ---- Markers. ---- */

/* What the markers of an event have in common. */
struct event_marking {
    uint16_t count_schema; /* MARKER_SCHEMA_NONE until a marker needs it */
    struct perf_text_fields fields;
};

/* What becomes of samples, and what is known of their events. */
struct marking {
    struct perf_tasks *tasks;
    const struct perf_events *events;
    struct perf_tracing *tracing;
    struct perf_tallies *tallies;
    struct event_marking *of_events; /* one for each event */
    bool are_raw;
};

static bool is_marked(const struct marking *marking, const struct perf_series *series) {
    return perf_event_marks(perf_events_at(marking->events, series->event), series->is_bare);
}

/* Markers with a stack have the category of its function. */
static uint8_t category_of(struct profile *profile, stack_id stack) {
    if (stack_is_none(stack)) return categories_intern_code(&profile->categories, CODE_KERNEL, TEXT("")).category;
    return profile_frame_at(profile, profile_stack_at(profile, stack)->frame)->category;
}

static void mark(const struct marking *marking, const struct perf_series *series, const struct sample *sample,
                 uint16_t schema, const union marker_value *values) {
    struct profile *profile = marking->tasks->profile;
    struct marker marker = {
        .start_ns = sample->time_ns,
        .end_ns = sample->time_ns,
        .name = profile_marker_name(profile, perf_events_at(marking->events, series->event)->name, schema),
        .stack = sample->stack,
        .schema = schema,
        .phase = MARKER_INSTANT,
        .category = category_of(profile, sample->stack),
    };
    profile_add_marker(profile, profile_thread_at(profile, series->thread), marker, values);
}

static void mark_count(const struct marking *marking, const struct perf_series *series, const struct sample *sample) {
    struct profile *profile = marking->tasks->profile;
    struct event_marking *event = &marking->of_events[series->event];
    union marker_value value = {.number = profile_weight_decode(profile, sample->weight)};
    if (event->count_schema == MARKER_SCHEMA_NONE)
        event->count_schema = make_count_schema(profile, perf_events_at(marking->events, series->event));
    mark(marking, series, sample, event->count_schema, &value);
}

/* Whether some occurrence of the event has a payload that is text. */
static bool has_text_fields(const struct marking *marking, uint32_t event) {
    return !marking->are_raw && marking->of_events[event].fields.rows.count;
}

/* Adds a marker with the payload's fields. Returns false if there are none, or their format is unknown. */
static bool mark_payload(const struct marking *marking, const struct perf_series *series, const struct sample *sample,
                         struct text payload) {
    const struct perf_event *event = perf_events_at(marking->events, series->event);
    const union marker_value *values;
    uint64_t lost_count = 0;
    uint16_t schema;
    if (!event->is_tracepoint) return false;
    if (!payload.bytes_count && !has_text_fields(marking, series->event)) return false;
    if (marking->are_raw)
        schema = perf_tracing_decode(marking->tracing, event->tracepoint_id, payload, &values);
    else
        schema = perf_text_fields_values(&marking->of_events[series->event].fields, perf_event_base_name(event->name),
                                         payload, &values, &lost_count);
    perf_tally(marking->tallies, TALLY_MANY_FIELDS, lost_count, event->first);
    perf_tally(marking->tallies, TALLY_UNKNOWN_FORMAT, schema == MARKER_SCHEMA_NONE, event->first);
    if (schema != MARKER_SCHEMA_NONE) mark(marking, series, sample, schema, values);
    return schema != MARKER_SCHEMA_NONE;
}

static void mark_series(const struct marking *marking, const struct perf_series *series) {
    size_t payload_row = 0;
    for (uint32_t i = 0; i < samples_count(&series->samples); i++) {
        const struct sample *sample = samples_at(&series->samples, i);
        struct text payload = {0};
        if (payload_row < series->payloads.count) {
            const struct perf_payload *next = column_at(&series->payloads, payload_row);
            if (next->sample == i) payload = next->bytes;
            payload_row += next->sample == i;
        }
        if (!mark_payload(marking, series, sample, payload)) mark_count(marking, series, sample);
    }
}

/* ---- Payloads that are text. ---- */

static void learn_fields(const struct marking *marking) {
    struct perf_tasks *tasks = marking->tasks;
    for (size_t i = 0; i < tasks->series.count && !failure_is_set(tasks->profile->failure); i++) {
        const struct perf_series *series = column_at(&tasks->series, i);
        if (!is_marked(marking, series)) continue;
        for (size_t j = 0; j < series->payloads.count; j++) {
            const struct perf_payload *payload = column_at(&series->payloads, j);
            perf_text_fields_learn(&marking->of_events[series->event].fields, payload->bytes);
        }
    }
}

/* ---- All. ---- */

static struct event_marking *create_markings(struct profile *profile, uint32_t event_count) {
    struct event_marking *markings = memory_allocate(profile->failure, event_count * sizeof *markings);
    for (uint32_t i = 0; markings && i < event_count; i++) {
        markings[i].count_schema = MARKER_SCHEMA_NONE;
        perf_text_fields_init(&markings[i].fields, profile);
    }
    return markings;
}

static void destroy_markings(struct event_marking *markings, uint32_t event_count) {
    for (uint32_t i = 0; i < event_count; i++) perf_text_fields_fini(&markings[i].fields);
    memory_free(markings);
}

void perf_occurrences_mark(struct perf_tasks *tasks, const struct perf_events *events, struct perf_tracing *tracing,
                           bool are_raw, struct perf_tallies *tallies) {
    uint32_t event_count = (uint32_t)events->rows.count;
    const struct marking marking = {.tasks = tasks,
                                    .events = events,
                                    .tracing = tracing,
                                    .tallies = tallies,
                                    .of_events = create_markings(tasks->profile, event_count),
                                    .are_raw = are_raw};
    if (!marking.of_events) return;
    if (!are_raw) learn_fields(&marking);
    for (size_t i = 0; i < tasks->series.count && !failure_is_set(tasks->profile->failure); i++) {
        const struct perf_series *series = column_at(&tasks->series, i);
        const struct perf_event *event = perf_events_at(events, series->event);
        if (is_marked(&marking, series))
            mark_series(&marking, series);
        else if (event->treatment != EVENT_DROPPED)
            perf_tally(tallies, TALLY_TRACEPOINT_FIELDS, series->payloads.count, event->first);
    }
    destroy_markings(marking.of_events, event_count);
}
