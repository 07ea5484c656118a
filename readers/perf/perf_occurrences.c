#include "perf_occurrences.h"

#include "libconvert/base/memory.h"
#include "perf_memory.h"
#include "perf_spans.h"
#include "perf_wakeups.h"

/* What becomes of samples, and what is known of their events. */
struct marking {
    struct perf_recording *recording;
    struct perf_payloads payloads;
    struct perf_pairs pairs;
    struct perf_spans spans;
    struct perf_wakeups wakeups;
    uint16_t *count_schemas; /* one for each event; MARKER_SCHEMA_NONE until a marker needs it */
};

/* Markers with a stack have the category of its function. */
static uint8_t category_of(struct profile *profile, stack_id stack) {
    if (stack_is_none(stack)) return categories_intern_code(&profile->categories, CODE_KERNEL, TEXT("")).category;
    return profile_frame_at(profile, profile_stack_at(profile, stack)->frame)->category;
}

/* Adds a marker that begins with the sample and ends at that time. */
static void mark(const struct marking *marking, const struct perf_series *series, const struct sample *sample,
                 int64_t end_ns, enum marker_phase phase, struct text name, uint16_t schema,
                 const union marker_value *values) {
    struct profile *profile = marking->recording->profile;
    struct marker marker = {
        .start_ns = sample->time_ns,
        .end_ns = end_ns,
        .name = profile_marker_name(profile, name, schema),
        .stack = sample->stack,
        .schema = schema,
        .phase = phase,
        .category = category_of(profile, sample->stack),
    };
    profile_add_marker(profile, profile_thread_at(profile, series->thread), marker, values);
}

static void mark_instant(const struct marking *marking, const struct perf_series *series, const struct sample *sample,
                         uint16_t schema, const union marker_value *values) {
    mark(marking, series, sample, sample->time_ns, MARKER_INSTANT,
         perf_events_at(&marking->recording->events, series->event)->name, schema, values);
}

/* ---- Occurrences without a payload. ---- */

static const struct marker_field count_fields[] = {
    {.key = TEXT("count"), .label = TEXT("Count since the previous one"), .format = MARKER_INTEGER},
    {.key = TEXT("address"), .label = TEXT("Address of the data"), .format = MARKER_HEXADECIMAL},
};

static uint16_t make_count_schema(struct profile *profile, const struct perf_event *event) {
    const struct marker_schema schema = {
        .name = profile_text(profile, perf_event_base_name(event->name)),
        .description = TEXT("The event happened here. perf may record only some of them: each one counts those since "
                            "the previous one."),
        .table_label =
            event->has_addresses ? TEXT("{marker.data.count} at {marker.data.address}") : TEXT("{marker.data.count}"),
        .fields = count_fields,
        .field_count = event->has_addresses ? 2 : 1,
    };
    return profile_marker_schema(profile, &schema);
}

static void mark_count(const struct marking *marking, const struct perf_series *series, const struct sample *sample,
                       const struct perf_data_address *address) {
    struct profile *profile = marking->recording->profile;
    uint16_t *schema = &marking->count_schemas[series->event];
    const union marker_value values[] = {
        {.number = profile_weight_decode(profile, sample->weight)},
        address ? marker_value_integer((int64_t)address->address) : marker_value_absent(VALUE_NUMBER),
    };
    if (*schema == MARKER_SCHEMA_NONE)
        *schema = make_count_schema(profile, perf_events_at(&marking->recording->events, series->event));
    mark_instant(marking, series, sample, *schema, values);
}

/* ---- Payloads. ---- */

/* Adds a marker with the payload's fields. Returns false if there are none, or their format is unknown. */
static bool mark_payload(struct marking *marking, const struct perf_series *series, const struct sample *sample,
                         const struct perf_payload *payload) {
    const union marker_value *values;
    struct perf_layout *layout = perf_payloads_decode(&marking->payloads, series->event, payload, &values);
    if (!layout || !layout->field_count) return false;
    uint16_t schema = perf_wakeups_link(&marking->wakeups, series, sample, payload, layout, &values);
    if (schema == MARKER_SCHEMA_NONE) schema = perf_layout_schema(layout, marking->recording->profile);
    mark_instant(marking, series, sample, schema, values);
    return true;
}

/* Adds a marker from the payload to its partner. Returns false if that is impossible. */
static bool mark_span(struct marking *marking, const struct perf_series *series, const struct sample *sample,
                      const struct perf_payload *payload) {
    const struct perf_payloads *payloads = &marking->payloads;
    const union marker_value *values;
    const struct perf_told start = {series->event, payload},
                           end = {perf_payloads_series(payloads, payload->order)->event,
                                  perf_payloads_at(payloads, payload->order)};
    const struct perf_span_kind *kind = perf_spans_make(&marking->spans, start, end, &values);
    if (!kind) return false;
    mark(marking, series, sample, perf_payloads_sample(payloads, payload->order)->time_ns, MARKER_INTERVAL, kind->name,
         kind->schema, values);
    return true;
}

/* What a sample has besides its time and place; NULL: nothing. */
struct details {
    const struct perf_payload *payload;
    const struct perf_data_address *address;
};

static void mark_sample(struct marking *marking, const struct perf_series *series, const struct sample *sample,
                        struct details details) {
    const struct perf_payload *payload = details.payload;
    bool has_partner = payload && perf_pairs_has_partner(&marking->pairs, series, payload);
    if (has_partner && perf_pairs_part(&marking->pairs, series->event) == PAIR_END) return;
    if (has_partner && mark_span(marking, series, sample, payload)) return;
    if (!payload || !mark_payload(marking, series, sample, payload))
        mark_count(marking, series, sample, details.address);
}

/* ---- All. ---- */

/* The details of a series in the order of its samples. */
struct details_cursor {
    const struct perf_series *series;
    size_t address_row;
};

static struct details take_details(struct details_cursor *cursor, uint32_t sample) {
    const struct perf_series *series = cursor->series;
    struct details details = {0};
    if (sample < series->payloads.count) details.payload = column_at(&series->payloads, sample);
    if (cursor->address_row < series->addresses.count)
        details.address = column_at(&series->addresses, cursor->address_row);
    if (details.address && details.address->sample != sample) details.address = NULL;
    cursor->address_row += details.address != NULL;
    return details;
}

/* Returns whether nothing but markers needs the samples. Without records of tasks, they show when threads began. */
static bool is_spent_by_markers(const struct marking *marking, const struct perf_series *series) {
    const struct perf_event *event = perf_events_at(&marking->recording->events, series->event);
    return event->treatment == EVENT_MARKERS && !event->is_off_cpu_time && marking->recording->tasks.has_records;
}

/* Samples of the profile that have more than their place are markers, too. A counter has only the number of them. */
static void mark_series(struct marking *marking, struct perf_series *series) {
    struct details_cursor cursor = {.series = series};
    const struct perf_event *event = perf_events_at(&marking->recording->events, series->event);
    bool are_all = perf_event_marks(event, series->is_bare), is_spent = is_spent_by_markers(marking, series);
    if (event->treatment == EVENT_DROPPED || event->treatment == EVENT_COUNTER) return;
    for (uint32_t i = 0; i < samples_count(&series->samples); i++) {
        struct details details = take_details(&cursor, i);
        if (are_all || (details.payload && details.payload->bytes_count) || details.address)
            mark_sample(marking, series, samples_at(&series->samples, i), details);
        if (i % COLUMN_LARGE_CHUNK) continue;
        if (details.payload) arena_forget(&series->bytes, details.payload->bytes);
        column_forget(&series->payloads, i);
        if (is_spent) column_forget(&series->samples.rows, i);
    }
    arena_fini(&series->bytes);
    if (is_spent) perf_series_fini(series);
}

/* Marks what begins, and then what ends, whose payloads the markers from one to the other need. Those free more than
 * they take, so the others come last. */
static void mark_all(struct marking *marking) {
    struct column *all = &marking->recording->tasks.series;
    for (enum perf_pair_part part = 0; part < PAIR_PART_COUNT; part++)
        for (size_t i = 0; i < all->count && !failure_is_set(marking->recording->profile->failure); i++) {
            struct perf_series *series = column_at(all, i);
            if (perf_pairs_part(&marking->pairs, series->event) == part) mark_series(marking, series);
        }
}

static void init(struct marking *marking) {
    size_t event_count = marking->recording->events.rows.count;
    marking->count_schemas =
        memory_allocate(marking->recording->profile->failure, (event_count + 1) * sizeof *marking->count_schemas);
    for (size_t i = 0; marking->count_schemas && i < event_count; i++) marking->count_schemas[i] = MARKER_SCHEMA_NONE;
    perf_payloads_init(&marking->payloads, marking->recording);
    perf_memory_count(&marking->payloads);
    perf_pairs_init(&marking->pairs, &marking->payloads);
    perf_spans_init(&marking->spans, &marking->payloads, &marking->pairs);
    perf_wakeups_init(&marking->wakeups, marking->recording);
}

static void fini(struct marking *marking) {
    perf_wakeups_fini(&marking->wakeups);
    perf_spans_fini(&marking->spans);
    perf_pairs_fini(&marking->pairs);
    perf_payloads_fini(&marking->payloads);
    memory_free(marking->count_schemas);
}

void perf_occurrences_mark(struct perf_recording *recording) {
    struct marking marking = {.recording = recording};
    init(&marking);
    mark_all(&marking);
    fini(&marking);
}
