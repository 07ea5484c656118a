#include "diff_lists.h"

#include <math.h>

#include "libconvert/base/memory.h"

const struct diff_list diff_lists[DIFF_LIST_COUNT] = {
    {"functions by self", ROW_FUNCTION, CELL_SELF, false},
    {"functions by total", ROW_FUNCTION, CELL_TOTAL, false},
    {"markers by count", ROW_MARKER, CELL_COUNT, false},
    {"markers by median duration", ROW_MARKER, CELL_MEDIAN, true},
    {"markers by 95th percentile of durations", ROW_MARKER, CELL_P95, true},
    {"counters", ROW_COUNTER, CELL_VALUE, false},
    {"duration of a run", ROW_DURATION, CELL_VALUE, true},
};

struct shown_row {
    double change;
    uint32_t number;
};

static int compare_changes(const void *left, const void *right) {
    const struct shown_row *a = left, *b = right;
    if (a->change != b->change) return a->change > b->change ? -1 : 1;
    return a->number < b->number ? -1 : 1;
}

uint32_t *diff_list_rows(const struct diff_list *list, const struct comparison *comparison, bool shows_all,
                         size_t *count, size_t *quiet_count) {
    size_t all_count = comparison->rows.count;
    struct shown_row *shown = memory_allocate(comparison->failure, all_count * sizeof *shown);
    uint32_t *rows = memory_allocate(comparison->failure, all_count * sizeof *rows);
    *count = *quiet_count = 0;
    for (size_t i = 0; shown && i < all_count; i++) {
        const struct comparison_row *row = comparison_row_at(comparison, i);
        const struct cell *cell = &row->cells[list->cell];
        if (row->kind != list->kind || !cell->values || cell->estimate.change == 0) continue;
        if (!cell->stands_out) ++*quiet_count;
        if (cell->stands_out || shows_all)
            shown[(*count)++] = (struct shown_row){fabs(cell->estimate.change), (uint32_t)i};
    }
    if (shown) memory_sort(comparison->failure, shown, *count, sizeof *shown, compare_changes);
    for (size_t i = 0; shown && rows && i < *count; i++) rows[i] = shown[i].number;
    memory_free(shown);
    return rows;
}

struct text diff_list_unit(const struct diff_list *list, const struct comparison *comparison) {
    if (list->is_in_ms) return TEXT("ms");
    if (list->kind != ROW_FUNCTION) return (struct text){0};
    return comparison->per == PER_SHARE ? TEXT("%") : comparison->runs->unit;
}

const char *diff_state(const struct cell *cell) {
    if (cell->estimate.base == 0) return "new";
    return cell->estimate.head == 0 ? "gone" : "changed";
}
