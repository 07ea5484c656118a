/* The payloads of a recording: what occurrences have besides their time and place. They are decoded in whatever form
 * they were read. */
#pragma once

#include "perf_recording.h"
#include "perf_text_payload.h"

/* Where a payload is. */
struct perf_payload_place {
    uint32_t series; /* a row of the tasks' series; ID_NONE: it has none */
    uint32_t row;    /* in the series' samples and payloads */
};

struct perf_payloads {
    struct perf_recording *recording; /* borrowed */
    struct perf_text_fields *texts;   /* one for each event */
    struct perf_layout *data;      /* layout of payloads that have no format: "bpf-output"; NULL until there is one */
    union marker_value data_value; /* value of the last one of those */
    /* One for each payload, in the order in which they came. perf_pairs_init swaps those of two that belong together.
     */
    struct perf_payload_place *places;
};

/* Running out of memory is latched. */
void perf_payloads_init(struct perf_payloads *payloads, struct perf_recording *recording);
void perf_payloads_fini(struct perf_payloads *payloads);

/* Returns the layout of the event's payloads, and sets *values to those of this one; they are valid until the next
 * call. Returns NULL if there is no payload, or its format is unknown. */
struct perf_layout *perf_payloads_decode(struct perf_payloads *payloads, uint32_t event,
                                         const struct perf_payload *payload, const union marker_value **values);

/* Returns the layout of the event's payloads; NULL if they have none, or it is unknown. */
struct perf_layout *perf_payloads_layout(struct perf_payloads *payloads, uint32_t event);

/* Finds one field of a payload, and sets *value to it. Returns its format, or MARKER_FORMAT_COUNT if there is no such
 * field, or it is absent. */
enum marker_format perf_payloads_find(struct perf_payloads *payloads, uint32_t order, struct text key,
                                      union marker_value *value);

/* Finds a number in a payload. Returns false if there is none. */
bool perf_payloads_number(struct perf_payloads *payloads, uint32_t order, struct text key, int64_t *number);

static inline const struct perf_series *perf_payloads_series(const struct perf_payloads *payloads, uint32_t order) {
    uint32_t series = payloads->places[order].series;
    return series == ID_NONE ? NULL : column_at(&payloads->recording->tasks.series, series);
}

static inline struct perf_payload *perf_payloads_at(const struct perf_payloads *payloads, uint32_t order) {
    return column_at(&perf_payloads_series(payloads, order)->payloads, payloads->places[order].row);
}

/* Returns the sample that has the payload. */
static inline const struct sample *perf_payloads_sample(const struct perf_payloads *payloads, uint32_t order) {
    return samples_at(&perf_payloads_series(payloads, order)->samples, payloads->places[order].row);
}
