/* Tests samples that the program asks for. The sampler's own rounds are so far apart that none comes in a test. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/sampler_check.h"
#include "tests/support/unit_test.h"

CODE_SECTION(working)

enum { NEVER_US = 1000000000, DEMANDED_COUNT = 5 };

static const struct grec_options seldom = {.interval_us = NEVER_US};

static struct grec_thread handle;

IN_SECTION(working) static void compute(struct busy_thread *self) {
    static volatile uint64_t sum __attribute__((unused));
    handle = grec_thread_self();
    while (goes_on(self))
        for (uint64_t i = 0; i < 1000; i++) sum += i;
}

static void wait_for_the_end(struct busy_thread *self) {
    handle = grec_thread_self();
    while (goes_on(self)) usleep(1000);
}

/* Starts a thread, and waits until its handle is there. */
static void start_thread(struct busy_thread *thread) {
    handle = (struct grec_thread){0, 0};
    busy_thread_start(thread);
    while (!__atomic_load_n(&handle.tid, __ATOMIC_ACQUIRE)) usleep(200);
}

/* A demand must be met, or have waited for a second: on a busy machine the sampler may need longer than that to begin.
 */
static bool is_met(enum grec_error result, uint64_t asked_ns) {
    enum { LIMIT_NS = 1000000000 };
    if (result == GREC_OK) return true;
    assert_int_equal(result, GREC_ERROR_STATE);
    assert_true(clock_now_ns(CLOCK_MONOTONIC) - asked_ns >= LIMIT_NS);
    return false;
}

static void need_sample(void) {
    uint64_t asked_ns;
    do asked_ns = clock_now_ns(CLOCK_MONOTONIC);
    while (!is_met(grec_sample_thread(handle), asked_ns));
}

static void need_rounds(void) {
    uint64_t asked_ns;
    do asked_ns = clock_now_ns(CLOCK_MONOTONIC);
    while (!is_met(grec_wait_for_sampling(), asked_ns));
}

TEST(test_thread_that_works, set_up_folder_and_alarm, tear_down_folder) {
    skip_under_thread_sanitizer();
    struct busy_thread thread = {.run = compute, .name = "busy"};
    start_sampling(*state, "demand.trace", seldom);
    start_thread(&thread);
    assert_int_equal(grec_thread_is_recorded(handle), 1);
    for (int i = 0; i < DEMANDED_COUNT; i++) need_sample();
    busy_thread_join(&thread);
    assert_int_equal(grec_thread_is_recorded(handle), 0);
    assert_int_equal(grec_sample_thread(handle), GREC_ERROR_STATE);
    const struct recorded *recorded = stop_and_read_whole(*state, "demand.trace");
    size_t count = count_samples_in(&recorded->profile, need_thread(recorded, "busy"), working_code());
    assert_true(count >= DEMANDED_COUNT);
}

/* The thread has not run since its last sample, or it waits: its stack is read from outside. Also while sampling is
 * paused, and then no other thread is sampled. */
TEST(test_thread_that_sleeps, set_up_folder_and_alarm, tear_down_folder) {
    skip_under_thread_sanitizer();
    struct busy_thread thread = {.run = wait_for_the_end, .name = "sleepy"};
    start_sampling(*state, "demand.trace", seldom);
    grec_thread_register("the first");
    grec_pause_sampling();
    start_thread(&thread);
    for (int i = 0; i < DEMANDED_COUNT; i++) need_sample();
    const struct recorded *recorded = stop_and_read(*state, "demand.trace");
    busy_thread_join(&thread);
    assert_nothing_lost(recorded);
    assert_true(need_thread(recorded, "sleepy")->samples.rows.count >= DEMANDED_COUNT);
    const struct thread *first = find_thread(&recorded->profile, "the first");
    assert_true(!first || !first->samples.rows.count);
}

TEST(test_waiting, set_up_folder_and_alarm, tear_down_folder) {
    skip_under_thread_sanitizer();
    struct busy_thread thread = {.run = compute, .name = "busy"};
    start_sampling(*state, "demand.trace", seldom);
    start_thread(&thread);
    need_rounds();
    uint64_t seen_count = atomic_load(&round_count);
    assert_true(seen_count >= 1);
    need_rounds();
    assert_true(atomic_load(&round_count) > seen_count);
    grec_pause();
    assert_int_equal(grec_wait_for_sampling(), GREC_ERROR_STATE);
    assert_int_equal(grec_sample_thread(handle), GREC_ERROR_STATE);
    assert_int_equal(grec_thread_is_recorded(handle), 0);
    grec_resume();
    need_rounds();
    busy_thread_join(&thread);
    const struct recorded *recorded = stop_and_read_whole(*state, "demand.trace");
    assert_true(recorded->profile.overheads.count >= 6);
}

static void demand_rounds(struct busy_thread *self) {
    while (goes_on(self)) grec_wait_for_sampling();
}

/* Rounds that are demanded while sampling is paused sample no thread, also if no other round has noticed the pause: two
 * threads demand rounds all the time. */
TEST(test_demanded_rounds_while_sampling_is_paused, set_up_folder_and_alarm, tear_down_folder) {
    enum { INTERVAL_US = 20000, WORK_US = 200000 };
    skip_under_thread_sanitizer();
    struct busy_thread thread = {.run = compute, .name = "busy"}, one = {.run = demand_rounds, .name = "one"},
                       other = {.run = demand_rounds, .name = "other"};
    start_sampling(*state, "demand.trace", (struct grec_options){.interval_us = INTERVAL_US});
    start_thread(&thread);
    busy_thread_start(&one);
    busy_thread_start(&other);
    need_rounds();
    grec_pause_sampling();
    need_rounds();
    GREC_INSTANT("paused", NULL);
    usleep(WORK_US);
    const struct recorded *recorded = stop_and_read(*state, "demand.trace");
    busy_thread_join(&thread);
    busy_thread_join(&one);
    busy_thread_join(&other);
    int64_t paused_ns = find_marker(&recorded->profile, "paused", NULL)->start_ns;
    const struct thread *busy = find_thread(&recorded->profile, "busy");
    for (uint32_t i = 0; busy && i < samples_count(&busy->samples); i++)
        assert_true(sample_time_ns(busy, i) <= paused_ns);
}

TEST(test_refused, set_up_folder_and_alarm, tear_down_folder) {
    const struct grec_thread none = {0, 0};
    assert_int_equal(grec_thread_is_recorded(none), 0);
    assert_int_equal(grec_main_thread().uid, 0);
    assert_int_equal(grec_sample_thread(none), GREC_ERROR_STATE);
    assert_int_equal(grec_wait_for_sampling(), GREC_ERROR_STATE);
    start_recording(*state, "demand.trace", (struct grec_options){.threads = "wanted"});
    struct busy_thread thread = {.run = wait_for_the_end, .name = "wanted"};
    start_thread(&thread);
    assert_int_equal(grec_thread_is_recorded(handle), 1);
    assert_int_equal(grec_sample_thread(handle), GREC_ERROR_STATE); /* there is no sampler */
    assert_int_equal(grec_wait_for_sampling(), GREC_ERROR_STATE);
    grec_thread_register("the first");
    assert_int_equal(grec_thread_is_recorded(grec_thread_self()), 0);
    assert_int_equal(grec_sample_thread(grec_thread_self()), GREC_ERROR_STATE);
    grec_thread_register("wanted too");
    assert_int_equal(grec_main_thread().tid, getpid());
    assert_int_equal(grec_main_thread().uid, grec_thread_self().uid);
    assert_int_equal(grec_thread_is_recorded(grec_main_thread()), 1);
    assert_int_equal(grec_sample_thread(grec_main_thread()), GREC_OK); /* the calling thread needs no sampler */
    struct grec_thread main_thread = grec_main_thread();
    const struct recorded *recorded = stop_and_read(*state, "demand.trace");
    busy_thread_join(&thread);
    assert_int_equal(need_thread(recorded, "wanted too")->samples.rows.count, 1);
    /* A handle of the last recording. */
    start_recording(*state, "demand.trace", (struct grec_options){.threads = ""});
    assert_int_equal(grec_thread_is_recorded(main_thread), 0);
}

int main(void) { return unit_tests_run(NULL, NULL); }
