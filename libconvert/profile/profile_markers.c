/* The profile's marker schemas and markers. */
#include <inttypes.h>
#include <stdio.h>

#include "libconvert/base/cursor.h"
#include "libconvert/base/first_row.h"
#include "libconvert/base/memory.h"
#include "marker_label.h"
#include "profile.h"
#include "reserved_types.h"

/* Keys that payloads have besides their fields. */
static const struct text taken_keys[] = {TEXT("type"), TEXT("cause"), TEXT("stack"), TEXT(MARKER_STACK_THREAD_KEY)};

static bool is_key(const struct marker_schema *schema, struct text key) {
    for (uint32_t i = 0; i < schema->field_count; i++)
        if (text_equal(schema->fields[i].key, key)) return true;
    return false;
}

static struct text next_name(struct profile *profile, struct text name) {
    return profile_text_format(profile, "%.*s_", TEXT_ARGS(name));
}

static struct text free_key(struct profile *profile, const struct marker_schema *schema, struct text key) {
    if (!TEXT_IS_IN(key, taken_keys)) return key;
    do key = next_name(profile, key);
    while (is_key(schema, key) && !failure_is_set(profile->failure));
    return key;
}

/* Copies the fields, since the profile notes in them what values they have. */
static struct marker_field *copy_fields(struct profile *profile, const struct marker_schema *schema) {
    struct marker_field *fields = profile_allocate(profile, schema->field_count * sizeof *fields);
    if (!fields) return NULL;
    for (uint32_t i = 0, slot = 0; i < schema->field_count; i++) {
        fields[i] = schema->fields[i];
        fields[i].slot = slot;
        slot += marker_slot_count(marker_format_kind(fields[i].format));
        fields[i].key = free_key(profile, schema, fields[i].key);
        fields[i].has_wide_values = false;
    }
    return fields;
}

static struct marker_schema *schema_at(const struct profile *profile, uint16_t row) {
    return column_at(&profile->marker_schemas, row);
}

static uint32_t hash_of(struct text name) { return index_set_hash(name.bytes, name.bytes_count); }

/* Returns the slot of the schema with that name, or the empty slot where it belongs. The set must have slots. */
static struct index_slot *slot_of(const struct profile *profile, struct text name) {
    const struct index_set *names = &profile->marker_schema_names;
    uint32_t hash = hash_of(name);
    struct index_slot *slot = index_set_first(names, hash);
    for (; !index_slot_is_empty(slot); slot = index_set_next(names, slot))
        if (slot->hash == hash && text_equal(schema_at(profile, (uint16_t)slot->index)->name, name)) break;
    return slot;
}

static uint16_t find_schema(const struct profile *profile, struct text name) {
    if (!profile->marker_schema_names.count) return MARKER_SCHEMA_NONE;
    const struct index_slot *slot = slot_of(profile, name);
    return index_slot_is_empty(slot) ? MARKER_SCHEMA_NONE : (uint16_t)slot->index;
}

static uint16_t kind_bit(enum marker_format format) { return (uint16_t)(1 << marker_format_kind(format)); }

static uint16_t value_kinds_of(const struct marker_schema *schema) {
    uint16_t kinds = 0;
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const struct marker_field *field = &schema->fields[i];
        kinds |= kind_bit(field->format);
        if (field->format == MARKER_LIST) kinds |= kind_bit(MARKER_STRING);
        for (uint32_t j = 0; j < field->column_count; j++) kinds |= kind_bit(field->columns[j].format);
    }
    return kinds;
}

static bool can_format_be_wide(enum marker_format format) {
    return format == MARKER_HEXADECIMAL || format == MARKER_INTEGER;
}

static bool can_be_wide(const struct marker_schema *schema) {
    bool is_any = false;
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const struct marker_field *field = &schema->fields[i];
        is_any |= can_format_be_wide(field->format);
        for (uint32_t j = 0; j < field->column_count; j++) is_any |= field->columns[j].format == MARKER_HEXADECIMAL;
    }
    return is_any;
}

/* Leaves the label out if the front-end cannot show it. */
static void drop_bad_label(struct profile *profile, struct text *label) {
    struct text rest = *label, part;
    if (!marker_label_find_fault(&rest, &part)) return;
    *label = (struct text){0};
    ledger_enter(&profile->ledger, LEDGER_VALUES, LEDGER_NOTED,
                 TEXT("label of a marker type that the viewer cannot show (left out)"), 1, NULL);
}

/* Adds the schema under a name that no other schema has. */
static uint16_t add_schema(struct profile *profile, struct marker_schema schema, struct text name) {
    struct column *schemas = &profile->marker_schemas;
    if (schemas->count == MARKER_SCHEMA_NONE) return MARKER_SCHEMA_NONE;
    if (!index_set_reserve(&profile->marker_schema_names)) return MARKER_SCHEMA_NONE;
    struct index_slot *slot = slot_of(profile, name);
    struct marker_field *fields = copy_fields(profile, &schema);
    struct marker_schema *row = fields ? column_push(schemas) : NULL;
    if (!row) return MARKER_SCHEMA_NONE;
    schema.name = name;
    drop_bad_label(profile, &schema.chart_label);
    drop_bad_label(profile, &schema.tooltip_label);
    drop_bad_label(profile, &schema.table_label);
    schema.fields = fields;
    schema.reserved = reserved_type_find(name);
    schema.twin = 0;
    schema.has_foreign_stacks = false;
    schema.value_kinds = value_kinds_of(&schema);
    schema.can_be_wide = can_be_wide(&schema);
    *row = schema;
    uint16_t index = (uint16_t)(schemas->count - 1);
    index_set_fill(&profile->marker_schema_names, slot, hash_of(name), index);
    return index;
}

static const struct text foreign_stack_type = TEXT(MARKER_FOREIGN_STACK_TYPE);

struct text profile_marker_type_name(struct profile *profile, const struct marker_schema *schema) {
    const struct reserved_type *type = reserved_type_find(schema->name);
    bool is_free = type ? reserved_type_fits(type, schema) : !text_equal(schema->name, foreign_stack_type);
    return is_free ? schema->name : next_name(profile, schema->name);
}

#define VARIANT_START " (variant "

/* Each new variant is compared with all others. */
enum { VARIANTS_MAX = 100 };

struct text profile_variant_name(struct profile *profile, struct text name, unsigned number) {
    return profile_text_format(profile, "%.*s" VARIANT_START "%u)", TEXT_ARGS(name), number);
}

struct text profile_plain_name(struct text name) {
    struct text start = name;
    if (!start.bytes_count || start.bytes[--start.bytes_count] != ')') return name;
    while (start.bytes_count && cursor_is_digit(start.bytes[start.bytes_count - 1])) start.bytes_count--;
    bool is_variant = text_ends_with(start, TEXT(VARIANT_START)) && start.bytes_count + 1 < name.bytes_count;
    struct text plain = text_slice(name, 0, is_variant ? start.bytes_count - strlen(VARIANT_START) : name.bytes_count);
    return plain.bytes_count ? plain : name;
}

/* Returns whether markers of one schema can take the other one. */
static bool has_same_values(const struct marker_schema *a, const struct marker_schema *b) {
    bool is_same = a->field_count == b->field_count;
    for (uint32_t i = 0; is_same && i < a->field_count; i++) is_same = a->fields[i].format == b->fields[i].format;
    return is_same;
}

uint16_t profile_marker_schema(struct profile *profile, const struct marker_schema *schema) {
    /* Reserved for schemas that the profile adds itself: one for each reserved type, and that of foreign stacks. */
    enum { OWN_COUNT_MAX = 64 };
    struct text wanted = profile_marker_type_name(profile, schema), name = wanted;
    uint16_t known = find_schema(profile, name);
    for (unsigned number = 2; known != MARKER_SCHEMA_NONE; number++) {
        if (has_same_values(schema_at(profile, known), schema) || failure_is_set(profile->failure)) break;
        if (number > VARIANTS_MAX) return MARKER_SCHEMA_NONE;
        name = profile_variant_name(profile, wanted, number);
        known = find_schema(profile, name);
    }
    bool has_room = profile->marker_schemas.count < MARKER_SCHEMA_NONE - OWN_COUNT_MAX;
    return known == MARKER_SCHEMA_NONE && has_room ? add_schema(profile, *schema, name) : known;
}

static bool is_same_field(const struct marker_field *a, const struct marker_field *b) {
    bool is_same = text_equal(a->key, b->key) && text_equal(a->label, b->label) && a->format == b->format &&
                   a->is_hidden == b->is_hidden && a->column_count == b->column_count;
    for (uint32_t i = 0; is_same && i < a->column_count; i++)
        is_same = text_equal(a->columns[i].label, b->columns[i].label) && a->columns[i].format == b->columns[i].format;
    return is_same;
}

static bool is_same_graph(const struct marker_graph *a, const struct marker_graph *b) {
    return text_equal(a->key, b->key) && a->type == b->type && a->color == b->color;
}

/* Compares everything except the names. */
static bool is_same_schema(const struct marker_schema *a, const struct marker_schema *b) {
    bool is_same = text_equal(a->description, b->description) && text_equal(a->chart_label, b->chart_label) &&
                   text_equal(a->tooltip_label, b->tooltip_label) && text_equal(a->table_label, b->table_label) &&
                   text_equal(a->color_field, b->color_field) && a->display == b->display &&
                   a->is_stack_based == b->is_stack_based && a->field_count == b->field_count &&
                   a->graph_count == b->graph_count;
    for (uint32_t i = 0; is_same && i < a->field_count; i++) is_same = is_same_field(&a->fields[i], &b->fields[i]);
    for (uint32_t i = 0; is_same && i < a->graph_count; i++) is_same = is_same_graph(&a->graphs[i], &b->graphs[i]);
    return is_same;
}

/* Takes over what the other schema has noted about the values of its markers, which come with it. */
static void note_values_of(struct marker_schema *schema, const struct marker_schema *other) {
    struct marker_field *fields = (struct marker_field *)schema->fields;
    for (uint32_t i = 0; i < schema->field_count; i++) fields[i].has_wide_values |= other->fields[i].has_wide_values;
    schema->has_foreign_stacks |= other->has_foreign_stacks;
}

uint16_t profile_take_marker_schema(struct profile *profile, const struct marker_schema *schema) {
    struct text name = schema->name;
    uint16_t row;
    for (unsigned number = 2; (row = find_schema(profile, name)) != MARKER_SCHEMA_NONE; number++) {
        if (is_same_schema(schema_at(profile, row), schema) || failure_is_set(profile->failure)) break;
        if (number > VARIANTS_MAX) return MARKER_SCHEMA_NONE;
        name = profile_variant_name(profile, schema->name, number);
    }
    if (row == MARKER_SCHEMA_NONE) row = add_schema(profile, *schema, name);
    if (row != MARKER_SCHEMA_NONE) note_values_of(schema_at(profile, row), schema);
    return row;
}

string_id profile_marker_name(struct profile *profile, struct text name, uint16_t schema) {
    const struct reserved_type *type = schema == MARKER_SCHEMA_NONE ? NULL : schema_at(profile, schema)->reserved;
    return profile_string(profile, reserved_marker_name(name, type) ? next_name(profile, name) : name);
}

/* Returns the same schema under a name that the front-end does not know. */
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

/* Names a network request as Firefox does, unless it already has such a name. */
static void name_by_url(struct profile *profile, struct marker *marker, const union marker_value *values) {
    const struct marker_schema *schema = schema_at(profile, marker->schema);
    if (!schema->reserved->is_named_by_url) return;
    if (text_starts_with(strings_text(&profile->strings, marker->name), TEXT("Load "))) return;
    struct text id = {0}, url = {0};
    char digits[24];
    for (uint32_t i = 0; i < schema->field_count; i++) {
        if (text_equal(schema->fields[i].key, TEXT("URI"))) url = values[i].text;
        if (!text_equal(schema->fields[i].key, TEXT("id"))) continue;
        int digit_count = snprintf(digits, sizeof digits, "%" PRIu64, marker_value_bits(values[i].number));
        id = (struct text){digits, (size_t)digit_count};
    }
    marker->name = strings_intern_format(&profile->strings, "Load %.*s: %.*s", TEXT_ARGS(id), TEXT_ARGS(url));
}

/* Gives the marker another schema if it lacks values that the front-end requires of the reserved type. The schema has
 * the fields for them. */
static void fit_reserved_type(struct profile *profile, struct marker *marker, const union marker_value *values) {
    const struct marker_schema *schema = schema_at(profile, marker->schema);
    if (reserved_type_accepts(schema->reserved, schema, marker->phase, values)) {
        name_by_url(profile, marker, values);
        return;
    }
    marker->schema = twin_of(profile, marker->schema);
    marker->name = profile_marker_name(profile, strings_text(&profile->strings, marker->name), marker->schema);
}

/* Returns the last of the payloads whose first number, which lies at first_offset, is not above the number. */
static const struct payloads *find_payloads(const struct profile *profile, size_t first_offset, uint32_t number) {
    const struct payloads *all = profile->merged_payloads;
    size_t next = FIRST_ROW(i, profile->merged_payloads_count,
                            *(const uint32_t *)((const char *)&all[i] + first_offset) > number);
    return &all[next - 1];
}

const struct payloads *profile_payloads_of_slot(const struct profile *profile, uint32_t number) {
    return find_payloads(profile, offsetof(struct payloads, first_slot), number);
}

const struct payloads *profile_payloads_of_cell(const struct profile *profile, uint32_t number) {
    return find_payloads(profile, offsetof(struct payloads, first_cell), number);
}

struct marker_cells profile_marker_cells(struct profile *profile, const union marker_value *values, uint32_t count) {
    struct column *column = &profile->payloads.cells;
    struct marker_cells cells = {.first = profile->payloads.first_cell + column->count, .count = count};
    if (!column_push_all(column, values, count)) return (struct marker_cells){.first = ID_NONE};
    return cells;
}

static bool has_wide_cells(const struct profile *profile, const struct marker_field *field, struct marker_cells cells) {
    if (cells.first == ID_NONE || !field->column_count) return false;
    for (uint32_t i = 0; i < cells.count; i++) {
        if (field->columns[i % field->column_count].format != MARKER_HEXADECIMAL) continue;
        const union marker_value *cell = profile_cell_at(profile, cells.first + i);
        if (marker_value_is_wide(MARKER_HEXADECIMAL, cell->number)) return true;
    }
    return false;
}

static bool is_wide(const struct profile *profile, const struct marker_field *field, const union marker_value *value) {
    if (can_format_be_wide(field->format)) return marker_value_is_wide(field->format, value->number);
    return field->format == MARKER_TABLE && has_wide_cells(profile, field, value->cells);
}

static void note_wide_values(const struct profile *profile, const struct marker_schema *schema,
                             const union marker_value *values) {
    /* The fields are the profile's own copy: see copy_fields. */
    struct marker_field *fields = (struct marker_field *)schema->fields;
    for (uint32_t i = 0; i < schema->field_count; i++)
        if (!fields[i].has_wide_values) fields[i].has_wide_values = is_wide(profile, &fields[i], &values[i]);
}

const struct thread *profile_foreign_thread(const struct profile *profile, const struct thread *thread,
                                            const struct marker *marker) {
    const thread_id *origin = profile_origin_thread(profile, marker);
    if (!origin || stack_is_none(marker->stack) || thread_is_none(*origin)) return NULL;
    const struct thread *foreign = profile_thread_at(profile, *origin);
    return foreign == thread ? NULL : foreign;
}

/* A marker without a payload gets one, which names the thread. */
static void note_foreign_stack(struct profile *profile, struct marker *marker) {
    static const struct marker_schema bare = {.display = MARKER_DISPLAY_CHART | MARKER_DISPLAY_TABLE};
    if (marker->schema == MARKER_SCHEMA_NONE) marker->schema = find_schema(profile, foreign_stack_type);
    if (marker->schema == MARKER_SCHEMA_NONE) marker->schema = add_schema(profile, bare, foreign_stack_type);
    if (marker->schema != MARKER_SCHEMA_NONE) schema_at(profile, marker->schema)->has_foreign_stacks = true;
}

static bool push_slot(struct profile *profile, union marker_slot slot) {
    union marker_slot *row = column_push(&profile->payloads.slots);
    if (row) *row = slot;
    return row;
}

/* Places the marker's values, which are pushed next, after its origin, if any. */
static void place_values(struct profile *profile, struct marker *marker, const struct stack_origin *origin) {
    marker->has_origin = origin && push_slot(profile, (union marker_slot){.time_ns = origin->time_ns}) &&
                         push_slot(profile, (union marker_slot){.thread = origin->thread});
    marker->slots_at = profile->payloads.first_slot + profile->payloads.slots.count;
}

/* Returns NULL if the marker has no payload. */
static const struct marker_schema *payload_schema(const struct profile *profile, const struct marker *marker) {
    return marker->schema == MARKER_SCHEMA_NONE ? NULL : schema_at(profile, marker->schema);
}

/* The last byte of a number's slot is the scale, and the others are the mantissa, unless it is one of these. */
enum { SLOT_ELSEWHERE = 254 /* the others are a row of the payloads' numbers */, SLOT_ABSENT = 255, SLOT_BITS = 8 };

static uint64_t encode_number(struct payloads *payloads, struct decimal number) {
    uint64_t bits = (uint64_t)number.mantissa << SLOT_BITS;
    if (number.scale == MARKER_ABSENT) return SLOT_ABSENT;
    if (number.scale < SLOT_ELSEWHERE && !number.exponent && (int64_t)bits >> SLOT_BITS == number.mantissa)
        return bits | number.scale;
    column_push_all(&payloads->numbers, &number, 1);
    return (uint64_t)(payloads->numbers.count - 1) << SLOT_BITS | SLOT_ELSEWHERE;
}

static struct decimal decode_number(const struct payloads *payloads, uint64_t bits) {
    uint32_t scale = bits & SLOT_ABSENT;
    if (scale == SLOT_ABSENT) return (struct decimal){.scale = MARKER_ABSENT};
    if (scale == SLOT_ELSEWHERE) return *(const struct decimal *)column_at(&payloads->numbers, bits >> SLOT_BITS);
    return (struct decimal){.mantissa = (int64_t)bits >> SLOT_BITS, .scale = scale};
}

static bool push_value(struct profile *profile, enum marker_value_kind kind, const union marker_value *value) {
    switch (kind) {
        case VALUE_TEXT:
            return push_slot(profile, (union marker_slot){.bytes = value->text.bytes}) &&
                   push_slot(profile, (union marker_slot){.bits = value->text.bytes_count});
        case VALUE_STRING: return push_slot(profile, (union marker_slot){.string = value->string});
        case VALUE_NUMBER:
            return push_slot(profile, (union marker_slot){.bits = encode_number(&profile->payloads, value->number)});
        case VALUE_DURATION:
        case VALUE_TIME: return push_slot(profile, (union marker_slot){.time_ns = value->time_ns});
        case VALUE_CELLS: break;
    }
    return push_slot(profile, (union marker_slot){.cells = value->cells});
}

union marker_value profile_value_at(const struct profile *profile, uint32_t number, enum marker_value_kind kind) {
    const struct payloads *payloads = &profile->payloads;
    if (number < payloads->first_slot) payloads = profile_payloads_of_slot(profile, number);
    const union marker_slot *slot = column_at(&payloads->slots, number - payloads->first_slot);
    switch (kind) {
        case VALUE_TEXT: return (union marker_value){.text = {slot->bytes, profile_slot_at(profile, number + 1)->bits}};
        case VALUE_STRING: return (union marker_value){.string = slot->string};
        case VALUE_NUMBER: return (union marker_value){.number = decode_number(payloads, slot->bits)};
        case VALUE_DURATION:
        case VALUE_TIME: return (union marker_value){.time_ns = slot->time_ns};
        case VALUE_CELLS: break;
    }
    return (union marker_value){.cells = slot->cells};
}

static bool push_values(struct profile *profile, const struct marker_schema *schema, const union marker_value *values) {
    bool is_whole = true;
    if (schema->can_be_wide) note_wide_values(profile, schema, values);
    for (uint32_t i = 0; i < schema->field_count && is_whole; i++)
        is_whole = push_value(profile, marker_format_kind(schema->fields[i].format), &values[i]);
    return is_whole;
}

void profile_set_payload(struct profile *profile, struct marker *marker, const struct stack_origin *origin,
                         const union marker_value *values) {
    const struct marker_schema *schema = payload_schema(profile, marker);
    place_values(profile, marker, origin);
    if (schema) push_values(profile, schema, values);
}

void profile_fit_marker(struct profile *profile, struct marker *marker) {
    const struct marker_schema *schema = payload_schema(profile, marker);
    if (!schema || !schema->reserved || failure_is_set(profile->failure)) return;
    union marker_value *values = memory_allocate(profile->failure, schema->field_count * sizeof *values);
    if (!values) return;
    for (uint32_t i = 0; i < schema->field_count; i++)
        values[i] = profile_value_at(profile, marker->slots_at + schema->fields[i].slot,
                                     marker_format_kind(schema->fields[i].format));
    fit_reserved_type(profile, marker, values);
    memory_free(values);
}

void profile_add_marker_from(struct profile *profile, struct thread *thread, struct marker *marker,
                             const struct stack_origin *origin, const union marker_value *values) {
    if (failure_is_set(profile->failure)) return;
    const struct marker_schema *schema = payload_schema(profile, marker);
    if (schema && schema->reserved) {
        fit_reserved_type(profile, marker, values);
        schema = payload_schema(profile, marker);
    }
    place_values(profile, marker, origin);
    if (origin && profile_foreign_thread(profile, thread, marker)) note_foreign_stack(profile, marker);
    if (failure_is_set(profile->failure)) return;
    if (schema && !push_values(profile, schema, values)) return;
    struct marker *row = column_push(&thread->markers);
    if (row) *row = *marker;
}

void profile_add_marker(struct profile *profile, struct thread *thread, struct marker marker,
                        const union marker_value *values) {
    profile_add_marker_from(profile, thread, &marker, NULL, values);
}

/* What profile_visit_values looks for. */
struct visit {
    const struct profile *profile;
    enum marker_value_kind kind;
    marker_value_visitor *visit;
    void *context;
};

static void visit_value(const struct visit *visit, enum marker_format format, void *value) {
    if (marker_format_kind(format) != visit->kind) return;
    bool is_absent =
        visit->kind == VALUE_TIME ? *(const int64_t *)value == TIME_NONE : string_is_none(*(const string_id *)value);
    if (!is_absent) visit->visit(visit->context, value);
}

static void visit_cells(const struct visit *visit, const struct marker_field *field, struct marker_cells cells) {
    if (cells.first == ID_NONE || (field->format == MARKER_TABLE && !field->column_count)) return;
    for (uint32_t i = 0; i < cells.count; i++) {
        enum marker_format format =
            field->format == MARKER_TABLE ? field->columns[i % field->column_count].format : MARKER_STRING;
        visit_value(visit, format, profile_cell_at(visit->profile, cells.first + i));
    }
}

void profile_visit_values(const struct profile *profile, const struct marker *marker, enum marker_value_kind kind,
                          marker_value_visitor *visit_one, void *context) {
    const struct visit visit = {profile, kind, visit_one, context};
    const struct marker_schema *schema = column_at(&profile->marker_schemas, marker->schema);
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const struct marker_field *field = &schema->fields[i];
        union marker_slot *slot = profile_slot_at(profile, marker->slots_at + field->slot);
        visit_value(&visit, field->format, slot);
        if (marker_format_kind(field->format) == VALUE_CELLS) visit_cells(&visit, field, slot->cells);
    }
}
