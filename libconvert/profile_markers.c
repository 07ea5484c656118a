/* The profile's marker schemas and markers. */
#include "profile.h"

/* Payload types that the client takes apart with code of its own, some of them failing where a field is missing. */
static const struct text taken_names[] = {
    TEXT("Network"), TEXT("IPC"),     TEXT("Jank"),          TEXT("CompositorScreenshot"), TEXT("GCMajor"),
    TEXT("GCMinor"), TEXT("GCSlice"), TEXT("JS allocation"), TEXT("Native allocation"),
};

/* What stands in a payload besides its fields. */
static const struct text taken_keys[] = {TEXT("type"), TEXT("cause"), TEXT("stack"), TEXT(MARKER_STACK_THREAD_KEY)};

static bool is_among(const struct text *texts, size_t count, struct text text) {
    for (size_t i = 0; i < count; i++)
        if (text_equal(texts[i], text)) return true;
    return false;
}

/* The name, or another one where that is taken. */
static struct text free_text(struct profile *profile, const struct text *taken, size_t count, struct text text) {
    if (!is_among(taken, count, text)) return text;
    return profile_text_format(profile, "%.*s_", (int)text.bytes_count, text.bytes);
}

/* The profile's own fields, in which it notes what values they have. */
static struct marker_field *copy_fields(struct profile *profile, const struct marker_schema *schema) {
    struct marker_field *fields = profile_allocate(profile, schema->field_count * sizeof *fields);
    if (!fields) return NULL;
    for (uint32_t i = 0; i < schema->field_count; i++) {
        fields[i] = schema->fields[i];
        fields[i].key = free_text(profile, taken_keys, sizeof taken_keys / sizeof *taken_keys, fields[i].key);
    }
    return fields;
}

uint16_t profile_marker_schema(struct profile *profile, const struct marker_schema *schema) {
    struct column *schemas = &profile->marker_schemas;
    struct text name = free_text(profile, taken_names, sizeof taken_names / sizeof *taken_names, schema->name);
    for (size_t i = 0; i < schemas->count; i++) {
        const struct marker_schema *row = column_at(schemas, i);
        if (text_equal(row->name, name)) return (uint16_t)i;
    }
    if (schemas->count == MARKER_SCHEMA_NONE) return MARKER_SCHEMA_NONE;
    struct marker_field *fields = copy_fields(profile, schema);
    struct marker_schema *row = fields ? column_push(schemas) : NULL;
    if (!row) return MARKER_SCHEMA_NONE;
    *row = *schema;
    row->name = name;
    row->fields = fields;
    return (uint16_t)(schemas->count - 1);
}

/* Adds the values behind the others of the column; false when memory ran out (latched). */
static bool push_values(struct column *column, const union marker_value *values, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        union marker_value *value = column_push(column);
        if (!value) return false;
        *value = values[i];
    }
    return true;
}

struct marker_cells profile_marker_cells(struct profile *profile, const union marker_value *values, uint32_t count) {
    struct marker_cells cells = {.first = (uint32_t)profile->marker_cells.count, .count = count};
    if (!push_values(&profile->marker_cells, values, count)) return (struct marker_cells){.first = ID_NONE};
    return cells;
}

static bool has_wide_cells(const struct profile *profile, const struct marker_field *field, struct marker_cells cells) {
    if (cells.first == ID_NONE || !field->column_count) return false;
    for (uint32_t i = 0; i < cells.count; i++) {
        if (field->columns[i % field->column_count].format != MARKER_HEXADECIMAL) continue;
        const union marker_value *cell = column_at(&profile->marker_cells, cells.first + i);
        if (marker_value_is_wide(cell->number)) return true;
    }
    return false;
}

static bool is_wide(const struct profile *profile, const struct marker_field *field, const union marker_value *value) {
    if (field->format == MARKER_HEXADECIMAL) return marker_value_is_wide(value->number);
    return field->format == MARKER_TABLE && has_wide_cells(profile, field, value->cells);
}

static void note_wide_values(const struct profile *profile, const struct marker_schema *schema,
                             const union marker_value *values) {
    /* The fields are a copy of the profile's own: see copy_fields. */
    struct marker_field *fields = (struct marker_field *)schema->fields;
    for (uint32_t i = 0; i < schema->field_count; i++)
        if (!fields[i].has_wide_values) fields[i].has_wide_values = is_wide(profile, &fields[i], &values[i]);
}

uint32_t profile_stack_origin(struct profile *profile, struct stack_origin origin) {
    struct stack_origin *row = column_push(&profile->stack_origins);
    if (!row) return 0;
    *row = origin;
    return (uint32_t)profile->stack_origins.count;
}

const struct thread *profile_foreign_thread(const struct profile *profile, const struct thread *thread,
                                            const struct marker *marker) {
    const struct stack_origin *origin = profile_marker_origin(profile, marker);
    if (!origin || stack_is_none(marker->stack) || thread_is_none(origin->thread)) return NULL;
    const struct thread *foreign = profile_thread_at(profile, origin->thread);
    return foreign == thread ? NULL : foreign;
}

/* A marker without a payload gets one, for the thread to stand in. */
static void note_foreign_stack(struct profile *profile, struct marker *marker) {
    static const struct marker_schema bare = {.name = TEXT("StackOfAnotherThread"),
                                              .display = MARKER_DISPLAY_CHART | MARKER_DISPLAY_TABLE};
    if (marker->schema == MARKER_SCHEMA_NONE) marker->schema = profile_marker_schema(profile, &bare);
    if (marker->schema == MARKER_SCHEMA_NONE) return;
    ((struct marker_schema *)column_at(&profile->marker_schemas, marker->schema))->has_foreign_stacks = true;
}

void profile_add_marker(struct profile *profile, struct thread *thread, struct marker marker,
                        const union marker_value *values) {
    if (failure_is_set(profile->failure)) return;
    bool has_fields = marker.schema != MARKER_SCHEMA_NONE;
    if (profile_foreign_thread(profile, thread, &marker)) note_foreign_stack(profile, &marker);
    marker.values_at = (uint32_t)profile->marker_values.count;
    if (has_fields) {
        const struct marker_schema *schema = column_at(&profile->marker_schemas, marker.schema);
        if (!push_values(&profile->marker_values, values, schema->field_count)) return;
        note_wide_values(profile, schema, values);
    }
    struct marker *row = column_push(&thread->markers);
    if (row) *row = marker;
}

static void visit_cells(const struct profile *profile, const struct marker_field *field, struct marker_cells cells,
                        marker_value_visitor *visit, void *context) {
    if (field->format == MARKER_TABLE && !field->column_count) return;
    for (uint32_t i = 0; i < cells.count; i++) {
        enum marker_format format =
            field->format == MARKER_TABLE ? field->columns[i % field->column_count].format : MARKER_STRING;
        enum marker_value_kind kind = marker_format_kind(format);
        union marker_value *cell = column_at(&profile->marker_cells, cells.first + i);
        if (!marker_value_is_absent(kind, cell)) visit(context, kind, cell);
    }
}

void profile_visit_marker(const struct profile *profile, const struct marker *marker, marker_value_visitor *visit,
                          void *context) {
    if (marker->schema == MARKER_SCHEMA_NONE) return;
    const struct marker_schema *schema = column_at(&profile->marker_schemas, marker->schema);
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const struct marker_field *field = &schema->fields[i];
        enum marker_value_kind kind = marker_format_kind(field->format);
        union marker_value *value = column_at(&profile->marker_values, marker->values_at + i);
        if (marker_value_is_absent(kind, value)) continue;
        visit(context, kind, value);
        if (kind == VALUE_CELLS) visit_cells(profile, field, value->cells, visit, context);
    }
}
