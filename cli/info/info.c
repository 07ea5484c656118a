#include "info.h"

#include <math.h>
#include <stdlib.h>

#include "libconvert/base/id_column.h"
#include "libconvert/base/memory.h"

void info_init(struct info *info, struct failure *failure) {
    *info = (struct info){.failure = failure, .has_times = true};
    strings_init(&info->texts, failure);
    column_init(&info->processes, sizeof(struct info_process), failure);
    column_init(&info->threads, sizeof(struct info_thread), failure);
    column_init(&info->counters, sizeof(struct info_counter), failure);
    column_init(&info->markers, sizeof(struct info_marker), failure);
    column_init(&info->functions, sizeof(struct info_function), failure);
    column_init(&info->facts, sizeof(struct info_fact), failure);
    column_init(&info->markers_by_name, sizeof(struct info_marker *), failure);
}

void info_fini(struct info *info) {
    column_fini(&info->markers_by_name);
    column_fini(&info->facts);
    column_fini(&info->functions);
    column_fini(&info->markers);
    column_fini(&info->counters);
    column_fini(&info->threads);
    column_fini(&info->processes);
    strings_fini(&info->texts);
}

/* ---- Adding. ---- */

struct info_process *info_add_process(struct info *info) {
    struct info_process *process = column_push(&info->processes);
    if (process) *process = (struct info_process){0};
    return process;
}

static struct info_process *last_process(struct info *info) {
    return column_at(&info->processes, info->processes.count - 1);
}

struct info_thread *info_add_thread(struct info *info) {
    struct info_thread *thread = column_push(&info->threads);
    if (!thread) return NULL;
    *thread = (struct info_thread){.process = info->processes.count - 1, .start_ms = NAN, .end_ms = NAN};
    last_process(info)->thread_count++;
    return thread;
}

struct info_counter *info_add_counter(struct info *info) {
    struct info_counter *counter = column_push(&info->counters);
    if (counter) *counter = (struct info_counter){0};
    return counter;
}

void info_add_fact(struct info *info, struct text section, struct text label, struct text value) {
    struct info_fact *fact = column_push(&info->facts);
    if (fact) *fact = (struct info_fact){info_text(info, section), info_text(info, label), info_text(info, value)};
}

void info_count_sample(struct info *info, double weight, bool has_stack) {
    struct info_thread *thread = column_at(&info->threads, info->threads.count - 1);
    struct info_process *process = last_process(info);
    thread->sample_count++;
    process->sample_count++;
    info->sample_count++;
    if (!has_stack) info->stackless_count++;
    thread->weight += weight;
    process->weight += weight;
    info->weight += fabs(weight);
}

/* Returns NULL if memory ran out (latched). */
static struct info_marker *marker_of(struct info *info, struct text name) {
    string_id id = strings_intern(&info->texts, name);
    struct info_marker **marker = string_is_none(id) ? NULL : id_column_at(&info->markers_by_name, id.index);
    if (!marker || *marker) return marker ? *marker : NULL;
    *marker = column_push(&info->markers);
    if (*marker) **marker = (struct info_marker){.name = strings_text(&info->texts, id)};
    return *marker;
}

void info_count_marker(struct info *info, struct text name) {
    struct info_marker *marker = marker_of(info, name);
    struct info_thread *thread = column_at(&info->threads, info->threads.count - 1);
    if (!marker) return;
    marker->count++;
    thread->marker_count++;
    info->marker_count++;
}

/* ---- Sorting by weight. ---- */

/* Sets the values by which rows are compared: the first, and the second if the first ones are equal. */
static void keys_of(const struct info *info, enum info_order order, uint32_t row, double keys[2]) {
    if (order == INFO_THREADS) {
        const struct info_thread *thread = column_at(&info->threads, row);
        keys[0] = fabs(thread->weight);
        keys[1] = (double)thread->marker_count;
    } else if (order == INFO_MARKERS) {
        keys[0] = (double)((const struct info_marker *)column_at(&info->markers, row))->count;
        keys[1] = 0;
    } else {
        const struct info_function *function = column_at(&info->functions, row);
        bool is_by_cpu = order == INFO_FUNCTIONS_BY_CPU_SELF || order == INFO_FUNCTIONS_BY_CPU_TOTAL;
        bool is_by_self = order == INFO_FUNCTIONS_BY_SELF || order == INFO_FUNCTIONS_BY_CPU_SELF;
        const struct function_weights *weights = is_by_cpu ? &function->cpu : &function->weights;
        keys[0] = fabs(order == INFO_WAITS ? function->wait : is_by_self ? weights->self : weights->total);
        keys[1] = fabs(is_by_self ? weights->total : weights->self);
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
    for (size_t i = 0; i < 2; i++)
        if (keys_a[i] != keys_b[i]) return keys_a[i] > keys_b[i] ? -1 : 1;
    return a < b ? -1 : 1;
}

uint32_t *info_sort(struct info *info, enum info_order order, size_t *count) {
    const struct column *column = order == INFO_THREADS   ? &info->threads
                                  : order == INFO_MARKERS ? &info->markers
                                                          : &info->functions;
    uint32_t *rows = memory_allocate(info->failure, column->count * sizeof *rows);
    *count = 0;
    if (!rows) return NULL;
    for (uint32_t row = 0; row < column->count; row++) {
        double keys[2];
        keys_of(info, order, row, keys);
        if (keys[0] > 0 || order == INFO_THREADS) rows[(*count)++] = row;
    }
    struct comparison comparison = {info, order};
    qsort_r(rows, *count, sizeof *rows, compare_rows, &comparison);
    return rows;
}
