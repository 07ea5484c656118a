#include <stdlib.h>

#include "libconvert/profile/profile.h"
#include "tests/support/counter_samples.h"
#include "tests/support/unit_test.h"

static struct failure failure;
static struct counter counter;

static int begin(void **state) {
    failure_clear(&failure);
    counter = (struct counter){0};
    column_init(&counter.samples, sizeof(struct counter_sample), &failure);
    return 0;
}

static int end(void **state) {
    column_fini(&counter.samples);
    return 0;
}

static const struct counter_sample *sample(size_t i) { return column_at(&counter.samples, i); }

/* A sample as the tests write it. */
struct row {
    int64_t time_ns;
    int64_t change;
    uint32_t number;
    uint32_t reserved;
};

static void add(const struct row *samples, size_t count) {
    for (size_t i = 0; i < count; i++)
        counter_add_sample(&counter, samples[i].time_ns, samples[i].change, samples[i].number);
}

static void assert_samples(const struct row *expected, size_t count) {
    assert_int_equal(counter.samples.count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(sample(i)->time_ns, expected[i].time_ns);
        assert_int_equal(sample(i)->change, expected[i].change);
        assert_int_equal(sample(i)->number, expected[i].number);
        assert_int_equal(sample(i)->reserved, 0);
    }
}

#define ADD(...)                                     \
    do {                                             \
        const struct row added_[] = {__VA_ARGS__};   \
        add(added_, sizeof added_ / sizeof *added_); \
    } while (0)

#define ASSERT_SAMPLES(...)                                        \
    do {                                                           \
        const struct row wanted_[] = {__VA_ARGS__};                \
        assert_samples(wanted_, sizeof wanted_ / sizeof *wanted_); \
    } while (0)

TEST(samples_of_one_time_are_one, begin, end) {
    ADD({20, 5, 1, 0}, {10, 1, 2, 0}, {20, -7, 3, 0}, {20, 4, 0, 0}, {30, 1, 1, 0}, {30, 1, 1, 0});
    counter_order(&counter);
    ASSERT_SAMPLES({10, 1, 2, 0}, {20, 2, 4, 0}, {30, 2, 2, 0});
}

TEST(sums_stay_at_their_limits, begin, end) {
    ADD({1, INT64_MAX, UINT32_MAX, 0}, {1, 1, 1, 0}, {2, INT64_MIN, 5, 0}, {2, -1, 0, 0});
    counter_order(&counter);
    ASSERT_SAMPLES({1, INT64_MAX, UINT32_MAX, 0}, {2, INT64_MIN, 5, 0});
}

TEST(a_first_change_has_a_zero_before_it, begin, end) {
    ADD({100, 5, 0, 0}, {130, 1, 0, 0}, {200, 1, 0, 0});
    counter_start_at_zero(&counter, 7);
    ASSERT_SAMPLES({70, 0, 0, 0}, {100, 5, 0, 0}, {130, 1, 0, 0}, {200, 1, 0, 0});
}

TEST(a_lone_sample_is_an_interval_behind_its_zero, begin, end) {
    ADD({3, -5, 0, 0});
    counter_start_at_zero(&counter, 7);
    ASSERT_SAMPLES({-4, 0, 0, 0}, {3, -5, 0, 0});
}

TEST(a_first_number_has_a_zero_before_it, begin, end) {
    ADD({10, 0, 2, 0}, {11, 1, 1, 0});
    counter_start_at_zero(&counter, 7);
    ASSERT_SAMPLES({9, 0, 0, 0}, {10, 0, 2, 0}, {11, 1, 1, 0});
}

TEST(a_counter_that_starts_at_zero_stays, begin, end) {
    counter_start_at_zero(&counter, 7);
    assert_int_equal(counter.samples.count, 0);
    ADD({10, 0, 0, 0}, {11, 1, 1, 0});
    counter_start_at_zero(&counter, 7);
    ASSERT_SAMPLES({10, 0, 0, 0}, {11, 1, 1, 0});
}

TEST(a_level_holds_until_the_end, begin, end) {
    counter_extend(&counter, 20);
    assert_int_equal(counter.samples.count, 0);
    ADD({1, 5, 0, 0}, {2, -1, 0, 0});
    counter.graph = COUNTER_RATE;
    counter_extend(&counter, 20);
    assert_int_equal(counter.samples.count, 2);
    counter.graph = COUNTER_ACCUMULATED;
    counter_extend(&counter, 2);
    assert_int_equal(counter.samples.count, 2);
    counter_extend(&counter, 20);
    ASSERT_SAMPLES({1, 5, 0, 0}, {2, -1, 0, 0}, {20, 0, 0, 0});
}

TEST(steps_are_held_until_they_happen, begin, end) {
    ADD({0, 0, 0, 0}, {5000, 3, 1, 0}, {6000, 4, 1, 0}, {9000, -7, 2, 0});
    counter_hold_steps(&counter);
    assert_int_equal(counter.samples.count, 4);
    counter.has_each_change = true;
    counter_hold_steps(&counter);
    ASSERT_SAMPLES({0, 0, 0, 0}, {4000, 0, 0, 0}, {5000, 3, 1, 0}, {6000, 4, 1, 0}, {8000, 0, 0, 0}, {9000, -7, 2, 0});
}

TEST(changes_of_a_rate_are_summed_up_by_intervals, begin, end) {
    counter.graph = COUNTER_RATE;
    counter.has_each_change = true;
    /* Two at once; one in the next interval; none in one interval; none in several. */
    ADD({1500, 10, 1, 0}, {1501, 20, 1, 0}, {2999, 5, 1, 0}, {4000, 7, 1, 0}, {9400, -3, 2, 0}, {9400, 1, 1, 0});
    counter_bin(&counter, 1000);
    ASSERT_SAMPLES({1000, 0, 0, 0}, {2000, 30, 2, 0}, {3000, 5, 1, 0}, {4000, 0, 0, 0}, {5000, 7, 1, 0},
                   {6000, 0, 0, 0}, {9000, 0, 0, 0}, {10000, -2, 3, 0}, {11000, 0, 0, 0});
}

TEST(times_before_zero_are_in_intervals_too, begin, end) {
    counter.graph = COUNTER_RATE;
    counter.has_each_change = true;
    ADD({-1001, 1, 0, 0}, {-1000, 2, 0, 0}, {-1, 4, 0, 0}, {0, 8, 0, 0});
    counter_bin(&counter, 1000);
    ASSERT_SAMPLES({-2000, 0, 0, 0}, {-1000, 1, 0, 0}, {0, 6, 0, 0}, {1000, 8, 0, 0}, {2000, 0, 0, 0});
}

TEST(processor_time_is_at_most_what_the_processors_can_do, begin, end) {
    counter.graph = COUNTER_RATE;
    counter.category = TEXT("CPU");
    counter.name = TEXT("processCPU");
    ADD({0, 0, 0, 0}, {100, 50, 0, 0}, {150, 220, 0, 0}, {250, 10, 0, 0}, {300, 130, 0, 0}, {310, 10, 0, 0});
    counter_limit_cpu(&counter, 0);
    ASSERT_SAMPLES({0, 0, 0, 0}, {100, 50, 0, 0}, {150, 220, 0, 0}, {250, 10, 0, 0}, {300, 130, 0, 0}, {310, 10, 0, 0});
    /* What is over goes to the sample before, as long as there is room. */
    counter_limit_cpu(&counter, 2);
    ASSERT_SAMPLES({0, 0, 0, 0}, {100, 170, 0, 0}, {150, 100, 0, 0}, {250, 40, 0, 0}, {300, 100, 0, 0},
                   {310, 10, 0, 0});
    counter.name = TEXT("other");
    counter_limit_cpu(&counter, 1);
    ASSERT_SAMPLES({0, 0, 0, 0}, {100, 170, 0, 0}, {150, 100, 0, 0}, {250, 40, 0, 0}, {300, 100, 0, 0},
                   {310, 10, 0, 0});
}

TEST(processor_time_without_room_before_it_goes_to_the_samples_behind, begin, end) {
    counter.graph = COUNTER_RATE;
    counter.category = TEXT("CPU");
    counter.name = TEXT("processCPU");
    ADD({0, 0, 0, 0}, {100, 350, 0, 0}, {200, 0, 0, 0}, {300, 20, 0, 0});
    counter_limit_cpu(&counter, 1);
    ASSERT_SAMPLES({0, 0, 0, 0}, {100, 100, 0, 0}, {200, 100, 0, 0}, {300, 170, 0, 0});
}

/* The sampler adds changes up from round to round. */
TEST(other_counters_are_not_summed_up, begin, end) {
    counter.graph = COUNTER_RATE;
    counter_bin(&counter, 1000);
    assert_int_equal(counter.samples.count, 0);
    ADD({990, 1, 0, 0}, {1010, 2, 0, 0});
    counter_bin(&counter, 1000);
    counter.graph = COUNTER_ACCUMULATED;
    counter.has_each_change = true;
    counter_bin(&counter, 1000);
    ASSERT_SAMPLES({990, 1, 0, 0}, {1010, 2, 0, 0});
}

int main(void) { return unit_tests_run(NULL, NULL); }
