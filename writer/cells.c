#include "cells.h"

#include "json_put.h"
#include "libconvert/profile/profile.h"

/* A column whose cells are written one after the other. */
struct cells {
    const struct member *column;
    size_t row;        /* the number of the next row */
    int64_t before_ns; /* the time of the row before it, for CELL_MS_DELTA */
};

static inline char *put_int_or_null(char *out, int64_t value, bool is_known) {
    return is_known ? json_put_int(out, value) : json_put_null(out);
}

static inline char *put_ms_or_null(char *out, int64_t ns, bool is_known) {
    return is_known ? json_put_ms(out, ns) : json_put_null(out);
}

static inline char *put_category(char *out, const struct frame *frame, uint8_t category) {
    return put_int_or_null(out, category, !frame->inherits_category);
}

static inline char *put_delta(char *out, struct cells *cells, int64_t time_ns) {
    int64_t delta_ns = time_ns - cells->before_ns;
    cells->before_ns = time_ns;
    return json_put_ms(out, delta_ns);
}

static inline char *put_distance(char *out, struct cells *cells, uint32_t index) {
    int64_t row = (int64_t)cells->row++;
    return json_put_int(out, index == ID_NONE ? 0 : row - index);
}

/* Puts the cells of `count` rows that lie `stride` bytes apart, with a comma after each: at most JSON_MS_BYTES_MAX
 * bytes and the comma. There is a loop for each kind, because a profile has millions of cells. */
static inline __attribute__((always_inline)) char *put_numbers(char *out, struct cells *cells, const char *row,
                                                               size_t count, size_t stride) {
    const struct member *column = cells->column;
    const size_t offset = column->offset;
    const bool is_nullable = column->flags & IS_NULLABLE;
#define PUT_ALL(put)                                                                 \
    do {                                                                             \
        for (size_t i = 0; i < count; i++, row += stride) out = json_put_comma(put); \
        return out;                                                                  \
    } while (0)
#define AT(type)  (*(const type *)(const void *)(row + offset))
#define ROW(row_) ((const struct row_ *)(const void *)row)
    switch (column->cell) {
        case CELL_CONSTANT:
            PUT_ALL(stpcpy(out, column->constant));
        case CELL_BYTE:
            PUT_ALL(json_put_int(out, AT(uint8_t)));
        case CELL_UINT:
            if (column->type == TYPE_BOOL) PUT_ALL(json_put_bool(out, AT(uint32_t) & 1));
            PUT_ALL(put_int_or_null(out, AT(uint32_t), AT(uint32_t) || !is_nullable));
        case CELL_INT:
            PUT_ALL(json_put_int(out, AT(int32_t)));
        case CELL_LONG:
            PUT_ALL(put_int_or_null(out, AT(int64_t), AT(int64_t) != TIME_NONE || !is_nullable));
        case CELL_ID:
            if (is_nullable) PUT_ALL(put_int_or_null(out, AT(uint32_t), AT(uint32_t) != ID_NONE));
            PUT_ALL(json_put_int(out, AT(uint32_t) == ID_NONE ? -1 : (int64_t)AT(uint32_t)));
        case CELL_CATEGORY:
            PUT_ALL(put_category(out, ROW(frame), AT(uint8_t)));
        case CELL_MS:
            PUT_ALL(AT(int64_t) == TIME_NONE ? put_ms_or_null(out, 0, !is_nullable) : json_put_ms(out, AT(int64_t)));
        case CELL_MS_DELTA:
            PUT_ALL(put_delta(out, cells, AT(int64_t)));
        case CELL_ADDRESS:
            PUT_ALL(json_put_int(out, (int64_t)(AT(uint64_t) & INT64_MAX)));
        case CELL_DISTANCE:
            PUT_ALL(put_distance(out, cells, AT(uint32_t)));
        case CELL_MARKER_START:
            PUT_ALL(put_ms_or_null(out, ROW(marker)->start_ns, ROW(marker)->phase != MARKER_INTERVAL_END));
        case CELL_MARKER_END:
            PUT_ALL(put_ms_or_null(out, ROW(marker)->end_ns, marker_has_end(ROW(marker))));
        case CELL_MARKER_PHASE:
            PUT_ALL(json_put_int(out, ROW(marker)->phase));
        case CELL_NONE:
        case CELL_CODE:
        case CELL_TEXT:
        case CELL_US:
            break;
    }
    return out;
#undef PUT_ALL
#undef AT
#undef ROW
}

/* ---- Any cells. ---- */

static struct text text_at(const struct member *member, const void *row) {
    return *(const struct text *)(const void *)((const char *)row + member->offset);
}

static int64_t ns_at(const struct member *member, const void *row) {
    return *(const int64_t *)(const void *)((const char *)row + member->offset);
}

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
        write_text(json, member, text_at(member, row));
    } else if (member->cell == CELL_US) {
        json_decimal(json, decimal_make(ns_at(member, row), US_DIGITS_OF_NS));
    } else {
        char *out = json_reserve(json, JSON_MS_BYTES_MAX + 1);
        if (out) json_commit(json, put_numbers(out, &cells, row, 1, 0) - 1); /* without the comma */
    }
}

static void write_numbers(struct json *json, const struct member *column, const struct column *rows, size_t first,
                          size_t end) {
    enum { CELLS_AT_ONCE = 64 };
    struct cells cells = {.column = column, .row = first};
    if (column->cell == CELL_MS_DELTA && first) cells.before_ns = ns_at(column, column_at(rows, first - 1));
    for (size_t row = first, run_count; row < end; row += run_count) {
        const char *run = column_run(rows, row, &run_count);
        if (run_count > end - row) run_count = end - row;
        if (run_count > CELLS_AT_ONCE) run_count = CELLS_AT_ONCE;
        char *out = json_reserve(json, run_count * (JSON_MS_BYTES_MAX + 1));
        if (!out) return;
        out = put_numbers(out, &cells, run, run_count, rows->element_bytes);
        json_commit(json, out - 1); /* without the last comma */
    }
}

void cells_write(struct json *json, const struct member *column, const struct column *rows, size_t first, size_t end) {
    if (column->cell != CELL_TEXT && column->cell != CELL_US)
        write_numbers(json, column, rows, first, end);
    else
        for (size_t row = first; row < end; row++) cell_write(json, column, column_at(rows, row));
}

/* ---- Objects. ---- */

static bool is_left_out(const struct member *member, const void *row) {
    if (!(member->flags & IS_OPTIONAL)) return false;
    if (member->cell == CELL_TEXT) return text_at(member, row).bytes_count == 0;
    return member->cell == CELL_UINT && *(const uint32_t *)(const void *)((const char *)row + member->offset) == 0;
}

void members_write(struct json *json, const struct shape *shape, const void *row) {
    for (size_t i = 0; i < shape_member_count(shape); i++) {
        const struct member *member = shape_member(shape, i);
        if (!member_has_cell(member) || is_left_out(member, row)) continue;
        json_plain_key(json, member_name(member));
        cell_write(json, member, row);
    }
}
