#include "marker_json.h"

#include <inttypes.h>
#include <stdio.h>

#include "cells.h"
#include "libconvert/base/json_put.h"
#include "libconvert/format/common_format.h"
#include "meta_json.h"
#include "thread_json.h"

/* ---- Schemas. ---- */

static void write_display(struct json *json, uint32_t display) {
    json_key_array_begin(json, "display");
    for (size_t i = 0; i < MARKER_LOCATION_COUNT; i++)
        if (display >> i & 1) json_string(json, marker_locations[i]);
    json_array_end(json);
}

static bool has_wide_numbers(const struct marker_field *field) {
    return field->has_wide_values && marker_format_kind(field->format) == VALUE_NUMBER;
}

/* Returns whether the numbers of a table's column are written as strings. */
static bool is_wide_column(const struct marker_field *field, enum marker_format format) {
    return field->has_wide_values && format == MARKER_HEXADECIMAL;
}

static const char *field_format_name(const struct marker_field *field) {
    return marker_format_name(has_wide_numbers(field) ? MARKER_STRING : field->format);
}

/* The client resolves and renumbers strings only in fields, so cells hold texts. */
static const char *column_format_name(const struct marker_field *field, enum marker_format format) {
    bool is_text = marker_format_kind(format) == VALUE_STRING || is_wide_column(field, format);
    return marker_format_name(is_text ? MARKER_STRING : format);
}

static void write_table_format(struct json *json, const struct marker_field *field) {
    json_object_begin(json);
    json_key_string(json, "type", marker_format_name(MARKER_TABLE));
    json_key_array_begin(json, "columns");
    for (uint32_t i = 0; i < field->column_count; i++) {
        json_object_begin(json);
        json_key_string(json, "type", column_format_name(field, field->columns[i].format));
        meta_json_text_if_known(json, "label", field->columns[i].label);
        json_object_end(json);
    }
    json_array_end(json);
    json_object_end(json);
}

static void write_fields(struct json *json, const struct marker_schema *schema) {
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const struct marker_field *field = &schema->fields[i];
        json_object_begin(json);
        json_key_value_text(json, "key", field->key);
        meta_json_text_if_known(json, "label", field->label);
        json_key(json, "format");
        if (field->format == MARKER_TABLE)
            write_table_format(json, field);
        else
            json_string(json, field_format_name(field));
        if (field->is_hidden) json_key_bool(json, "hidden", true);
        json_object_end(json);
    }
    if (!schema->has_foreign_stacks) return;
    json_object_begin(json);
    json_key_string(json, "key", MARKER_STACK_THREAD_KEY);
    json_key_string(json, "label", "Stack taken in");
    json_key_string(json, "format", marker_format_name(MARKER_TID));
    json_object_end(json);
}

static bool is_numeric(const struct marker_field *field) {
    enum marker_value_kind kind = marker_format_kind(field->format);
    if (has_wide_numbers(field)) return false;
    return kind == VALUE_NUMBER || kind == VALUE_DURATION || kind == VALUE_TIME;
}

/* Returns false if the field of the graph is not a number: the track would be empty. */
static bool can_be_drawn(const struct marker_schema *schema, const struct marker_graph *graph) {
    for (uint32_t i = 0; i < schema->field_count; i++)
        if (text_equal(schema->fields[i].key, graph->key)) return is_numeric(&schema->fields[i]);
    return false;
}

static void write_graph(struct json *json, const struct marker_graph *graph) {
    json_object_begin(json);
    members_write(json, &graph_shape, graph);
    json_object_end(json);
}

static void write_graphs(struct json *json, const struct marker_schema *schema) {
    if (!schema->graph_count) return;
    json_key_array_begin(json, "graphs");
    for (uint32_t i = 0; i < schema->graph_count; i++)
        if (can_be_drawn(schema, &schema->graphs[i])) write_graph(json, &schema->graphs[i]);
    json_array_end(json);
}

/* The client treats a field without a key as the description of a schema that has no member for it. */
static void write_described_field(struct json *json, struct text description) {
    if (!description.bytes_count) return;
    json_object_begin(json);
    json_key_string(json, "label", "Description");
    json_key_value_text(json, "value", description);
    json_object_end(json);
}

static void write_schema(struct json *json, const struct marker_schema *schema, bool is_gecko) {
    json_object_begin(json);
    json_key_value_text(json, "name", schema->name);
    write_display(json, marker_schema_display(schema));
    members_write(json, &common_schema_shape, schema);
    if (!is_gecko) meta_json_text_if_known(json, "description", schema->description);
    json_key_array_begin(json, is_gecko ? "data" : "fields");
    write_fields(json, schema);
    if (is_gecko) write_described_field(json, schema->description);
    json_array_end(json);
    write_graphs(json, schema);
    meta_json_text_if_known(json, "colorField", schema->color_field);
    if (schema->is_stack_based) json_key_bool(json, "isStackBased", true);
    json_object_end(json);
}

void marker_json_schemas(struct json *json, const struct column *schemas, bool is_gecko) {
    json_key_array_begin(json, "markerSchema");
    for (size_t i = 0; i < schemas->count; i++) write_schema(json, column_at(schemas, i), is_gecko);
    json_array_end(json);
}

/* ---- Values. ---- */

static void write_wide_number(struct json *json, enum marker_format format, struct decimal number) {
    char text[24];
    const char *form = format == MARKER_HEXADECIMAL ? "0x%" PRIx64 : "%" PRId64;
    int bytes_count = snprintf(text, sizeof text, form, marker_value_bits(number));
    json_text(json, (struct text){text, (size_t)bytes_count});
}

static void write_number(struct json *json, enum marker_format format, bool is_wide, struct decimal number) {
    if (is_wide)
        write_wide_number(json, format, number);
    else if (format == MARKER_HEXADECIMAL)
        json_int(json, (int64_t)marker_value_bits(number));
    else if (number.scale == MARKER_REAL)
        json_double(json, marker_value_real_of(number));
    else
        json_decimal(json, number);
}

/* Writes a value that is present and has no parts. Strings are written as texts. */
static void write_plain_value(struct json *json, const struct profile *profile, enum marker_format format, bool is_wide,
                              const union marker_value *value) {
    switch (marker_format_kind(format)) {
        case VALUE_TEXT:
            if (format == MARKER_TID)
                thread_json_id(json, value->text);
            else
                json_text(json, value->text);
            break;
        case VALUE_STRING: json_text(json, strings_text(&profile->strings, value->string)); break;
        case VALUE_NUMBER: write_number(json, format, is_wide, value->number); break;
        case VALUE_DURATION: json_ms(json, value->duration_ns); break;
        case VALUE_TIME: json_ms(json, value->time_ns); break;
        case VALUE_CELLS: json_null(json); break;
    }
}

static void write_cell(struct json *json, const struct profile *profile, const struct marker_field *field,
                       enum marker_format format, uint32_t cell) {
    const union marker_value *value = profile_cell_at(profile, cell);
    if (marker_value_is_absent(marker_format_kind(format), value))
        json_null(json);
    else
        write_plain_value(json, profile, format, is_wide_column(field, format), value);
}

static void write_list(struct json *json, const struct profile *profile, const struct marker_field *field,
                       struct marker_cells cells) {
    json_array_begin(json);
    for (uint32_t i = 0; i < cells.count; i++) write_cell(json, profile, field, MARKER_STRING, cells.first + i);
    json_array_end(json);
}

/* Writes the complete rows. The client does not accept a row with missing cells. */
static void write_table(struct json *json, const struct profile *profile, const struct marker_field *field,
                        struct marker_cells cells) {
    json_array_begin(json);
    for (uint32_t row = 0; field->column_count && row + field->column_count <= cells.count;
         row += field->column_count) {
        json_array_begin(json);
        for (uint32_t i = 0; i < field->column_count; i++)
            write_cell(json, profile, field, field->columns[i].format, cells.first + row + i);
        json_array_end(json);
    }
    json_array_end(json);
}

static void write_value(const struct marker_json *markers, struct json *json, const struct marker_field *field,
                        const union marker_value *value) {
    const struct profile *profile = markers->profile;
    if (field->format == MARKER_LIST)
        write_list(json, profile, field, value->cells);
    else if (field->format == MARKER_TABLE)
        write_table(json, profile, field, value->cells);
    else if (marker_format_kind(field->format) == VALUE_STRING)
        markers->format.write_string(markers, json, value->string);
    else
        write_plain_value(json, profile, field->format, has_wide_numbers(field), value);
}

/* ---- Payloads. ---- */

enum { OBJECT_END_BYTES = 1 };

/* Most values are integers. They are formatted in place, as are the keys and the end of the payload: two integers take
 * 300 instructions instead of 840 with a call for each piece of the text. Other values are written by calls. */

/* A field of all payloads of one type. */
struct field_plan {
    struct text key;   /* prepared */
    size_t room_bytes; /* for the key, a number and the end of the payload */
    const struct marker_field *field;
    enum marker_value_kind kind;
    bool is_decimal; /* a number that is written as a decimal, unless it is real */
};

struct payload_plan {
    struct text head; /* prepared: the type */
    size_t room_bytes;
    struct field_plan *fields;
    uint32_t field_count;
};

static void plan_payload(struct payload_plan *plan, const struct marker_schema *schema, struct arena *memory) {
    plan->head = json_prepare_object(TEXT("type"), schema->name, memory);
    plan->room_bytes = plan->head.bytes_count + JSON_PREPARED_BLOCK_BYTES + OBJECT_END_BYTES;
    plan->fields = arena_take_aligned(memory, schema->field_count * sizeof *plan->fields);
    if (!plan->fields) return;
    plan->field_count = schema->field_count;
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const struct marker_field *field = &schema->fields[i];
        enum marker_value_kind kind = marker_format_kind(field->format);
        struct text key = json_prepare_key(field->key, memory);
        plan->fields[i] = (struct field_plan){
            .key = key,
            .room_bytes = key.bytes_count + JSON_PREPARED_BLOCK_BYTES + JSON_INT_BYTES_MAX + OBJECT_END_BYTES,
            .field = field,
            .kind = kind,
            .is_decimal = kind == VALUE_NUMBER && field->format != MARKER_HEXADECIMAL && !field->has_wide_values};
    }
}

void marker_json_init(struct marker_json *markers, const struct profile *profile, struct marker_json_format format) {
    /* Firefox uses this type for a payload that is only a stack. */
    static const struct marker_schema none = {.name = TEXT("NoPayloadUserData")};
    uint32_t schema_count = profile->marker_schemas.count;
    *markers = (struct marker_json){.profile = profile, .format = format};
    arena_init(&markers->memory, profile->failure);
    markers->plans = arena_take_aligned(&markers->memory, (schema_count + 1) * sizeof *markers->plans);
    for (uint32_t i = 0; markers->plans && i <= schema_count; i++)
        plan_payload(&markers->plans[i], i < schema_count ? column_at(&profile->marker_schemas, i) : &none,
                     &markers->memory);
}

void marker_json_fini(struct marker_json *markers) { arena_fini(&markers->memory); }

/* Writes a value of any kind, unless it is absent, after text that ends at `out` and is not committed. Returns where
 * the text goes on; NULL if memory ran out (latched). Not inlined, because most values are integers and do not come
 * here. */
__attribute__((noinline)) static char *write_field(const struct marker_json *markers, struct json *json, char *out,
                                                   const struct field_plan *plan, const union marker_value *value) {
    if (marker_value_is_absent(plan->kind, value)) return out;
    out = json_reserve_more(json, out, plan->room_bytes);
    if (!out) return NULL;
    json_key_commit(json, json_put_prepared(out, plan->key));
    write_value(markers, json, plan->field, value);
    return json_reserve_here(json, OBJECT_END_BYTES);
}

/* Writes the keys of a marker with a stack. */
static void write_stack(const struct marker_json *markers, struct json *json, const struct thread *thread,
                        const struct marker *marker) {
    const struct thread *foreign = profile_foreign_thread(markers->profile, thread, marker);
    if (foreign && marker->schema != MARKER_SCHEMA_NONE) {
        json_key(json, MARKER_STACK_THREAD_KEY);
        thread_json_tid_value(json, foreign);
    }
    markers->format.write_stack(markers, json, thread, marker);
}

void marker_json_payload(const struct marker_json *markers, struct json *json, const struct thread *thread,
                         const struct marker *marker) {
    const struct profile *profile = markers->profile;
    bool has_schema = marker->schema != MARKER_SCHEMA_NONE;
    const struct payload_plan *plan = &markers->plans[has_schema ? marker->schema : profile->marker_schemas.count];
    char *out = json_reserve(json, plan->room_bytes);
    if (out) out = json_put_prepared(out, plan->head);
    for (uint32_t i = 0; i < plan->field_count && out; i++) {
        const struct field_plan *field = &plan->fields[i];
        const union marker_value value = profile_value_at(profile, marker->slots_at + field->field->slot, field->kind);
        bool is_integer = field->is_decimal && !value.number.scale && !value.number.exponent;
        if (!is_integer) {
            out = write_field(markers, json, out, field, &value);
            continue;
        }
        out = json_reserve_more(json, out, field->room_bytes);
        if (out) out = json_put_int(json_put_prepared(out, field->key), value.number.mantissa);
    }
    if (out && !stack_is_none(marker->stack)) {
        json_commit(json, out);
        write_stack(markers, json, thread, marker);
        out = json_reserve_here(json, OBJECT_END_BYTES);
    }
    if (out) json_commit(json, json_put_object_end(out));
}
