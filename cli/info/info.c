#include "info.h"

#include <math.h>
#include <stdlib.h>

#include "libconvert/base/id_column.h"
#include "libconvert/base/memory.h"

/* The duration of a marker. */
struct info_duration {
    double ms;
    uint32_t marker; /* number of a row */
};

void info_init(struct info *info, struct failure *failure) {
    *info = (struct info){.failure = failure, .has_times = true};
    strings_init(&info->texts, failure);
    column_init(&info->processes, sizeof(struct info_process), failure);
    column_init(&info->threads, sizeof(struct info_thread), failure);
    column_init(&info->counters, sizeof(struct info_counter), failure);
    column_init(&info->markers, sizeof(struct info_marker), failure);
    column_init(&info->functions, sizeof(struct info_function), failure);
    column_init(&info->facts, sizeof(struct info_fact), failure);
    column_init(&info->durations, sizeof(struct info_duration), failure);
    column_init(&info->markers_by_name, sizeof(struct info_marker *), failure);
}

void info_fini(struct info *info) {
    column_fini(&info->markers_by_name);
    column_fini(&info->durations);
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
    if (counter) *counter = (struct info_counter){.lowest = INFINITY, .highest = -INFINITY};
    return counter;
}

void info_add_fact(struct info *info, struct text section, struct text label, struct text value) {
    struct info_fact *fact = column_push(&info->facts);
    if (fact) *fact = (struct info_fact){info_text(info, section), info_text(info, label), info_text(info, value)};
}

void info_count_sample(struct info *info, double weight, double cpu, bool has_stack) {
    struct info_thread *thread = column_at(&info->threads, info->threads.count - 1);
    struct info_process *process = last_process(info);
    thread->sample_count++;
    process->sample_count++;
    info->sample_count++;
    if (!has_stack) info->stackless_count++;
    thread->weight += weight;
    process->weight += weight;
    info->weight += fabs(weight);
    thread->cpu += cpu;
    process->cpu += cpu;
    info->thread_cpu += cpu;
}

void info_count_change(struct info_counter *counter, double time_ms, double change) {
    static const double MS_PER_S = 1000;
    bool is_first = !counter->sample_count++;
    double elapsed_ms = time_ms - counter->last_ms;
    counter->change += change;
    counter->last_ms = time_ms;
    if (!is_first) counter->level += change;
    if (counter->is_rate && (is_first || !(elapsed_ms > 0))) return;
    double shown = counter->is_rate ? change / elapsed_ms * MS_PER_S : counter->level;
    if (shown < counter->lowest) counter->lowest = shown;
    if (shown > counter->highest) counter->highest = shown;
}

/* Returns NULL if memory ran out (latched). */
static struct info_marker *marker_of(struct info *info, struct text name) {
    string_id id = strings_intern(&info->texts, name);
    struct info_marker **marker = string_is_none(id) ? NULL : id_column_at(&info->markers_by_name, id.index);
    if (!marker || *marker) return marker ? *marker : NULL;
    uint32_t row = (uint32_t)info->markers.count;
    *marker = column_push(&info->markers);
    if (*marker)
        **marker =
            (struct info_marker){.row = row, .name = strings_text(&info->texts, id), .median_ms = NAN, .p95_ms = NAN};
    return *marker;
}

void info_count_marker(struct info *info, struct text name, double duration_ms) {
    struct info_marker *marker = marker_of(info, name);
    struct info_thread *thread = column_at(&info->threads, info->threads.count - 1);
    if (!marker) return;
    marker->count++;
    thread->marker_count++;
    info->marker_count++;
    struct info_duration *duration = isnan(duration_ms) ? NULL : column_push(&info->durations);
    if (!duration) return;
    *duration = (struct info_duration){duration_ms, marker->row};
    marker->duration_count++;
}

/* ---- Durations. ---- */

static int compare_numbers(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Returns the value at or below which that many percent of the sorted values are. */
static double percentile(const double *values, uint64_t count, unsigned percent) {
    return values[(count * percent + 99) / 100 - 1];
}

static struct info_marker *marker_at(struct info *info, size_t row) { return column_at(&info->markers, row); }

/* Takes the durations of the marker from the start of the array. */
static void summarize(struct info_marker *marker, double *durations_ms) {
    uint64_t count = marker->duration_count;
    if (!count) return;
    qsort(durations_ms, count, sizeof *durations_ms, compare_numbers);
    for (uint64_t i = 0; i < count; i++) marker->sum_ms += durations_ms[i];
    marker->median_ms = percentile(durations_ms, count, 50);
    marker->p95_ms = percentile(durations_ms, count, 95);
}

void info_finish(struct info *info) {
    size_t marker_count = info->markers.count;
    double *grouped = memory_allocate(info->failure, (info->durations.count + 1) * sizeof *grouped);
    double **next = memory_allocate(info->failure, (marker_count + 1) * sizeof *next);
    if (grouped && next) {
        next[0] = grouped;
        for (size_t i = 0; i < marker_count; i++) next[i + 1] = next[i] + marker_at(info, i)->duration_count;
        for (size_t i = 0; i < info->durations.count; i++) {
            const struct info_duration *duration = column_at(&info->durations, i);
            *next[duration->marker]++ = duration->ms;
        }
        for (size_t i = 0; i < marker_count; i++)
            summarize(marker_at(info, i), next[i] - marker_at(info, i)->duration_count);
    }
    memory_free(next);
    memory_free(grouped);
    column_fini(&info->durations);
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
static void keys_of(const struct info *info, enum info_order order, uint32_t row, double keys[2]) {
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
    for (size_t i = 0; i < 2; i++)
        if (keys_a[i] != keys_b[i]) return keys_a[i] > keys_b[i] ? -1 : 1;
    return a < b ? -1 : 1;
}

uint32_t *info_sort(struct info *info, enum info_order order, size_t *count) {
    bool is_of_threads = order == INFO_THREADS || order == INFO_THREADS_BY_CPU;
    const struct column *column = is_of_threads           ? &info->threads
                                  : order == INFO_MARKERS ? &info->markers
                                                          : &info->functions;
    uint32_t *rows = memory_allocate(info->failure, column->count * sizeof *rows);
    *count = 0;
    if (!rows) return NULL;
    for (uint32_t row = 0; row < column->count; row++) {
        double keys[2];
        keys_of(info, order, row, keys);
        if (keys[0] > 0 || is_of_threads) rows[(*count)++] = row;
    }
    struct comparison comparison = {info, order};
    qsort_r(rows, *count, sizeof *rows, compare_rows, &comparison);
    return rows;
}
