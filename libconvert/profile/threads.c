#include "threads.h"

#include "libconvert/base/memory.h"

static void fini_details(struct sample_details *details) {
    if (!details) return;
    COLUMNS_FINI(&details->cpu_ns, &details->delay_ns, &details->processors);
    memory_free(details);
}

void samples_init(struct samples *samples, struct failure *failure) {
    column_init(&samples->rows, sizeof(struct sample), failure);
    samples->details = NULL;
}

void samples_fini(struct samples *samples) {
    column_fini(&samples->rows);
    fini_details(samples->details);
    samples->details = NULL;
}

/* A detail that a sample does not have. */
static const int64_t unknown = TIME_NONE;

void samples_add_no_details(struct samples *samples) {
    struct sample_details *details = samples->details;
    if (details->cpu_ns.count) column_add(&details->cpu_ns, &unknown);
    if (details->delay_ns.count) column_add(&details->delay_ns, &unknown);
    if (details->processors.count) column_add(&details->processors, &unknown);
}

static bool provide_details(struct samples *samples) {
    struct failure *failure = samples->rows.failure;
    if (samples->details) return true;
    samples->details = memory_allocate_zeroed(failure, 1, sizeof *samples->details);
    if (!samples->details) return false;
    column_init(&samples->details->cpu_ns, sizeof(int64_t), failure);
    column_init(&samples->details->delay_ns, sizeof(int64_t), failure);
    column_init(&samples->details->processors, sizeof(int64_t), failure);
    return true;
}

/* If the column is empty, the previous samples had no value for it. */
static void set_last(struct column *column, size_t sample_count, int64_t value) {
    if (value == TIME_NONE) return;
    while (column->count < sample_count && !failure_is_set(column->failure)) column_add(column, &unknown);
    if (column->count == sample_count) *(int64_t *)column_at(column, sample_count - 1) = value;
}

void samples_set_details(struct samples *samples, int64_t cpu_ns, int64_t delay_ns) {
    if (cpu_ns == TIME_NONE && delay_ns == TIME_NONE) return;
    size_t sample_count = samples->rows.count;
    if (!sample_count || failure_is_set(samples->rows.failure) || !provide_details(samples)) return;
    set_last(&samples->details->cpu_ns, sample_count, cpu_ns);
    set_last(&samples->details->delay_ns, sample_count, delay_ns);
}

void samples_set_processor(struct samples *samples, int64_t processor) {
    size_t sample_count = samples->rows.count;
    if (processor < 0 || !sample_count || failure_is_set(samples->rows.failure) || !provide_details(samples)) return;
    set_last(&samples->details->processors, sample_count, processor);
}

static void take_column(struct column *to, struct column *from) {
    struct column empty = *to;
    *to = *from;
    *from = empty;
}

void samples_take_details(struct samples *samples, struct column *cpu_ns, struct column *delay_ns) {
    if ((!cpu_ns->count && !delay_ns->count) || !provide_details(samples)) return;
    take_column(&samples->details->cpu_ns, cpu_ns);
    take_column(&samples->details->delay_ns, delay_ns);
}

void samples_forget_cpu(struct samples *samples) {
    if (!samples->details) return;
    column_fini(&samples->details->cpu_ns);
    column_init(&samples->details->cpu_ns, sizeof(int64_t), samples->rows.failure);
}

static int64_t known_cpu_ns(const struct samples *samples, size_t row) {
    int64_t cpu_ns = samples_cpu_ns(samples, (uint32_t)row);
    return cpu_ns == TIME_NONE ? 0 : cpu_ns;
}

void samples_spread_cpu(struct samples *samples, int64_t cpu_ns, int64_t little_ns) {
    double all_ns = 0, passed_ns = 0, spread_ns = 0;
    for (size_t i = 0; i < samples->rows.count; i++) all_ns += (double)known_cpu_ns(samples, i);
    if (all_ns == 0 || (cpu_ns >= little_ns && (double)cpu_ns > all_ns)) return;
    for (size_t i = 0; i < samples->rows.count; i++) {
        int64_t own_ns = known_cpu_ns(samples, i);
        passed_ns += (double)own_ns;
        int64_t added_ns = (int64_t)(passed_ns / all_ns * (double)cpu_ns - spread_ns + 0.5);
        if (!own_ns) continue;
        *(int64_t *)column_at(&samples->details->cpu_ns, i) += added_ns;
        spread_ns += (double)added_ns;
    }
}

static void append(struct samples *samples, const struct samples *other) {
    for (uint32_t i = 0; i < samples_count(other); i++) {
        const struct sample *sample = samples_at(other, i);
        samples_add(samples, sample->time_ns, sample->stack, sample->weight);
        samples_set_details(samples, samples_cpu_ns(other, i), samples_delay_ns(other, i));
        samples_set_processor(samples, samples_processor(other, i));
    }
}

void samples_take(struct samples *samples, struct samples *other) {
    struct failure *failure = samples->rows.failure, *other_failure = other->rows.failure;
    if (samples_count(samples)) {
        append(samples, other);
        samples_fini(other);
    } else {
        samples_fini(samples);
        *samples = *other;
        samples->rows.failure = failure;
        struct sample_details *details = samples->details;
        if (details) details->cpu_ns.failure = details->delay_ns.failure = details->processors.failure = failure;
    }
    samples_init(other, other_failure);
}

/* ---- Order. ---- */

struct placed_sample {
    struct sample sample;
    uint32_t place; /* the number in the order of arrival, which makes the order total, so that any sort is stable */
};

static int compare_samples(const void *left, const void *right) {
    const struct placed_sample *a = left, *b = right;
    return ORDER(a->sample.time_ns, b->sample.time_ns) ?: ORDER(a->place, b->place);
}

static bool times_ascend(const struct samples *samples) {
    for (uint32_t i = 1; i < samples_count(samples); i++)
        if (samples_at(samples, i)->time_ns < samples_at(samples, i - 1)->time_ns) return false;
    return true;
}

/* Puts the values of a column in the order of the samples. */
static void reorder(struct column *column, const struct placed_sample *rows, uint32_t count, struct failure *failure) {
    if (!column->count) return;
    int64_t *values = memory_allocate(failure, count * sizeof *values);
    if (!values) return;
    for (uint32_t i = 0; i < count; i++) values[i] = *(int64_t *)column_at(column, rows[i].place);
    for (uint32_t i = 0; i < count; i++) *(int64_t *)column_at(column, i) = values[i];
    memory_free(values);
}

void samples_sort(struct samples *samples, struct failure *failure) {
    if (times_ascend(samples)) return;
    uint32_t count = samples_count(samples);
    struct placed_sample *rows = memory_allocate(failure, count * sizeof *rows);
    if (!rows) return;
    for (uint32_t i = 0; i < count; i++) rows[i] = (struct placed_sample){*samples_at(samples, i), i};
    memory_sort(failure, rows, count, sizeof *rows, compare_samples);
    for (uint32_t i = 0; i < count; i++) *samples_at(samples, i) = rows[i].sample;
    if (samples->details) {
        reorder(&samples->details->cpu_ns, rows, count, failure);
        reorder(&samples->details->delay_ns, rows, count, failure);
        reorder(&samples->details->processors, rows, count, failure);
    }
    memory_free(rows);
}
