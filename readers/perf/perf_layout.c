#include "perf_layout.h"

#include <stdio.h>

struct perf_layout *perf_layout_create(struct profile *profile, struct text name, uint32_t capacity) {
    struct perf_layout *layout = profile_allocate(profile, sizeof *layout);
    if (!layout) return NULL;
    layout->fields = profile_allocate(profile, capacity * sizeof *layout->fields);
    layout->name = profile_text(profile, name);
    layout->schema = MARKER_SCHEMA_NONE;
    return layout->fields ? layout : NULL;
}

void perf_layout_add(struct perf_layout *layout, struct profile *profile, struct text key, enum marker_format format) {
    struct text stored = profile_text(profile, key);
    layout->fields[layout->field_count++] = (struct marker_field){.key = stored, .label = stored, .format = format};
}

struct text perf_layout_label(struct profile *profile, const struct marker_field *fields, uint32_t count) {
    char label[512];
    size_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        int width = (int)fields[i].key.bytes_count;
        int wanted = snprintf(label + used, sizeof label - used, "%s%.*s={marker.data.%.*s}", i ? " " : "", width,
                              fields[i].key.bytes, width, fields[i].key.bytes);
        if (wanted < 0 || (size_t)wanted >= sizeof label - used) break;
        used += (size_t)wanted;
    }
    return profile_text(profile, (struct text){label, used});
}

uint16_t perf_layout_schema(struct perf_layout *layout, struct profile *profile) {
    if (layout->schema != MARKER_SCHEMA_NONE) return layout->schema;
    const struct marker_schema schema = {
        .name = layout->name,
        .description = TEXT("A kernel tracepoint that was hit."),
        .table_label = perf_layout_label(profile, layout->fields, layout->field_count),
        .fields = layout->fields,
        .field_count = layout->field_count,
    };
    return layout->schema = profile_marker_schema(profile, &schema);
}

uint32_t perf_layout_row(const struct perf_layout *layout, struct text key) {
    for (uint32_t i = 0; i < layout->field_count; i++)
        if (text_equal(layout->fields[i].key, key)) return i;
    return ID_NONE;
}

bool perf_layout_number(const struct perf_layout *layout, const union marker_value *values, struct text key,
                        int64_t *number) {
    uint32_t row = perf_layout_row(layout, key);
    if (row == ID_NONE || marker_format_kind(layout->fields[row].format) != VALUE_NUMBER) return false;
    if (marker_value_is_absent(VALUE_NUMBER, &values[row])) return false;
    *number = values[row].number.mantissa;
    return true;
}
