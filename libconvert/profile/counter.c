#include "counter.h"

static struct counter_sample *sample_at(const struct counter *counter, size_t i) {
    return column_at(&counter->samples, i);
}

static int compare_times(const void *a, const void *b) { return ORDER_BY(struct counter_sample, time_ns, a, b); }

/* Adds the sample to the sum; saturates on overflow. */
static void add_to(struct counter_sample *sum, const struct counter_sample *sample) {
    if (__builtin_add_overflow(sum->change, sample->change, &sum->change))
        sum->change = sample->change < 0 ? INT64_MIN : INT64_MAX;
    if (__builtin_add_overflow(sum->number, sample->number, &sum->number)) sum->number = UINT32_MAX;
}

void counter_order(struct counter *counter) {
    column_sort(&counter->samples, compare_times);
    uint32_t kept_count = 0;
    COLUMN_EACH(struct counter_sample, sample, &counter->samples) {
        if (kept_count && sample_at(counter, kept_count - 1)->time_ns == sample->time_ns)
            add_to(sample_at(counter, kept_count - 1), sample);
        else
            *sample_at(counter, kept_count++) = *sample;
    }
    counter->samples.count = kept_count;
}

/* Adds a sample without a change, which must not be earlier than the last sample. Returns NULL if memory ran out
 * (latched). */
static struct counter_sample *push_zero(struct column *samples, int64_t time_ns) {
    struct counter_sample *sample = column_push(samples);
    if (sample) *sample = (struct counter_sample){.time_ns = time_ns};
    return sample;
}

/* Returns the end of the interval that the time is in. Times of damaged inputs can be anything, so the end may wrap
 * around. */
static int64_t end_of_interval(int64_t time_ns, int64_t interval_ns) {
    int64_t since_start_ns = time_ns % interval_ns;
    if (since_start_ns < 0) since_start_ns += interval_ns;
    return (int64_t)((uint64_t)time_ns + (uint64_t)(interval_ns - since_start_ns));
}

void counter_bin(struct counter *counter, int64_t interval_ns) {
    if (!counter->has_each_change || counter->graph != COUNTER_RATE || !counter->samples.count) return;
    struct column bins;
    struct counter_sample *bin = NULL;
    column_init(&bins, sizeof(struct counter_sample), counter->samples.failure);
    for (size_t i = 0; i < counter->samples.count && !failure_is_set(bins.failure); i++) {
        int64_t end_ns = end_of_interval(sample_at(counter, i)->time_ns, interval_ns);
        if (bin && bin->time_ns != end_ns && bin->time_ns != end_ns - interval_ns)
            bin = push_zero(&bins, bin->time_ns + interval_ns);
        if (!bin || bin->time_ns < end_ns - interval_ns) bin = push_zero(&bins, end_ns - interval_ns);
        if (bin && bin->time_ns != end_ns) bin = push_zero(&bins, end_ns);
        if (bin) add_to(bin, sample_at(counter, i));
    }
    if (bin) push_zero(&bins, bin->time_ns + interval_ns);
    column_fini(&counter->samples);
    counter->samples = bins;
}

void counter_start_at_zero(struct counter *counter, int64_t interval_ns) {
    size_t count = counter->samples.count;
    if (!count) return;
    struct counter_sample first = *sample_at(counter, 0);
    if (!first.change && !first.number) return;
    /* The front-end divides a change by the time since the previous sample, which is unknown for the first change. The
     * distance to the next sample is the best guess, and is never 0. The new sample may lie before the profile's start:
     * the front-end shows the range of the threads. */
    int64_t lead_ns = count > 1 ? sample_at(counter, 1)->time_ns - first.time_ns : interval_ns;
    if (!column_push(&counter->samples)) return;
    for (size_t i = count; i > 0; i--) *sample_at(counter, i) = *sample_at(counter, i - 1);
    *sample_at(counter, 0) = (struct counter_sample){.time_ns = first.time_ns - lead_ns};
}

static bool is_process_cpu(const struct counter *counter) {
    return text_equal(counter->category, TEXT("CPU")) && text_equal(counter->name, TEXT("processCPU"));
}

/* Takes from the sample what exceeds the time of `processor_count` processors since the previous sample, and returns
 * it. */
static int64_t take_excess(const struct counter *counter, size_t i, int64_t processor_count) {
    struct counter_sample *sample = sample_at(counter, i);
    int64_t possible_ns, passed_ns = sample->time_ns - sample_at(counter, i - 1)->time_ns;
    if (__builtin_mul_overflow(passed_ns, processor_count, &possible_ns) || sample->change <= possible_ns) return 0;
    int64_t excess_ns = sample->change - possible_ns;
    sample->change = possible_ns;
    return excess_ns;
}

static void give(const struct counter *counter, size_t i, int64_t excess_ns) {
    add_to(sample_at(counter, i), &(struct counter_sample){.change = excess_ns});
}

void counter_limit_cpu(struct counter *counter, uint32_t processor_count) {
    size_t count = counter->samples.count;
    if (!processor_count || count < 2 || !is_process_cpu(counter)) return;
    for (size_t i = count - 1; i > 1; i--) give(counter, i - 1, take_excess(counter, i, processor_count));
    for (size_t i = 1; i + 1 < count; i++) give(counter, i + 1, take_excess(counter, i, processor_count));
}

/* Too short to be seen, and longer than the resolution of most clocks. */
static const int64_t STEP_NS = 1000;

static bool is_step(const struct counter *counter, size_t i) {
    return sample_at(counter, i)->time_ns - sample_at(counter, i - 1)->time_ns > STEP_NS;
}

void counter_hold_steps(struct counter *counter) {
    size_t count = counter->samples.count, step_count = 0;
    if (!counter->has_each_change || counter->graph != COUNTER_ACCUMULATED) return;
    for (size_t i = 1; i < count; i++) step_count += is_step(counter, i);
    for (size_t i = 0; i < step_count; i++)
        if (!column_push(&counter->samples)) return;
    /* Goes backwards, so that each sample moves only once. */
    for (size_t i = count, place = count + step_count; i-- > 0 && place > i + 1;) {
        struct counter_sample sample = *sample_at(counter, i);
        bool has_step = i > 0 && is_step(counter, i);
        *sample_at(counter, --place) = sample;
        if (has_step) *sample_at(counter, --place) = (struct counter_sample){.time_ns = sample.time_ns - STEP_NS};
    }
}

void counter_extend(struct counter *counter, int64_t end_ns) {
    size_t count = counter->samples.count;
    if (counter->graph != COUNTER_ACCUMULATED || !count || sample_at(counter, count - 1)->time_ns >= end_ns) return;
    column_add(&counter->samples, &(struct counter_sample){.time_ns = end_ns});
}

bool counter_has_numbers(const struct counter *counter) {
    for (size_t i = 0; i < counter->samples.count; i++)
        if (sample_at(counter, i)->number > 1) return true;
    return false;
}

struct text counter_visible_name(const struct counter *counter) {
    return is_process_cpu(counter) ? counter_label(counter) : counter->name;
}

bool counter_is_same(const struct counter *a, const struct counter *b) {
    return process_is_same(a->process, b->process) && text_equal(a->name, b->name) &&
           text_equal(a->category, b->category) && text_equal(a->description, b->description) &&
           text_equal(counter_label(a), counter_label(b)) && text_equal(a->unit, b->unit) && a->graph == b->graph &&
           a->color == b->color && a->has_each_change == b->has_each_change && a->sort_weight == b->sort_weight;
}

struct counter_span counter_span_of(const struct counter *counter) {
    struct counter_span span = {.last_ns = INT64_MIN};
    COLUMN_EACH(struct counter_sample, sample, &counter->samples) {
        if (!span.first || sample->time_ns < span.first->time_ns) span.first = sample;
        if (sample->time_ns > span.last_ns) span.last_ns = sample->time_ns;
        span.sum = (int64_t)((uint64_t)span.sum + (uint64_t)sample->change);
    }
    return span;
}
