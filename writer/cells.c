#include "cells.h"

#include <endian.h>
#include <math.h>

#include "libconvert/base/json_put.h"
#include "libconvert/profile/profile.h"

enum { CELL_BYTES_MAX = JSON_MS_BYTES_MAX + 1, CELLS_AT_ONCE = 64 };

/* The position in a column whose cells are written one after the other. */
struct cells {
    const struct member *column;
    size_t row;        /* the number of the next row */
    int64_t before_ns; /* the time of the row before it, for CELL_MS_DELTA */
};

/* ---- Cells of a kind. ---- */

/* Each function puts one cell: as text with a comma after it or, with a slab type, as an element of a slab, where null
 * is 0. */

enum { NS_PER_MS = 1000000 };

/* Dividing two exact doubles rounds once, so the element equals the double that is read from the text of the
 * milliseconds. */
static inline char *put_element(char *out, int64_t value, enum slab_type slab, bool is_ns) {
    double number = is_ns ? (double)value / NS_PER_MS : (double)value;
    uint64_t bits = (uint64_t)value;
    if (slab == SLAB_FLOAT64) memcpy(&bits, &number, sizeof bits);
    bits = htole64(bits);
    memcpy(out, &bits, sizeof bits);
    return out + slab_element_bytes(slab);
}

static inline char *put_int_or_null(char *out, int64_t value, bool is_known, enum slab_type slab) {
    if (slab) return put_element(out, is_known ? value : 0, slab, false);
    return json_put_comma(is_known ? json_put_int(out, value) : json_put_null(out));
}

static inline char *put_int(char *out, int64_t value, enum slab_type slab) {
    return put_int_or_null(out, value, true, slab);
}

static inline char *put_ms_or_null(char *out, int64_t ns, bool is_known, enum slab_type slab) {
    if (slab) return put_element(out, is_known ? ns : 0, slab, true);
    return json_put_comma(is_known ? json_put_ms(out, ns) : json_put_null(out));
}

static inline int64_t take_delta(struct cells *cells, int64_t time_ns) {
    int64_t delta_ns = time_ns - cells->before_ns;
    cells->before_ns = time_ns;
    return delta_ns;
}

static inline int64_t take_distance(struct cells *cells, uint32_t index) {
    int64_t row = (int64_t)cells->row++;
    return index == ID_NONE ? 0 : row - index;
}

/* Puts the cells of `count` rows that lie `stride` bytes apart: at most CELL_BYTES_MAX bytes each. Callers pass a
 * constant `slab`, and each kind has a loop of its own, because a profile has millions of cells. */
static inline __attribute__((always_inline)) char *put_numbers(char *out, struct cells *cells, const char *row,
                                                               size_t count, size_t stride, enum slab_type slab) {
    const struct member *column = cells->column;
    const size_t offset = column->offset;
    const bool is_nullable = column->flags & IS_NULLABLE;
#define PUT_ALL(put)                                                 \
    do {                                                             \
        for (size_t i = 0; i < count; i++, row += stride) out = put; \
        return out;                                                  \
    } while (0)
#define INT_OR_NULL(value, is_known) PUT_ALL(put_int_or_null(out, value, is_known, slab))
#define MS_OR_NULL(ns, is_known)     PUT_ALL(put_ms_or_null(out, ns, is_known, slab))
#define AT(type)                     (*(const type *)(const void *)(row + offset))
#define ROW(row_)                    ((const struct row_ *)(const void *)row)
    switch (column->cell) {
        case CELL_CONSTANT: PUT_ALL(json_put_comma(stpcpy(out, column->constant)));
        case CELL_BYTE: PUT_ALL(put_int(out, AT(uint8_t), slab));
        case CELL_UINT:
            if (column->type == TYPE_BOOL) PUT_ALL(json_put_comma(json_put_bool(out, AT(uint32_t) & 1)));
            INT_OR_NULL(AT(uint32_t), AT(uint32_t) || !is_nullable);
        case CELL_INT: PUT_ALL(put_int(out, AT(int32_t), slab));
        case CELL_LONG: INT_OR_NULL(AT(int64_t), AT(int64_t) != TIME_NONE || !is_nullable);
        case CELL_ID:
            if (is_nullable) INT_OR_NULL(AT(uint32_t), AT(uint32_t) != ID_NONE);
            PUT_ALL(put_int(out, AT(uint32_t) == ID_NONE ? -1 : (int64_t)AT(uint32_t), slab));
        case CELL_CATEGORY: INT_OR_NULL(AT(uint8_t), !ROW(frame)->inherits_category);
        case CELL_MS: MS_OR_NULL(AT(int64_t) == TIME_NONE ? 0 : AT(int64_t), AT(int64_t) != TIME_NONE || !is_nullable);
        case CELL_MS_DELTA: MS_OR_NULL(take_delta(cells, AT(int64_t)), true);
        case CELL_ADDRESS: PUT_ALL(put_int(out, (int64_t)(AT(uint64_t) & INT64_MAX), slab));
        case CELL_DISTANCE: PUT_ALL(put_int(out, take_distance(cells, AT(uint32_t)), slab));
        case CELL_MARKER_START: MS_OR_NULL(ROW(marker)->start_ns, ROW(marker)->phase != MARKER_INTERVAL_END);
        case CELL_MARKER_END: MS_OR_NULL(ROW(marker)->end_ns, marker_has_end(ROW(marker)));
        case CELL_MARKER_PHASE: PUT_ALL(put_int(out, ROW(marker)->phase, slab));
        case CELL_NONE:
        case CELL_CODE:
        case CELL_TEXT:
        case CELL_US:
        case CELL_CHOICE: break;
    }
    return out;
#undef PUT_ALL
#undef INT_OR_NULL
#undef MS_OR_NULL
#undef AT
#undef ROW
}

/* ---- Any cells. ---- */

#define VALUE_AT(type, member, row) (*(const type *)(const void *)((const char *)(row) + (member)->offset))

static void write_text(struct json *json, const struct member *member, struct text text) {
    if (text.bytes_count == 0 && member->flags & IS_NULLABLE)
        json_null(json);
    else
        json_text(json, text);
}

void cell_write(struct json *json, const struct member *member, const void *row) {
    enum { US_DIGITS_OF_NS = 3 };
    struct cells cells = {.column = member};
    if (member->cell == CELL_TEXT) {
        write_text(json, member, VALUE_AT(struct text, member, row));
    } else if (member->cell == CELL_CHOICE) {
        json_string(json, member->choices[VALUE_AT(unsigned, member, row)]);
    } else if (member->cell == CELL_US) {
        json_decimal(json, decimal_make(VALUE_AT(int64_t, member, row), US_DIGITS_OF_NS));
    } else {
        char *out = json_reserve(json, CELL_BYTES_MAX);
        if (out) json_commit(json, put_numbers(out, &cells, row, 1, 0, SLAB_NONE) - 1); /* without the comma */
    }
}

/* The rows of a column that are left, and the next run of them: rows that are adjacent in memory. */
struct cell_runs {
    struct cells cells;
    const struct column *rows;
    size_t row;
    size_t end;
    const char *run;
    size_t run_count;
};

static struct cell_runs runs_of(const struct member *column, const struct column *rows, size_t first, size_t end) {
    struct cell_runs runs = {{.column = column, .row = first}, rows, first, end, NULL, 0};
    if (column->cell == CELL_MS_DELTA && first)
        runs.cells.before_ns = VALUE_AT(int64_t, column, column_at(rows, first - 1));
    return runs;
}

static bool next_run(struct cell_runs *runs) {
    runs->row += runs->run_count;
    if (runs->row >= runs->end) return false;
    runs->run = column_run(runs->rows, runs->row, &runs->run_count);
    if (runs->run_count > runs->end - runs->row) runs->run_count = runs->end - runs->row;
    if (runs->run_count > CELLS_AT_ONCE) runs->run_count = CELLS_AT_ONCE;
    return true;
}

static void write_numbers(struct json *json, const struct member *column, const struct column *rows, size_t first,
                          size_t end) {
    struct cell_runs runs = runs_of(column, rows, first, end);
    while (next_run(&runs)) {
        char *out = json_reserve(json, runs.run_count * CELL_BYTES_MAX);
        if (!out) return;
        out = put_numbers(out, &runs.cells, runs.run, runs.run_count, rows->element_bytes, SLAB_NONE);
        json_commit(json, out - 1); /* without the last comma */
    }
}

void cells_write(struct json *json, const struct member *column, const struct column *rows, size_t first, size_t end) {
    if (column->cell != CELL_TEXT && column->cell != CELL_US)
        write_numbers(json, column, rows, first, end);
    else
        for (size_t row = first; row < end; row++) cell_write(json, column, column_at(rows, row));
}

/* ---- Slabs. ---- */

/* Puts the elements of the run. Returns the end. The cases are the slab types that the description of a format uses. */
static char *put_elements(char *out, struct cell_runs *runs) {
    size_t stride = runs->rows->element_bytes;
    switch (runs->cells.column->slab) {
        case SLAB_UINT8: return put_numbers(out, &runs->cells, runs->run, runs->run_count, stride, SLAB_UINT8);
        case SLAB_INT32: return put_numbers(out, &runs->cells, runs->run, runs->run_count, stride, SLAB_INT32);
        default: return put_numbers(out, &runs->cells, runs->run, runs->run_count, stride, SLAB_FLOAT64);
    }
}

bool cells_fit_slab(const struct member *column, const struct column *rows, size_t first, size_t end) {
    static const double exact_ms_limit = 1LL << 33; /* from here on, neighbours differ by more than a nanosecond */
    struct cell_runs runs = runs_of(column, rows, first, end);
    double elements[CELLS_AT_ONCE + 1];
    if (column->slab != SLAB_FLOAT64) return true;
    while (next_run(&runs)) {
        put_elements((char *)elements, &runs);
        for (size_t i = 0; i < runs.run_count; i++)
            if (fabs(elements[i]) >= exact_ms_limit) return false;
    }
    return true;
}

void cells_append_slab(struct chunk_list *out, const struct member *column, const struct column *rows, size_t first,
                       size_t end) {
    struct cell_runs runs = runs_of(column, rows, first, end);
    while (next_run(&runs)) {
        char *room = chunk_list_reserve(out, runs.run_count * CELL_BYTES_MAX);
        if (!room) return;
        chunk_list_commit(out, (size_t)(put_elements(room, &runs) - room));
    }
}

/* ---- Objects. ---- */

static bool is_left_out(const struct member *member, const void *row) {
    if (!(member->flags & IS_OPTIONAL)) return false;
    if (member->cell == CELL_TEXT) return VALUE_AT(struct text, member, row).bytes_count == 0;
    return member->cell == CELL_UINT && VALUE_AT(uint32_t, member, row) == 0;
}

void members_write(struct json *json, const struct shape *shape, const void *row) {
    for (size_t i = 0; i < shape_member_count(shape); i++) {
        const struct member *member = shape_member(shape, i);
        if (!member_has_cell(member) || is_left_out(member, row)) continue;
        json_plain_key(json, member_name(member));
        cell_write(json, member, row);
    }
}
