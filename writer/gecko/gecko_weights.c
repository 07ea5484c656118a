#include "gecko_weights.h"

#include <inttypes.h>
#include <stdio.h>

enum { MS_DIGITS_OF_NS = 6 };

/* Weights with an exponent are rounded. Other mantissas have at most 19 digits and are multiplied by at most 10^18. The
 * product has 37 digits; 128 bits hold 38. */
typedef unsigned __int128 scaled_weight;

static scaled_weight rescale(struct decimal weight, uint32_t scale) {
    scaled_weight scaled = (scaled_weight)weight.mantissa;
    for (uint32_t at = weight.scale; at < scale; at++) scaled *= 10;
    return scaled;
}

static scaled_weight greatest_common_divisor(scaled_weight a, scaled_weight b) {
    while (b) {
        scaled_weight rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

typedef void weight_visitor(struct gecko_weights *weights, struct decimal weight);

static void visit_weights(struct gecko_weights *weights, weight_visitor *visit) {
    const struct profile *profile = weights->profile;
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        const struct thread *thread = profile_ordered_thread(profile, i);
        uint32_t count = thread_is_track(thread) ? 0 : samples_count(&thread->samples);
        for (uint32_t j = 0; j < count; j++)
            visit(weights, profile_weight_decode(profile, samples_at(&thread->samples, j)->weight));
    }
}

static void find_scale(struct gecko_weights *weights, struct decimal weight) {
    weights->sample_count++;
    if (weight.mantissa <= 0) weights->are_lost = true;
    if (weight.scale > weights->scale) weights->scale = weight.scale;
    if (weight.exponent) weights->are_rounded = true;
    weights->sum += decimal_to_double(weight);
}

static void find_unit(struct gecko_weights *weights, struct decimal weight) {
    if (weights->scale == 0 && weights->unit == 1) return;
    weights->unit = greatest_common_divisor(rescale(weight, weights->scale), weights->unit);
}

/* Every sample keeps at least one row. */
static scaled_weight rows_of(const struct gecko_weights *weights, struct decimal weight) {
    if (!weights->are_rounded) return rescale(weight, weights->scale) / weights->unit;
    double rows = decimal_to_double(weight) / decimal_to_double(weights->rounding);
    return rows < 1 ? 1 : (scaled_weight)(rows + 0.5);
}

static void count_rows(struct gecko_weights *weights, struct decimal weight) {
    scaled_weight rows = rows_of(weights, weight);
    if (rows > 1) weights->are_repeated = true;
    bool fits = rows <= UINT64_MAX - weights->row_count;
    weights->row_count = fits ? weights->row_count + (uint64_t)rows : UINT64_MAX;
}

static void count_all_rows(struct gecko_weights *weights) {
    weights->row_count = 0;
    weights->are_repeated = false;
    visit_weights(weights, count_rows);
}

static void count_exact_rows(struct gecko_weights *weights) {
    visit_weights(weights, find_unit);
    count_all_rows(weights);
    weights->are_rounded = weights->row_count > GECKO_SAMPLE_ROWS_MAX;
}

/* Returns what one written sample must stand for at least. Times of waiting need rows for each interval of the samples
 * of a running thread. */
static double find_least_unit(const struct gecko_weights *weights) {
    const struct profile_meta *meta = &weights->profile->meta;
    bool are_few = weights->sample_count < GECKO_ROUNDED_ROWS_MAX / GECKO_ROUNDED_ROWS_PER_SAMPLE;
    uint64_t row_count = are_few ? weights->sample_count * GECKO_ROUNDED_ROWS_PER_SAMPLE : GECKO_ROUNDED_ROWS_MAX;
    double least = weights->sum / (double)row_count, of_interval = (double)meta->interval_ns / GECKO_ROWS_PER_INTERVAL;
    return meta->has_waits && least < of_interval ? of_interval : least;
}

/* The unit is 1, 2 or 5 times a power of ten. */
static void count_rounded_rows(struct gecko_weights *weights) {
    enum { STEP_COUNT = 3 };
    static const int64_t steps[STEP_COUNT] = {1, 2, 5};
    double least = find_least_unit(weights);
    for (int i = 0; decimal_to_double(weights->rounding) < least; i++) {
        int power = i / STEP_COUNT - DECIMAL_SCALE_MAX;
        weights->rounding = decimal_shift((struct decimal){.mantissa = steps[i % STEP_COUNT]}, power);
    }
    count_all_rows(weights);
}

void gecko_weights_init(struct gecko_weights *weights, const struct profile *profile) {
    *weights = (struct gecko_weights){.profile = profile};
    visit_weights(weights, find_scale);
    if (profile->meta.weight_type == WEIGHT_ONE) weights->are_lost = false;
    weights->row_count = weights->sample_count;
    if (profile->meta.weight_type == WEIGHT_ONE || weights->are_lost || !weights->sample_count) return;
    if (profile->meta.has_waits) weights->are_rounded = true;
    if (!weights->are_rounded) count_exact_rows(weights);
    if (weights->are_rounded) count_rounded_rows(weights);
    if (weights->row_count <= GECKO_SAMPLE_ROWS_MAX) return;
    failure_set(profile->failure, FAILURE_INPUT,
                "there are %" PRIu64
                " samples, more than the %d that the Gecko format can hold: use --format processed",
                weights->sample_count, GECKO_SAMPLE_ROWS_MAX);
}

uint32_t gecko_weights_row_count(const struct gecko_weights *weights, uint32_t weight) {
    if (!weights->are_repeated) return 1;
    return (uint32_t)rows_of(weights, profile_weight_decode(weights->profile, weight));
}

bool gecko_weights_leave_cpu(const struct gecko_weights *weights, const struct thread *thread) {
    const struct samples *samples = &thread->samples;
    bool can_repeat = weights->are_repeated && !thread_is_track(thread);
    if (!samples_have_cpu(samples)) return false;
    for (uint32_t i = 0; can_repeat && i < samples_count(samples); i++)
        if (gecko_weights_row_count(weights, samples_at(samples, i)->weight) > 1) return false;
    return true;
}

/* Returns what one written sample stands for. Samples must have been weighed, and no weight may be lost. An exact unit
 * divides the weight with the most digits after the point, so at that scale its mantissa fits. */
static struct decimal unit_of(const struct gecko_weights *weights) {
    return weights->are_rounded ? weights->rounding : decimal_make((int64_t)weights->unit, weights->scale);
}

static void enter_unit(const struct gecko_weights *weights, struct ledger *ledger) {
    const struct profile_meta *meta = &weights->profile->meta;
    struct decimal unit = unit_of(weights);
    struct text name = meta->weight_unit;
    if (meta->weight_type == WEIGHT_TRACING_MS) {
        unit = decimal_shift(unit, -MS_DIGITS_OF_NS);
        name = TEXT("ms");
    } else if (meta->weight_type == WEIGHT_BYTES) {
        name = TEXT("bytes");
    }
    bool is_plain = unit.mantissa == 1 && unit.scale == 0 && !name.bytes_count;
    if (is_plain && !weights->are_rounded) return;
    if (!name.bytes_count) name = TEXT("samples");
    char number[DECIMAL_TEXT_BYTES], cause[320];
    decimal_print(unit, number);
    int bytes_count = snprintf(cause, sizeof cause, "weight of a sample: one sample stands for %s %.*s%s", number,
                               (int)(name.bytes_count < 128 ? name.bytes_count : 128), name.bytes,
                               weights->are_rounded ? ", and weights are rounded to multiples of that" : "");
    struct text text = {cause, (size_t)bytes_count};
    ledger_enter(ledger, LEDGER_VALUES, LEDGER_NOTED, text, weights->sample_count, NULL);
}

void gecko_weights_enter(const struct gecko_weights *weights, struct ledger *ledger) {
    if (weights->are_lost) {
        ledger_account(ledger, LEDGER_VALUES, LEDGER_LOST,
                       TEXT("weight of a sample: a difference cannot be repeated samples"), weights->sample_count,
                       NULL);
    } else if (weights->unit || weights->are_rounded) {
        enter_unit(weights, ledger);
    }
}
