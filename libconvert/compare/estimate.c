#include "estimate.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libconvert/base/memory.h"

enum { RESAMPLE_COUNT = 2000, BLOCK_COUNT = RESAMPLE_COUNT / RESAMPLE_LANE_COUNT, SAMPLES_MIN = 10 };
_Static_assert(RESAMPLE_COUNT % RESAMPLE_LANE_COUNT == 0, "each block is full");

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

/* Draws as many runs as there are. `draws` has the first run of the resample's block. */
static void draw(resample_lanes *draws, uint64_t lane, size_t run_count, uint64_t seed) {
    uint64_t state = seed;
    for (size_t i = 0; i < run_count; i++) draws[next_random(&state) % run_count][lane]++;
}

static void draw_all(struct resamples *resamples) {
    struct run_counts runs = resamples->runs;
    /* Each pair of seeds is used twice, once for each order, so no side is preferred. */
    for (uint64_t i = 0; i < RESAMPLE_COUNT; i++) {
        uint64_t seeds[] = {i - i % 2, ~(i - i % 2)}, lane = i % RESAMPLE_LANE_COUNT;
        resample_lanes *draws = resamples->draws + i / RESAMPLE_LANE_COUNT * (runs.base + runs.head);
        draw(draws, lane, runs.base, seeds[i % 2]);
        draw(draws + runs.base, lane, runs.head, seeds[!(i % 2)]);
    }
}

void resamples_init(struct resamples *resamples, struct run_counts runs, unsigned thread_count,
                    struct failure *failure) {
    unsigned count = thread_count < THREAD_POOL_HELPERS_MAX ? thread_count : THREAD_POOL_HELPERS_MAX;
    *resamples = (struct resamples){.failure = failure, .runs = runs, .thread_count = count};
    if (!estimate_knows_noise(runs)) return;
    size_t all = runs.base + runs.head;
    resamples->draws = memory_allocate_zeroed(failure, all * BLOCK_COUNT, sizeof *resamples->draws);
    resamples->largest = memory_allocate(failure, BLOCK_COUNT * sizeof *resamples->largest);
    resamples->deviations = memory_allocate(failure, count * 2 * all * sizeof *resamples->deviations);
    if (!failure_is_set(failure)) draw_all(resamples);
}

void resamples_fini(struct resamples *resamples) {
    MEMORY_FREE_ALL(resamples->deviations, resamples->largest, resamples->draws);
}

/* ---- Critical values. ---- */

/* Sets the deviations of one side's values from their mean, and their squares. Returns the least variance that a
 * resample of the side may have. */
static double deviate(const double *values, size_t run_count, double sampling, double *deviations, double *squares) {
    double mean = mean_of(values, run_count);
    for (size_t i = 0; i < run_count; i++) {
        deviations[i] = values[i] - mean;
        squares[i] = deviations[i] * deviations[i];
    }
    return fmax(sampling, VARIANCE_PART_MIN * variance_of(values, run_count, mean));
}

/* Returns the sums of the numbers of the runs that each resample of a block has. */
static inline resample_lanes sum_up(const resample_lanes *draws, const double *numbers, size_t run_count) {
    resample_lanes sums = {0};
    for (size_t run = 0; run < run_count; run++) sums += draws[run] * numbers[run];
    return sums;
}

/* Returns the variance of the runs of a resample. */
static double resampled_variance(double sum, double square_sum, size_t run_count, double least) {
    double count = (double)run_count;
    return fmax((square_sum - sum * sum / count) / (count - 1), least);
}

static bool any_exceeds(const resample_lanes *numbers, const resample_lanes *limits) {
    for (size_t i = 0; i < RESAMPLE_LANE_COUNT; i++)
        if (fabs((*numbers)[i]) > (*limits)[i]) return true;
    return false;
}

/* The blocks of resamples that one thread works on. */
struct work {
    struct thread_job job;
    const struct resamples *resamples;
    const struct quantity *quantities;
    size_t quantity_count;
    double *deviations; /* [run], and then their squares */
    size_t first_block;
    size_t end_block;
};

/* Raises the largest distances of the work's blocks to those of this quantity. */
static void take_distances(const struct work *work, const struct quantity *quantity) {
    const struct resamples *resamples = work->resamples;
    struct run_counts runs = resamples->runs;
    double *deviations = work->deviations, *squares = deviations + runs.base + runs.head;
    double sampling = sampling_variance(quantity, runs);
    double base_least = deviate(quantity->values, runs.base, sampling, deviations, squares);
    double head_least =
        deviate(quantity->values + runs.base, runs.head, sampling, deviations + runs.base, squares + runs.base);
    double least_error = error_of(quantity, runs, base_least, head_least);
    if (least_error == 0) return; /* The runs of each side are equal. */
    for (size_t block = work->first_block; block < work->end_block; block++) {
        const resample_lanes *base_draws = resamples->draws + block * (runs.base + runs.head);
        const resample_lanes *head_draws = base_draws + runs.base;
        resample_lanes *largest = &resamples->largest[block];
        resample_lanes base = sum_up(base_draws, deviations, runs.base);
        resample_lanes head = sum_up(head_draws, deviations + runs.base, runs.head);
        resample_lanes changes = head / (double)runs.head - quantity->factor * (base / (double)runs.base);
        /* A distance is at most that by the least error, and most of those are below the largest one so far. */
        resample_lanes distances_max = changes / least_error;
        if (!any_exceeds(&distances_max, largest)) continue;
        resample_lanes base_squares = sum_up(base_draws, squares, runs.base);
        resample_lanes head_squares = sum_up(head_draws, squares + runs.base, runs.head);
        for (size_t i = 0; i < RESAMPLE_LANE_COUNT; i++) {
            double base_variance = resampled_variance(base[i], base_squares[i], runs.base, base_least);
            double head_variance = resampled_variance(head[i], head_squares[i], runs.head, head_least);
            double error = error_of(quantity, runs, base_variance, head_variance);
            if (error > 0) (*largest)[i] = fmax((*largest)[i], fabs(changes[i]) / error);
        }
    }
}

/* A thread_job_run. */
static void run_work(void *context, unsigned helper) {
    const struct work *work = context;
    (void)helper;
    for (size_t i = 0; i < work->quantity_count; i++) take_distances(work, &work->quantities[i]);
}

/* Shares the blocks among the threads. */
static void take_all_distances(struct resamples *resamples, const struct quantity *quantities, size_t count) {
    struct work works[THREAD_POOL_HELPERS_MAX];
    struct thread_pool pool;
    size_t run_count = resamples->runs.base + resamples->runs.head;
    unsigned thread_count = resamples->thread_count < count ? resamples->thread_count : (unsigned)count;
    thread_pool_init(&pool, thread_count);
    for (unsigned i = 0; i < thread_count; i++) {
        works[i] = (struct work){.resamples = resamples,
                                 .quantities = quantities,
                                 .quantity_count = count,
                                 .deviations = resamples->deviations + i * 2 * run_count,
                                 .first_block = (size_t)i * BLOCK_COUNT / thread_count,
                                 .end_block = (i + (size_t)1) * BLOCK_COUNT / thread_count};
        thread_pool_submit(&pool, &works[i].job, run_work, &works[i]);
    }
    for (unsigned i = 0; i < thread_count; i++) thread_pool_await(&pool, &works[i].job);
    thread_pool_fini(&pool);
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
    double *largest = (double *)resamples->largest;
    memset(largest, 0, RESAMPLE_COUNT * sizeof *largest);
    take_all_distances(resamples, quantities, count);
    qsort(largest, RESAMPLE_COUNT, sizeof *largest, compare_numbers);
    return largest[(size_t)(confidence * RESAMPLE_COUNT) - 1];
}
