#include "check_markers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libconvert/base/memory.h"
#include "libconvert/format/common_format.h"
#include "libconvert/format/gecko_format.h"
#include "libconvert/format/processed_format.h"
#include "libconvert/profile/marker_label.h"
#include "libconvert/profile/reserved_types.h"

/* ---- Formats of fields. ---- */

enum marker_format check_format_of(const struct node *format) {
    for (enum marker_format i = 0; node_is(format, NODE_TEXT) && i < MARKER_TABLE; i++)
        if (text_equal(node_text(format), text_of(marker_format_name(i)))) return i;
    return MARKER_FORMAT_COUNT;
}

static bool is_scalar(const struct node *node) { return node->kind != NODE_LIST && node->kind != NODE_OBJECT; }

static bool is_finite_number(const struct node *node) { return node_is(node, NODE_NUMBER) && isfinite(node->number); }

struct verdict {
    enum violation_severity severity;
    const char *message; /* NULL: the value is valid */
};

static struct verdict good(void) { return (struct verdict){0}; }
static struct verdict error(const char *message) { return (struct verdict){VIOLATION_ERROR, message}; }
static struct verdict warning(const char *message) { return (struct verdict){VIOLATION_WARNING, message}; }

static struct verdict judge_hexadecimal(const struct node *value) {
    if (node_is_integer(value) && value->number >= 0 && value->number <= UINT32_MAX) return good();
    return error("must be an integer of at most 32 bits: larger ones are not shown");
}

static struct verdict judge_integer(const struct node *value) {
    if (!is_finite_number(value)) return error("must be a finite number");
    return node_is_integer(value) ? good() : warning("must be an integer below 2^53: it is shown rounded");
}

static struct verdict judge_percentage(const struct node *value) {
    if (!is_finite_number(value)) return error("must be a finite number");
    return value->number >= 0 && value->number <= 1 ? good() : warning("must be from 0 to 1, which means 100 %");
}

static struct verdict judge_list(const struct node *value) {
    if (!node_is(value, NODE_LIST)) return error("must be an array");
    for (size_t i = 0; i < value->count; i++)
        if (!is_scalar(&value->nodes[i])) return error("must be an array of plain values");
    return good();
}

static struct verdict judge(const struct check *check, enum marker_format format, const struct node *value) {
    bool is_text = node_is(value, NODE_TEXT);
    switch (format) {
        case MARKER_URL:
        case MARKER_FILE_PATH:
        case MARKER_SANITIZED_STRING: return is_text ? good() : error("must be a string");
        case MARKER_STRING: /* the viewer shows numbers too */
            if (is_text) return good();
            return is_scalar(value) ? warning("should be a string") : error("must be a string");
        case MARKER_UNIQUE_STRING:
        case MARKER_FLOW_ID:
        case MARKER_TERMINATING_FLOW_ID:
            if (!check->is_known[TABLE_STRINGS] || node_is_index(value, check->row_counts[TABLE_STRINGS]))
                return good();
            return error("must be an index of the string table");
        case MARKER_DURATION:
        case MARKER_TIME:
        case MARKER_SECONDS:
        case MARKER_MILLISECONDS:
        case MARKER_MICROSECONDS:
        case MARKER_NANOSECONDS:
        case MARKER_BYTES:
        case MARKER_DECIMAL: return is_finite_number(value) ? good() : error("must be a finite number");
        case MARKER_INTEGER: return judge_integer(value);
        case MARKER_HEXADECIMAL: return judge_hexadecimal(value);
        case MARKER_PERCENTAGE: return judge_percentage(value);
        case MARKER_PID: return is_text ? good() : warning("should be a string, as pids are");
        case MARKER_TID: return is_text || node_is_integer(value) ? good() : error("must be an integer or a string");
        case MARKER_LIST: return judge_list(value);
        case MARKER_TABLE:
        case MARKER_FORMAT_COUNT: break;
    }
    return good();
}

static void check_plain(struct check *check, const struct node *format, const struct node *value,
                        const struct node_path *path) {
    if (node_is(value, NODE_NULL)) return;
    struct verdict verdict = judge(check, check_format_of(format), value);
    if (verdict.message)
        violations_add(check->violations, verdict.severity, RULE_BROKEN_SCHEMA, path, "%s, in the format %s, %s",
                       SHOWN(value), SHOWN(format), verdict.message);
}

static void check_table_cells(struct check *check, const struct node *columns, const struct node *rows,
                              const struct node_path *path) {
    static const struct node string_format = {.kind = NODE_TEXT, .count = 6, .bytes = "string"};
    if (!node_is(rows, NODE_LIST)) {
        check_error(check, RULE_BROKEN_SCHEMA, path, "%s, in the format table, must be an array of rows", SHOWN(rows));
        return;
    }
    for (size_t i = 0; i < rows->count; i++) {
        const struct node *row = &rows->nodes[i];
        if (!node_is(row, NODE_LIST) || row->count != columns->count) {
            check_error(check, RULE_BROKEN_SCHEMA, AT_ELEMENT(path, i), "must be a row of %u cells", columns->count);
            continue;
        }
        for (size_t j = 0; j < row->count; j++) {
            const struct node *format = check_member(check, &columns->nodes[j], "type");
            check_plain(check, format ? format : &string_format, &row->nodes[j], AT_ELEMENT(AT_ELEMENT(path, i), j));
        }
    }
}

void check_formatted(struct check *check, const struct node *format, const struct node *value,
                     const struct node_path *path) {
    const struct node *columns = check_member(check, format, "columns");
    if (node_is(value, NODE_NULL)) return;
    if (node_is(columns, NODE_LIST))
        check_table_cells(check, columns, value, path);
    else
        check_plain(check, format, value, path);
}

static void check_table_format(struct check *check, const struct node *format, const struct node_path *path) {
    const struct node *columns = check_member(check, format, "columns");
    if (!node_is_text(check_member(check, format, "type"), TEXT("table")) || !node_is(columns, NODE_LIST)) {
        check_error(check, RULE_BROKEN_VALUE, path, "an object must be {\"type\": \"table\", \"columns\": […]}");
        return;
    }
    for (size_t i = 0; i < columns->count; i++) {
        const struct node *type = check_member(check, &columns->nodes[i], "type");
        const struct node *label = check_member(check, &columns->nodes[i], "label");
        bool has_type = !type || check_format_of(type) != MARKER_FORMAT_COUNT;
        if (!node_is(&columns->nodes[i], NODE_OBJECT) || !has_type || (label && !node_is(label, NODE_TEXT)))
            check_error(check, RULE_BROKEN_VALUE, AT_ELEMENT(AT_MEMBER(path, "columns"), i),
                        "must be an object with a known type and a label");
    }
}

void check_format(struct check *check, const struct node *field, const struct node_path *path) {
    const struct node *format = check_member(check, field, "format");
    struct node_path format_path = node_path_member(path, "format");
    if (!format)
        check_error(check, RULE_BROKEN_PRESENCE, &format_path, "missing: it must be a format");
    else if (node_is(format, NODE_OBJECT))
        check_table_format(check, format, &format_path);
    else if (check_format_of(format) == MARKER_FORMAT_COUNT)
        check_error(check, RULE_BROKEN_VALUE, &format_path, "%s is not a format of fields", SHOWN(format));
}

/* ---- Schemas. ---- */

static bool is_static_field(const struct check *check, const struct node *field) {
    return check_member(check, field, "value") && !check_member(check, field, "key");
}

/* Checks one field. In Gecko profiles, a field may be static: it then has a label and a value instead of a key and a
 * format. */
void check_field(struct check *check, const struct node *field, const struct node_path *path) {
    if (check->is_gecko && is_static_field(check, field)) {
        check_shape(check, &static_field_shape, field, path);
        return;
    }
    if (is_static_field(check, field))
        check_error(check, RULE_BROKEN_SCHEMA, path,
                    "a field must have a key: use the schema's description for plain text");
    else if (!check_member(check, field, "key"))
        check_error(check, RULE_BROKEN_PRESENCE, AT_MEMBER(path, "key"), "missing: it must be a string");
    check_format(check, field, path);
}

static const struct node *fields_of(const struct check *check, const struct node *schema) {
    const struct node *fields = check_member(check, schema, check->is_gecko ? "data" : "fields");
    return node_is(fields, NODE_LIST) ? fields : NULL;
}

static const struct node *find_field(const struct check *check, const struct node *fields, struct text key) {
    for (size_t i = 0; fields && i < fields->count; i++)
        if (node_is_text(check_member(check, &fields->nodes[i], "key"), key)) return &fields->nodes[i];
    return NULL;
}

static void check_label(struct check *check, const struct node *schema, const char *name,
                        const struct node_path *path) {
    const struct node *label = check_member(check, schema, name);
    if (!node_is(label, NODE_TEXT)) return;
    struct text rest = node_text(label), part;
    while (marker_label_find_fault(&rest, &part))
        check_error(check, RULE_BROKEN_SCHEMA, AT_MEMBER(path, name), "{%.*s} is not something that a label can show",
                    (int)(part.bytes_count < 100 ? part.bytes_count : 100), part.bytes);
}

void check_schema(struct check *check, const struct node *schema, const struct node_path *path) {
    static const char *const labels[] = {"chartLabel", "tooltipLabel", "tableLabel"};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) check_label(check, schema, labels[i], path);
    const char *other_name = check->is_gecko ? "fields" : "data";
    if (check_member(check, schema, other_name))
        check_error(check, RULE_BROKEN_SCHEMA, AT_MEMBER(path, other_name), "is the member for fields in %s profiles",
                    check->is_gecko ? "processed" : "Gecko");
    const struct node *color_field = check_member(check, schema, "colorField");
    if (node_is(color_field, NODE_TEXT) && !find_field(check, fields_of(check, schema), node_text(color_field)))
        check_warning(check, RULE_BROKEN_SCHEMA, AT_MEMBER(path, "colorField"), "%s is not a field of the schema",
                      SHOWN(color_field));
}

void check_markers_learn(struct check *check, const struct node *schemas, const struct node_path *path,
                         bool is_first_list) {
    for (size_t i = 0; node_is(schemas, NODE_LIST) && i < schemas->count; i++) {
        const struct node *schema = &schemas->nodes[i];
        const struct node *name = check_member(check, schema, "name");
        if (!node_is(name, NODE_TEXT)) continue;
        string_id id = strings_intern(&check->schema_names, node_text(name));
        if (string_is_none(id)) return;
        if (id.index < check->schemas.count) {
            if (is_first_list)
                check_error(check, RULE_BROKEN_UNIQUENESS, AT_MEMBER(AT_ELEMENT(path, i), "name"),
                            "%s is also the name of an earlier schema", SHOWN(name));
            continue;
        }
        struct marker_schema_view *view = column_push(&check->schemas);
        if (!view) return;
        const struct node *graphs = check_member(check, schema, "graphs");
        const struct node *label = check_member(check, schema, "tableLabel");
        *view = (struct marker_schema_view){.fields = fields_of(check, schema),
                                            .graphs = node_is(graphs, NODE_LIST) ? graphs : NULL,
                                            .has_table_label = node_is(label, NODE_TEXT) && label->count};
    }
}

/* Returns NULL if no schema has that name. */
static const struct marker_schema_view *schema_of(struct check *check, const struct node *type) {
    string_id id = strings_intern(&check->schema_names, node_text(type));
    if (string_is_none(id) || id.index >= check->schemas.count) return NULL;
    return column_at(&check->schemas, id.index);
}

/* ---- Payloads for which the front-end has code of its own. ---- */

static const char *const collection_states[] = {"completed", "aborted", NULL};
static const struct member collection_members[] = {MEMBER("status", TYPE_CHOICE, 0, .choices = collection_states)};
static const struct shape collection_shape = SHAPE(collection_members);

static enum value_type reserved_value_type(const struct reserved_member *member) {
    switch (member->kinds) {
        case RESERVED_TEXT: return member->choices ? TYPE_CHOICE : TYPE_TEXT;
        case RESERVED_STRING: return TYPE_INDEX;
        case RESERVED_TEXT | RESERVED_STRING: return TYPE_TEXT_OR_INDEX;
        case RESERVED_NUMBER: return TYPE_NUMBER;
        case RESERVED_TEXT | RESERVED_NUMBER: return TYPE_TID;
        case RESERVED_OTHER: return TYPE_OBJECT;
        default: return TYPE_ANY;
    }
}

static struct member describe_reserved(const struct reserved_type *type, const struct reserved_member *member) {
    bool is_major = member->kinds == RESERVED_OTHER && text_equal(type->name, TEXT("GCMajor"));
    return (struct member){
        .name = member->key,
        .type = reserved_value_type(member),
        .flags = (member->is_needed ? 0 : IS_OPTIONAL | IS_NULLABLE) | (type->is_lenient ? IS_LENIENT : 0),
        .table = member->kinds & RESERVED_STRING ? TABLE_STRINGS : TABLE_NONE,
        .choices = member->choices,
        .shape = is_major ? &collection_shape : NULL};
}

static bool has_members(const struct check *check, const struct reserved_member *members, const struct node *payload) {
    for (; members->key; members++) {
        const struct node *node = check_member(check, payload, members->key);
        bool is_good = (node_is(node, NODE_TEXT) && members->kinds & RESERVED_TEXT) ||
                       (node_is(node, NODE_NUMBER) && members->kinds & (RESERVED_STRING | RESERVED_NUMBER));
        if (!is_good && (node || members->is_needed)) return false;
    }
    return true;
}

/* Returns true for members that payloads may have in addition to their fields. */
static bool is_common_key(struct text key) {
    static const struct text keys[] = {TEXT("type"), TEXT("cause"), TEXT("stack"), TEXT("innerWindowID"),
                                       TEXT("category")};
    return TEXT_IS_IN(key, keys);
}

static void check_bare(struct check *check, const struct node *payload, const struct node_path *path) {
    for (size_t i = 0; i < payload->count; i++) {
        struct text key;
        document_member_at(check->document, payload, i, &key);
        struct node_path member = {.parent = path, .key = key};
        if (!is_common_key(key))
            check_warning(check, RULE_BROKEN_SCHEMA, &member,
                          "is not shown: the front-end has a schema of its own for the type");
    }
}

static void check_reserved(struct check *check, const struct reserved_type *type, const struct node *payload,
                           const struct node_path *path) {
    if (type->is_fatal)
        check_error(check, RULE_BROKEN_SCHEMA, AT_MEMBER(path, "type"), "is a name that makes the front-end fail");
    if (type->is_bare) check_bare(check, payload, path);
    if (!type->members) return;
    if (type->others) {
        if (!has_members(check, type->members, payload) && !has_members(check, type->others, payload))
            check_error(check, RULE_BROKEN_SCHEMA, path, "%s", type->says);
        return;
    }
    for (const struct reserved_member *member = type->members; member->key; member++) {
        struct member described = describe_reserved(type, member);
        const struct shape shape = {.members = &described, .member_count = 1};
        check_shape(check, &shape, payload, path);
    }
}

/* Returns true for types whose members need no fields in a schema, although the front-end has no code for them. */
static bool needs_no_schema(struct text type) {
    static const struct text types[] = {
        TEXT("DOMEvent"),     TEXT("gpu_timer_query"),      TEXT("MediaSample"),    TEXT("Url"),
        TEXT("HostResolver"), TEXT("VisualMetricProgress"), TEXT("VsyncTimestamp"), TEXT("MainThreadLongTask")};
    return TEXT_IS_IN(type, types);
}

/* ---- Payloads. ---- */

static void check_processed_cause(struct check *check, const struct node *payload, const struct node_path *path) {
    const struct node *cause = check_member(check, payload, "cause"), *stack = check_member(check, payload, "stack");
    if (node_is(cause, NODE_OBJECT))
        check_shape(check, &processed_cause_shape, cause, AT_MEMBER(path, "cause"));
    else if (cause && !node_is(cause, NODE_NULL))
        check_error(check, RULE_BROKEN_TYPE, AT_MEMBER(path, "cause"), "%s must be an object", SHOWN(cause));
    if (check_member(check, stack, "samples"))
        check_error(check, RULE_BROKEN_CONSISTENCY, AT_MEMBER(path, "stack"),
                    "is where Gecko profiles have stacks: use cause");
    else if (node_is(stack, NODE_NUMBER))
        check_warning(check, RULE_BROKEN_CONSISTENCY, AT_MEMBER(path, "stack"),
                      "the front-end does not read it: use cause");
}

static void check_gecko_cause(struct check *check, const struct node *payload, const struct node_path *path) {
    const struct node *stack = check_member(check, payload, "stack");
    if (check_member(check, payload, "cause"))
        check_error(check, RULE_BROKEN_CONSISTENCY, AT_MEMBER(path, "cause"),
                    "is where processed profiles have stacks: use stack");
    const struct node *samples = check_member(check, stack, "samples");
    if (samples && !node_is(samples, NODE_NULL))
        check_shape(check, &gecko_backtrace_shape, stack, AT_MEMBER(path, "stack"));
    else if (node_is(stack, NODE_NUMBER))
        check_warning(check, RULE_BROKEN_CONSISTENCY, AT_MEMBER(path, "stack"),
                      "is not a stack: a stack has samples with data");
}

static bool is_graph_key(const struct check *check, const struct marker_schema_view *schema, struct text key) {
    for (size_t i = 0; schema->graphs && i < schema->graphs->count; i++)
        if (node_is_text(check_member(check, &schema->graphs->nodes[i], "key"), key)) return true;
    return false;
}

static void check_payload_member(struct check *check, const struct marker_schema_view *schema, struct text key,
                                 const struct node *value, bool is_built_in, const struct node_path *path) {
    const struct node *field = find_field(check, schema->fields, key);
    bool is_graph = is_graph_key(check, schema, key);
    if (is_graph && !is_finite_number(value))
        check_error(check, RULE_BROKEN_SCHEMA, path, "%s: a graph shows it, so it must be a finite number",
                    SHOWN(value));
    else if (field)
        check_formatted(check, check_member(check, field, "format"), value, path);
    else if (!is_graph && !is_built_in && !is_common_key(key))
        check_warning(check, RULE_BROKEN_SCHEMA, path, "the schema has no such field: it is not shown");
}

static void check_payload(struct check *check, const struct node *payload, const struct node_path *path) {
    const struct node *type = check_member(check, payload, "type");
    if (!node_is(type, NODE_TEXT) || !type->count) {
        check_warning(check, RULE_BROKEN_SCHEMA, AT_MEMBER(path, "type"),
                      "%s must be the name of a schema in the profile", SHOWN(type));
        return;
    }
    const struct marker_schema_view *schema = schema_of(check, type);
    const struct reserved_type *reserved = reserved_type_find(node_text(type));
    bool is_built_in = reserved || needs_no_schema(node_text(type));
    bool has_label = schema && schema->has_table_label;
    if (reserved && !(reserved->is_label_enough && has_label)) check_reserved(check, reserved, payload, path);
    if (!schema) {
        if (!is_built_in)
            check_warning(check, RULE_BROKEN_SCHEMA, AT_MEMBER(path, "type"),
                          "%s is not the name of a schema: no field is shown", SHOWN(type));
        return;
    }
    for (size_t i = 0; i < payload->count; i++) {
        struct text key;
        const struct node *value = document_member_at(check->document, payload, i, &key);
        struct node_path member = {.parent = path, .key = key};
        check_payload_member(check, schema, key, value, is_built_in, &member);
    }
}

/* ---- Times. ---- */

enum { PHASE_INSTANT, PHASE_INTERVAL, PHASE_START, PHASE_END, PHASE_COUNT };

struct marker_columns {
    struct column_view name, start, end, phase, data;
    size_t count; /* rows that all columns have */
};

static bool find_columns(const struct check *check, const struct node *table, struct marker_columns *columns) {
    static const char *const names[] = {"name", "startTime", "endTime", "phase", "data"};
    struct column_view *const views[] = {&columns->name, &columns->start, &columns->end, &columns->phase,
                                         &columns->data};
    columns->count = SIZE_MAX;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        *views[i] = check_column(check, table, names[i]);
        if (!views[i]->table) return false;
        if (views[i]->count < columns->count) columns->count = views[i]->count;
    }
    return true;
}

/* A marker far from all others makes the timeline so long that nothing else can be seen. */
static void check_distance(struct check *check, const struct column_view *view, size_t row,
                           const struct node_path *table) {
    static const double TIME_MAX_MS = 100 * 365.25 * 24 * 3600 * 1000;
    const struct node *time = column_view_at(view, row);
    if (is_finite_number(time) && fabs(time->number) > TIME_MAX_MS)
        check_error(check, RULE_BROKEN_VALUE, AT_CELL(view, row, table),
                    "%s must be a time in milliseconds, less than 100 years from the start", SHOWN(time));
}

static void check_times(struct check *check, const struct marker_columns *columns, size_t row,
                        const struct node_path *table) {
    const struct node *start = column_view_at(&columns->start, row), *end = column_view_at(&columns->end, row);
    check_distance(check, &columns->start, row, table);
    check_distance(check, &columns->end, row, table);
    const struct node *phase = column_view_at(&columns->phase, row);
    static const char *const names[] = {"an instant", "an interval", "the start of an interval",
                                        "the end of an interval"};
    if (!node_is_index(phase, PHASE_COUNT)) {
        check_error(check, RULE_BROKEN_VALUE, AT_CELL(&columns->phase, row, table), "%s must be a phase, 0 to 3",
                    SHOWN(phase));
        return;
    }
    size_t number = (size_t)phase->number;
    if (number != PHASE_END && !is_finite_number(start))
        check_error(check, RULE_BROKEN_CONSISTENCY, AT_CELL(&columns->start, row, table),
                    "%s: %s must have a start time", SHOWN(start), names[number]);
    bool needs_end = number == PHASE_INTERVAL || number == PHASE_END;
    if (needs_end && !is_finite_number(end))
        check_error(check, RULE_BROKEN_CONSISTENCY, AT_CELL(&columns->end, row, table), "%s: %s must have an end time",
                    SHOWN(end), names[number]);
    if (number == PHASE_INTERVAL && is_finite_number(start) && is_finite_number(end) && end->number < start->number)
        check_error(check, RULE_BROKEN_ORDER, AT_CELL(&columns->end, row, table),
                    "%s: it must not end before its start at %s", SHOWN(end), SHOWN(start));
}

/* ---- Pairs of start and end. ---- */

/* Pairs the starts and ends of intervals that have the same name. Values are row numbers or ROW_NONE. */
struct pairing {
    uint32_t *open;      /* by name: the innermost open start */
    uint32_t *unmatched; /* by name: the last end without a start */
    uint32_t *outer;     /* by row: the next outer start that is open */
    uint32_t *order;     /* row numbers in the order in which the front-end reads them */
};
enum { ROW_NONE = UINT32_MAX };

static double sort_time(const struct marker_columns *columns, uint32_t row) {
    const struct node *end = column_view_at(&columns->end, row), *start = column_view_at(&columns->start, row);
    if (is_finite_number(end) && end->number != 0) return end->number;
    return is_finite_number(start) ? start->number : 0;
}

static int compare_times(const void *left, const void *right, void *context) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    double time_a = sort_time(context, a), time_b = sort_time(context, b);
    return ORDER(time_a, time_b) ?: ORDER(a, b);
}

static void report_pair(struct check *check, const struct marker_columns *columns, uint32_t end_row, uint32_t start_row,
                        const struct node_path *table, const char *relation) {
    check_error(check, RULE_BROKEN_ORDER, AT_CELL(&columns->end, end_row, table),
                "the end at %s %s the start at %s (row %u)", SHOWN(column_view_at(&columns->end, end_row)), relation,
                SHOWN(column_view_at(&columns->start, start_row)), start_row);
}

static void pair_row(struct check *check, const struct marker_columns *columns, struct pairing *pairing, uint32_t row,
                     uint64_t name_count, const struct node_path *table) {
    const struct node *name = column_view_at(&columns->name, row), *phase = column_view_at(&columns->phase, row);
    if (!node_is_index(name, name_count) || !node_is_index(phase, PHASE_COUNT)) return;
    size_t at = (size_t)name->number;
    if (phase->number == PHASE_START) {
        pairing->outer[row] = pairing->open[at];
        pairing->open[at] = row;
    } else if (phase->number == PHASE_END && pairing->open[at] == ROW_NONE) {
        pairing->unmatched[at] = row;
    } else if (phase->number == PHASE_END) {
        uint32_t start_row = pairing->open[at];
        pairing->open[at] = pairing->outer[start_row];
        const struct node *start = column_view_at(&columns->start, start_row),
                          *end = column_view_at(&columns->end, row);
        if (is_finite_number(start) && is_finite_number(end) && start->number > end->number)
            report_pair(check, columns, row, start_row, table, "is before");
    }
}

static void report_late_starts(struct check *check, const struct marker_columns *columns, const struct pairing *pairing,
                               uint64_t name_count, const struct node_path *table) {
    for (size_t at = 0; at < name_count; at++) {
        if (pairing->unmatched[at] == ROW_NONE) continue;
        const struct node *end = column_view_at(&columns->end, pairing->unmatched[at]);
        for (uint32_t row = pairing->open[at]; row != ROW_NONE; row = pairing->outer[row]) {
            const struct node *start = column_view_at(&columns->start, row);
            if (!is_finite_number(end) || !is_finite_number(start) || start->number > end->number) continue;
            report_pair(check, columns, pairing->unmatched[at], row, table, "is listed before");
            break;
        }
    }
}

static void check_pairs(struct check *check, const struct marker_columns *columns, const struct node_path *table) {
    if (!check->is_known[TABLE_STRINGS] || columns->count >= ROW_NONE) return;
    size_t name_count = (size_t)check->row_counts[TABLE_STRINGS];
    size_t row_count = columns->count;
    uint32_t *memory = memory_allocate(check->document->failure, 2 * (name_count + row_count) * sizeof *memory);
    if (!memory) return;
    struct pairing pairing = {memory, memory + name_count, memory + 2 * name_count,
                              memory + 2 * name_count + row_count};
    memset(memory, 0xff, 2 * name_count * sizeof *memory);
    for (uint32_t row = 0; row < row_count; row++) pairing.order[row] = row;
    /* The front-end sorts the markers of Gecko profiles and keeps the order of processed ones. */
    struct marker_columns context = *columns;
    if (check->is_gecko) qsort_r(pairing.order, row_count, sizeof *pairing.order, compare_times, &context);
    for (size_t i = 0; i < row_count; i++) pair_row(check, columns, &pairing, pairing.order[i], name_count, table);
    report_late_starts(check, columns, &pairing, name_count, table);
    memory_free(memory);
}

/* ---- Tables. ---- */

/* Checks the times by which the front-end sorts Gecko markers when it loads them: the end or, without one, the start.
 */
static void check_sortable(struct check *check, const struct marker_columns *columns, size_t row,
                           const struct node_path *table) {
    const struct node *start = column_view_at(&columns->start, row), *end = column_view_at(&columns->end, row);
    bool has_end = node_is(end, NODE_NUMBER) && end->number != 0;
    if (!has_end && node_is(start, NODE_NULL))
        check_error(check, RULE_BROKEN_CONSISTENCY, AT_CELL(&columns->start, row, table),
                    "a marker must have a start, or an end other than 0: otherwise the profile fails to load");
}

static const struct reserved_type *reserved_type_of(const struct check *check, const struct node *data) {
    const struct node *type = check_member(check, data, "type");
    return node_is(type, NODE_TEXT) ? reserved_type_find(node_text(type)) : NULL;
}

static void check_reserved_phase(struct check *check, const struct marker_columns *columns, size_t row,
                                 const struct reserved_type *type, const struct node_path *table) {
    const struct node *phase = column_view_at(&columns->phase, row);
    if (!type || !type->phases || !node_is_index(phase, PHASE_COUNT) || type->phases & 1u << (unsigned)phase->number)
        return;
    const char *message = type->phases & 1u << PHASE_START ? "must have a start" : "must be an interval";
    check_error(check, RULE_BROKEN_CONSISTENCY, AT_CELL(&columns->phase, row, table), "%s: markers of the type %.*s %s",
                SHOWN(phase), TEXT_ARGS(type->name), message);
}

static void check_name(struct check *check, const struct marker_columns *columns, size_t row,
                       const struct reserved_type *type, const struct node_path *table) {
    const struct node *name = column_view_at(&columns->name, row);
    if (!node_is(check->texts, NODE_LIST) || !node_is_index(name, check->texts->count)) return;
    const struct node *text = &check->texts->nodes[(size_t)name->number];
    if (!node_is(text, NODE_TEXT) || !reserved_marker_name(node_text(text), type)) return;
    check_error(check, RULE_BROKEN_SCHEMA, AT_CELL(&columns->name, row, table),
                "%s is a name that makes the front-end fail", SHOWN(text));
}

static void check_row(struct check *check, const struct marker_columns *columns, size_t row,
                      const struct node_path *table) {
    const struct reserved_type *type = reserved_type_of(check, column_view_at(&columns->data, row));
    check_times(check, columns, row, table);
    check_reserved_phase(check, columns, row, type, table);
    check_name(check, columns, row, type, table);
    if (check->is_gecko) check_sortable(check, columns, row, table);
    const struct node *data = column_view_at(&columns->data, row);
    if (!node_is(data, NODE_OBJECT)) return;
    const struct node_path *path = AT_CELL(&columns->data, row, table);
    if (check->is_gecko)
        check_gecko_cause(check, data, path);
    else
        check_processed_cause(check, data, path);
    check_payload(check, data, path);
}

void check_markers(struct check *check, const struct node *table, const struct node_path *path) {
    struct marker_columns columns;
    if (!find_columns(check, table, &columns)) return;
    for (size_t row = 0; row < columns.count && !failure_is_set(check->document->failure); row++)
        check_row(check, &columns, row, path);
    if (!failure_is_set(check->document->failure)) check_pairs(check, &columns, path);
}
