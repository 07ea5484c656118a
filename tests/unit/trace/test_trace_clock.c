#include <stdlib.h>

#include "readers/trace/trace_clock.h"
#include "tests/support/full_tables.h"
#include "tests/support/unit_test.h"

/* The test's clock has two ticks per nanosecond, and starts at 1000 ticks and 5 seconds. */
enum { TICKS_PER_NS = 2 };
static const uint64_t RATE = 2000000000, START_TICKS = 1000, START_NS = 5000000000;
static const int64_t MS = 1000000;

static struct failure failure;
static struct trace_clock the_clock;

static int setup(void **state) {
    failure_clear(&failure);
    trace_clock_init(&the_clock, false, RATE, START_TICKS, START_NS, &failure);
    return 0;
}

static int teardown(void **state) {
    trace_clock_fini(&the_clock);
    return failure_is_set(&failure);
}

/* Offers a point that is `off_ns` later than at the estimated rate. */
static void offer(int64_t ns, int64_t off_ns) {
    trace_clock_offer(&the_clock, ns * TICKS_PER_NS, START_NS + (uint64_t)(ns + off_ns));
}

static int64_t converted(int64_t ns) { return trace_clock_convert(&the_clock, ns * TICKS_PER_NS) - (int64_t)START_NS; }

TEST(test_relative, setup, teardown) {
    int64_t ticks;
    assert_true(trace_clock_relative(&the_clock, START_TICKS + 7, &ticks));
    assert_int_equal(ticks, 7);
    assert_true(trace_clock_relative(&the_clock, 0, &ticks));
    assert_int_equal(ticks, -1000);
    assert_false(trace_clock_relative(&the_clock, UINT64_MAX / 2, &ticks));
    assert_false(trace_clock_relative(&the_clock, UINT64_MAX / 2 + 2000, &ticks));
    int64_t ten_years = (int64_t)RATE * 10 * 366 * 24 * 3600;
    assert_true(trace_clock_sum(&the_clock, ten_years - 1, 1, &ticks));
    assert_int_equal(ticks, ten_years);
    assert_false(trace_clock_sum(&the_clock, ten_years, 1, &ticks));
    assert_false(trace_clock_sum(&the_clock, -ten_years, -1, &ticks));
    assert_false(trace_clock_sum(&the_clock, INT64_MAX, 1, &ticks));
}

TEST(test_without_points_the_estimate_counts, setup, teardown) {
    trace_clock_finish(&the_clock);
    assert_int_equal(the_clock.kept_count, 1);
    assert_int_equal(converted(0), 0);
    assert_int_equal(converted(1), 1);
    assert_int_equal(trace_clock_convert(&the_clock, 1) - (int64_t)START_NS, 0);
    assert_int_equal(trace_clock_convert(&the_clock, -1) - (int64_t)START_NS, -1);
    assert_int_equal(converted(-500), -500);
    assert_int_equal(converted(INT64_C(3600000000000)), INT64_C(3600000000000));
}

TEST(test_points_make_pieces, setup, teardown) {
    /* The clock is half a percent slow at first, then at the estimated rate. The points are not in order. */
    offer(300 * MS, MS / 2);
    offer(100 * MS, MS / 2);
    trace_clock_finish(&the_clock);
    assert_int_equal(the_clock.kept_count, 3);
    assert_int_equal(converted(0), 0);
    assert_int_equal(converted(50 * MS), 50 * MS + MS / 4);
    assert_int_equal(converted(100 * MS), 100 * MS + MS / 2);
    assert_int_equal(converted(200 * MS), 200 * MS + MS / 2);
    assert_int_equal(converted(300 * MS), 300 * MS + MS / 2);
    /* The rates of the first and last sections continue. */
    assert_int_equal(converted(1000 * MS), 1000 * MS + MS / 2);
    assert_int_equal(converted(-100 * MS), -100 * MS - MS / 2);
    /* Converting an earlier time must not depend on the previous conversion. */
    assert_int_equal(converted(50 * MS), 50 * MS + MS / 4);
}

TEST(test_near_points_are_left_out, setup, teardown) {
    offer(4 * MS, MS / 100);
    offer(6 * MS, MS / 100);
    offer(7 * MS, MS / 50);
    offer(12 * MS, 0);
    trace_clock_finish(&the_clock);
    assert_int_equal(the_clock.offered.count, 4);
    assert_int_equal(the_clock.kept_count, 3);
    assert_int_equal(converted(6 * MS), 6 * MS + MS / 100);
    assert_int_equal(converted(12 * MS), 12 * MS);
}

TEST(test_a_point_alone_in_its_opinion_is_damage, setup, teardown) {
    offer(100 * MS, 0);
    offer(200 * MS, 50 * MS);
    offer(250 * MS, -90 * MS);
    offer(300 * MS, 0);
    offer(400 * MS, 1000000 * MS);
    trace_clock_finish(&the_clock);
    assert_int_equal(the_clock.kept_count, 3);
    assert_int_equal(converted(200 * MS), 200 * MS);
    assert_int_equal(converted(500 * MS), 500 * MS);
}

TEST(test_impossible_points_are_not_taken, setup, teardown) {
    trace_clock_offer(&the_clock, 100, 3);
    trace_clock_offer(&the_clock, 0, START_NS + 100);
    trace_clock_offer(&the_clock, -100, START_NS + 100);
    trace_clock_offer(&the_clock, 100, UINT64_MAX / 2);
    assert_int_equal(the_clock.offered.count, 0);
}

/* The machine slept for 10 s: the counter continued, the clock stopped. */
TEST(test_a_sleep_of_the_clock, setup, teardown) {
    int64_t sleep_ns = 10000 * MS;
    offer(100 * MS, 0);
    offer(200 * MS + sleep_ns, -sleep_ns);
    offer(201 * MS + sleep_ns, -sleep_ns);
    offer(300 * MS + sleep_ns, -sleep_ns);
    offer(400 * MS + sleep_ns, -sleep_ns);
    trace_clock_finish(&the_clock);
    assert_int_equal(the_clock.kept_count, 5);
    assert_int_equal(converted(100 * MS), 100 * MS);
    assert_int_equal(converted(250 * MS + sleep_ns), 250 * MS);
    assert_int_equal(converted(500 * MS + sleep_ns), 500 * MS);
}

/* The machine slept: the clock continued, the counter stopped. No point follows. */
TEST(test_a_sleep_of_the_counter, setup, teardown) {
    int64_t sleep_ns = 10000 * MS;
    offer(100 * MS, sleep_ns);
    offer(110 * MS, sleep_ns);
    trace_clock_finish(&the_clock);
    assert_int_equal(the_clock.kept_count, 3);
    assert_int_equal(converted(100 * MS), 100 * MS + sleep_ns);
    assert_int_equal(converted(200 * MS), 200 * MS + sleep_ns);
    /* Before the start, the estimated rate applies, not the jump after it. */
    assert_int_equal(converted(-5 * MS), -5 * MS);
}

TEST(test_it_never_falls, setup, teardown) {
    for (int64_t i = 1; i < 100; i++) offer(i * 7 * MS, i % 3 * 20000 + (i > 50 ? 3000 * MS : 0));
    trace_clock_finish(&the_clock);
    int64_t last = INT64_MIN;
    for (int64_t ticks = -20 * MS; ticks < 1600 * MS; ticks += 9973) {
        int64_t ns = trace_clock_convert(&the_clock, ticks);
        assert_true(ns >= last);
        last = ns;
    }
}

TEST(test_the_system_clock_needs_no_conversion, setup, teardown) {
    trace_clock_fini(&the_clock);
    trace_clock_init(&the_clock, true, 77, 123456, 99, &failure);
    trace_clock_offer(&the_clock, 10000000, 5);
    trace_clock_finish(&the_clock);
    assert_int_equal(the_clock.offered.count, 0);
    assert_int_equal(trace_clock_convert(&the_clock, 44), 123500);
}

TEST(test_memory_runs_out, setup, teardown) {
    column_make_full(&the_clock.offered);
    offer(100 * MS, 0);
    assert_int_equal(failure.code, FAILURE_MEMORY);
    /* Initializes the freed column again, because the teardown frees it. */
    column_init(&the_clock.offered, sizeof(struct trace_clock_point), &failure);
    assert_int_equal(trace_clock_convert(&the_clock, 5), (int64_t)START_NS);
    failure_clear(&failure);
}

int main(void) { return unit_tests_run(NULL, NULL); }
