/* Estimates of changes: how many standard errors make a change sure. */
#include <math.h>

#include "libconvert/compare/estimate.h"
#include "tests/support/unit_test.h"

enum { RUN_COUNT = 10, ALL_COUNT = 2 * RUN_COUNT };

static struct failure failure;
static const struct run_counts ten_each = {RUN_COUNT, RUN_COUNT};
static const struct run_counts one_each = {1, 1};

/* Some numbers without a pattern, between -1 and 1. */
static double noise(unsigned seed) {
    uint32_t state = seed * 2654435761u;
    state ^= state >> 15;
    state *= 2246822519u;
    state ^= state >> 13;
    return (double)state / (double)UINT32_MAX * 2 - 1;
}

/* Fills both sides with numbers around a mean. */
static void fill(double *values, double base, double head, double deviation, unsigned seed) {
    for (unsigned i = 0; i < ALL_COUNT; i++)
        values[i] = (i < RUN_COUNT ? base : head) + deviation * noise(seed * ALL_COUNT + i);
}

static double critical_errors_of(struct run_counts runs, const struct quantity *quantities, size_t count,
                                 unsigned thread_count) {
    struct resamples resamples;
    resamples_init(&resamples, runs, thread_count, &failure);
    double result = resamples_critical_errors(&resamples, quantities, count, 0.95);
    resamples_fini(&resamples);
    assert_false(failure_is_set(&failure));
    return result;
}

static double critical_errors(struct run_counts runs, const struct quantity *quantities, size_t count) {
    return critical_errors_of(runs, quantities, count, 1);
}

static bool stands_out(const struct quantity *quantity, struct run_counts runs) {
    struct estimate estimate = estimate_change(quantity, runs);
    return fabs(estimate.change) > critical_errors(runs, quantity, 1) * estimate.error;
}

TEST(test_a_change) {
    double values[ALL_COUNT];
    fill(values, 100, 110, 5, 1);
    struct quantity quantity = {values, NULL, 1};
    struct estimate estimate = estimate_change(&quantity, ten_each);
    assert_true(fabs(estimate.base - 100) < 3 && fabs(estimate.head - 110) < 3);
    assert_true(estimate.change == estimate.head - estimate.base);
    assert_true(estimate.error > 0.8 && estimate.error < 2);
    assert_true(stands_out(&quantity, ten_each));
    quantity.factor = 1.2;
    assert_true(estimate_change(&quantity, ten_each).change < 0);
}

/* A change of nothing but noise stands out in about 5 of 100 comparisons. */
TEST(test_noise) {
    unsigned found_count = 0;
    for (unsigned seed = 0; seed < 200; seed++) {
        double values[ALL_COUNT];
        fill(values, 100, 100, 5, seed);
        found_count += stands_out(&(struct quantity){values, NULL, 1}, ten_each);
    }
    assert_in_range(found_count, 2, 18);
}

/* Of many quantities together, too. */
TEST(test_many_quantities) {
    enum { QUANTITY_COUNT = 40, COMPARISON_COUNT = 100 };
    static double values[QUANTITY_COUNT][ALL_COUNT];
    struct quantity quantities[QUANTITY_COUNT];
    unsigned found_count = 0;
    for (unsigned seed = 0; seed < COMPARISON_COUNT; seed++) {
        for (unsigned i = 0; i < QUANTITY_COUNT; i++) {
            fill(values[i], 100, 100, 5, seed * QUANTITY_COUNT + i);
            quantities[i] = (struct quantity){values[i], NULL, 1};
        }
        double critical = critical_errors(ten_each, quantities, QUANTITY_COUNT);
        bool is_found = false;
        for (unsigned i = 0; i < QUANTITY_COUNT; i++) {
            struct estimate estimate = estimate_change(&quantities[i], ten_each);
            is_found = is_found || fabs(estimate.change) > critical * estimate.error;
        }
        found_count += is_found;
    }
    assert_in_range(found_count, 0, 9);
}

TEST(test_threads) {
    double values[3][ALL_COUNT];
    struct quantity quantities[3];
    for (unsigned i = 0; i < 3; i++) {
        fill(values[i], 100, 110, 5, i);
        quantities[i] = (struct quantity){values[i], NULL, 1};
    }
    double critical = critical_errors(ten_each, quantities, 3);
    assert_true(critical == critical_errors_of(ten_each, quantities, 3, 2));
    assert_true(critical == critical_errors_of(ten_each, quantities, 3, 100));
}

TEST(test_exchanged_sides) {
    double forth[ALL_COUNT], back[ALL_COUNT];
    fill(forth, 100, 104, 5, 3);
    for (unsigned i = 0; i < ALL_COUNT; i++) back[i] = forth[(i + RUN_COUNT) % ALL_COUNT];
    struct quantity quantities[] = {{forth, NULL, 1}, {back, NULL, 1}};
    struct estimate a = estimate_change(&quantities[0], ten_each), b = estimate_change(&quantities[1], ten_each);
    assert_true(a.change == -b.change && a.error == b.error);
    assert_true(critical_errors(ten_each, &quantities[0], 1) == critical_errors(ten_each, &quantities[1], 1));
}

/* With different numbers of runs, equal values are equal. */
TEST(test_no_change) {
    double values[17];
    for (unsigned i = 0; i < 17; i++) values[i] = 0.1;
    struct estimate estimate = estimate_change(&(struct quantity){values, NULL, 1}, (struct run_counts){7, 10});
    assert_true(estimate.change == 0 && estimate.error < 1e-12);
}

/* One run: n samples of which k are in a function. */
TEST(test_sampling_error) {
    double values[] = {100, 130}, variances[] = {90, 117};
    struct quantity quantity = {values, variances, 1};
    struct estimate estimate = estimate_change(&quantity, one_each);
    assert_true(fabs(estimate.error - sqrt(2 * 103.5)) < 1e-9);
    assert_true(fabs(critical_errors(one_each, &quantity, 1) - 1.959964) < 1e-6);
    struct quantity many[] = {quantity, quantity, quantity, quantity, quantity};
    assert_true(fabs(critical_errors(one_each, many, 5) - 2.575829) < 1e-6);
    assert_true(stands_out(&quantity, one_each));
    values[1] = 120;
    assert_false(stands_out(&quantity, one_each));
}

/* The runs of a resample may all be alike, as most of these are. */
TEST(test_rare_values) {
    double values[ALL_COUNT] = {0}, variances[ALL_COUNT] = {0};
    values[12] = variances[12] = 1;
    struct quantity sampled = {values, variances, 1}, exact = {values, NULL, 1};
    assert_false(stands_out(&sampled, ten_each));
    assert_false(stands_out(&exact, ten_each));
    assert_false(estimate_may_stand_out(&sampled, ten_each));
    assert_true(estimate_may_stand_out(&exact, ten_each));
}

/* What is the same in every run has no error. */
TEST(test_exact_change) {
    double values[ALL_COUNT];
    fill(values, 5, 6, 0, 1);
    struct quantity quantity = {values, NULL, 1};
    struct estimate estimate = estimate_change(&quantity, ten_each);
    assert_true(estimate.change == 1 && estimate.error == 0);
    assert_true(stands_out(&quantity, ten_each));
}

int main(void) { return unit_tests_run(NULL, NULL); }
