/* Tests that thinning keeps sums exact, and what it does to samples, threads and markers. */
#include "libconvert/profile/thin.h"

#include "libconvert/profile/sweep.h"
#include "tests/support/profile_fixture.h"
#include "tests/support/unit_test.h"

static struct thinning thinning;

static stack_id stack_of(const char *name) {
    return profile_stack(&profile, stack_none(),
                         profile_named_frame(&profile, text_of(name), (struct category_pair){0}));
}

static struct thread *add_thread(process_id process, int64_t tid) {
    return profile_thread_at(&profile, profile_add_thread(&profile, process, tid, 0));
}

static void assert_sample(const struct thread *thread, uint32_t row, int64_t time_ns, stack_id stack, int64_t weight,
                          uint32_t scale) {
    const struct sample *sample = samples_at(&thread->samples, row);
    struct decimal decoded = profile_weight_decode(&profile, sample->weight);
    assert_int_equal(sample->time_ns, time_ns);
    assert_int_equal(sample->stack.index, stack.index);
    assert_int_equal(decoded.mantissa, weight);
    assert_int_equal(decoded.scale, scale);
}

/* Ten milliseconds are two parts of 5 ms. Weights of the first one are 0.1, 2, 0.3, 4 and 5. */
TEST(test_samples, begin_profile, end_profile) {
    stack_id a = stack_of("a"), b = stack_of("b");
    struct thread *thread = add_only_thread();
    profile.meta.weight_type = WEIGHT_SAMPLES;
    thread_add_sample(thread, 0, a, profile_weight_encode(&profile, decimal_make(1, 1)));
    thread_add_sample(thread, 1000000, b, 2);
    thread_add_sample(thread, 2000000, a, profile_weight_encode(&profile, decimal_make(3, 1)));
    thread_add_sample(thread, 3000000, stack_none(), 4);
    thread_add_sample(thread, 4000000, b, 5);
    thread_add_sample(thread, 6000000, b, 7);
    thread_add_sample(thread, 10000000, b, 8);
    finish_profile();
    thinning_init(&thinning, &profile);
    thin_samples(&thinning, 2);
    assert_int_equal(samples_count(&thread->samples), 4);
    /* Two, two and one of five samples share the 4 ms. */
    assert_sample(thread, 0, 0, a, 4, 1);
    assert_sample(thread, 1, 1600000, b, 7, 0);
    assert_sample(thread, 2, 3200000, stack_none(), 4, 0);
    assert_sample(thread, 3, 6000000, b, 15, 0);
    assert_int_equal(thinning.joined_samples, 3);
    thinning_fini(&thinning);
}

/* Samples that count one have their processor time as weight. It stays, beside the weight that they get. The first
 * sample, whose processor time the front-end ignores, stays alone. */
static void check_counted(enum cpu_delta_unit unit) {
    stack_id a = stack_of("a");
    struct thread *thread = add_only_thread();
    profile.meta.cpu_delta_unit = unit;
    for (int i = 0; i < 4; i++) thread_add_sample(thread, i * 1000000, a, 100 + (uint32_t)i);
    finish_profile();
    thinning_init(&thinning, &profile);
    thin_samples(&thinning, 2);
    assert_int_equal(profile.meta.weight_type, WEIGHT_SAMPLES);
    assert_int_equal(profile.meta.cpu_delta_unit, unit);
    assert_false(profile_are_weights_cpu(&profile));
    assert_int_equal(samples_count(&thread->samples), 3);
    assert_sample(thread, 0, 0, a, 1, 0);
    assert_sample(thread, 1, 1000000, a, 1, 0);
    assert_sample(thread, 2, 2000000, a, 2, 0);
    assert_int_equal(samples_cpu_ns(&thread->samples, 0), 100);
    assert_int_equal(samples_cpu_ns(&thread->samples, 1), 101);
    assert_int_equal(samples_cpu_ns(&thread->samples, 2), 205);
    thinning_fini(&thinning);
}

TEST(test_processor_time, begin_profile, end_profile) { check_counted(CPU_DELTA_NS); }
TEST(test_processor_cycles, begin_profile, end_profile) { check_counted(CPU_DELTA_CYCLES); }

/* A sum that has no room stays two samples. */
TEST(test_large_weights, begin_profile, end_profile) {
    stack_id a = stack_of("a");
    struct thread *thread = add_only_thread();
    uint32_t weight = profile_weight_encode(&profile, decimal_make(999999999999999999, 0));
    profile.meta.weight_type = WEIGHT_SAMPLES;
    for (int i = 0; i < 3; i++)
        thread_add_sample(thread, i, a, i ? weight : profile_weight_encode(&profile, decimal_make(1, 18)));
    finish_profile();
    thinning_init(&thinning, &profile);
    thin_samples(&thinning, 1);
    assert_int_equal(samples_count(&thread->samples), 2);
    assert_sample(thread, 0, 0, a, 1, 18);
    assert_sample(thread, 1, 0, a, 1999999999999999998, 0);
    thinning_fini(&thinning);
}

TEST(test_threads, begin_profile, end_profile) {
    process_id first = profile_add_process(&profile, 1, 0), second = profile_add_process(&profile, 2, 0);
    static const struct {
        int64_t tid;
        int sample_count;
    } threads[] = {{1, 1}, {10, 2}, {11, 5}, {12, 1}, {13, 2}};
    stack_id a = stack_of("a");
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        struct thread *thread = add_thread(first, threads[i].tid);
        for (int j = threads[i].sample_count; j-- > 0;) thread_add_sample(thread, 100 * threads[i].tid + j * 7, a, 1);
    }
    thread_add_sample(add_thread(second, 20), 0, a, 1);
    finish_profile();
    thinning_init(&thinning, &profile);
    thin_threads(&thinning, 2);
    assert_int_equal(profile.thread_order.count, 4);
    assert_int_equal(profile_ordered_thread(&profile, 0)->tid, 1);
    const struct thread *joined = profile_ordered_thread(&profile, 1);
    assert_int_equal(joined->tid, 10);
    assert_int_equal(samples_count(&joined->samples), 5);
    assert_true(text_equal(joined->name, TEXT("3 threads with little in them")));
    for (uint32_t i = 1; i < 5; i++)
        assert_true(samples_at(&joined->samples, i - 1)->time_ns <= samples_at(&joined->samples, i)->time_ns);
    assert_int_equal(profile_ordered_thread(&profile, 2)->tid, 11);
    assert_int_equal(profile_ordered_thread(&profile, 3)->tid, 20);
    assert_int_equal(profile_process_at(&profile, second)->place, 3);
    assert_int_equal(thinning.joined_threads, 2);
    thinning_fini(&thinning);
}

static void add_stack_marker(struct thread *thread, thread_id origin_thread) {
    struct marker marker = {
        .name = profile_string(&profile, TEXT("m")), .stack = stack_of("a"), .schema = MARKER_SCHEMA_NONE};
    const struct stack_origin origin = {.thread = origin_thread};
    profile_add_marker_from(&profile, thread, &marker, &origin, NULL);
}

/* Rows that name a thread without a track of its own name the one that has its rows. */
TEST(test_joined_threads_are_named, begin_profile, end_profile) {
    process_id process = profile_add_process(&profile, 1, 0);
    thread_id ids[4];
    for (int i = 0; i < 4; i++) ids[i] = profile_add_thread(&profile, process, 1 + i, 0);
    struct thread *main = profile_thread_at(&profile, ids[0]), *large = profile_thread_at(&profile, ids[1]);
    for (int i = 0; i < 9; i++) thread_add_sample(large, i, stack_of("a"), 1);
    add_stack_marker(main, ids[3]);
    add_stack_marker(profile_thread_at(&profile, ids[2]), ids[2]);
    add_stack_marker(profile_thread_at(&profile, ids[3]), ids[3]);
    profile_add_allocation(&profile, ids[0], 0, 100, 0x10, stack_none());
    profile_add_allocation(&profile, ids[3], 1, -100, 0x10, stack_none());
    finish_profile();
    thinning_init(&thinning, &profile);
    thin_threads(&thinning, 2);
    assert_int_equal(thinning.joined_threads, 1);
    const struct thread *joined = profile_thread_at(&profile, ids[2]);
    assert_int_equal(joined->markers.count, 2);
    for (size_t i = 0; i < 2; i++)
        assert_null(profile_foreign_thread(&profile, joined, column_at(&joined->markers, i)));
    assert_ptr_equal(profile_foreign_thread(&profile, main, column_at(&main->markers, 0)), joined);
    assert_int_equal(main->allocations.count, 2);
    assert_int_equal(((const struct allocation *)column_at(&main->allocations, 1))->thread.index, ids[2].index);
    thinning_fini(&thinning);
}

TEST(test_markers, begin_profile, end_profile) {
    struct thread *thread = add_only_thread();
    thread_add_sample(thread, 0, stack_of("a"), 1);
    for (int i = 0; i < 100; i++) {
        struct marker *marker = column_push(&thread->markers);
        *marker = (struct marker){.start_ns = i,
                                  .end_ns = i,
                                  .name = strings_intern(&profile.strings, TEXT("m")),
                                  .stack = stack_none(),
                                  .schema = MARKER_SCHEMA_NONE,
                                  .phase = i % 10 ? MARKER_INSTANT : MARKER_INTERVAL_START};
    }
    finish_profile();
    thinning_init(&thinning, &profile);
    thin_markers(&thinning, 90);
    assert_int_equal(thread->markers.count, 100);
    thin_markers(&thinning, 9);
    assert_int_equal(thread->markers.count, 10 + 9);
    assert_int_equal(thinning.left_out_markers, 81);
    thinning_enter(&thinning);
    assert_int_equal(ledger_sum(&profile.ledger, LEDGER_VALUES, LEDGER_FILTERED), 81);
    assert_int_equal(profile.ledger.read[LEDGER_VALUES], 81);
    thinning_fini(&thinning);
}

int main(void) { return unit_tests_run(NULL, NULL); }
