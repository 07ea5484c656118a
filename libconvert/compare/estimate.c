#include "estimate.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libconvert/base/memory.h"

enum { RESAMPLE_COUNT = 2000, SAMPLES_MIN = 10 };

/* A resample may consist of runs that happen to be alike, which does not make a change a thousand times surer. Its
 * variance is therefore taken as at least this part of the variance of all runs. */
static const double VARIANCE_PART_MIN = 0.25;

/* Means of equal numbers differ in their last digits if there are more of them. */
static const double ROUNDING = 1e-12;

/* ---- One side. ---- */

static double sum_of(const double *values, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += values[i];
    return sum;
}

static double mean_of(const double *values, size_t count) { return sum_of(values, count) / (double)count; }

/* Adds the sides' sums, so that all digits are the same if the sides are exchanged. */
static double sum_of_both(const double *values, struct run_counts runs) {
    return sum_of(values, runs.base) + sum_of(values + runs.base, runs.head);
}

/* Returns the variance between the runs; 0 if there is only one. */
static double variance_of(const double *values, size_t count, double mean) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += (values[i] - mean) * (values[i] - mean);
    return count > 1 ? sum / (double)(count - 1) : 0;
}

/* Returns the variance of one run by sampling, estimated from both sides: a function that is absent from one side could
 * have been sampled there too. */
static double sampling_variance(const struct quantity *quantity, struct run_counts runs) {
    return quantity->variances ? sum_of_both(quantity->variances, runs) / (double)(runs.base + runs.head) : 0;
}

/* The standard error of a change between sides whose runs have these variances. */
static double error_of(const struct quantity *quantity, struct run_counts runs, double base_variance,
                       double head_variance) {
    double base = quantity->factor * quantity->factor * base_variance / (double)runs.base;
    return sqrt(base + head_variance / (double)runs.head);
}

struct estimate estimate_change(const struct quantity *quantity, struct run_counts runs) {
    const double *head_values = quantity->values + runs.base;
    struct estimate estimate = {.base = mean_of(quantity->values, runs.base), .head = mean_of(head_values, runs.head)};
    double sampling = sampling_variance(quantity, runs), expected = quantity->factor * estimate.base;
    estimate.change = estimate.head - expected;
    if (fabs(estimate.change) <= ROUNDING * fmax(fabs(expected), fabs(estimate.head))) estimate.change = 0;
    estimate.error = error_of(quantity, runs, fmax(sampling, variance_of(quantity->values, runs.base, estimate.base)),
                              fmax(sampling, variance_of(head_values, runs.head, estimate.head)));
    return estimate;
}

bool estimate_may_stand_out(const struct quantity *quantity, struct run_counts runs) {
    if (!quantity->variances) return true;
    double value = sum_of_both(quantity->values, runs), variance = sum_of_both(quantity->variances, runs);
    /* If all samples weigh the same, value²/variance is their number. */
    return value * value >= SAMPLES_MIN * variance;
}

/* ---- Drawing runs. ---- */

/* SplitMix64 (Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, 2014). */
static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Draws as many runs as there are. `counts` has the counter of the first run; that of the next one is RESAMPLE_COUNT
 * further. */
static void draw(double *counts, size_t run_count, uint64_t seed) {
    uint64_t state = seed;
    for (size_t i = 0; i < run_count; i++) counts[next_random(&state) % run_count * RESAMPLE_COUNT]++;
}

static void draw_all(struct resamples *resamples) {
    double *base = resamples->draws, *head = base + resamples->runs.base * RESAMPLE_COUNT;
    /* Each pair of seeds is used twice, once for each order, so no side is preferred. */
    for (uint64_t i = 0; i < RESAMPLE_COUNT; i += 2) {
        uint64_t first = i, second = ~i;
        draw(base + i, resamples->runs.base, first);
        draw(head + i, resamples->runs.head, second);
        draw(base + i + 1, resamples->runs.base, second);
        draw(head + i + 1, resamples->runs.head, first);
    }
}

void resamples_init(struct resamples *resamples, struct run_counts runs, struct failure *failure) {
    *resamples = (struct resamples){.failure = failure, .runs = runs};
    if (!estimate_knows_noise(runs)) return;
    resamples->draws =
        memory_allocate_zeroed(failure, (runs.base + runs.head) * RESAMPLE_COUNT, sizeof *resamples->draws);
    resamples->sums = memory_allocate(failure, 2 * RESAMPLE_COUNT * sizeof *resamples->sums);
    resamples->squares = memory_allocate(failure, 2 * RESAMPLE_COUNT * sizeof *resamples->squares);
    resamples->largest = memory_allocate(failure, RESAMPLE_COUNT * sizeof *resamples->largest);
    if (!failure_is_set(failure)) draw_all(resamples);
}

void resamples_fini(struct resamples *resamples) {
    MEMORY_FREE_ALL(resamples->largest, resamples->squares, resamples->sums, resamples->draws);
}

/* ---- Critical values. ---- */

/* Sums up the deviations of one side's values from their mean, and their squares, for each resample. */
static void sum_up(const double *draws, const double *values, size_t run_count, double mean, double *sums,
                   double *squares) {
    memset(sums, 0, RESAMPLE_COUNT * sizeof *sums);
    memset(squares, 0, RESAMPLE_COUNT * sizeof *squares);
    for (size_t run = 0; run < run_count; run++, draws += RESAMPLE_COUNT) {
        double deviation = values[run] - mean, square = deviation * deviation;
        for (size_t i = 0; i < RESAMPLE_COUNT; i++) {
            sums[i] += draws[i] * deviation;
            squares[i] += draws[i] * square;
        }
    }
}

/* Returns the variance of the runs of a resample. */
static double resampled_variance(double sum, double square_sum, size_t run_count, double least) {
    double count = (double)run_count;
    return fmax((square_sum - sum * sum / count) / (count - 1), least);
}

/* Raises resamples->largest to the distances of this quantity. */
static void take_distances(struct resamples *resamples, const struct quantity *quantity) {
    struct run_counts runs = resamples->runs;
    const double *values[] = {quantity->values, quantity->values + runs.base};
    const double *draws[] = {resamples->draws, resamples->draws + runs.base * RESAMPLE_COUNT};
    size_t counts[] = {runs.base, runs.head};
    double least[2], sampling = sampling_variance(quantity, runs);
    for (size_t side = 0; side < 2; side++) {
        double mean = mean_of(values[side], counts[side]);
        least[side] = fmax(sampling, VARIANCE_PART_MIN * variance_of(values[side], counts[side], mean));
        sum_up(draws[side], values[side], counts[side], mean, resamples->sums + side * RESAMPLE_COUNT,
               resamples->squares + side * RESAMPLE_COUNT);
    }
    const double *sums = resamples->sums, *squares = resamples->squares;
    for (size_t i = 0, j = RESAMPLE_COUNT; i < RESAMPLE_COUNT; i++, j++) {
        double base_variance = resampled_variance(sums[i], squares[i], runs.base, least[0]);
        double head_variance = resampled_variance(sums[j], squares[j], runs.head, least[1]);
        double error = error_of(quantity, runs, base_variance, head_variance);
        double change = sums[j] / (double)runs.head - quantity->factor * (sums[i] / (double)runs.base);
        if (error > 0) resamples->largest[i] = fmax(resamples->largest[i], fabs(change) / error);
    }
}

static int compare_numbers(const void *a, const void *b) { return ORDER(*(const double *)a, *(const double *)b); }

/* Returns how many standard errors a normally distributed number exceeds, in either direction, with that
 * probability. */
static double normal_critical_errors(double probability) {
    double low = 0, high = 40;
    for (int i = 0; i < 64; i++) {
        double middle = (low + high) / 2;
        *(erfc(middle / sqrt(2)) > probability ? &low : &high) = middle;
    }
    return high;
}

double resamples_critical_errors(struct resamples *resamples, const struct quantity *quantities, size_t count,
                                 double confidence) {
    if (failure_is_set(resamples->failure) || !count) return 0;
    if (!resamples->draws) return normal_critical_errors((1 - confidence) / (double)count);
    memset(resamples->largest, 0, RESAMPLE_COUNT * sizeof *resamples->largest);
    for (size_t i = 0; i < count; i++) take_distances(resamples, &quantities[i]);
    qsort(resamples->largest, RESAMPLE_COUNT, sizeof *resamples->largest, compare_numbers);
    return resamples->largest[(size_t)(confidence * RESAMPLE_COUNT) - 1];
}
