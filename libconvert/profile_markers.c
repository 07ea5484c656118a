/* The profile's marker schemas and markers. */
#include "profile.h"
#include "reserved_types.h"

/* What stands in a payload besides its fields. */
static const struct text taken_keys[] = {TEXT("type"), TEXT("cause"), TEXT("stack"), TEXT(MARKER_STACK_THREAD_KEY)};

static bool is_taken_key(struct text key) {
    for (size_t i = 0; i < sizeof taken_keys / sizeof *taken_keys; i++)
        if (text_equal(taken_keys[i], key)) return true;
    return false;
}

static bool is_key(const struct marker_schema *schema, struct text key) {
    for (uint32_t i = 0; i < schema->field_count; i++)
        if (text_equal(schema->fields[i].key, key)) return true;
    return false;
}

static struct text next_name(struct profile *profile, struct text name) {
    return profile_text_format(profile, "%.*s_", (int)name.bytes_count, name.bytes);
}

static struct text free_key(struct profile *profile, const struct marker_schema *schema, struct text key) {
    if (!is_taken_key(key)) return key;
    do key = next_name(profile, key);
    while (is_key(schema, key) && !failure_is_set(profile->failure));
    return key;
}

/* The profile's own fields, in which it notes what values they have. */
static struct marker_field *copy_fields(struct profile *profile, const struct marker_schema *schema) {
    struct marker_field *fields = profile_allocate(profile, schema->field_count * sizeof *fields);
    if (!fields) return NULL;
    for (uint32_t i = 0; i < schema->field_count; i++) {
        fields[i] = schema->fields[i];
        fields[i].key = free_key(profile, schema, fields[i].key);
        fields[i].has_wide_values = false;
    }
    return fields;
}

static struct marker_schema *schema_at(const struct profile *profile, uint16_t row) {
    return column_at(&profile->marker_schemas, row);
}

static uint16_t find_schema(const struct profile *profile, struct text name) {
    size_t count = profile->marker_schemas.count;
    for (size_t i = 0; i < count; i++)
        if (text_equal(schema_at(profile, (uint16_t)i)->name, name)) return (uint16_t)i;
    return MARKER_SCHEMA_NONE;
}

/* Under a name that none has. */
static uint16_t add_schema(struct profile *profile, struct marker_schema schema, struct text name) {
    struct column *schemas = &profile->marker_schemas;
    if (schemas->count == MARKER_SCHEMA_NONE) return MARKER_SCHEMA_NONE;
    struct marker_field *fields = copy_fields(profile, &schema);
    struct marker_schema *row = fields ? column_push(schemas) : NULL;
    if (!row) return MARKER_SCHEMA_NONE;
    schema.name = name;
    schema.fields = fields;
    schema.reserved = reserved_type_find(name);
    schema.twin = 0;
    schema.has_foreign_stacks = false;
    *row = schema;
    return (uint16_t)(schemas->count - 1);
}

static const struct text foreign_stack_type = TEXT(MARKER_FOREIGN_STACK_TYPE);

struct text profile_marker_type_name(struct profile *profile, const struct marker_schema *schema) {
    const struct reserved_type *type = reserved_type_find(schema->name);
    bool is_free = type ? reserved_type_fits(type, schema) : !text_equal(schema->name, foreign_stack_type);
    return is_free ? schema->name : next_name(profile, schema->name);
}

uint16_t profile_marker_schema(struct profile *profile, const struct marker_schema *schema) {
    /* For those that the profile adds itself: one for each of the reserved types, and that of stacks. */
    enum { OWN_COUNT_MAX = 64 };
    struct text name = profile_marker_type_name(profile, schema);
    uint16_t known = find_schema(profile, name);
    bool has_room = profile->marker_schemas.count < MARKER_SCHEMA_NONE - OWN_COUNT_MAX;
    return known == MARKER_SCHEMA_NONE && has_room ? add_schema(profile, *schema, name) : known;
}

string_id profile_marker_name(struct profile *profile, struct text name, uint16_t schema) {
    const struct reserved_type *type = schema == MARKER_SCHEMA_NONE ? NULL : schema_at(profile, schema)->reserved;
    return profile_string(profile, reserved_marker_name(name, type) ? next_name(profile, name) : name);
}

/* The same schema under a name that means nothing to the front-end. */
static uint16_t twin_of(struct profile *profile, uint16_t row) {
    struct marker_schema schema = *schema_at(profile, row);
    if (schema.twin) return (uint16_t)(schema.twin - 1);
    struct text name = schema.name;
    do name = next_name(profile, name);
    while (find_schema(profile, name) != MARKER_SCHEMA_NONE && !failure_is_set(profile->failure));
    uint16_t twin = add_schema(profile, schema, name);
    if (twin != MARKER_SCHEMA_NONE) schema_at(profile, row)->twin = (uint16_t)(twin + 1);
    return twin;
}

/* A type that has what the front-end looks for may have markers that do not. */
static void take_twin_if_needed(struct profile *profile, struct marker *marker, const union marker_value *values) {
    const struct marker_schema *schema = schema_at(profile, marker->schema);
    if (!schema->reserved || reserved_type_accepts(schema->reserved, schema, marker->phase, values)) return;
    marker->schema = twin_of(profile, marker->schema);
    marker->name = profile_marker_name(profile, strings_text(&profile->strings, marker->name), marker->schema);
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
    static const struct marker_schema bare = {.display = MARKER_DISPLAY_CHART | MARKER_DISPLAY_TABLE};
    if (marker->schema == MARKER_SCHEMA_NONE) marker->schema = find_schema(profile, foreign_stack_type);
    if (marker->schema == MARKER_SCHEMA_NONE) marker->schema = add_schema(profile, bare, foreign_stack_type);
    if (marker->schema != MARKER_SCHEMA_NONE) schema_at(profile, marker->schema)->has_foreign_stacks = true;
}

void profile_add_marker(struct profile *profile, struct thread *thread, struct marker marker,
                        const union marker_value *values) {
    if (failure_is_set(profile->failure)) return;
    if (marker.schema != MARKER_SCHEMA_NONE) take_twin_if_needed(profile, &marker, values);
    bool has_fields = marker.schema != MARKER_SCHEMA_NONE;
    if (profile_foreign_thread(profile, thread, &marker)) note_foreign_stack(profile, &marker);
    if (failure_is_set(profile->failure)) return;
    marker.values_at = (uint32_t)profile->marker_values.count;
    if (has_fields) {
        const struct marker_schema *schema = schema_at(profile, marker.schema);
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
