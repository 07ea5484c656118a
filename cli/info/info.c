#include "info.h"

#include <math.h>
#include <stdlib.h>

#include "libconvert/base/memory.h"

void info_init(struct info *info, unsigned top_count, struct failure *failure) {
    *info = (struct info){.failure = failure, .top_count = top_count, .has_times = true};
    strings_init(&info->texts, failure);
    column_init(&info->processes, sizeof(struct info_process), failure);
    column_init(&info->threads, sizeof(struct info_thread), failure);
    column_init(&info->counters, sizeof(struct info_counter), failure);
    column_init(&info->markers, sizeof(struct info_marker), failure);
    column_init(&info->functions, sizeof(struct info_function), failure);
    column_init(&info->facts, sizeof(struct info_fact), failure);
}

void info_fini(struct info *info) {
    for (enum info_order order = 0; order < INFO_ORDER_COUNT; order++) memory_free(info->lists[order].rows);
    COLUMNS_FINI(&info->facts, &info->functions, &info->markers, &info->counters, &info->threads, &info->processes);
    strings_fini(&info->texts);
}

/* ---- Sorting by weight. ---- */

static const struct {
    enum info_sum sum;
    bool is_by_total;
} function_orders[] = {
    [INFO_FUNCTIONS_BY_SELF] = {INFO_WEIGHT, false},  [INFO_FUNCTIONS_BY_TOTAL] = {INFO_WEIGHT, true},
    [INFO_FUNCTIONS_BY_CPU_SELF] = {INFO_CPU, false}, [INFO_FUNCTIONS_BY_CPU_TOTAL] = {INFO_CPU, true},
    [INFO_ALLOCATORS] = {INFO_ALLOCATED, false},      [INFO_WAITS] = {INFO_WEIGHT, true},
};

double info_function_weight(const struct info_function *function, enum info_order order) {
    if (order == INFO_WAITS) return function->wait;
    const struct function_weights *weights = &function->sums[function_orders[order].sum];
    return function_orders[order].is_by_total ? weights->total : weights->self;
}

/* Sets the values by which rows are compared: the first, and the second if the first ones are equal. */
static inline void keys_of(const struct info *info, enum info_order order, uint32_t row, double keys[2]) {
    if (order == INFO_THREADS || order == INFO_THREADS_BY_CPU) {
        const struct info_thread *thread = column_at(&info->threads, row);
        keys[0] = fabs(order == INFO_THREADS ? thread->weight : thread->cpu);
        keys[1] = (double)thread->marker_count;
    } else if (order == INFO_MARKERS) {
        keys[0] = (double)((const struct info_marker *)column_at(&info->markers, row))->count;
        keys[1] = 0;
    } else {
        const struct info_function *function = column_at(&info->functions, row);
        const struct function_weights *weights = &function->sums[function_orders[order].sum];
        keys[0] = fabs(info_function_weight(function, order));
        keys[1] = fabs(function_orders[order].is_by_total ? weights->self : weights->total);
    }
}

struct comparison {
    const struct info *info;
    enum info_order order;
};

/* Orders heavier rows first, and equal ones by their number. */
static int compare_rows(const void *left, const void *right, void *context) {
    const struct comparison *comparison = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    double keys_a[2], keys_b[2];
    keys_of(comparison->info, comparison->order, a, keys_a);
    keys_of(comparison->info, comparison->order, b, keys_b);
    return ORDER(keys_b[0], keys_a[0]) ?: ORDER(keys_b[1], keys_a[1]) ?: ORDER(a, b);
}

/* Puts the rows of a list in order, and drops those that are too many. */
static void cut(struct info_list *list, size_t limit, struct comparison *comparison) {
    qsort_r(list->rows, list->count, sizeof *list->rows, compare_rows, comparison);
    if (list->count > limit) list->count = limit;
}

/* The list never has more than twice as many rows as wanted, so a million functions need no sorting. */
static void rank(struct info *info, enum info_order order) {
    struct info_list *list = &info->lists[order];
    struct comparison comparison = {info, order};
    bool is_of_threads = order == INFO_THREADS || order == INFO_THREADS_BY_CPU, is_full = false;
    const struct column *column = is_of_threads           ? &info->threads
                                  : order == INFO_MARKERS ? &info->markers
                                                          : &info->functions;
    size_t limit = info->top_count < column->count ? info->top_count : column->count;
    list->rows = memory_allocate(info->failure, 2 * limit * sizeof *list->rows);
    for (uint32_t row = 0; list->rows && row < column->count; row++) {
        double keys[2];
        keys_of(info, order, row, keys);
        if (!(keys[0] > 0) && !is_of_threads) continue;
        list->all_count++;
        if (!limit || (is_full && compare_rows(&row, &list->rows[limit - 1], &comparison) > 0)) continue;
        list->rows[list->count++] = row;
        if (list->count < 2 * limit) continue;
        cut(list, limit, &comparison);
        is_full = true;
    }
    if (list->rows) cut(list, limit, &comparison);
}

void info_rank(struct info *info) {
    for (enum info_order order = 0; order < INFO_ORDER_COUNT; order++) rank(info, order);
}
