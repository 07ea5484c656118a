#include "told_functions.h"

#include "libconvert/base/first_row.h"
#include "libconvert/symbols/symbol_names.h"

struct told_function {
    string_id path;
    struct text name;
    uint64_t start;
    uint64_t end;
};

/* A part of a function that no other function overlaps which counts more. */
struct told_piece {
    uint64_t start;
    uint64_t end;
    uint32_t row;
    string_id path;
};

void told_functions_init(struct told_functions *told, struct failure *failure) {
    strings_init(&told->texts, failure);
    column_init(&told->rows, sizeof(struct told_function), failure);
    column_init(&told->pieces, sizeof(struct told_piece), failure);
}

void told_functions_fini(struct told_functions *told) {
    strings_fini(&told->texts);
    COLUMNS_FINI(&told->rows, &told->pieces);
}

/* Forgets the pieces, if there are any. */
static void forget_pieces(struct told_functions *told) {
    struct failure *failure = told->pieces.failure;
    column_fini(&told->pieces);
    column_init(&told->pieces, sizeof(struct told_piece), failure);
}

void told_functions_add(struct told_functions *told, struct text path, uint64_t start, uint64_t size_bytes,
                        struct text name) {
    char demangled[SYMBOL_NAME_BYTES_MAX];
    name = symbol_name_demangle_printed(name, false, demangled);
    uint64_t end = size_bytes < UINT64_MAX - start ? start + size_bytes : UINT64_MAX;
    struct told_function row = {strings_intern(&told->texts, path), strings_copy(&told->texts, name), start, end};
    if (string_is_none(row.path) || !row.name.bytes_count || start >= end) return;
    column_add(&told->rows, &row);
    if (told->pieces.count) forget_pieces(told);
}

static int compare(const void *left, const void *right) {
    const struct told_function *a = left, *b = right;
    if (a->path.index != b->path.index) return ORDER(a->path.index, b->path.index);
    return ORDER(a->start, b->start) ?: ORDER(b->end, a->end) ?: text_compare(a->name, b->name);
}

static const struct told_function *row_at(const struct told_functions *told, uint32_t row) {
    return column_at(&told->rows, row);
}

/* Adds the pieces from *start to `end`, of the functions on the stack, of which the last one counts most. Takes those
 * that end by then off the stack. */
static void add_pieces(struct told_functions *told, struct column *open, uint64_t *start, uint64_t end) {
    while (open->count && *start < end) {
        const uint32_t *top = column_at(open, open->count - 1);
        const struct told_function *function = row_at(told, *top);
        uint64_t piece_end = function->end < end ? function->end : end;
        if (*start < piece_end) {
            column_add(&told->pieces, &(struct told_piece){*start, piece_end, *top, function->path});
            *start = piece_end;
        }
        if (function->end <= end) open->count--;
    }
    *start = end;
}

static void make_pieces(struct told_functions *told) {
    struct column open; /* uint32_t: the rows of functions that have not ended */
    uint64_t start = 0;
    column_sort(&told->rows, compare);
    column_init(&open, sizeof(uint32_t), told->pieces.failure);
    for (uint32_t i = 0; i < told->rows.count && !failure_is_set(told->pieces.failure); i++) {
        const struct told_function *row = row_at(told, i);
        bool is_first = !i || row_at(told, i - 1)->path.index != row->path.index;
        add_pieces(told, &open, &start, is_first ? UINT64_MAX : row->start);
        if (is_first) open.count = 0;
        start = row->start;
        column_add(&open, &i);
    }
    add_pieces(told, &open, &start, UINT64_MAX);
    column_fini(&open);
}

static const struct told_piece *piece_at(const struct told_functions *told, size_t piece) {
    return column_at(&told->pieces, piece);
}

/* Returns whether the piece is of a later file or starts after the place. */
static bool is_after(const struct told_piece *piece, string_id path, uint64_t place) {
    return piece->path.index != path.index ? piece->path.index > path.index : piece->start > place;
}

bool told_functions_find(struct told_functions *told, struct text path, uint64_t place, struct code_name *name) {
    if (!told->rows.count) return false;
    if (!told->pieces.count) make_pieces(told);
    string_id wanted = strings_intern(&told->texts, path);
    size_t next = FIRST_ROW(row, told->pieces.count, is_after(piece_at(told, row), wanted, place));
    if (!next) return false;
    const struct told_piece *found = piece_at(told, next - 1);
    if (found->path.index != wanted.index || place >= found->end) return false;
    const struct told_function *function = row_at(told, found->row);
    *name = (struct code_name){.name = function->name, .start = function->start};
    return true;
}
