/* Objects and tables, as the description of the format says: the inverse of writer/cells.c. */
#include <inttypes.h>
#include <stdio.h>

#include "libconvert/base/id_column.h"
#include "saved_reader.h"

enum { MS_DIGITS_OF_NS = 6, US_DIGITS_OF_NS = 3 };

/* ---- Losses. ---- */

void saved_lose(struct saved_reader *reader, struct text key, uint64_t count) {
    const struct json_stream *json = reader->json;
    char cause[160] = "value without a place here: ";
    if (!count) return;
    for (unsigned i = 0; i < json->name_count; i++) {
        size_t used = strlen(cause);
        snprintf(cause + used, sizeof cause - used, "%s.", json->names[i].name);
    }
    size_t used = strlen(cause);
    if (key.bytes_count)
        snprintf(cause + used, sizeof cause - used, "%.*s", (int)(key.bytes_count < 64 ? key.bytes_count : 64),
                 key.bytes);
    else
        cause[used - 1] = '\0';
    struct position position = json_stream_position(json);
    position.line = 0;
    ledger_account(&reader->profile->ledger, LEDGER_VALUES, LEDGER_LOST, text_of(cause), count, &position);
}

/* ---- Ids. ---- */

uint32_t saved_map_row(struct saved_reader *reader, enum format_table table, int64_t row) {
    const struct saved_map *map = &reader->maps[table];
    if (row >= 0 && row < saved_map_count(map)) return saved_map_at(map, (uint32_t)row);
    if (row == -1) json_stream_fail(reader->json, "there is null or -1 where the number of a row is expected");
    json_stream_fail(reader->json, "there is no row %" PRId64 ": the table has %" PRIu32, row, saved_map_count(map));
    return ID_NONE;
}

void saved_map_push(struct saved_reader *reader, enum format_table table, uint32_t id) {
    saved_map_add(&reader->maps[table], id);
}

/* ---- Values. ---- */

struct text saved_text(struct saved_reader *reader) {
    struct text text;
    if (json_take_null(reader->json) || !json_take_text(reader->json, &text)) return (struct text){0};
    return profile_text(reader->profile, text);
}

string_id saved_id_text(struct saved_reader *reader) {
    struct text text = TEXT("");
    if (json_peek_kind(reader->json) == JSON_NUMBER)
        json_take_number_text(reader->json, &text);
    else
        json_take_text(reader->json, &text);
    return strings_intern(&reader->texts, text);
}

int64_t saved_time_ns(struct saved_reader *reader) {
    int64_t ns = saved_ns_of_ms(reader), shifted_ns;
    if (ns == TIME_NONE) return TIME_NONE;
    if (!__builtin_add_overflow(ns, reader->shift_ns, &shifted_ns)) return shifted_ns;
    json_stream_fail(reader->json, "the time is too large");
    return TIME_NONE;
}

static int64_t rounded(int64_t value, double rest) { return value + (rest >= 0.5) - (rest <= -0.5); }

int64_t saved_ns_of_ms(struct saved_reader *reader) {
    int64_t ns;
    double rest;
    if (json_take_null(reader->json)) return TIME_NONE;
    if (!json_take_scaled(reader->json, MS_DIGITS_OF_NS, &ns, &rest)) return TIME_NONE;
    return rounded(ns, rest);
}

int64_t saved_int(struct saved_reader *reader, int64_t min, int64_t max) {
    int64_t value;
    if (json_take_null(reader->json) || !json_take_int(reader->json, &value)) return 0;
    if (value >= min && value <= max) return value;
    json_stream_fail(reader->json, "%" PRId64 " is not between %" PRId64 " and %" PRId64, value, min, max);
    return 0;
}

unsigned saved_choice(struct saved_reader *reader, const char *const *choices, unsigned fallback) {
    struct text text;
    if (json_take_null(reader->json) || !json_take_text(reader->json, &text)) return fallback;
    for (unsigned i = 0; choices[i]; i++)
        if (text_equal(text, text_of(choices[i]))) return i;
    saved_lose(reader, TEXT(""), 1);
    return fallback;
}

/* ---- Cells. ---- */

/* A column whose cells are read one after the other. */
struct saved_cells {
    const struct member *column;
    bool is_raw;
    int64_t row;       /* the number of the next row */
    int64_t before_ns; /* the time of the row before it, for CELL_MS_DELTA */
    double rest;       /* what rounding has left of the values before */
    uint64_t lost_count;
};

/* Reads a number of units of 10^-digits, and carries what rounding leaves to the next one, so that sums stay right. */
static int64_t take_carrying(struct saved_reader *reader, struct saved_cells *cells, unsigned digits) {
    int64_t value, carried;
    double rest;
    if (!json_take_scaled(reader->json, digits, &value, &rest)) return 0;
    if (rest == 0) return value;
    carried = rounded(0, cells->rest + rest);
    cells->rest += rest - (double)carried;
    return value + carried;
}

/* Null, which a typed number that is none becomes too, counts nothing. */
static int64_t take_number(struct saved_reader *reader, struct saved_cells *cells) {
    if (!json_take_null(reader->json)) return take_carrying(reader, cells, 0);
    cells->lost_count++;
    return 0;
}

static uint32_t take_id(struct saved_reader *reader, const struct saved_cells *cells) {
    int64_t row;
    if (json_take_null(reader->json) || !json_take_int(reader->json, &row)) return ID_NONE;
    if (row == -1 && (cells->column->flags & HAS_NONE || reader->version >= FRAMES_HAVE_FLAGS)) return ID_NONE;
    if (!cells->is_raw) return saved_map_row(reader, cells->column->table, row);
    if (row >= 0 && row < ID_NONE) return (uint32_t)row;
    json_stream_fail(reader->json, "%" PRId64 " is no number of a row", row);
    return ID_NONE;
}

static uint32_t take_distance(struct saved_reader *reader, const struct saved_cells *cells) {
    int64_t distance = 0;
    if (json_peek_kind(reader->json) == JSON_NULL)
        json_take_int(reader->json, &distance); /* fails: a stack without a prefix has 0 */
    else
        distance = saved_int(reader, 0, cells->row);
    return distance ? (uint32_t)(cells->row - distance) : ID_NONE;
}

/* Returns whether the number stands for none. Newer versions have such numbers in place of null. */
static bool is_none(const struct saved_reader *reader, const struct member *column, struct text number) {
    static const struct {
        const char *column;
        int64_t since;
        struct text number;
    } nones[] = {
        {"innerWindowID", 0, TEXT("0")}, {"originalLocation", 71, TEXT("0")}, {"functionSize", 74, TEXT("-1")}};
    for (size_t i = 0; i < sizeof nones / sizeof *nones; i++)
        if (strcmp(column->name, nones[i].column) == 0 && reader->version >= nones[i].since)
            return text_equal(number, nones[i].number);
    return false;
}

/* Returns whether the value is lost: it says something, and is not the constant. */
static bool differs_from(struct saved_reader *reader, const struct member *column) {
    const char *constant = column->constant;
    struct text text = {0};
    bool is_true = false;
    switch (json_peek_kind(reader->json)) {
        case JSON_NULL: json_take_null(reader->json); return false;
        case JSON_BOOL:
            json_take_bool(reader->json, &is_true);
            return strcmp(constant, is_true ? "true" : "false") != 0;
        case JSON_NUMBER:
            json_take_number_text(reader->json, &text);
            return !text_equal(text, text_of(constant)) && !is_none(reader, column, text);
        case JSON_TEXT:
            json_take_text(reader->json, &text);
            return text_of(constant).bytes_count != text.bytes_count + 2 ||
                   memcmp(constant + 1, text.bytes, text.bytes_count) != 0;
        default: json_skip(reader->json); return true;
    }
}

static void take_category(struct saved_reader *reader, struct frame *frame, uint8_t *cell) {
    if (cell == &frame->category) frame->inherits_category = json_peek_kind(reader->json) == JSON_NULL;
    *cell = (uint8_t)saved_int(reader, 0, UINT8_MAX);
}

static uint8_t take_byte(struct saved_reader *reader, const struct member *column) {
    bool is_true = false;
    if (json_peek_kind(reader->json) == JSON_BOOL) {
        json_take_bool(reader->json, &is_true);
        return is_true;
    }
    int64_t value = saved_int(reader, 0, UINT8_MAX);
    return column->table == TABLE_CATEGORIES ? saved_category_at(reader, value, 0).category : (uint8_t)value;
}

uint32_t saved_uint(struct saved_reader *reader, uint64_t *lost_count) {
    int64_t value;
    double rest;
    if (json_take_null(reader->json) || !json_take_scaled(reader->json, 0, &value, &rest)) return 0;
    if (rest == 0 && value >= 0 && value < UINT32_MAX) return (uint32_t)value;
    (*lost_count)++;
    return 0;
}

static uint32_t take_uint(struct saved_reader *reader, struct saved_cells *cells) {
    bool is_true = false;
    if (cells->column->type == TYPE_BOOL) {
        if (!json_take_null(reader->json)) json_take_bool(reader->json, &is_true);
        return is_true;
    }
    uint32_t value = saved_uint(reader, &cells->lost_count);
    if (cells->column->range != RANGE_INT31 || value <= INT32_MAX) return value;
    cells->lost_count++;
    return 0;
}

/* An address is lost if it does not fit. */
static int32_t take_signed(struct saved_reader *reader, struct saved_cells *cells) {
    int64_t value;
    if (json_take_null(reader->json) || !json_take_int(reader->json, &value)) return ADDRESS_NONE;
    if (value >= ADDRESS_NONE && value <= INT32_MAX) return (int32_t)value;
    cells->lost_count++;
    return ADDRESS_NONE;
}

static void read_cell(struct saved_reader *reader, struct saved_cells *cells, void *row) {
#define AT(type) (*(type *)(void *)((char *)row + cells->column->offset))
    const struct member *column = cells->column;
    switch (column->cell) {
        case CELL_CONSTANT: cells->lost_count += differs_from(reader, column); break;
        case CELL_BYTE: AT(uint8_t) = take_byte(reader, column); break;
        case CELL_UINT: AT(uint32_t) = take_uint(reader, cells); break;
        case CELL_INT: AT(int32_t) = take_signed(reader, cells); break;
        case CELL_LONG: AT(int64_t) = take_number(reader, cells); break;
        case CELL_ID: AT(uint32_t) = take_id(reader, cells); break;
        case CELL_TEXT: AT(struct text) = saved_text(reader); break;
        case CELL_CHOICE: AT(unsigned) = saved_choice(reader, column->choices, AT(unsigned)); break;
        case CELL_CATEGORY: take_category(reader, row, &AT(uint8_t)); break;
        case CELL_MS: AT(int64_t) = saved_time_ns(reader); break;
        case CELL_MS_DELTA:
            AT(int64_t) = cells->before_ns =
                (int64_t)((uint64_t)cells->before_ns + (uint64_t)take_carrying(reader, cells, MS_DIGITS_OF_NS));
            break;
        case CELL_US: AT(int64_t) = take_carrying(reader, cells, US_DIGITS_OF_NS); break;
        case CELL_ADDRESS: AT(uint64_t) = (uint64_t)saved_int(reader, 0, INT64_MAX); break;
        case CELL_DISTANCE: AT(uint32_t) = take_distance(reader, cells); break;
        case CELL_MARKER_START: ((struct marker *)row)->start_ns = saved_time_ns(reader); break;
        case CELL_MARKER_END: ((struct marker *)row)->end_ns = saved_time_ns(reader); break;
        case CELL_MARKER_PHASE:
            ((struct marker *)row)->phase = (enum marker_phase)(saved_int(reader, 0, MARKER_INTERVAL_END) & 0x3f);
            break;
        case CELL_NONE:
        case CELL_CODE: break;
    }
    cells->row++;
#undef AT
}

/* ---- Runs of cells: numbers that read_cell would do no more with than to store them. ---- */

static unsigned run_digits(const struct member *column) {
    return column->cell == CELL_MS_DELTA ? MS_DIGITS_OF_NS : column->cell == CELL_US ? US_DIGITS_OF_NS : 0;
}

/* Returns what the numbers of a run must be below; 0: read_cell reads them all. */
static int64_t run_end(const struct saved_reader *reader, const struct saved_cells *cells) {
    const struct member *column = cells->column;
    switch (column->cell) {
        case CELL_UINT:
            if (column->type == TYPE_BOOL) return 0;
            return column->range == RANGE_INT31 ? (int64_t)INT32_MAX + 1 : UINT32_MAX;
        case CELL_INT: return (int64_t)INT32_MAX + 1;
        case CELL_ID: return cells->is_raw ? ID_NONE : saved_map_count(&reader->maps[column->table]);
        case CELL_DISTANCE: return cells->row + 1;
        case CELL_LONG:
        case CELL_MS_DELTA:
        case CELL_US:
        case CELL_ADDRESS: return INT64_MAX;
        default: return 0;
    }
}

/* Makes what cells hold of numbers of the document. */
static void settle_run(const struct saved_reader *reader, struct saved_cells *cells, int64_t *values, size_t count) {
    const struct saved_map *map = &reader->maps[cells->column->table];
    switch (cells->column->cell) {
        case CELL_ID:
            for (size_t i = 0; i < count && !cells->is_raw; i++) values[i] = saved_map_at(map, (uint32_t)values[i]);
            break;
        case CELL_DISTANCE:
            for (size_t i = 0; i < count; i++) values[i] = values[i] ? cells->row + (int64_t)i - values[i] : ID_NONE;
            break;
        case CELL_MS_DELTA:
            for (size_t i = 0; i < count; i++)
                values[i] = cells->before_ns = (int64_t)((uint64_t)cells->before_ns + (uint64_t)values[i]);
            break;
        default: break;
    }
    cells->row += (int64_t)count;
}

static void store_run(const struct saved_table *table, const struct member *column, uint32_t first,
                      const int64_t *values, size_t count) {
    bool is_long = column->cell == CELL_LONG || column->cell == CELL_MS_DELTA || column->cell == CELL_US ||
                   column->cell == CELL_ADDRESS;
    while (table->rows->count < first + count && saved_row_at(table, table->rows->count)) {
    }
    for (size_t i = 0; i < count && first + i < table->rows->count; i++) {
        char *cell = (char *)column_at(table->rows, first + i) + column->offset;
        if (is_long)
            memcpy(cell, &values[i], sizeof(int64_t));
        else
            memcpy(cell, &(uint32_t){(uint32_t)values[i]}, sizeof(uint32_t));
    }
}

/* ---- Members and columns. ---- */

static bool has_cell(const struct member *member) { return member->cell > CELL_CODE && !member->part; }

/* Returns the number of the member with that name; the number of members if there is none. */
static size_t find_member(const struct shape *shape, struct text key) {
    size_t count = shape_member_count(shape);
    for (size_t i = 0; i < count; i++)
        if (text_equal(member_name(shape_member(shape, i)), key)) return i;
    return count;
}

/* A key that is read twice would give two values to one thing. */
static void check_repeated(struct saved_reader *reader, uint64_t *seen, size_t number, const struct shape *shape) {
    if (number >= shape_member_count(shape)) return;
    if (*seen >> number & 1)
        json_stream_fail(reader->json, "the key \"%s\" is there twice", shape_member(shape, number)->name);
    *seen |= UINT64_C(1) << number;
}

/* Reads or loses a member without a cell. `key` is the stream's, so it is copied first. */
static void read_part(struct saved_reader *reader, struct text key, saved_part_reader *part, void *context) {
    char name[80];
    if (key.bytes_count > sizeof name) key.bytes_count = sizeof name;
    if (key.bytes_count) memcpy(name, key.bytes, key.bytes_count);
    key.bytes = name;
    if (!part || !part(reader, key, context)) saved_lose(reader, key, json_skip_counting(reader->json));
}

void saved_read_members(struct saved_reader *reader, const struct shape *shape, void *row, saved_part_reader *part,
                        void *context) {
    struct text key;
    uint64_t seen = 0;
    if (!json_begin_object(reader->json)) return;
    while (json_next_key(reader->json, &key)) {
        size_t number = find_member(shape, key);
        const struct member *member = number < shape_member_count(shape) ? shape_member(shape, number) : NULL;
        check_repeated(reader, &seen, number, shape);
        if (!member || !has_cell(member)) {
            read_part(reader, key, part, context);
            continue;
        }
        struct saved_cells cells = {.column = member};
        json_push_name(reader->json, member->name, -1);
        read_cell(reader, &cells, row);
        saved_lose(reader, TEXT(""), cells.lost_count);
        json_pop_name(reader->json);
    }
}

void saved_read_each(struct saved_reader *reader, const char *name, saved_element_reader *read, void *context) {
    if (!json_begin_list(reader->json)) return;
    json_pop_name(reader->json);
    for (int64_t i = 0; json_next(reader->json); i++) {
        json_push_name(reader->json, name, i);
        read(reader, context);
        json_pop_name(reader->json);
    }
    json_push_name(reader->json, name, -1);
}

void saved_read_object(struct saved_reader *reader, saved_part_reader *part, void *context) {
    static const struct shape no_shape;
    saved_read_members(reader, &no_shape, NULL, part, context);
}

/* The number of rows of a column of times of which the first is null. */
enum { ROWS_OF_NULL_TIME = UINT32_MAX };

/* Null stands for values that are null. A null column of stacks would leave samples without any. */
static bool may_be_null(const struct member *column) {
    return column->flags & (IS_NULLABLE | IS_NULLABLE_WHOLE) && column->table != TABLE_STACKS;
}

/* Returns how many rows the column has. */
static uint32_t read_column(struct saved_reader *reader, const struct saved_table *table, const struct member *member) {
    struct json_stream *json = reader->json;
    struct saved_cells cells = {.column = member, .is_raw = table->is_raw};
    int64_t run[JSON_RUN_MAX];
    uint32_t count = 0;
    bool is_null_time = false;
    if (may_be_null(member) && json_take_null(json)) return 0;
    JSON_EACH(json) {
        size_t run_count = json_take_run(json, run_digits(member), run_end(reader, &cells), run);
        if (run_count) {
            settle_run(reader, &cells, run, run_count);
            store_run(table, member, count, run, run_count);
            count += (uint32_t)run_count;
            continue;
        }
        if (member->cell == CELL_MS_DELTA && !count && json_take_null(json)) {
            is_null_time = true;
            continue;
        }
        void *row = saved_row_at(table, count++);
        if (!row) break;
        read_cell(reader, &cells, row);
    }
    saved_lose(reader, TEXT(""), cells.lost_count);
    return is_null_time ? ROWS_OF_NULL_TIME : count;
}

/* Returns whether a table with rows must have the column. Rows without a constant, an address or an id that may be none
 * have none, and truth values are flags in newer versions. Markers without a payload have null as theirs. */
static bool is_required(const struct saved_reader *reader, const struct member *column) {
    bool is_flag = column->type == TYPE_BOOL && reader->version >= FUNCS_HAVE_FLAGS;
    bool may_lack = column->cell == CELL_CONSTANT || column->cell == CELL_INT || is_flag ||
                    column->flags & (IS_OPTIONAL | MAY_BE_EMPTY | HAS_NONE);
    if (column->part == PART_PAYLOAD) return true;
    return has_cell(column) && !may_lack && !may_be_null(column) && reader->version >= column->since;
}

/* Front-ends pad nothing: they fail on a column that is shorter than the table. An empty one stands for no column, as
 * does null, unless the table needs it. The viewer moves the first time of a table without rows, too, which makes null
 * of it. */
static void check_count(struct saved_reader *reader, const struct member *column, uint32_t count, int64_t row_count) {
    bool is_null_time = count == ROWS_OF_NULL_TIME;
    if (!count && !is_required(reader, column)) return;
    if (count == row_count || (is_null_time && !row_count)) return;
    if (is_null_time) json_stream_fail(reader->json, "the first time is null");
    json_stream_fail(reader->json, "the column has %" PRIu32 " rows, and the table %" PRId64, count, row_count);
}

static const int64_t NO_LENGTH = INT64_MIN;

void saved_read_columns(struct saved_reader *reader, const struct saved_table *table) {
    struct json_stream *json = reader->json;
    struct text key;
    uint64_t seen = 0;
    int64_t length = NO_LENGTH;
    uint32_t counts[64] = {0};
    size_t member_count = shape_member_count(table->shape);
    if (!json_begin_object(json)) return;
    while (json_next_key(json, &key)) {
        size_t number = find_member(table->shape, key);
        const struct member *member = number < member_count ? shape_member(table->shape, number) : NULL;
        check_repeated(reader, &seen, number, table->shape);
        if (text_equal(key, TEXT("length"))) {
            if (length != NO_LENGTH) json_stream_fail(json, "the key \"length\" is there twice");
            json_take_int(json, &length);
        } else if (member && has_cell(member)) {
            json_push_name(json, member->name, -1);
            counts[number] = read_column(reader, table, member);
            json_pop_name(json);
        } else {
            reader->part_row_count = 0;
            read_part(reader, key, table->part, table->context);
            if (member) counts[number] = reader->part_row_count;
        }
    }
    if (length == NO_LENGTH) length = table->rows->count;
    for (size_t i = 0; i < member_count; i++) {
        const struct member *column = shape_member(table->shape, i);
        json_push_name(json, column->name, -1);
        check_count(reader, column, counts[i], length);
        json_pop_name(json);
    }
    if (table->rows->count != length && saved_is_good(reader))
        json_stream_fail(json, "the length is %" PRId64 ", and the columns have %" PRIu32 " rows", length,
                         table->rows->count);
}

/* ---- Tables of rows. ---- */

enum { ROW_COLUMNS_MAX = 32 };

/* A column of a table of rows. */
struct row_column {
    struct text name;         /* empty: the schema names none with this number */
    struct saved_cells cells; /* without a description if the format has no such column */
};

struct rows {
    struct saved_table *table;
    struct row_column columns[ROW_COLUMNS_MAX];
};

static void read_row_schema(struct saved_reader *reader, void *context) {
    struct rows *rows = context;
    struct text key;
    if (!json_begin_object(reader->json)) return;
    while (json_next_key(reader->json, &key)) {
        struct text name = profile_text(reader->profile, key);
        int64_t number = saved_int(reader, 0, ROW_COLUMNS_MAX - 1);
        if (!saved_is_good(reader)) return;
        const struct shape *shape = rows->table->shape;
        size_t member = find_member(shape, name);
        if (rows->columns[number].name.bytes_count)
            json_stream_fail(reader->json, "two columns have the number %" PRId64, number);
        rows->columns[number].name = name;
        rows->columns[number].cells.is_raw = rows->table->is_raw;
        if (member < shape_member_count(shape)) rows->columns[number].cells.column = shape_member(shape, member);
    }
}

static void read_row_value(struct saved_reader *reader, struct saved_table *table, struct row_column *column) {
    struct saved_cells *cells = &column->cells;
    if (json_take_null(reader->json)) return;
    if (cells->column && has_cell(cells->column))
        read_cell(reader, cells, table->row);
    else if (!table->part || !table->part(reader, column->name, table->context))
        cells->lost_count += json_skip_counting(reader->json);
}

static void read_row(struct saved_reader *reader, struct rows *rows) {
    struct saved_table *table = rows->table;
    if (!json_begin_list(reader->json)) return;
    table->row = saved_row_at(table, table->rows->count);
    for (size_t i = 0; table->row && json_next(reader->json); i++) {
        if (i < ROW_COLUMNS_MAX && rows->columns[i].name.bytes_count)
            read_row_value(reader, table, &rows->columns[i]);
        else
            saved_lose(reader, TEXT("value beyond the columns"), json_skip_counting(reader->json));
    }
}

static void read_row_data(struct saved_reader *reader, void *context) {
    struct rows *rows = context;
    JSON_EACH(reader->json) read_row(reader, rows);
    for (size_t i = 0; i < ROW_COLUMNS_MAX; i++)
        saved_lose(reader, rows->columns[i].name, rows->columns[i].cells.lost_count);
}

void saved_read_rows(struct saved_reader *reader, struct saved_table *table) {
    static const struct saved_part parts[] = {{TEXT("schema"), read_row_schema, 0, true, 0},
                                              {TEXT("data"), read_row_data, 1, true, 0}};
    struct rows rows = {.table = table};
    saved_read_parts(reader, parts, sizeof parts / sizeof *parts, NULL, &rows);
}
