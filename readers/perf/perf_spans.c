#include "perf_spans.h"

#include <string.h>

#include "libconvert/base/memory.h"

/* The fields of both ends, the result and the name of an error. */
enum { SPAN_FIELDS_MAX = 2 * PERF_FIELDS_MAX + 2 };

void perf_spans_init(struct perf_spans *spans, struct perf_payloads *payloads, const struct perf_pairs *pairs) {
    struct failure *failure = payloads->recording->profile->failure;
    size_t event_count = payloads->recording->events.rows.count;
    *spans = (struct perf_spans){.payloads = payloads, .pairs = pairs};
    spans->kinds = memory_allocate(failure, (event_count + 1) * sizeof *spans->kinds);
    spans->values = memory_allocate(failure, SPAN_FIELDS_MAX * sizeof *spans->values);
    for (size_t i = 0; spans->kinds && i < event_count; i++)
        spans->kinds[i] = (struct perf_span_kind){.schema = MARKER_SCHEMA_NONE};
}

void perf_spans_fini(struct perf_spans *spans) { MEMORY_FREE_ALL(spans->kinds, spans->values); }

/* ---- Results of system calls. ---- */

/* Returns whether the marker tells the field as the result. */
static bool is_told_elsewhere(struct text key, bool has_result) { return has_result && text_equal(key, TEXT("ret")); }

/* Returns the name of the error that the result stands for; NULL if it stands for none. */
static const char *error_name(int64_t result) {
    enum { ERROR_MAX = 4095 };
    /* The kernel's own, after which it restarts a system call that a signal has interrupted. */
    static const struct {
        int64_t result;
        const char *name;
    } restarts[] = {
        {-512, "ERESTARTSYS"}, {-513, "ERESTARTNOINTR"}, {-514, "ERESTARTNOHAND"}, {-516, "ERESTART_RESTARTBLOCK"}};
    for (size_t i = 0; i < sizeof restarts / sizeof *restarts; i++)
        if (restarts[i].result == result) return restarts[i].name;
    return result < 0 && result >= -ERROR_MAX ? strerrorname_np((int)-result) : NULL;
}

/* Sets the values of the result and its error. layout: of the end; NULL: nothing is known of it. */
static void add_result(struct profile *profile, const struct perf_layout *layout, const union marker_value *decoded,
                       union marker_value *values) {
    int64_t result;
    values[0] = marker_value_absent(VALUE_NUMBER);
    values[1] = marker_value_absent(VALUE_STRING);
    if (!layout || !perf_layout_number(layout, decoded, TEXT("ret"), &result)) return;
    values[0] = marker_value_integer(result);
    const char *name = error_name(result);
    if (name) values[1].string = profile_string(profile, text_of(name));
}

/* ---- Schemas. ---- */

static bool returns_address(struct text system_call) {
    static const struct text names[] = {TEXT("mmap"), TEXT("mremap"), TEXT("brk"), TEXT("shmat")};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (text_equal(names[i], system_call)) return true;
    return false;
}

static void add_result_fields(struct text system_call, struct marker_field *fields) {
    enum marker_format format = returns_address(system_call) ? MARKER_HEXADECIMAL : MARKER_INTEGER;
    fields[0] = (struct marker_field){.key = TEXT("result"), .label = TEXT("Result"), .format = format};
    fields[1] = (struct marker_field){.key = TEXT("error"), .label = TEXT("Error"), .format = MARKER_UNIQUE_STRING};
}

/* Returns the number of the field with that key among the first ones; ID_NONE if there is none. */
static uint32_t find_key(const struct marker_field *fields, uint32_t count, struct text key) {
    for (uint32_t i = 0; i < count; i++)
        if (text_equal(fields[i].key, key)) return i;
    return ID_NONE;
}

/* Adds the fields of one end. Those that the other end has too get another key. */
static void add_fields(struct profile *profile, struct perf_span_kind *kind, const struct perf_layout *layout,
                       struct marker_field *fields) {
    uint32_t before_count = kind->field_count;
    for (uint32_t i = 0; layout && i < layout->field_count; i++) {
        struct marker_field field = layout->fields[i];
        int width = (int)field.key.bytes_count;
        if (is_told_elsewhere(field.key, kind->has_result)) continue;
        uint32_t twin = find_key(fields, before_count, field.key);
        if (twin != ID_NONE) {
            field.label = profile_text_format(profile, "%.*s at the end", width, field.key.bytes);
            field.key = profile_text_format(profile, "end_%.*s", width, field.key.bytes);
            if (fields[twin].format != field.format) twin = ID_NONE;
        }
        kind->fields[kind->field_count] = (struct perf_span_field){.row = i, .twin = twin};
        fields[kind->field_count++] = field;
    }
}

/* Returns the label of the table: all fields but those that usually repeat the start's, and the result. */
static struct text label_of(struct profile *profile, const struct perf_span_kind *kind,
                            const struct marker_field *fields) {
    struct marker_field shown[2 * PERF_FIELDS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < kind->field_count; i++)
        if (kind->fields[i].twin == ID_NONE) shown[count++] = fields[i];
    struct text label = perf_layout_label(profile, shown, count);
    if (!kind->has_result) return label;
    return profile_text_format(profile, "%.*s%s= {marker.data.result} {marker.data.error}", TEXT_ARGS(label),
                               label.bytes_count ? " " : "");
}

static void make_kind(struct perf_spans *spans, uint32_t start_event, uint32_t end_event) {
    struct perf_payloads *payloads = spans->payloads;
    struct profile *profile = payloads->recording->profile;
    struct perf_span_kind *kind = &spans->kinds[start_event];
    const struct perf_pair_rule *rule = spans->pairs->roles[start_event].rule;
    struct text start_name = perf_event_base_name(perf_events_at(&payloads->recording->events, start_event)->name);
    struct marker_field fields[SPAN_FIELDS_MAX];
    kind->has_result = rule->has_result;
    kind->fields = profile_allocate(profile, SPAN_FIELDS_MAX * sizeof *kind->fields);
    if (!kind->fields) return;
    add_fields(profile, kind, perf_payloads_layout(payloads, start_event), fields);
    kind->start_count = kind->field_count;
    add_fields(profile, kind, perf_payloads_layout(payloads, end_event), fields);
    kind->name = perf_pair_fill(rule, rule->name, start_name, profile);
    if (kind->has_result) add_result_fields(kind->name, &fields[kind->field_count]);
    const struct marker_schema schema = {
        .name = perf_pair_fill(rule, rule->type, start_name, profile),
        .description = TEXT("Two tracepoints tell when it began and when it ended."),
        .table_label = label_of(profile, kind, fields),
        .fields = fields,
        .field_count = kind->field_count + (kind->has_result ? 2 : 0),
    };
    kind->schema = profile_marker_schema(profile, &schema);
}

/* ---- Values. ---- */

static bool is_same(enum marker_format format, const union marker_value *left, const union marker_value *right) {
    if (marker_format_kind(format) == VALUE_STRING) return string_is_same(left->string, right->string);
    return left->number.mantissa == right->number.mantissa && left->number.scale == right->number.scale;
}

/* Sets the values of the fields from `first` to `last` to those of the payload. */
static const struct perf_layout *set_values(struct perf_spans *spans, const struct perf_span_kind *kind,
                                            struct perf_told told, uint32_t first, uint32_t last,
                                            const union marker_value **decoded) {
    struct profile *profile = spans->payloads->recording->profile;
    const struct marker_schema *schema = column_at(&profile->marker_schemas, kind->schema);
    const struct perf_layout *layout = perf_payloads_decode(spans->payloads, told.event, told.payload, decoded);
    for (uint32_t i = first; i < last; i++) {
        enum marker_format format = schema->fields[i].format;
        const union marker_value *value = layout ? &(*decoded)[kind->fields[i].row] : NULL;
        uint32_t twin = kind->fields[i].twin;
        bool is_told = !value || (twin != ID_NONE && is_same(format, value, &spans->values[twin]));
        spans->values[i] = is_told ? marker_value_absent(marker_format_kind(format)) : *value;
    }
    return layout;
}

const struct perf_span_kind *perf_spans_make(struct perf_spans *spans, struct perf_told start, struct perf_told end,
                                             const union marker_value **values) {
    struct perf_span_kind *kind = &spans->kinds[start.event];
    if (kind->schema == MARKER_SCHEMA_NONE) make_kind(spans, start.event, end.event);
    if (kind->schema == MARKER_SCHEMA_NONE) return NULL;
    const union marker_value *decoded;
    set_values(spans, kind, start, 0, kind->start_count, &decoded);
    const struct perf_layout *layout = set_values(spans, kind, end, kind->start_count, kind->field_count, &decoded);
    if (kind->has_result)
        add_result(spans->payloads->recording->profile, layout, decoded, &spans->values[kind->field_count]);
    *values = spans->values;
    return kind;
}
