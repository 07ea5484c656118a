#include "perf_text_payload.h"

#include "libconvert/base/cursor.h"
#include "libconvert/base/memory.h"
#include "perf_tracing.h"

/* The type of a field, which all its values have in common. */
enum value_type { TYPE_UNKNOWN, TYPE_INTEGER, TYPE_HEXADECIMAL, TYPE_NANOSECONDS, TYPE_TEXT, TYPE_COUNT };

struct text_field {
    struct text key;
    uint32_t number; /* which of the fields of that key in a payload, from 1 */
    enum value_type type;
    bool is_set; /* the payload that is being read has it */
};

/* Limit for fields; no tracepoint has as many. */
enum { FIELDS_MAX = 128 };

void perf_text_fields_init(struct perf_text_fields *fields, struct profile *profile) {
    *fields = (struct perf_text_fields){.profile = profile, .schema = MARKER_SCHEMA_NONE};
    column_init(&fields->rows, sizeof(struct text_field), profile->failure);
}

void perf_text_fields_fini(struct perf_text_fields *fields) {
    column_fini(&fields->rows);
    memory_free(fields->values);
}

/* ---- Pairs of keys and values. ---- */

static bool is_key_start(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

static bool is_key_byte(char byte) { return is_key_start(byte) || cursor_is_digit(byte) || byte == '.' || byte == '-'; }

static size_t skip_blanks(struct text text, size_t at) {
    while (at < text.bytes_count && text_is_blank_byte(text.bytes[at])) at++;
    return at;
}

/* Returns where the value begins if the separator of keys is at that place; 0 if it is not. "==>" is an arrow. */
static size_t value_after(struct text text, size_t at, char separator) {
    size_t sign = separator == '=' ? skip_blanks(text, at) : at;
    struct text rest = text_from(text, sign);
    if (!rest.bytes_count || rest.bytes[0] != separator || text_starts_with(rest, TEXT("=="))) return 0;
    bool is_followed = rest.bytes_count > 1 && !text_is_blank_byte(rest.bytes[1]);
    return separator == ':' && is_followed ? 0 : skip_blanks(text, sign + 1);
}

/* A key, and where its value begins. */
struct key {
    size_t start;
    size_t end;
    size_t value;
};

/* Returns how many bytes the text in quotes at the start takes, with both quotes; 1 if no quote ends it. */
static size_t quoted_bytes(struct text text) {
    const char *end = memchr(text.bytes + 1, '"', text.bytes_count - 1);
    return end ? (size_t)(end - text.bytes) + 1 : 1;
}

/* Finds the first key from that place on, outside of quotes and braces. */
static bool find_key(struct text text, size_t at, char separator, struct key *key) {
    size_t depth = 0;
    bool is_start = true;
    while (at < text.bytes_count) {
        char byte = text.bytes[at];
        size_t end = at + 1;
        if (byte == '"') end = at + quoted_bytes(text_from(text, at));
        while (is_key_byte(byte) && end < text.bytes_count && is_key_byte(text.bytes[end])) end++;
        size_t value = is_start && !depth && is_key_start(byte) ? value_after(text, end, separator) : 0;
        if (value) {
            *key = (struct key){at, end, value};
            return true;
        }
        depth += byte == '{';
        depth -= depth && byte == '}';
        is_start = text_is_blank_byte(byte) || byte == ',' || byte == '(' || byte == '[';
        at = end;
    }
    return false;
}

/* Returns the value without what separates it from the next key. */
static struct text trim_value(struct text value) {
    for (;;) {
        value = text_trim(value);
        if (text_ends_with(value, TEXT(",")) || text_ends_with(value, TEXT(";")))
            value = text_slice(value, 0, value.bytes_count - 1);
        else if (text_ends_with(value, TEXT("==>")))
            value = text_slice(value, 0, value.bytes_count - 3);
        else
            return value;
    }
}

/* Reads the pairs of a payload one after the other. What comes before the first key is the value of "fields". */
struct pairs {
    struct text payload;
    struct key next;
    char separator;
    bool has_next;
    bool is_begun;
};

static struct pairs pairs_of(const struct perf_text_fields *fields, struct text payload) {
    struct pairs pairs = {.payload = payload, .separator = fields->separator};
    pairs.has_next = pairs.separator && find_key(payload, 0, pairs.separator, &pairs.next);
    return pairs;
}

static bool take_pair(struct pairs *pairs, struct text *key, struct text *value) {
    struct text payload = pairs->payload;
    if (!pairs->is_begun) {
        pairs->is_begun = true;
        *key = TEXT("fields");
        *value = trim_value(text_slice(payload, 0, pairs->has_next ? pairs->next.start : payload.bytes_count));
        if (value->bytes_count) return true;
    }
    if (!pairs->has_next) return false;
    struct key taken = pairs->next;
    pairs->has_next = find_key(payload, taken.value, pairs->separator, &pairs->next);
    *key = text_slice(payload, taken.start, taken.end);
    *value = trim_value(text_slice(payload, taken.value, pairs->has_next ? pairs->next.start : payload.bytes_count));
    return true;
}

/* ---- Values. ---- */

static const enum marker_format formats[TYPE_COUNT] = {
    [TYPE_UNKNOWN] = MARKER_UNIQUE_STRING,   [TYPE_INTEGER] = MARKER_INTEGER,
    [TYPE_HEXADECIMAL] = MARKER_HEXADECIMAL, [TYPE_NANOSECONDS] = MARKER_NANOSECONDS,
    [TYPE_TEXT] = MARKER_UNIQUE_STRING,
};

static bool parse_integer(struct text text, int64_t *value) {
    enum { DIGITS_MAX = 18 };
    bool is_negative = cursor_take(&text, TEXT("-"));
    uint64_t number = 0;
    if (!text.bytes_count || text.bytes_count > DIGITS_MAX) return false;
    for (size_t i = 0; i < text.bytes_count; i++) {
        if (!cursor_is_digit(text.bytes[i])) return false;
        number = number * 10 + (uint64_t)(text.bytes[i] - '0');
    }
    *value = is_negative ? -(int64_t)number : (int64_t)number;
    return true;
}

/* Parses "0x1f", and 16 digits that begin with "ffff" or "0000": the kernel prints addresses so. */
static bool parse_hexadecimal(struct text text, int64_t *value) {
    enum { DIGITS_MAX = 16 };
    bool is_marked = cursor_take(&text, TEXT("0x"));
    uint64_t number = 0;
    if (!text.bytes_count || text.bytes_count > DIGITS_MAX) return false;
    bool is_address = text.bytes_count == DIGITS_MAX &&
                      (text_starts_with(text, TEXT("ffff")) || text_starts_with(text, TEXT("0000")));
    if (!is_marked && !is_address) return false;
    for (size_t i = 0; i < text.bytes_count; i++) {
        char byte = text.bytes[i];
        bool is_letter = byte >= 'a' && byte <= 'f';
        if (!cursor_is_digit(byte) && !is_letter) return false;
        number = number << 4 | (uint64_t)(is_letter ? byte - 'a' + 10 : byte - '0');
    }
    *value = (int64_t)number;
    return true;
}

static enum value_type parse_value(struct text text, int64_t *value) {
    static const struct text unit = TEXT(" [ns]");
    if (parse_hexadecimal(text, value)) return TYPE_HEXADECIMAL;
    if (parse_integer(text, value)) return TYPE_INTEGER;
    bool is_time =
        text_ends_with(text, unit) && parse_integer(text_slice(text, 0, text.bytes_count - unit.bytes_count), value);
    return is_time ? TYPE_NANOSECONDS : TYPE_TEXT;
}

static union marker_value value_of(struct profile *profile, enum value_type type, struct text text) {
    int64_t number = 0;
    if (marker_format_kind(formats[type]) == VALUE_STRING)
        return (union marker_value){.string = profile_string(profile, text)};
    return parse_value(text, &number) == type ? marker_value_integer(number) : marker_value_absent(VALUE_NUMBER);
}

/* ---- Fields. ---- */

/* Returns the row of the next field of that key that the payload does not have yet; ID_NONE: there is none. Payloads
 * have their fields in one order, so it is usually the one behind the last. */
static uint32_t find_field(const struct perf_text_fields *fields, struct text key, uint32_t behind, uint32_t *number) {
    uint32_t count = (uint32_t)fields->rows.count;
    *number = 1;
    if (behind < count) {
        const struct text_field *field = column_at(&fields->rows, behind);
        if (!field->is_set && field->number == 1 && text_equal(field->key, key)) return behind;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct text_field *field = column_at(&fields->rows, i);
        if (!text_equal(field->key, key)) continue;
        if (!field->is_set) return i;
        *number = field->number + 1;
    }
    return ID_NONE;
}

static void begin_payload(struct perf_text_fields *fields) {
    for (size_t i = 0; i < fields->rows.count; i++) ((struct text_field *)column_at(&fields->rows, i))->is_set = false;
}

/* The separator is that of the first key of the first payload that has any. */
static void learn_separator(struct perf_text_fields *fields, struct text payload) {
    struct key equals, colon;
    bool has_equals = find_key(payload, 0, '=', &equals), has_colon = find_key(payload, 0, ':', &colon);
    if (has_equals && (!has_colon || equals.start < colon.start))
        fields->separator = '=';
    else if (has_colon)
        fields->separator = ':';
}

void perf_text_fields_learn(struct perf_text_fields *fields, struct text payload) {
    struct text key, value;
    uint32_t row = ID_NONE;
    if (!fields->separator) learn_separator(fields, payload);
    struct pairs pairs = pairs_of(fields, payload);
    begin_payload(fields);
    while (take_pair(&pairs, &key, &value)) {
        uint32_t number;
        int64_t parsed;
        row = find_field(fields, key, row + 1, &number);
        if (row == ID_NONE && fields->rows.count < FIELDS_MAX) {
            struct text_field *added = column_push(&fields->rows);
            if (!added) return;
            *added = (struct text_field){.key = profile_text(fields->profile, key), .number = number};
            row = (uint32_t)fields->rows.count - 1;
        }
        if (row == ID_NONE) continue;
        struct text_field *field = column_at(&fields->rows, row);
        enum value_type type = parse_value(value, &parsed);
        field->type = field->type == TYPE_UNKNOWN || field->type == type ? type : TYPE_TEXT;
        field->is_set = true;
    }
}

static void make_schema(struct perf_text_fields *fields, struct text name) {
    struct profile *profile = fields->profile;
    struct marker_field rows[FIELDS_MAX];
    uint32_t count = (uint32_t)fields->rows.count;
    for (uint32_t i = 0; i < count; i++) {
        const struct text_field *field = column_at(&fields->rows, i);
        struct text key = field->number == 1 ? field->key
                                             : profile_text_format(profile, "%.*s %u", (int)field->key.bytes_count,
                                                                   field->key.bytes, (unsigned)field->number);
        rows[i] = (struct marker_field){.key = key, .label = key, .format = formats[field->type]};
    }
    struct marker_schema schema = {
        .name = profile_text(profile, name),
        .description = TEXT("A kernel tracepoint that was hit."),
        .table_label = perf_tracing_label(profile, rows, count),
        .fields = rows,
        .field_count = count,
    };
    fields->schema = profile_marker_schema(profile, &schema);
}

uint16_t perf_text_fields_values(struct perf_text_fields *fields, struct text name, struct text payload,
                                 const union marker_value **values, uint64_t *lost_count) {
    struct text key, value;
    uint32_t row = ID_NONE, number;
    *lost_count = 0;
    if (fields->schema == MARKER_SCHEMA_NONE) make_schema(fields, name);
    if (!fields->values)
        fields->values = memory_allocate(fields->profile->failure, FIELDS_MAX * sizeof *fields->values);
    if (!fields->values) return MARKER_SCHEMA_NONE;
    for (uint32_t i = 0; i < fields->rows.count; i++) {
        const struct text_field *field = column_at(&fields->rows, i);
        fields->values[i] = marker_value_absent(marker_format_kind(formats[field->type]));
    }
    struct pairs pairs = pairs_of(fields, payload);
    begin_payload(fields);
    while (take_pair(&pairs, &key, &value)) {
        row = find_field(fields, key, row + 1, &number);
        *lost_count += row == ID_NONE;
        if (row == ID_NONE) continue;
        struct text_field *field = column_at(&fields->rows, row);
        field->is_set = true;
        fields->values[row] = value_of(fields->profile, field->type, value);
    }
    *values = fields->values;
    return fields->schema;
}
