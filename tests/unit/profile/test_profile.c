#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libconvert/profile/profile.h"
#include "tests/support/assert_text.h"
#include "tests/support/counter_samples.h"
#include "tests/support/profile_fixture.h"
#include "tests/support/random_numbers.h"
#include "tests/support/unit_test.h"

static const int64_t MS = 1000000;

static process_id add_process(int64_t pid, uint32_t generation) {
    return profile_add_process(&profile, pid, generation);
}

static struct thread *add_thread(process_id process, int64_t tid, uint32_t generation) {
    return profile_thread_at(&profile, profile_add_thread(&profile, process, tid, generation));
}

/* For profiles that need only one thread. */
static struct thread *add_single_thread(void) { return add_thread(add_process(7, 0), 7, 0); }

static struct thread *add_thread_with_samples(process_id process, int64_t tid, uint32_t sample_count) {
    struct thread *thread = add_thread(process, tid, 0);
    for (uint32_t i = 0; i < sample_count; i++) thread_add_sample(thread, i * MS, stack_none(), 1);
    return thread;
}

static int64_t time_ns(const struct thread *thread, size_t i) { return samples_at(&thread->samples, i)->time_ns; }
static uint32_t stack(const struct thread *thread, size_t i) { return samples_at(&thread->samples, i)->stack.index; }
static uint32_t weight(const struct thread *thread, size_t i) { return samples_at(&thread->samples, i)->weight; }

static void add_instant(struct thread *thread, int64_t start_ns, int64_t end_ns, uint32_t name) {
    static const struct marker_schema schema = {.name = TEXT("Bare")};
    profile_add_marker(&profile, thread,
                       (struct marker){.start_ns = start_ns,
                                       .end_ns = end_ns,
                                       .name = {name},
                                       .stack = stack_none(),
                                       .schema = profile_marker_schema(&profile, &schema)},
                       NULL);
}

static const struct marker *marker(const struct thread *thread, size_t i) { return column_at(&thread->markers, i); }

/* ---- Order and times. ---- */

TEST(samples_of_one_time_keep_their_order, begin_profile, end_profile) {
    enum { COUNT = 5000, TIME_COUNT = 40 };
    struct thread *thread = add_single_thread();
    struct random_numbers numbers = {8};
    uint32_t count_at[TIME_COUNT] = {0};
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t time = random_below(&numbers, TIME_COUNT);
        thread_add_sample(thread, time, (stack_id){time}, i);
        count_at[time]++;
    }
    finish_profile();
    uint32_t at = 0;
    for (uint32_t time = 0; time < TIME_COUNT; time++) {
        assert_true(count_at[time] > 1);
        for (uint32_t i = 0; i < count_at[time]; i++, at++) {
            assert_int_equal(time_ns(thread, at), time);
            assert_int_equal(stack(thread, at), time);
            if (i) assert_true(weight(thread, at - 1) < weight(thread, at));
        }
    }
    assert_int_equal(at, COUNT);
}

TEST(markers_are_sorted_by_their_start, begin_profile, end_profile) {
    enum { COUNT = 3000, TIME_COUNT = 50 };
    struct thread *thread = add_single_thread();
    struct random_numbers numbers = {9};
    for (uint32_t i = 0; i < COUNT; i++) {
        int64_t start_ns = random_below(&numbers, TIME_COUNT);
        add_instant(thread, start_ns, start_ns + random_below(&numbers, 9), i);
    }
    add_instant(thread, 0, 0, COUNT);
    finish_profile();
    for (uint32_t i = 1; i <= COUNT; i++) {
        const struct marker *a = marker(thread, i - 1), *b = marker(thread, i);
        assert_true(a->start_ns < b->start_ns || (a->start_ns == b->start_ns && a->name.index < b->name.index));
    }
}

TEST(times_far_apart_are_kept, begin_profile, end_profile) {
    struct thread *thread = add_single_thread();
    thread_add_sample(thread, INT64_MAX, stack_none(), 1);
    thread_add_sample(thread, 0, stack_none(), 1);
    finish_profile();
    assert_true(time_ns(thread, 1) == INT64_MAX);
    assert_true(profile.end_ns == INT64_MAX);
    assert_true(profile.meta.interval_ns == INT64_MAX);
}

TEST(times_may_be_negative, begin_profile, end_profile) {
    struct thread *thread = add_single_thread();
    thread_add_sample(thread, -10, stack_none(), 1);
    thread_add_sample(thread, -30, stack_none(), 2);
    thread_add_sample(thread, 5, stack_none(), 3);
    finish_profile();
    assert_int_equal(profile.origin_ns, -30);
    assert_int_equal(time_ns(thread, 0), 0);
    assert_int_equal(time_ns(thread, 1), 20);
    assert_int_equal(time_ns(thread, 2), 35);
}

TEST(lives_are_relative_to_time_zero, begin_profile, end_profile) {
    static const struct {
        int64_t start_ns, end_ns, relative_start_ns, relative_end_ns;
    } cases[] = {
        {TIME_NONE, TIME_NONE, TIME_NONE, TIME_NONE},
        {900, 999, TIME_NONE, 0}, /* earlier than the first event: only its existence is known */
        {1000, 1000, 0, 0},
        {1001, 2500, 1, 1500},
        {TIME_NONE, 1200, TIME_NONE, 200},
        {1200, TIME_NONE, 200, TIME_NONE},
    };
    enum { CASE_COUNT = sizeof cases / sizeof *cases };
    for (uint32_t i = 0; i < CASE_COUNT; i++) {
        process_id id = add_process(i, 0);
        struct process *process = profile_process_at(&profile, id);
        struct thread *thread = add_thread(id, i, 0);
        process->start_ns = thread->start_ns = cases[i].start_ns;
        process->end_ns = thread->end_ns = cases[i].end_ns;
        if (i == 0) thread_add_sample(thread, 1000, stack_none(), 1);
    }
    finish_profile();
    for (uint32_t i = 0; i < CASE_COUNT; i++) {
        const struct process *process = profile_process_at(&profile, (process_id){i});
        const struct thread *thread = profile_thread_at(&profile, (thread_id){i});
        assert_true(process->start_ns == cases[i].relative_start_ns && process->end_ns == cases[i].relative_end_ns);
        assert_true(thread->start_ns == cases[i].relative_start_ns && thread->end_ns == cases[i].relative_end_ns);
    }
}

TEST(the_start_is_derived_from_when_the_trace_was_written, begin_profile, end_profile) {
    struct thread *thread = add_single_thread();
    thread_add_sample(thread, 10 * MS, stack_none(), 1);
    thread_add_sample(thread, 10 * MS + 2500 * MS + 999999, stack_none(), 1);
    profile.meta.captured_at_ms = 1700000010000;
    finish_profile();
    assert_true(profile.meta.start_time_ms == 1700000007500);
}

TEST(a_profile_with_made_up_times_has_no_start, begin_profile, end_profile) {
    thread_add_sample(add_single_thread(), 10 * MS, stack_none(), 1);
    profile.meta.captured_at_ms = 1700000010000;
    profile.meta.has_times = false;
    finish_profile();
    assert_true(profile.meta.start_time_ms == 0);
}

TEST(the_start_is_derived_from_how_far_the_clocks_are_apart, begin_profile, end_profile) {
    thread_add_sample(add_single_thread(), 10 * MS + 999999, stack_none(), 1);
    profile.meta.epoch_offset_ns = 1700000000000 * MS;
    finish_profile();
    assert_true(profile.meta.start_time_ms == 1700000000010);
}

TEST(a_start_that_is_known_stays, begin_profile, end_profile) {
    thread_add_sample(add_single_thread(), 10 * MS, stack_none(), 1);
    profile.meta.captured_at_ms = 1700000010000;
    profile.meta.start_time_ms = 1600000000000;
    finish_profile();
    assert_true(profile.meta.start_time_ms == 1600000000000);
}

/* ---- The interval. ---- */

TEST(the_interval_is_the_median_of_the_deltas, begin_profile, end_profile) {
    struct thread *thread = add_single_thread();
    static const int64_t times_ns[] = {0, 100, 250, 250, 10000, 9990}; /* deltas 100, 150, 0, 9740, 10 */
    for (size_t i = 0; i < sizeof times_ns / sizeof *times_ns; i++)
        thread_add_sample(thread, times_ns[i], stack_none(), 1);
    finish_profile();
    assert_int_equal(profile.meta.interval_ns, 150); /* the upper middle of 10, 100, 150, 9740 */
}

TEST(only_the_first_deltas_count, begin_profile, end_profile) {
    enum { COUNTED = 65536 };
    struct thread *thread = add_single_thread();
    int64_t time = 0;
    for (uint32_t i = 0; i < COUNTED / 2; i++) thread_add_sample(thread, time += 10, stack_none(), 1);
    for (uint32_t i = 0; i < COUNTED / 2 + 1; i++) thread_add_sample(thread, time += 20, stack_none(), 1);
    for (uint32_t i = 0; i < 3 * COUNTED; i++) thread_add_sample(thread, time += 30, stack_none(), 1);
    finish_profile();
    assert_int_equal(profile.meta.interval_ns, 20);
}

/* Adds samples that are `delta_ns` apart, in which the thread ran, and as many after a sleep. */
static void add_samples_of_a_recorder(uint32_t count, int64_t delta_ns) {
    struct thread *thread = add_single_thread();
    for (uint32_t i = 0; i < 2 * count; i++) {
        bool has_slept = i >= count;
        thread_add_sample(thread, i * delta_ns + (has_slept ? i * 100 * MS : 0), stack_none(), 1);
        samples_set_details(&thread->samples, has_slept ? 0 : delta_ns, TIME_NONE);
    }
    finish_profile();
}

TEST(a_configured_interval_stays_if_it_was_kept, begin_profile, end_profile) {
    profile.meta.configuration.interval_ns = MS;
    add_samples_of_a_recorder(100, MS + MS / 5);
    assert_int_equal(profile.meta.interval_ns, MS);
}

TEST(a_configured_interval_gives_way_to_the_measured_one, begin_profile, end_profile) {
    profile.meta.configuration.interval_ns = MS / 10;
    add_samples_of_a_recorder(100, MS);
    assert_int_equal(profile.meta.interval_ns, MS);
    assert_int_equal(profile.meta.configuration.interval_ns, MS / 10);
}

/* A program that works in bursts: of ten distances, nine are long. */
TEST(long_distances_do_not_contradict_the_configured_interval, begin_profile, end_profile) {
    profile.meta.configuration.interval_ns = MS;
    struct thread *thread = add_single_thread();
    int64_t time_ns = 0;
    for (int i = 0; i < 100; i++) thread_add_sample(thread, time_ns += i % 10 ? 5 * MS : MS, stack_none(), 1);
    finish_profile();
    assert_int_equal(profile.meta.interval_ns, MS);
}

TEST(few_samples_do_not_contradict_the_configured_interval, begin_profile, end_profile) {
    profile.meta.configuration.interval_ns = MS / 10;
    add_samples_of_a_recorder(10, MS);
    assert_int_equal(profile.meta.interval_ns, MS / 10);
}

/* ---- Names. ---- */

TEST(later_lives_are_numbered, begin_profile, end_profile) {
    process_id first = add_process(12, 0), second = add_process(12, 1), third = add_process(12, 2);
    struct thread *a = add_thread_with_samples(first, 12, 1);
    struct thread *b = add_thread_with_samples(second, 12, 1);
    struct thread *c = add_thread_with_samples(second, 13, 1);
    struct thread *d = add_thread(second, 13, 1);
    finish_profile();
    assert_text(profile_process_at(&profile, first)->pid_text, "12");
    assert_text(profile_process_at(&profile, second)->pid_text, "12.2");
    assert_text(profile_process_at(&profile, third)->pid_text, "12.3");
    assert_text(a->tid_text, "");
    assert_text(b->tid_text, "");
    assert_text(c->tid_text, "");
    assert_text(d->tid_text, "13.2");
    assert_true(a->is_main);
    assert_true(b->is_main);
    assert_int_equal(profile_process_at(&profile, second)->main_thread.index, 1);
    assert_text(profile_process_at(&profile, third)->name, "process 12.3");
}

TEST(the_first_generation_of_a_main_thread_is_the_main_thread, begin_profile, end_profile) {
    process_id id = add_process(7, 0);
    struct thread *first = add_thread_with_samples(id, 7, 1);
    struct thread *second = add_thread(id, 7, 1);
    thread_add_sample(second, 5, stack_none(), 1);
    first->name = TEXT("first");
    second->name = TEXT("second");
    finish_profile();
    assert_true(first->is_main);
    assert_false(second->is_main);
    assert_text(second->tid_text, "7.2");
    assert_text(profile_process_at(&profile, id)->name, "first");
}

/* ---- Order of threads. ---- */

static void assert_order(size_t count, const uint32_t *threads) {
    assert_int_equal(profile.thread_order.count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(((const thread_id *)column_at(&profile.thread_order, i))->index, threads[i]);
}

TEST(empty_threads_are_left_out, begin_profile, end_profile) {
    process_id a = add_process(10, 0), b = add_process(20, 0), c = add_process(30, 0), d = add_process(40, 0);
    add_thread_with_samples(a, 10, 0);                       /* 0: main, kept because there are others */
    add_thread_with_samples(a, 11, 0);                       /* 1 */
    add_thread_with_samples(a, 12, 2);                       /* 2 */
    add_thread_with_samples(b, 20, 0);                       /* 3: the main thread of a process without content */
    add_thread_with_samples(b, 21, 0);                       /* 4 */
    add_instant(add_thread_with_samples(c, 31, 0), 5, 5, 0); /* 5: markers are content */
    add_thread_with_samples(d, 40, 1);                       /* 6 */
    finish_profile();
    assert_order(4, (uint32_t[]){0, 2, 5, 6});
}

TEST(threads_of_a_process_follow_in_order_of_appearance, begin_profile, end_profile) {
    enum { PROCESS_COUNT = 7, THREAD_COUNT = 2000 };
    for (uint32_t i = 0; i < PROCESS_COUNT; i++) add_process(1000000 + i, 0);
    struct random_numbers numbers = {10};
    static uint32_t expected[THREAD_COUNT];
    static struct {
        uint32_t process;
        bool has_sample;
    } model[THREAD_COUNT];
    for (uint32_t i = 0; i < THREAD_COUNT; i++) {
        model[i].process = random_below(&numbers, PROCESS_COUNT);
        model[i].has_sample = random_below(&numbers, 2);
        add_thread_with_samples((process_id){model[i].process}, i, model[i].has_sample);
    }
    size_t count = 0;
    for (uint32_t process = 0; process < PROCESS_COUNT; process++)
        for (uint32_t i = 0; i < THREAD_COUNT; i++)
            if (model[i].process == process && model[i].has_sample) expected[count++] = i;
    finish_profile();
    assert_order(count, expected);
}

static void add_counter(process_id process) {
    struct counter *counter =
        profile_add_counter(&profile, &(struct counter){.process = process, .name = TEXT("queue")});
    counter_add_sample(counter, 0, 0, 0);
}

/* The front-end needs a thread to show counters: the main thread, or another one if there is none. */
TEST(processes_with_counters_keep_a_thread, begin_profile, end_profile) {
    process_id with_main = add_process(2, 0), without_main = add_process(3, 0), without_any = add_process(4, 0);
    add_thread(with_main, 21, 0);
    add_thread(with_main, 2, 0);
    add_thread(without_main, 31, 0);
    add_thread(without_main, 32, 0);
    add_thread(add_process(5, 0), 5, 0);
    add_counter(without_any);
    add_counter(without_main);
    add_counter(with_main);
    finish_profile();
    assert_int_equal(profile.thread_order.count, 2);
    assert_int_equal(profile_ordered_thread(&profile, 0)->tid, 2);
    assert_int_equal(profile_ordered_thread(&profile, 1)->tid, 31);
    assert_int_equal(profile.counters.count, 2);
    assert_int_equal(ledger_sum(&profile.ledger, LEDGER_VALUES, LEDGER_LOST), 1);
}

int main(void) { return unit_tests_run(NULL, NULL); }
