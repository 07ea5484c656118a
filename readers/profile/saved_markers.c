/* Types of markers ("markerSchema"), and the payloads of markers. */
#include <inttypes.h>
#include <stdlib.h>

#include "libconvert/base/id_column.h"
#include "libconvert/base/memory.h"
#include "libconvert/format/common_format.h"
#include "libconvert/format/gecko_format.h"
#include "libconvert/format/processed_format.h"
#include "libconvert/profile/reserved_types.h"
#include "saved_reader.h"

/* The type of payloads that are only a stack. */
static const struct text NO_PAYLOAD = TEXT("NoPayloadUserData");

/* ---- Fields. ---- */

/* As many as other readers take. Each marker of a type has room for a value of each field, and each row of a table for
 * each column, so without limits a few bytes for many of both would cost any amount of memory. */
enum { FIELD_COUNT_MAX = 128, COLUMN_COUNT_MAX = 64 };

/* Loses the next element if the list is full. */
static bool lose_beyond(struct saved_reader *reader, const struct column *list, uint32_t count_max) {
    if (list->count < count_max) return false;
    saved_lose(reader, TEXT(""), json_skip_counting(reader->json) > 0);
    return true;
}

/* A schema as it is read. */
struct schema_parts {
    struct marker_schema schema;
    struct column fields; /* struct marker_field */
    struct column graphs; /* struct marker_graph */
};

struct table_parts {
    bool is_table;
    struct column columns; /* struct marker_table_column */
};

static enum marker_format take_format_name(struct saved_reader *reader) {
    const char *names[MARKER_FORMAT_COUNT + 1] = {NULL};
    for (unsigned i = 0; i < MARKER_FORMAT_COUNT; i++) names[i] = marker_format_name((enum marker_format)i);
    return (enum marker_format)saved_choice(reader, names, MARKER_STRING);
}

/* A cell holds no list and no table. */
static bool read_column_part(struct saved_reader *reader, struct text key, void *context) {
    struct marker_table_column *column = context;
    if (text_equal(key, TEXT("type")))
        column->format = take_format_name(reader);
    else if (text_equal(key, TEXT("label")))
        column->label = saved_text(reader);
    else
        return false;
    if (marker_format_kind(column->format) == VALUE_CELLS) column->format = MARKER_STRING;
    return true;
}

static bool read_format_part(struct saved_reader *reader, struct text key, void *context) {
    struct table_parts *parts = context;
    struct text type;
    if (text_equal(key, TEXT("type"))) {
        parts->is_table = json_take_text(reader->json, &type) && text_equal(type, TEXT("table"));
        return true;
    }
    if (!text_equal(key, TEXT("columns"))) return false;
    JSON_EACH(reader->json) {
        if (lose_beyond(reader, &parts->columns, COLUMN_COUNT_MAX)) continue;
        struct marker_table_column *column = column_push(&parts->columns);
        if (!column) return true;
        *column = (struct marker_table_column){.format = MARKER_STRING};
        saved_read_object(reader, read_column_part, column);
    }
    return true;
}

static void read_table_format(struct saved_reader *reader, struct marker_field *field) {
    struct table_parts parts = {0};
    column_init(&parts.columns, sizeof(struct marker_table_column), reader->profile->failure);
    saved_read_object(reader, read_format_part, &parts);
    struct marker_table_column *columns =
        profile_allocate(reader->profile, parts.columns.count * sizeof(struct marker_table_column));
    for (uint32_t i = 0; columns && i < parts.columns.count; i++)
        columns[i] = *(const struct marker_table_column *)column_at(&parts.columns, i);
    if (columns && parts.is_table) {
        field->format = MARKER_TABLE;
        field->columns = columns;
        field->column_count = parts.columns.count;
    }
    column_fini(&parts.columns);
}

/* A field, or a text that the Gecko format has in place of a description, as the processed one before version 55. */
struct field_parts {
    struct marker_field field;
    struct text text;
};

static bool read_field_part(struct saved_reader *reader, struct text key, void *context) {
    struct field_parts *parts = context;
    struct marker_field *field = &parts->field;
    if (text_equal(key, TEXT("searchable")))
        json_skip(reader->json); /* the front-end searches all fields */
    else if (text_equal(key, TEXT("value")))
        parts->text = saved_text(reader);
    else if (!text_equal(key, TEXT("format")))
        return false;
    else if (json_peek_kind(reader->json) == JSON_OBJECT)
        read_table_format(reader, field);
    else
        field->format = take_format_name(reader);
    return true;
}

/* As in the front-end, the first text describes the type unless one is called so. */
static void describe(struct saved_reader *reader, struct marker_schema *schema, const struct field_parts *parts) {
    bool is_description = text_equal(parts->field.label, TEXT("Description"));
    if (schema->description.bytes_count) saved_lose(reader, TEXT("value"), 1);
    if (!schema->description.bytes_count || is_description) schema->description = parts->text;
}

static void read_fields(struct saved_reader *reader, struct schema_parts *parts) {
    JSON_EACH(reader->json) {
        if (lose_beyond(reader, &parts->fields, FIELD_COUNT_MAX)) continue;
        struct field_parts field = {.field = {.format = MARKER_STRING}};
        saved_read_members(reader, &field_shape, &field.field, read_field_part, &field);
        if (text_equal(field.field.key, TEXT(MARKER_STACK_THREAD_KEY))) {
            parts->schema.has_foreign_stacks = true;
            continue;
        }
        if (!field.field.key.bytes_count && field.text.bytes) {
            describe(reader, &parts->schema, &field);
            continue;
        }
        if (!column_add(&parts->fields, &field.field)) return;
    }
}

/* ---- Graphs, places, and the whole schema. ---- */

static void read_graphs(struct saved_reader *reader, struct schema_parts *parts) {
    JSON_EACH_UNLESS_NULL(reader->json) {
        struct marker_graph *graph = column_push(&parts->graphs);
        if (!graph) return;
        *graph = (struct marker_graph){.color = GRAPH_BLUE};
        saved_read_members(reader, &graph_shape, graph, NULL, NULL);
    }
}

static void read_display(struct saved_reader *reader, struct schema_parts *parts) {
    JSON_EACH(reader->json) {
        unsigned place = saved_choice(reader, marker_locations, MARKER_LOCATION_COUNT);
        if (place < MARKER_LOCATION_COUNT) parts->schema.display |= 1u << place;
    }
}

static const struct {
    struct text key;
    void (*read)(struct saved_reader *reader, struct schema_parts *parts);
} SCHEMA_PARTS[] = {
    {TEXT("display"), read_display},
    {TEXT("fields"), read_fields},
    {TEXT("data"), read_fields},
    {TEXT("graphs"), read_graphs},
};

static bool read_schema_part(struct saved_reader *reader, struct text key, void *context) {
    for (size_t i = 0; i < sizeof SCHEMA_PARTS / sizeof *SCHEMA_PARTS; i++) {
        if (!text_equal(key, SCHEMA_PARTS[i].key)) continue;
        json_push_name(reader->json, SCHEMA_PARTS[i].key.bytes, -1);
        SCHEMA_PARTS[i].read(reader, context);
        json_pop_name(reader->json);
        return true;
    }
    return false;
}

/* Copies the elements of the column to memory that lives as long as the profile. */
static const void *keep(struct saved_reader *reader, const struct column *column) {
    char *kept = profile_allocate(reader->profile, column->count * (size_t)column->element_bytes);
    for (size_t i = 0; kept && i < column->count; i++)
        memcpy(kept + i * column->element_bytes, column_at(column, i), column->element_bytes);
    return kept;
}

static struct saved_type *type_of(struct saved_reader *reader, struct text name) {
    string_id id = strings_intern(&reader->texts, name);
    return string_is_none(id) ? NULL : id_column_at(&reader->types, id.index);
}

/* Adds the fields that the front-end's own schema has. Where a field has another format there, that one holds. */
static void add_built_in_fields(struct column *fields, const struct marker_schema *built_in) {
    for (uint32_t i = 0; i < built_in->field_count; i++) {
        const struct marker_field *added = &built_in->fields[i];
        struct marker_field *known = NULL;
        COLUMN_EACH(struct marker_field, field, fields)
            if (text_equal(field->key, added->key)) known = field;
        if (!known)
            column_add(fields, added);
        else if (known->format != added->format)
            *known = (struct marker_field){known->key, known->label, added->format, .is_hidden = known->is_hidden};
    }
}

/* The front-end ignores what a document says of a type that it describes itself, so that may lack fields. */
static bool lacks_fields(const struct marker_schema *schema, const struct marker_schema *built_in) {
    return built_in && !reserved_type_has_fields(reserved_type_find(schema->name), schema);
}

static void add_schema(struct saved_reader *reader, struct schema_parts *parts) {
    struct marker_schema *schema = &parts->schema;
    const struct marker_schema *built_in = saved_built_in_schema(schema->name);
    schema->graphs = keep(reader, &parts->graphs);
    schema->graph_count = parts->graphs.count;
    schema->fields = keep(reader, &parts->fields);
    schema->field_count = parts->fields.count;
    if (!saved_is_good(reader)) return;
    if (lacks_fields(schema, built_in)) {
        add_built_in_fields(&parts->fields, built_in);
        schema->fields = keep(reader, &parts->fields);
        schema->field_count = parts->fields.count;
    }
    struct saved_type *type = type_of(reader, schema->name);
    if (!type || type->schema || !saved_is_good(reader)) return;
    uint16_t row = profile_take_marker_schema(reader->profile, schema);
    type->schema = row == MARKER_SCHEMA_NONE ? 0 : (uint16_t)(row + 1);
}

static void read_schema(struct saved_reader *reader) {
    struct schema_parts parts = {0};
    column_init(&parts.fields, sizeof(struct marker_field), reader->profile->failure);
    column_init(&parts.graphs, sizeof(struct marker_graph), reader->profile->failure);
    saved_read_members(reader, &common_schema_shape, &parts.schema, read_schema_part, &parts);
    add_schema(reader, &parts);
    COLUMNS_FINI(&parts.fields, &parts.graphs);
}

void saved_schemas_read(struct saved_reader *reader) {
    JSON_EACH(reader->json) read_schema(reader);
}

/* ---- Values. ---- */

/* A text; numbers and truth values are shown as their texts. */
static bool take_text(struct saved_reader *reader, struct text *text) {
    bool is_true;
    struct text taken;
    switch (json_peek_kind(reader->json)) {
        case JSON_TEXT:
            if (!json_take_text(reader->json, &taken)) return false;
            break;
        case JSON_NUMBER:
            if (!json_take_number_text(reader->json, &taken)) return false;
            break;
        case JSON_BOOL:
            if (!json_take_bool(reader->json, &is_true)) return false;
            taken = is_true ? TEXT("true") : TEXT("false");
            break;
        default: return false;
    }
    *text = profile_text(reader->profile, taken);
    return true;
}

/* A number with an exponent, or with more digits than a decimal has, is a double. A truth value is 0 or 1. */
static bool take_number(struct saved_reader *reader, union marker_value *value) {
    enum { NUMBER_BYTES = 64 };
    struct text number;
    bool is_rounded = false, is_true;
    if (json_peek_kind(reader->json) == JSON_BOOL) {
        if (json_take_bool(reader->json, &is_true)) *value = marker_value_integer(is_true);
        return true;
    }
    if (json_peek_kind(reader->json) != JSON_NUMBER || !json_take_number_text(reader->json, &number)) return false;
    bool has_exponent = text_find(number, 'e') < number.bytes_count || text_find(number, 'E') < number.bytes_count;
    if (!has_exponent && decimal_parse(number, &value->number, &is_rounded) && !is_rounded) return true;
    char copy[NUMBER_BYTES];
    text_copy(text_slice(number, 0, sizeof copy - 1), copy, sizeof copy);
    *value = marker_value_real(strtod(copy, NULL));
    return true;
}

static bool take_time(struct saved_reader *reader, int64_t (*take)(struct saved_reader *), int64_t *ns) {
    if (json_peek_kind(reader->json) != JSON_NUMBER) return false;
    *ns = take(reader);
    return true;
}

static bool take_string(struct saved_reader *reader, string_id *string) {
    int64_t row;
    if (json_peek_kind(reader->json) != JSON_NUMBER || !json_take_int(reader->json, &row)) return false;
    string->index = saved_map_row(reader, TABLE_STRINGS, row);
    return true;
}

/* Reads a value that has no parts. Returns false, and reads nothing, if it is of another kind. */
static bool take_plain(struct saved_reader *reader, enum marker_value_kind kind, union marker_value *value) {
    switch (kind) {
        case VALUE_TEXT: return take_text(reader, &value->text);
        case VALUE_STRING: return take_string(reader, &value->string);
        case VALUE_NUMBER: return take_number(reader, value);
        case VALUE_DURATION: return take_time(reader, saved_ns_of_ms, &value->duration_ns);
        case VALUE_TIME: return take_time(reader, saved_time_ns, &value->time_ns);
        case VALUE_CELLS: break;
    }
    return false;
}

/* Appends a cell; one of another kind is lost. */
static void take_cell(struct saved_reader *reader, struct saved_type *type, enum marker_format format) {
    union marker_value value = marker_value_absent(marker_format_kind(format));
    bool is_null = json_take_null(reader->json);
    if (!is_null && !take_plain(reader, marker_format_kind(format), &value)) {
        json_skip(reader->json);
        type->lost_count++;
    }
    column_add(&reader->profile->payloads.cells, &value);
}

static void take_row(struct saved_reader *reader, struct saved_type *type, const struct marker_field *field) {
    uint32_t count = 0;
    JSON_EACH(reader->json) {
        if (count < field->column_count) {
            take_cell(reader, type, field->columns[count++].format);
        } else {
            type->lost_count += json_skip_counting(reader->json) > 0;
        }
    }
    for (; count < field->column_count; count++) {
        union marker_value value = marker_value_absent(marker_format_kind(field->columns[count].format));
        column_add(&reader->profile->payloads.cells, &value);
    }
}

static bool take_cells(struct saved_reader *reader, struct saved_type *type, const struct marker_field *field,
                       union marker_value *value) {
    const struct payloads *payloads = &reader->profile->payloads;
    uint32_t first = payloads->cells.count;
    if (json_peek_kind(reader->json) != JSON_LIST || !json_begin_list(reader->json)) return false;
    while (json_next(reader->json)) {
        if (field->format == MARKER_LIST)
            take_cell(reader, type, MARKER_STRING);
        else
            take_row(reader, type, field);
    }
    value->cells = (struct marker_cells){payloads->first_cell + first, payloads->cells.count - first};
    return true;
}

static void take_value(struct saved_reader *reader, struct saved_type *type, const struct marker_field *field,
                       union marker_value *value) {
    enum marker_value_kind kind = marker_format_kind(field->format);
    if (json_take_null(reader->json)) return;
    bool is_taken = kind == VALUE_CELLS ? take_cells(reader, type, field, value) : take_plain(reader, kind, value);
    if (is_taken) return;
    type->lost_count += json_skip_counting(reader->json) > 0;
}

/* ---- Payloads. ---- */

struct payload {
    struct marker *marker;
    struct saved_type *type;
    const struct marker_schema *schema; /* NULL: none */
    union marker_value *values;         /* one for each field */
    uint32_t next_field;                /* fields are usually in the order of the schema */
    bool has_origin;
    struct stack_origin origin;
    string_id origin_tid;
    struct allocation *allocation; /* NULL: this is none */
};

static bool read_cause_part(struct saved_reader *reader, struct text key, void *context) {
    struct payload *payload = context;
    int64_t row;
    if (text_equal(key, TEXT("stack"))) {
        if (!json_take_null(reader->json) && json_take_int(reader->json, &row))
            payload->marker->stack.index = saved_map_row(reader, TABLE_STACKS, row);
    } else if (text_equal(key, TEXT("time"))) {
        payload->origin.time_ns = saved_time_ns(reader);
        payload->has_origin = payload->origin.time_ns != TIME_NONE;
    } else if (text_equal(key, TEXT("tid"))) {
        if (!json_take_null(reader->json)) payload->origin_tid = saved_id_text(reader);
    } else {
        return false;
    }
    return true;
}

/* ---- Payloads of the Gecko format. ---- */

/* Reads a backtrace, which is a small thread: the marker's stack is that of its first sample. */
static bool read_backtrace_part(struct saved_reader *reader, struct text key, void *context) {
    static const struct sample blank = {.time_ns = TIME_NONE, .stack = {ID_NONE}};
    struct payload *payload = context;
    struct saved_table table = {
        .shape = &gecko_backtrace_table, .rows = &reader->backtrace, .blank = &blank, .is_raw = true};
    if (text_equal(key, TEXT("tid"))) {
        if (!json_take_null(reader->json)) payload->origin_tid = saved_id_text(reader);
        return true;
    }
    if (!text_equal(key, TEXT("samples"))) {
        json_skip(reader->json); /* the rest says what the marker's own thread says */
        return true;
    }
    reader->backtrace.count = 0;
    saved_read_rows(reader, &table);
    const struct sample *sample = reader->backtrace.count ? column_at(&reader->backtrace, 0) : &blank;
    if (!saved_is_good(reader) || stack_is_none(sample->stack)) return true;
    stack_id *stack = payload->allocation ? &payload->allocation->stack : &payload->marker->stack;
    if (sample->stack.index < saved_map_count(&reader->caller_stacks))
        stack->index = saved_map_at(&reader->caller_stacks, sample->stack.index);
    else
        json_stream_fail(reader->json, "there is no stack %" PRIu32, sample->stack.index);
    payload->origin.time_ns = sample->time_ns;
    return true;
}

/* A backtrace that was taken at the marker's start in its own thread needs no origin. */
static void read_backtrace(struct saved_reader *reader, struct payload *payload) {
    saved_read_object(reader, read_backtrace_part, payload);
    const string_id *own_tid = column_at(&reader->thread_tids, reader->thread.index);
    bool is_own = string_is_none(payload->origin_tid) || payload->origin_tid.index == own_tid->index;
    payload->has_origin =
        payload->origin.time_ns != TIME_NONE && (!is_own || payload->origin.time_ns != payload->marker->start_ns);
}

/* Reads a member of an allocation, or the stack of another payload. */
static bool read_gecko_member(struct saved_reader *reader, struct payload *payload, struct text key) {
    enum json_kind kind = json_peek_kind(reader->json);
    if (text_equal(key, TEXT("stack")) && kind == JSON_OBJECT) {
        read_backtrace(reader, payload);
        return true;
    }
    if (payload->allocation && reader->allocation.is_js) {
        json_skip(reader->json);
        return true;
    }
    if (!payload->allocation || kind != JSON_NUMBER) return false;
    if (text_equal(key, TEXT("size")))
        json_take_int(reader->json, &payload->allocation->bytes);
    else if (text_equal(key, TEXT("memoryAddress")))
        payload->allocation->address = (uint64_t)saved_int(reader, 0, INT64_MAX);
    else if (text_equal(key, TEXT("threadId")))
        payload->allocation->thread.index = saved_id_text(reader).index; /* saved_threads_link replaces it */
    else
        return false;
    return true;
}

/* ---- Payloads of both formats. ---- */

static const struct marker_field *find_field(struct payload *payload, struct text key, uint32_t *number) {
    uint32_t count = payload->schema ? payload->schema->field_count : 0;
    for (uint32_t i = 0; i < count; i++) {
        *number = payload->next_field + i < count ? payload->next_field + i : payload->next_field + i - count;
        if (!text_equal(payload->schema->fields[*number].key, key)) continue;
        payload->next_field = *number + 1;
        return &payload->schema->fields[*number];
    }
    return NULL;
}

static void read_member(struct saved_reader *reader, struct payload *payload, struct text key) {
    uint32_t number;
    if (reader->is_gecko && read_gecko_member(reader, payload, key)) return;
    const struct marker_field *field = find_field(payload, key, &number);
    if (field) {
        take_value(reader, payload->type, field, &payload->values[number]);
    } else if (text_equal(key, TEXT("cause"))) {
        if (!json_take_null(reader->json)) saved_read_object(reader, read_cause_part, payload);
    } else if (text_equal(key, TEXT("type")) || text_equal(key, TEXT(MARKER_STACK_THREAD_KEY))) {
        json_skip(reader->json);
    } else {
        payload->type->lost_count += json_skip_counting(reader->json) > 0;
    }
}

/* Returns space for a value of each field, all of them absent; NULL if memory ran out (latched). */
static union marker_value *take_values(struct saved_reader *reader, const struct marker_schema *schema) {
    if (!memory_reserve(reader->profile->failure, &reader->values, &reader->value_capacity, schema->field_count + 1,
                        sizeof *reader->values))
        return NULL;
    for (uint32_t i = 0; i < schema->field_count; i++)
        reader->values[i] = marker_value_absent(marker_format_kind(schema->fields[i].format));
    return reader->values;
}

/* A type that neither the document nor the front-end describes is shown without fields. */
static void choose_schema(struct saved_reader *reader, struct payload *payload, struct text name) {
    struct profile *profile = reader->profile;
    payload->type = type_of(reader, name);
    reader->allocation.is_js = reader->is_gecko && text_equal(name, TEXT("JS allocation"));
    reader->allocation.is_one =
        reader->allocation.is_js || (reader->is_gecko && text_equal(name, TEXT("Native allocation")));
    if (reader->allocation.is_js && payload->type) payload->type->lost_count++;
    if (reader->allocation.is_one) payload->allocation = &reader->allocation.allocation;
    if (!payload->type || payload->allocation || text_equal(name, NO_PAYLOAD)) return;
    if (!payload->type->schema) {
        const struct marker_schema *built_in = saved_built_in_schema(name);
        struct marker_schema bare = {.name = profile_text(profile, name)};
        uint16_t row = profile_take_marker_schema(profile, built_in ? built_in : &bare);
        if (row == MARKER_SCHEMA_NONE) return;
        payload->type->schema = (uint16_t)(row + 1);
    }
    payload->marker->schema = (uint16_t)(payload->type->schema - 1);
    payload->schema = column_at(&profile->marker_schemas, payload->marker->schema);
    payload->values = take_values(reader, payload->schema);
    if (!payload->values) payload->schema = NULL;
}

/* Reads the members of a payload whose object has begun. */
static void read_payload_members(struct saved_reader *reader, struct payload *payload) {
    struct text key;
    while (json_next_key(reader->json, &key)) {
        json_push_name(reader->json, "data", -1);
        read_member(reader, payload, key);
        json_pop_name(reader->json);
    }
}

/* Reads a payload that begins with its type. */
static void read_typed(struct saved_reader *reader, struct payload *payload) {
    struct text key, type;
    json_begin_object(reader->json);
    if (!json_next_key(reader->json, &key) || !json_take_text(reader->json, &type)) return;
    choose_schema(reader, payload, type);
    read_payload_members(reader, payload);
}

/* Returns the type that the payload names; empty if it names none. */
static struct text find_type(struct json_stream *json) {
    struct text key, type = {0};
    json_begin_object(json);
    while (json_next_key(json, &key)) {
        if (!text_equal(key, TEXT("type")) || json_peek_kind(json) != JSON_TEXT)
            json_skip(json);
        else if (json_take_text(json, &type))
            return type;
    }
    return type;
}

/* Reads a payload whose type comes later: it is read twice. */
static void read_untyped(struct saved_reader *reader, struct payload *payload) {
    struct json_stream *whole = reader->json, part;
    struct position position = json_stream_position(whole);
    struct text text = json_skip_recording(whole);
    if (!saved_is_good(reader)) return;
    json_stream_init_part(&part, whole, text, position);
    choose_schema(reader, payload, find_type(&part));
    json_stream_fini(&part);
    json_stream_init_part(&part, whole, text, position);
    reader->json = &part;
    json_begin_object(&part);
    read_payload_members(reader, payload);
    reader->json = whole;
    json_stream_fini(&part);
}

static void note_origin(struct saved_reader *reader, const struct payload *payload) {
    const struct marker *marker = payload->marker;
    if (!marker->has_origin || string_is_none(payload->origin_tid)) return;
    column_add(
        &reader->origins,
        &(struct saved_origin){.slot = marker->slots_at - 1, .tid = payload->origin_tid, .thread = reader->thread});
}

void saved_payload_read(struct saved_reader *reader, struct marker *marker) {
    struct payload payload = {
        .marker = marker, .origin = {.thread = thread_none()}, .origin_tid = string_none(), .type = NULL};
    if (json_take_null(reader->json)) return;
    if (json_starts_with(reader->json, TEXT("{\"type\":\"")))
        read_typed(reader, &payload);
    else if (json_peek_kind(reader->json) == JSON_OBJECT)
        read_untyped(reader, &payload);
    else
        saved_lose(reader, TEXT("data"), json_skip_counting(reader->json));
    if (!saved_is_good(reader)) return;
    profile_set_payload(reader->profile, marker, payload.has_origin ? &payload.origin : NULL, payload.values);
    note_origin(reader, &payload);
}

/* ---- The end. ---- */

void saved_types_count_lost(struct saved_reader *reader) {
    struct profile *profile = reader->profile;
    for (uint32_t i = 0; i < reader->types.count; i++) {
        const struct saved_type *type = column_at(&reader->types, i);
        if (!type->lost_count) continue;
        struct text name = strings_text(&reader->texts, (string_id){i});
        struct text cause =
            profile_text_format(profile, "value without a field in markers of type %.*s", TEXT_ARGS(name));
        ledger_account(&profile->ledger, LEDGER_VALUES, LEDGER_LOST, cause, type->lost_count, NULL);
    }
}
