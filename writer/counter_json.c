#include "counter_json.h"

#include <string.h>

#include "cells.h"
#include "libconvert/format/counter_display.h"
#include "libconvert/format/processed_format.h"

/* ---- The client's default display. ---- */

bool counter_json_is_shown_by_default(const struct counter *counter) {
    const struct counter_display *display = counter_display_of(counter);
    struct text label = display->label.bytes_count ? display->label : counter->name;
    return display->graph == counter->graph && text_equal(display->unit, counter->unit) &&
           display->color == counter->color && display->sort_weight == counter->sort_weight &&
           text_equal(label, counter_label(counter));
}

bool counter_json_is_right_by_default(const struct counter *counter) {
    const struct counter_display *display = counter_display_of(counter);
    struct text label = display->label.bytes_count ? display->label : counter->name;
    return display->graph == counter->graph && text_equal(display->unit, counter->unit) &&
           text_starts_with(counter_label(counter), label);
}

/* ---- The rows of a tooltip. ---- */

static bool fits(struct text wanted, struct text text) { return !wanted.bytes_count || text_equal(wanted, text); }

struct tooltip_row {
    const char *source; /* NULL for a separator; the last row has no label either */
    const char *label;  /* NULL stands for the counter's own label */
    const char *unit;
    const char *co2;
    const char *scale;
    bool requires_selection;
};

#define SEPARATOR \
    { .label = "" }
#define END \
    { 0 }

static const struct tooltip_row transfer_rows[] = {
    {"rate", "Transfer speed for this sample", "bytes-per-second", "per-byte", NULL, false},
    {"sample-number", "Read and write operations since the previous sample", "number", NULL, NULL, false},
    SEPARATOR,
    {"accumulated", "Data transferred up to this time", "bytes", "per-byte", NULL, false},
    {"count-range", "Data transferred in the visible range", "bytes", "per-byte", NULL, false},
    {"selection-total", "Data transferred in the current selection", "bytes", "per-byte", NULL, true},
    END,
};

static const struct tooltip_row byte_rate_rows[] = {
    {"rate", "Rate for this sample", "bytes-per-second", NULL, NULL, false},
    {"sample-number", "Operations since the previous sample", "number", NULL, NULL, false},
    SEPARATOR,
    {"accumulated", "Up to this time", "bytes", NULL, NULL, false},
    {"count-range", "In the visible range", "bytes", NULL, NULL, false},
    {"selection-total", "In the current selection", "bytes", NULL, NULL, true},
    END,
};

static const struct tooltip_row memory_rows[] = {
    {"accumulated", "Memory at this time", "bytes", NULL, NULL, false},
    {"count-range", "Memory range in graph", "bytes", NULL, NULL, false},
    {"sample-number", "Allocations and deallocations since the previous sample", "number", NULL, NULL, false},
    END,
};

static const struct tooltip_row byte_level_rows[] = {
    {"accumulated", NULL, "bytes", NULL, NULL, false},
    {"count-range", "Range in graph", "bytes", NULL, NULL, false},
    {"sample-number", "Operations since the previous sample", "number", NULL, NULL, false},
    END,
};

static const struct tooltip_row power_rows[] = {
    {"count", "Power", "number", "per-watthour", "power", false},
    {"selection-total", "Energy used in the current selection", "number", "per-watthour", "energy", true},
    {"selection-rate", "Average power in the current selection", "number", "per-watthour", "power", true},
    {"committed-range-total", "Energy used in the visible range", "number", "per-watthour", "energy", false},
    END,
};

static const struct tooltip_row share_rows[] = {
    {"cpu-ratio", "CPU", "percent", NULL, NULL, false},
    END,
};

static const struct tooltip_row level_rows[] = {
    {"accumulated", NULL, "number", NULL, NULL, false},
    {"count-range", "Range in graph", "number", NULL, NULL, false},
    {"sample-number", "Operations since the previous sample", "number", NULL, NULL, false},
    END,
};

static const struct tooltip_row rate_rows[] = {
    {"count", NULL, "number", NULL, NULL, false},
    {"sample-number", "Operations since the previous sample", "number", NULL, NULL, false},
    {"committed-range-total", "Total in the visible range", "number", NULL, NULL, false},
    {"selection-total", "Total in the current selection", "number", NULL, NULL, true},
    END,
};

static const struct {
    enum counter_graph graph;
    struct text unit;     /* empty matches any */
    struct text category; /* empty matches any */
    const struct tooltip_row *rows;
} tooltips[] = {
    {COUNTER_RATE, TEXT("bytes"), TEXT("Bandwidth"), transfer_rows},
    {COUNTER_RATE, TEXT("bytes"), {0}, byte_rate_rows},
    {COUNTER_RATE, TEXT("percent"), {0}, share_rows},
    {COUNTER_RATE, TEXT("pWh"), {0}, power_rows},
    {COUNTER_RATE, {0}, {0}, rate_rows},
    {COUNTER_ACCUMULATED, TEXT("bytes"), TEXT("Memory"), memory_rows},
    {COUNTER_ACCUMULATED, TEXT("bytes"), {0}, byte_level_rows},
    {COUNTER_ACCUMULATED, {0}, {0}, level_rows},
};

static const struct tooltip_row *tooltip_rows_of(const struct counter *counter) {
    size_t i = 0;
    while (tooltips[i].graph != counter->graph || !fits(tooltips[i].unit, counter->unit) ||
           !fits(tooltips[i].category, counter->category))
        i++;
    return tooltips[i].rows;
}

static void write_row_format(struct json *json, const struct tooltip_row *row) {
    json_key_object_begin(json, "format");
    json_key_string(json, "unit", row->unit);
    if (row->co2) json_key_string(json, "co2", row->co2);
    if (row->scale) json_key_string(json, "scale", row->scale);
    json_object_end(json);
}

static void write_row(struct json *json, const struct tooltip_row *row, struct text label) {
    json_object_begin(json);
    json_key_string(json, "type", row->source ? "value" : "separator");
    if (row->source) {
        json_key_string(json, "source", row->source);
        write_row_format(json, row);
        json_key_value_text(json, "label", row->label ? text_of(row->label) : label);
        if (row->requires_selection) json_key_bool(json, "requiresPreviewSelection", true);
    }
    json_object_end(json);
}

/* ---- The counter. ---- */

void counter_json_identity(struct json *json, const struct counter *counter, struct text name) {
    json_key_value_text(json, "name", name);
    json_key_value_text(json, "category", counter->category);
    json_key_value_text(json, "description", counter->description);
}

void counter_json_plain_identity(struct json *json, const struct counter *counter) {
    struct counter plain = {
        .name = counter_label(counter), .category = counter->category, .description = counter->description};
    if (counter_display_is_known(&plain)) plain.category = TEXT("Counters");
    counter_json_identity(json, &plain, plain.name);
}

void counter_json_display(struct json *json, const struct counter *counter) {
    const char *marker_location = counter_display_of(counter)->marker_location;
    json_key_object_begin(json, "display");
    members_write(json, &processed_display_shape, counter);
    json_key_string_or_null(json, "markerSchemaLocation", marker_location);
    json_key_int(json, "sortWeight", counter->sort_weight);
    json_key_value_text(json, "label", counter_label(counter));
    json_key_array_begin(json, "tooltipRows");
    bool has_numbers = counter_has_numbers(counter);
    for (const struct tooltip_row *row = tooltip_rows_of(counter); row->source || row->label; row++)
        if (has_numbers || !row->source || strcmp(row->source, "sample-number") != 0)
            write_row(json, row, counter_label(counter));
    json_array_end(json);
    json_object_end(json);
}
