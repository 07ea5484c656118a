/* Payloads of markers. Converts the values of a trace to values of their schema's fields. */
#include <inttypes.h>

#include "trace_reader_internal.h"

/* A value as it was read, of any wire type. */
struct wire_value {
    enum trace_wire wire;
    int64_t integer;       /* for INTEGER, and for TIME: ticks since the start of the trace */
    uint64_t unsigned_one; /* for UNSIGNED */
    double real;           /* for REAL */
    struct text text;      /* for TEXT and STRING; bytes is NULL for a string that is not defined */
};

struct payload_reading {
    struct trace_reader *trace;
    struct trace_cursor *cursor;
    string_id marker;                 /* its name */
    const struct marker_field *field; /* the one being read */
    int64_t time_ticks;
    bool *is_open;
};

/* Counts a value that the field cannot have. */
static void count_misfit(const struct payload_reading *reading) {
    trace_ledger_defer_misfit(&reading->trace->ledger, reading->marker, reading->field->key);
}

static int64_t read_time(const struct payload_reading *reading) {
    int64_t before = trace_cursor_zigzag(reading->cursor), ticks;
    if (before == INT64_MIN || !trace_clock_sum(&reading->trace->clock, reading->time_ticks, -before, &ticks)) {
        trace_cursor_spoil(reading->cursor);
        return 0;
    }
    return ticks;
}

/* Reads any value except texts and tables. */
static struct wire_value read_scalar(const struct payload_reading *reading, enum trace_wire wire) {
    struct trace_cursor *cursor = reading->cursor;
    struct wire_value value = {.wire = wire};
    switch (wire) {
        case TRACE_WIRE_INTEGER: value.integer = trace_cursor_zigzag(cursor); break;
        case TRACE_WIRE_UNSIGNED: value.unsigned_one = trace_cursor_leb(cursor); break;
        case TRACE_WIRE_REAL: value.real = trace_cursor_real(cursor); break;
        case TRACE_WIRE_TEXT: value.text = trace_cursor_text(cursor); break;
        case TRACE_WIRE_STRING:
            value.text =
                trace_definitions_string(&reading->trace->definitions, trace_cursor_leb(cursor), reading->is_open);
            break;
        case TRACE_WIRE_TIME: value.integer = read_time(reading); break;
        default: break;
    }
    return value;
}

/* ---- Conversion to the types of fields: each function returns an absent value if it cannot convert. ---- */

static union marker_value as_text(struct profile *profile, const struct wire_value *value) {
    union marker_value text = marker_value_absent(VALUE_TEXT);
    if (value->wire == TRACE_WIRE_TEXT || value->wire == TRACE_WIRE_STRING)
        text.text = value->text.bytes ? profile_text(profile, value->text) : value->text;
    if (value->wire == TRACE_WIRE_INTEGER) text.text = profile_text_format(profile, "%" PRId64, value->integer);
    if (value->wire == TRACE_WIRE_UNSIGNED) text.text = profile_text_format(profile, "%" PRIu64, value->unsigned_one);
    return text;
}

/* Converts to a string. The number of a flow becomes 16 hexadecimal digits, as in Gecko. */
static union marker_value as_string(struct profile *profile, enum marker_format format,
                                    const struct wire_value *value) {
    bool is_flow = format == MARKER_FLOW_ID || format == MARKER_TERMINATING_FLOW_ID;
    bool is_number = value->wire == TRACE_WIRE_UNSIGNED || value->wire == TRACE_WIRE_INTEGER;
    if (is_flow && is_number) {
        uint64_t flow = value->wire == TRACE_WIRE_UNSIGNED ? value->unsigned_one : (uint64_t)value->integer;
        return (union marker_value){.string = strings_intern_format(&profile->strings, "%016" PRIx64, flow)};
    }
    struct text text = as_text(profile, value).text;
    if (!text.bytes) return marker_value_absent(VALUE_STRING);
    return (union marker_value){.string = profile_string(profile, text)};
}

static union marker_value as_number(enum marker_format format, const struct wire_value *value) {
    /* Profiles store seconds as milliseconds. */
    int64_t factor = format == MARKER_SECONDS ? 1000 : 1, scaled;
    switch (value->wire) {
        case TRACE_WIRE_REAL: return marker_value_real(value->real * (double)factor);
        case TRACE_WIRE_INTEGER:
            if (__builtin_mul_overflow(value->integer, factor, &scaled))
                return marker_value_real((double)value->integer * (double)factor);
            return marker_value_integer(scaled);
        case TRACE_WIRE_UNSIGNED:
            /* A hexadecimal number keeps all 64 bits, as a signed value. */
            if (format == MARKER_HEXADECIMAL) return marker_value_integer((int64_t)value->unsigned_one);
            if (__builtin_mul_overflow(value->unsigned_one, factor, &scaled))
                return marker_value_real((double)value->unsigned_one * (double)factor);
            return marker_value_integer(scaled);
        default: return marker_value_absent(VALUE_NUMBER);
    }
}

static union marker_value as_duration(const struct wire_value *value) {
    static const double DURATION_MAX_NS = 0x1p62;
    if (value->wire == TRACE_WIRE_INTEGER) return (union marker_value){.duration_ns = value->integer};
    if (value->wire == TRACE_WIRE_UNSIGNED && value->unsigned_one <= INT64_MAX)
        return (union marker_value){.duration_ns = (int64_t)value->unsigned_one};
    bool is_real = value->wire == TRACE_WIRE_REAL && value->real < DURATION_MAX_NS && value->real > -DURATION_MAX_NS;
    return is_real ? (union marker_value){.duration_ns = (int64_t)value->real} : marker_value_absent(VALUE_DURATION);
}

static union marker_value as_time(const struct wire_value *value) {
    if (value->wire == TRACE_WIRE_TIME) return (union marker_value){.time_ticks = value->integer};
    return marker_value_absent(VALUE_TIME);
}

static union marker_value convert(const struct payload_reading *reading, enum marker_format format,
                                  const struct wire_value *value) {
    struct profile *profile = reading->trace->profile;
    enum marker_value_kind kind = marker_format_kind(format);
    union marker_value converted = marker_value_absent(kind);
    if (value->wire == TRACE_WIRE_ABSENT || reading->cursor->is_bad || *reading->is_open) return converted;
    if (value->wire == TRACE_WIRE_STRING && !value->text.bytes) {
        trace_ledger_defer(&reading->trace->ledger, TRACE_LOST_VALUE_TEXT);
        return converted;
    }
    if (kind == VALUE_TEXT) converted = as_text(profile, value);
    if (kind == VALUE_STRING) converted = as_string(profile, format, value);
    if (kind == VALUE_NUMBER) converted = as_number(format, value);
    if (kind == VALUE_DURATION) converted = as_duration(value);
    if (kind == VALUE_TIME) converted = as_time(value);
    if (marker_value_is_absent(kind, &converted)) count_misfit(reading);
    return converted;
}

/* ---- Lists and tables. ---- */

/* Moves the pushed cells to the profile and returns them. */
static union marker_value take_cells(struct trace_reader *trace, uint32_t count) {
    struct marker_cells cells = profile_marker_cells(trace->profile, NULL, 0);
    for (size_t i = 0, run_count; i < count; i += run_count) {
        const union marker_value *run = column_run(&trace->cells, i, &run_count);
        if (run_count > count - i) run_count = count - i;
        if (profile_marker_cells(trace->profile, run, (uint32_t)run_count).first == ID_NONE) break;
    }
    cells.count = count;
    return (union marker_value){.cells = cells};
}

/* Each item takes at least one byte. */
static uint64_t read_count(const struct payload_reading *reading) {
    return trace_cursor_bounded(reading->cursor, trace_cursor_left(reading->cursor));
}

static union marker_value read_texts(const struct payload_reading *reading, bool is_wanted) {
    struct trace_reader *trace = reading->trace;
    trace->cells.count = 0;
    uint64_t count = read_count(reading);
    for (uint64_t i = 0; i < count && !reading->cursor->is_bad; i++) {
        struct text text = trace_cursor_text(reading->cursor);
        if (is_wanted) column_add(&trace->cells, &(union marker_value){.text = profile_text(trace->profile, text)});
    }
    if (!is_wanted) count_misfit(reading);
    bool is_absent = !is_wanted || reading->cursor->is_bad || *reading->is_open;
    return is_absent ? marker_value_absent(VALUE_CELLS) : take_cells(trace, (uint32_t)trace->cells.count);
}

/* Reads a cell. A cell cannot be a list or a table. A nested list can be skipped; a nested table cannot, so it makes
 * the cursor bad. */
static union marker_value read_cell(const struct payload_reading *reading, enum marker_format format) {
    enum trace_wire wire = trace_cursor_byte(reading->cursor);
    if (wire == TRACE_WIRE_TABLE || wire >= TRACE_WIRE_COUNT) trace_cursor_spoil(reading->cursor);
    if (wire == TRACE_WIRE_TEXTS) {
        uint64_t count = read_count(reading);
        for (uint64_t i = 0; i < count && !reading->cursor->is_bad; i++) trace_cursor_text(reading->cursor);
        count_misfit(reading);
        wire = TRACE_WIRE_ABSENT;
    }
    struct wire_value value = read_scalar(reading, wire);
    return convert(reading, format, &value);
}

static union marker_value read_table(const struct payload_reading *reading) {
    struct trace_reader *trace = reading->trace;
    const struct marker_field *field = reading->field;
    bool is_wanted = field->format == MARKER_TABLE && field->column_count;
    trace->cells.count = 0;
    uint64_t count = read_count(reading);
    for (uint64_t i = 0; i < count && !reading->cursor->is_bad; i++) {
        enum marker_format format = is_wanted ? field->columns[i % field->column_count].format : MARKER_STRING;
        union marker_value cell = read_cell(reading, format);
        if (is_wanted) column_add(&trace->cells, &cell);
    }
    /* An incomplete last row is dropped. */
    uint32_t cell_count = (uint32_t)trace->cells.count;
    uint32_t rest_count = is_wanted ? cell_count % field->column_count : 0;
    if (!is_wanted || rest_count) count_misfit(reading);
    bool is_absent = !is_wanted || reading->cursor->is_bad || *reading->is_open;
    return is_absent ? marker_value_absent(VALUE_CELLS) : take_cells(trace, cell_count - rest_count);
}

/* Reads a value of a field. It is not inline, since most values do not need it. */
__attribute__((noinline)) static union marker_value read_value(const struct payload_reading *reading,
                                                               enum trace_wire wire) {
    const struct marker_field *field = reading->field;
    union marker_value cells = marker_value_absent(VALUE_CELLS);
    if (wire == TRACE_WIRE_TEXTS)
        cells = read_texts(reading, field->format == MARKER_LIST);
    else if (wire == TRACE_WIRE_TABLE)
        cells = read_table(reading);
    enum marker_value_kind kind = marker_format_kind(field->format);
    if (wire == TRACE_WIRE_TEXTS || wire == TRACE_WIRE_TABLE)
        return kind == VALUE_CELLS ? cells : marker_value_absent(kind);
    struct wire_value value = read_scalar(reading, wire);
    return convert(reading, field->format, &value);
}

void trace_payload_read(struct trace_reader *trace, struct trace_cursor *payload, const struct trace_marker *marker,
                        bool has_tags, int64_t time_ticks, union marker_value *values, bool *is_open) {
    const struct trace_marker_type *type = marker->type;
    struct payload_reading reading = {
        .trace = trace, .cursor = payload, .marker = marker->name, .time_ticks = time_ticks, .is_open = is_open};
    for (uint32_t i = 0; i < type->schema.field_count; i++) {
        const struct marker_field *field = reading.field = &type->schema.fields[i];
        enum trace_wire wire = TRACE_WIRE_ABSENT;
        if (trace_cursor_left(payload)) wire = has_tags ? trace_cursor_byte(payload) : type->wires[i];
        if (wire >= TRACE_WIRE_COUNT) {
            /* The length of such a value is unknown, so all values after it are lost too. */
            count_misfit(&reading);
            payload->next = payload->end;
            wire = TRACE_WIRE_ABSENT;
        }
        /* Most values are integers that are stored as they are. */
        bool is_plain =
            wire == TRACE_WIRE_INTEGER && (field->format == MARKER_INTEGER || field->format == MARKER_BYTES);
        values[i] = is_plain ? marker_value_integer(trace_cursor_zigzag(payload)) : read_value(&reading, wire);
    }
}
