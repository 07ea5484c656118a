#include "perf_payloads.h"

#include "libconvert/base/memory.h"

static void learn_texts(struct perf_payloads *payloads) {
    const struct column *all = &payloads->recording->tasks.series;
    COLUMN_EACH(const struct perf_series, series, all)
        for (size_t j = 0; j < series->payloads.count; j++)
            perf_text_fields_learn(&payloads->texts[series->event], perf_payload_text(column_at(&series->payloads, j)));
}

static void place(struct perf_payloads *payloads) {
    const struct column *all = &payloads->recording->tasks.series;
    for (uint32_t i = 0; i < payloads->recording->tasks.payload_count; i++) payloads->places[i].series = ID_NONE;
    for (uint32_t i = 0; i < all->count; i++) {
        const struct perf_series *series = column_at(all, i);
        for (uint32_t j = 0; j < series->payloads.count; j++) {
            const struct perf_payload *payload = column_at(&series->payloads, j);
            payloads->places[payload->order] = (struct perf_payload_place){i, j};
        }
    }
}

void perf_payloads_init(struct perf_payloads *payloads, struct perf_recording *recording) {
    struct profile *profile = recording->profile;
    size_t event_count = recording->events.rows.count;
    *payloads = (struct perf_payloads){.recording = recording};
    payloads->texts = memory_allocate(profile->failure, (event_count + 1) * sizeof *payloads->texts);
    if (!payloads->texts) return;
    for (uint32_t i = 0; i < event_count; i++)
        perf_text_fields_init(&payloads->texts[i], profile,
                              perf_event_base_name(perf_events_at(&recording->events, i)->name));
    payloads->places =
        memory_allocate(profile->failure, ((size_t)recording->tasks.payload_count + 1) * sizeof *payloads->places);
    if (!payloads->places) return;
    place(payloads);
    if (!recording->has_raw_payloads) learn_texts(payloads);
}

void perf_payloads_fini(struct perf_payloads *payloads) {
    for (size_t i = 0; payloads->texts && i < payloads->recording->events.rows.count; i++)
        perf_text_fields_fini(&payloads->texts[i]);
    MEMORY_FREE_ALL(payloads->texts, payloads->places);
}

/* ---- Payloads without a format. ---- */

/* Returns how many bytes are a text that zeros end; 0 if they are none. */
static size_t text_bytes(struct text bytes) {
    size_t count = text_find(bytes, '\0');
    for (size_t i = 0; i < bytes.bytes_count; i++) {
        bool is_fitting = i < count ? bytes.bytes[i] >= ' ' && bytes.bytes[i] <= '~' : !bytes.bytes[i];
        if (!is_fitting) return 0;
    }
    return count;
}

static string_id hexadecimal_digits(struct profile *profile, struct text bytes) {
    enum { SHOWN_BYTES_MAX = 256 };
    char digits[2 * SHOWN_BYTES_MAX + 1];
    return profile_string(profile, text_hex(text_slice(bytes, 0, SHOWN_BYTES_MAX), digits));
}

static struct perf_layout *decode_data(struct perf_payloads *payloads, struct text bytes,
                                       const union marker_value **values) {
    struct profile *profile = payloads->recording->profile;
    size_t text_count = text_bytes(bytes);
    if (!payloads->data) {
        payloads->data = perf_layout_create(profile, TEXT("bpf-output"), 1);
        if (payloads->data) perf_layout_add(payloads->data, profile, TEXT("data"), MARKER_UNIQUE_STRING);
    }
    payloads->data_value.string =
        text_count ? profile_string(profile, text_slice(bytes, 0, text_count)) : hexadecimal_digits(profile, bytes);
    *values = &payloads->data_value;
    return payloads->data;
}

/* ---- All. ---- */

struct perf_layout *perf_payloads_layout(struct perf_payloads *payloads, uint32_t event) {
    if (!payloads->recording->has_raw_payloads) return perf_text_fields_layout(&payloads->texts[event]);
    return perf_tracing_layout(&payloads->recording->tracing,
                               perf_events_at(&payloads->recording->events, event)->tracepoint_id);
}

struct perf_layout *perf_payloads_decode(struct perf_payloads *payloads, uint32_t event_row,
                                         const struct perf_payload *payload, const union marker_value **values) {
    const struct perf_event *event = perf_events_at(&payloads->recording->events, event_row);
    struct text bytes = perf_payload_text(payload);
    struct perf_layout *layout;
    uint64_t lost_count = 0;
    /* A text without fields is that of a tracepoint which has others elsewhere. */
    bool has_fields = !payloads->recording->has_raw_payloads && payloads->texts[event_row].rows.count;
    if (!bytes.bytes_count && !has_fields) return NULL;
    if (!event->is_tracepoint) return decode_data(payloads, bytes, values);
    if (payloads->recording->has_raw_payloads)
        layout = perf_tracing_decode(&payloads->recording->tracing, event->tracepoint_id, bytes, values, &lost_count);
    else
        layout = perf_text_fields_values(&payloads->texts[event_row], bytes, values, &lost_count);
    perf_tally(&payloads->recording->tallies, TALLY_LOST_FIELD, lost_count, event->first);
    perf_tally(&payloads->recording->tallies, TALLY_UNKNOWN_FORMAT, !layout, event->first);
    return layout;
}

enum marker_format perf_payloads_find(struct perf_payloads *payloads, uint32_t order, struct text key,
                                      union marker_value *value) {
    const struct perf_series *series = perf_payloads_series(payloads, order);
    const struct perf_event *event = perf_events_at(&payloads->recording->events, series->event);
    struct text bytes = perf_payload_text(perf_payloads_at(payloads, order));
    const struct perf_layout *layout = bytes.bytes_count ? perf_payloads_layout(payloads, series->event) : NULL;
    uint32_t row = layout ? perf_layout_row(layout, key) : ID_NONE;
    const union marker_value *values;
    uint64_t lost_count;
    if (row == ID_NONE) return MARKER_FORMAT_COUNT;
    if (payloads->recording->has_raw_payloads)
        *value = perf_tracing_value(&payloads->recording->tracing, event->tracepoint_id, bytes, row);
    else if (perf_text_fields_values(&payloads->texts[series->event], bytes, &values, &lost_count))
        *value = values[row];
    else
        return MARKER_FORMAT_COUNT;
    enum marker_format format = layout->fields[row].format;
    return marker_value_is_absent(marker_format_kind(format), value) ? MARKER_FORMAT_COUNT : format;
}

bool perf_payloads_number(struct perf_payloads *payloads, uint32_t order, struct text key, int64_t *number) {
    union marker_value value;
    enum marker_format format = perf_payloads_find(payloads, order, key, &value);
    if (format == MARKER_FORMAT_COUNT || marker_format_kind(format) != VALUE_NUMBER) return false;
    *number = value.number.mantissa;
    return true;
}
