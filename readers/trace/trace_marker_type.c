#include "trace_marker_type.h"

#include <inttypes.h>

#include "recorder/trace_format.h"

enum { COLUMN_COUNT_MAX = 64, GRAPH_COUNT_MAX = 64, NAME_BYTES_MAX = 511 };

/* Converts a trace's format to the profile's; MARKER_FORMAT_COUNT if it is unknown. */
static enum marker_format format_of(uint64_t format) {
    static const uint8_t formats[TRACE_FIELD_FORMAT_COUNT] = {
        [TRACE_FIELD_STRING] = MARKER_STRING,
        [TRACE_FIELD_URL] = MARKER_URL,
        [TRACE_FIELD_FILE_PATH] = MARKER_FILE_PATH,
        [TRACE_FIELD_SANITIZED_STRING] = MARKER_SANITIZED_STRING,
        [TRACE_FIELD_UNIQUE_STRING] = MARKER_UNIQUE_STRING,
        [TRACE_FIELD_FLOW_ID] = MARKER_FLOW_ID,
        [TRACE_FIELD_TERMINATING_FLOW_ID] = MARKER_TERMINATING_FLOW_ID,
        [TRACE_FIELD_DURATION] = MARKER_DURATION,
        [TRACE_FIELD_TIME] = MARKER_TIME,
        [TRACE_FIELD_SECONDS] = MARKER_SECONDS,
        [TRACE_FIELD_MILLISECONDS] = MARKER_MILLISECONDS,
        [TRACE_FIELD_MICROSECONDS] = MARKER_MICROSECONDS,
        [TRACE_FIELD_NANOSECONDS] = MARKER_NANOSECONDS,
        [TRACE_FIELD_BYTES] = MARKER_BYTES,
        [TRACE_FIELD_PERCENTAGE] = MARKER_PERCENTAGE,
        [TRACE_FIELD_INTEGER] = MARKER_INTEGER,
        [TRACE_FIELD_DECIMAL] = MARKER_DECIMAL,
        [TRACE_FIELD_HEXADECIMAL] = MARKER_HEXADECIMAL,
        [TRACE_FIELD_PID] = MARKER_PID,
        [TRACE_FIELD_TID] = MARKER_TID,
        [TRACE_FIELD_LIST] = MARKER_LIST,
        [TRACE_FIELD_TABLE] = MARKER_TABLE,
    };
    return format < TRACE_FIELD_FORMAT_COUNT ? (enum marker_format)formats[format] : MARKER_FORMAT_COUNT;
}

/* Reads a count of things that take at least `bytes_min` bytes each. */
static uint64_t read_count(struct trace_cursor *body, size_t bytes_min) {
    return trace_cursor_bounded(body, trace_cursor_left(body) / bytes_min);
}

/* Converts the format of a column. Each cell has a type of its own, so cells of an unknown format can still be read;
 * they become strings. */
static enum marker_format column_format(uint64_t format) {
    enum marker_format known = format_of(format);
    return known == MARKER_FORMAT_COUNT || known == MARKER_LIST || known == MARKER_TABLE ? MARKER_STRING : known;
}

static void read_columns(struct marker_field *field, struct trace_cursor *body, struct profile *profile,
                         uint64_t *lost_count) {
    uint64_t count = read_count(body, 2);
    uint32_t kept_count = count > COLUMN_COUNT_MAX ? COLUMN_COUNT_MAX : (uint32_t)count;
    struct marker_table_column *columns = profile_allocate(profile, kept_count * sizeof *columns);
    for (uint64_t i = 0; i < count && !body->is_bad; i++) {
        struct text label = trace_cursor_text(body);
        uint64_t format = trace_cursor_leb(body);
        if (columns && i < kept_count)
            columns[i] = (struct marker_table_column){profile_text(profile, label), column_format(format)};
    }
    *lost_count += count - kept_count;
    field->columns = columns;
    field->column_count = columns ? kept_count : 0;
}

/* Makes the key unique among the fields by appending a number. */
static struct text unique_key(struct profile *profile, const struct marker_field *fields, uint32_t count,
                              struct text key) {
    struct text unique = text_slice(key, 0, NAME_BYTES_MAX);
    unsigned number = 1;
    for (uint32_t i = 0; i < count;) {
        if (!text_equal(fields[i].key, unique)) {
            i++;
            continue;
        }
        unique = profile_text_format(profile, "%.*s %u", (int)text_slice(key, 0, NAME_BYTES_MAX).bytes_count, key.bytes,
                                     ++number);
        if (!unique.bytes_count) return unique;
        i = 0;
    }
    return profile_text(profile, unique);
}

static void read_fields(struct trace_marker_type *type, struct trace_cursor *body, struct profile *profile,
                        uint64_t *lost_count) {
    enum { FIELD_BYTES_MIN = 5 };
    uint64_t count = read_count(body, FIELD_BYTES_MIN);
    uint32_t room = count > TRACE_FIELD_COUNT_MAX ? TRACE_FIELD_COUNT_MAX : (uint32_t)count;
    struct marker_field *fields = profile_allocate(profile, room * sizeof *fields);
    uint32_t kept_count = 0;
    /* After a value of an unknown format, no further value can be found. */
    bool is_beyond = !fields;
    for (uint64_t i = 0; i < count && !body->is_bad; i++) {
        struct text key = trace_cursor_text(body), label = trace_cursor_text(body);
        uint64_t format = trace_cursor_leb(body), flags = trace_cursor_leb(body);
        struct marker_field field = {.format = format_of(format), .is_hidden = flags & TRACE_FIELD_IS_HIDDEN};
        read_columns(&field, body, profile, lost_count);
        is_beyond = is_beyond || kept_count == room || field.format == MARKER_FORMAT_COUNT;
        if (is_beyond || body->is_bad) continue;
        field.key = unique_key(profile, fields, kept_count, key);
        field.label = profile_text(profile, label);
        type->wires[kept_count] = trace_field_wire[format];
        fields[kept_count++] = field;
    }
    *lost_count += count - kept_count;
    type->schema.fields = fields;
    type->schema.field_count = kept_count;
}

static bool is_numeric(const struct marker_schema *schema, struct text key) {
    for (uint32_t i = 0; i < schema->field_count; i++) {
        enum marker_value_kind kind = marker_format_kind(schema->fields[i].format);
        if (text_equal(schema->fields[i].key, key))
            return kind == VALUE_NUMBER || kind == VALUE_DURATION || kind == VALUE_TIME;
    }
    return false;
}

static void read_graphs(struct trace_marker_type *type, struct trace_cursor *body, struct profile *profile,
                        uint64_t *lost_count) {
    enum { GRAPH_BYTES_MIN = 3 };
    uint64_t count = read_count(body, GRAPH_BYTES_MIN);
    uint32_t room = count > GRAPH_COUNT_MAX ? GRAPH_COUNT_MAX : (uint32_t)count;
    struct marker_graph *graphs = profile_allocate(profile, room * sizeof *graphs);
    uint32_t kept_count = 0;
    for (uint64_t i = 0; i < count && !body->is_bad; i++) {
        struct text key = trace_cursor_text(body);
        uint64_t graph_type = trace_cursor_leb(body), color = trace_cursor_leb(body);
        if (!graphs || kept_count == room || body->is_bad || !is_numeric(&type->schema, key)) continue;
        graphs[kept_count++] = (struct marker_graph){
            .key = profile_text(profile, key),
            .type = graph_type < MARKER_GRAPH_TYPE_COUNT ? (enum marker_graph_type)graph_type : MARKER_GRAPH_BAR,
            .color = color < TRACE_GRAPH_COLOR_COUNT ? (enum graph_color)color : GRAPH_GREY};
    }
    *lost_count += count - kept_count;
    type->schema.graphs = graphs;
    type->schema.graph_count = kept_count;
}

void trace_marker_type_read(struct trace_marker_type *type, struct trace_cursor *body, struct profile *profile,
                            uint64_t *lost_count) {
    enum { DISPLAY_ALL = (TRACE_DISPLAY_NETWORK << 1) - 1 };
    *type = (struct trace_marker_type){.row = MARKER_SCHEMA_NONE};
    struct marker_schema *schema = &type->schema;
    struct text *const texts[] = {&schema->name,          &schema->description, &schema->chart_label,
                                  &schema->tooltip_label, &schema->table_label, &schema->color_field};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        *texts[i] = profile_text(profile, trace_cursor_text(body));
    schema->display = (uint32_t)(trace_cursor_leb(body) & DISPLAY_ALL);
    schema->is_stack_based = trace_cursor_leb(body) & TRACE_TYPE_IS_STACK_BASED;
    read_fields(type, body, profile, lost_count);
    read_graphs(type, body, profile, lost_count);
}
_Static_assert((int)TRACE_DISPLAY_CHART == (int)MARKER_DISPLAY_CHART &&
                   (int)TRACE_DISPLAY_MEMORY == (int)MARKER_DISPLAY_MEMORY &&
                   (int)TRACE_DISPLAY_NETWORK == (int)MARKER_DISPLAY_NETWORK,
               "same bits");

/* Takes the name. Returns false if it is taken already. */
static bool take_name(struct strings *names, struct column *numbers, struct text name) {
    string_id id = strings_intern(names, name);
    if (string_is_none(id)) return true;
    if (id.index < numbers->count) return false;
    column_add(numbers, &(uint32_t){1});
    return true;
}

static struct text free_name(struct profile *profile, struct strings *names, struct column *numbers, struct text name) {
    if (take_name(names, numbers, name)) return name;
    string_id id = strings_intern(names, name);
    while (!string_is_none(id) && !failure_is_set(profile->failure)) {
        uint32_t *number = column_at(numbers, id.index);
        struct text numbered = profile_text_format(profile, "%.*s %" PRIu32, TEXT_ARGS(name), ++*number);
        if (take_name(names, numbers, numbered)) return numbered;
    }
    return name;
}

void trace_marker_type_resolve(struct trace_marker_type *type, struct profile *profile, struct strings *names,
                               struct column *numbers) {
    struct marker_schema *schema = &type->schema;
    struct text wanted = profile_text(profile, text_slice(schema->name, 0, NAME_BYTES_MAX));
    if (!wanted.bytes_count) wanted = TEXT("Unnamed");
    schema->name = wanted;
    wanted = profile_marker_type_name(profile, schema);
    size_t row_count;
    /* The profile may have schemas of its own, so the name may be taken there. */
    do {
        schema->name = free_name(profile, names, numbers, wanted);
        row_count = profile->marker_schemas.count;
        type->row = profile_marker_schema(profile, schema);
    } while (type->row < row_count && !failure_is_set(profile->failure));
    type->is_resolved = true;
}
