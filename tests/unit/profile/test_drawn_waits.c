/* Tests that a thread is drawn without processor times as it is with them. */
#include "libconvert/profile/drawn_waits.h"

#include "tests/support/profile_fixture.h"
#include "tests/support/unit_test.h"

static stack_id busy, idle;

static struct thread *begin(enum cpu_delta_unit unit) {
    struct category_pair category = categories_intern_code(&profile.categories, CODE_IDLE, TEXT(""));
    busy =
        profile_stack(&profile, stack_none(), profile_named_frame(&profile, TEXT("work"), (struct category_pair){0}));
    idle = profile_stack(&profile, stack_none(), profile_named_frame(&profile, TEXT("(not running)"), category));
    profile.meta.cpu_delta_unit = unit;
    profile.meta.interval_ns = 1000000;
    return add_only_thread();
}

/* Expects samples with these times in microseconds; those of `idle` are negative. */
static void assert_drawn(const struct thread *thread, const int64_t *times_us, uint32_t count) {
    assert_int_equal(samples_count(&thread->samples), count);
    for (uint32_t i = 0; i < count; i++) {
        const struct sample *sample = samples_at(&thread->samples, i);
        bool is_idle = times_us[i] < 0 || (i == 0 && times_us[i] == 0);
        assert_int_equal(sample->time_ns, 1000 * (times_us[i] < 0 ? -times_us[i] : times_us[i]));
        assert_int_equal(sample->stack.index, is_idle ? idle.index : busy.index);
    }
}

#define ASSERT_DRAWN(thread, ...) \
    assert_drawn(thread, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static uint32_t weight_sum(const struct thread *thread) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < samples_count(&thread->samples); i++) sum += samples_at(&thread->samples, i)->weight;
    return sum;
}

/* The front-end draws a sample half-way to its neighbours. Of 10 ms in which the thread ran for 2 ms, 1 ms is after the
 * first sample and 1 ms before the second one; if it ran for 8 ms, the idle sample between has 2 ms. */
TEST(waits_are_as_long_as_they_were, begin_profile, end_profile) {
    struct thread *thread = begin(CPU_DELTA_NS);
    thread_add_sample(thread, 0, busy, 7000000);
    thread_add_sample(thread, 10000000, busy, 10000000);
    thread_add_sample(thread, 20000000, busy, 2000000);
    thread_add_sample(thread, 30000000, busy, 8000000);
    thread_add_sample(thread, 40000000, busy, 0);
    finish_profile();
    profile_draw_waits(&profile);
    ASSERT_DRAWN(thread, 0, 0, 10000, -12000, -18000, 20000, 23000, -25000, 27000, 30000, -30000, -40000, 40000,
                 -40000);
    assert_int_equal(weight_sum(thread), 5);
    assert_int_equal(samples_cpu_ns(&thread->samples, 5), 2000000);
}

/* The most cycles of a millisecond are a whole processor. Nothing is drawn between two idle samples anyway. */
TEST(cycles_are_compared_with_the_most, begin_profile, end_profile) {
    struct thread *thread = begin(CPU_DELTA_CYCLES);
    thread_add_sample(thread, 0, busy, 1);
    thread_add_sample(thread, 1000000, busy, 300);
    thread_add_sample(thread, 2000000, busy, 150);
    thread_add_sample(thread, 3000000, idle, 0);
    thread_add_sample(thread, 4000000, idle, 0);
    finish_profile();
    profile_draw_waits(&profile);
    ASSERT_DRAWN(thread, 0, 0, 1000, -1500, -1500, 2000, -2000, -3000, -3000, -4000, -4000);
}

TEST(threads_without_processor_times_stay, begin_profile, end_profile) {
    struct thread *thread = begin(CPU_DELTA_NONE);
    thread_add_sample(thread, 0, busy, 1);
    thread_add_sample(thread, 5000000, busy, 1);
    finish_profile();
    profile_draw_waits(&profile);
    assert_int_equal(samples_count(&thread->samples), 2);
    assert_int_equal(samples_at(&thread->samples, 1)->time_ns, 5000000);
}

/* The front-end takes a processor time that it does not know for that of a thread that ran all the time. */
TEST(unknown_processor_times_are_no_waits, begin_profile, end_profile) {
    static const int64_t cpu_ns[] = {0, TIME_NONE, 1000000, -9000000};
    struct thread *thread = begin(CPU_DELTA_NONE);
    for (int i = 0; i < 4; i++) {
        thread_add_sample(thread, 2000000 * i, busy, 1);
        samples_set_details(&thread->samples, cpu_ns[i], TIME_NONE);
    }
    finish_profile();
    profile_draw_waits(&profile);
    ASSERT_DRAWN(thread, 0, 0, 2000, -3000, -3000, 4000, -4000, -6000, 6000, -6000);
}

int main(void) { return unit_tests_run(NULL, NULL); }
