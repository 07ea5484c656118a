/* Tests memory events that a program reports itself. Their level is counted in pauses too. Each recorded allocation
 * is recorded with its end, whichever thread frees it. */
#include <stdio.h>
#include <stdlib.h>

#include <pthread.h>

#include "tests/support/recorder_trace.h"
#include "tests/support/unit_test.h"

/* A size much larger than the mean distance between recorded allocations, so that every allocation is recorded and
 * stands for itself. */
#define LARGE_BYTES ((size_t)1 << 30)

/* Returns a fake address. The recorder does not access the memory at the addresses that it gets. */
static const void *address_of(uintptr_t number) { return (const void *)(number * 4096); }

static void take(uintptr_t number) { grec_memory_allocated(address_of(number), LARGE_BYTES); }
static void give_back(uintptr_t number) { grec_memory_freed(address_of(number), LARGE_BYTES); }

struct task {
    const char *thread_name;
    void (*run)(void);
};

static void *run_task(void *context) {
    const struct task *task = context;
    grec_thread_register(task->thread_name);
    task->run();
    return NULL;
}

static void run_thread(const char *name, void (*run)(void)) {
    pthread_t thread;
    struct task task = {name, run};
    assert_int_equal(pthread_create(&thread, NULL, run_task, &task), 0);
    pthread_join(thread, NULL);
}

/* Compares the allocations in a profile with a text, in units of LARGE_BYTES. "1+ 2+ 1-" means an allocation at
 * number 1, one at number 2, and the end of the first one. */
static void assert_allocations(const struct profile *profile, const char *expected) {
    struct profile_text *got = profile_text_create();
    for (size_t i = 0; i < profile->threads.count; i++) {
        const struct thread *thread = column_at(&profile->threads, i);
        for (size_t j = 0; j < thread->allocations.count; j++) {
            const struct allocation *allocation = column_at(&thread->allocations, j);
            int64_t bytes = allocation->bytes < 0 ? -allocation->bytes : allocation->bytes;
            assert_int_equal(bytes, LARGE_BYTES);
            profile_text_print(got, "%s%" PRIu64 "%c", got->used_bytes ? " " : "", allocation->address / 4096,
                               allocation->bytes < 0 ? '-' : '+');
        }
    }
    if (strcmp(got->bytes, expected) != 0) fail_msg("\"%s\", not \"%s\"", got->bytes, expected);
    free(got);
}

/* Returns the level of the counter at the end, in units of LARGE_BYTES. */
static int64_t level_of(const struct profile *profile) {
    const struct counter *counter = find_counter(profile, "malloc");
    int64_t sum = 0;
    assert_non_null(counter);
    for (size_t i = 0; i < counter->samples.count; i++)
        sum += ((const struct counter_sample *)column_at(&counter->samples, i))->change;
    assert_int_equal(sum % (int64_t)LARGE_BYTES, 0);
    return sum / (int64_t)LARGE_BYTES;
}

/* Compares the numbers of operations in the samples of the counter with a text, without those that are 0. */
static void assert_numbers_are(const struct profile *profile, const char *expected) {
    const struct counter *counter = find_counter(profile, "malloc");
    struct profile_text *got = profile_text_create();
    assert_non_null(counter);
    for (size_t i = 0; i < counter->samples.count; i++) {
        uint32_t number = ((const struct counter_sample *)column_at(&counter->samples, i))->number;
        if (number) profile_text_print(got, "%s%" PRIu32, got->used_bytes ? " " : "", number);
    }
    if (strcmp(got->bytes, expected) != 0) fail_msg("\"%s\", not \"%s\"", got->bytes, expected);
    free(got);
}

/* Allocations and deallocations since the last sample are counted, also in a pause, and from 0 in each recording. */
TEST(test_numbers, set_up_folder, tear_down_folder) {
    for (int i = 0; i < 2; i++) {
        take(100);
        start_recording(*state, "numbers.trace", (struct grec_options){.flags = 0});
        take(1);
        take(2);
        give_back(1);
        grec_sample();
        give_back(2);
        grec_sample();
        grec_pause();
        for (uintptr_t number = 1; number <= 5; number++) take(number);
        grec_resume();
        const struct recorded *recorded = stop_and_read(*state, "numbers.trace");
        assert_numbers_are(&recorded->profile, "3 1 5");
    }
}

TEST(test_pause, set_up_folder, tear_down_folder) {
    start_recording(*state, "pause.trace", (struct grec_options){.flags = 0});
    take(1);
    take(2);
    grec_pause();
    give_back(1);
    take(3);
    give_back(3);
    grec_resume();
    /* The addresses of freed memory are used again after the pause, and in another pause. */
    take(1);
    grec_pause();
    give_back(2);
    take(2);
    grec_resume();
    give_back(2);
    grec_sample();
    const struct recorded *recorded = stop_and_read_whole(*state, "pause.trace");
    assert_allocations(&recorded->profile, "1+ 2+ 1- 1+ 2-");
    assert_int_equal(level_of(&recorded->profile), 1);
    const struct thread *thread = column_at(&recorded->profile.threads, 0);
    const struct paused_range *pause = column_at(&recorded->profile.paused_ranges, 0);
    const struct allocation *end = column_at(&thread->allocations, 2);
    assert_true(end->time_ns >= pause->end_ns);
    assert_true(stack_is_none(end->stack));
}

/* grec_resume records the true level; it does not wait for the next change. */
TEST(test_level_after_pause, set_up_folder, tear_down_folder) {
    start_recording(*state, "level.trace", (struct grec_options){.flags = 0});
    take(1);
    grec_sample();
    grec_pause();
    give_back(1);
    grec_resume();
    const struct recorded *recorded = stop_and_read(*state, "level.trace");
    assert_int_equal(level_of(&recorded->profile), 0);
}

/* Allocations from one recording must not be in the next one. */
TEST(test_stop_and_start, set_up_folder, tear_down_folder) {
    const struct recorded *recorded;
    for (int i = 0; i < 3; i++) {
        start_recording(*state, "next.trace", (struct grec_options){.flags = 0});
        if (i) give_back(1); /* allocation of the previous recording */
        take(2);
        give_back(2);
        take(1);
        if (i == 1) {
            grec_pause();
            give_back(1);
        }
        recorded = stop_and_read(*state, "next.trace");
        assert_allocations(&recorded->profile, "2+ 2- 1+");
    }
}

static void take_1_and_2(void) {
    take(1);
    take(2);
}
static void give_back_1(void) { give_back(1); }
static void take_3(void) { take(3); }
static void give_back_2_and_3(void) {
    give_back(2);
    give_back(3);
    grec_sample();
}

/* If a recorded thread allocates, the end of the allocation is recorded even if another thread frees it. If an
 * allocation is not recorded, neither is its end. */
TEST(test_filter, set_up_folder, tear_down_folder) {
    start_recording(*state, "filter.trace", (struct grec_options){.threads = "wanted"});
    run_thread("wanted", take_1_and_2);
    run_thread("other", give_back_1);
    run_thread("other", take_3);
    run_thread("wanted", give_back_2_and_3);
    const struct recorded *recorded = stop_and_read_whole(*state, "filter.trace");
    assert_allocations(&recorded->profile, "1+ 2+ 1- 2-");
    assert_int_equal(level_of(&recorded->profile), 0);
}

/* ---- Pauses while other threads allocate. ---- */

enum { PAUSE_COUNT = 200, SLOT_COUNT = 64 };

static bool is_over;

static void take_and_give_back(void) {
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        for (uintptr_t i = 1; i <= SLOT_COUNT; i++) take(i);
        for (uintptr_t i = 1; i <= SLOT_COUNT; i++) give_back(i);
    }
}

static void *take_until_over(void *unused) {
    take_and_give_back();
    return NULL;
}

/* Every recorded allocation gets its end, no matter when pauses begin and end. */
TEST(test_pauses_at_any_time, set_up_folder, tear_down_folder) {
    pthread_t thread;
    __atomic_store_n(&is_over, false, __ATOMIC_RELEASE);
    start_recording(*state, "any.trace", (struct grec_options){.limit_bytes = GREC_UNLIMITED});
    assert_int_equal(pthread_create(&thread, NULL, take_until_over, NULL), 0);
    for (int i = 0; i < PAUSE_COUNT; i++) {
        grec_pause();
        sched_yield();
        grec_resume();
        usleep(100);
    }
    __atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    grec_sample();
    const struct recorded *recorded = stop_and_read_whole(*state, "any.trace");
    assert_int_equal(level_of(&recorded->profile), 0);
    int64_t left[SLOT_COUNT + 1] = {0};
    for (size_t i = 0; i < recorded->profile.threads.count; i++) {
        const struct thread *owner = column_at(&recorded->profile.threads, i);
        for (size_t j = 0; j < owner->allocations.count; j++) {
            const struct allocation *allocation = column_at(&owner->allocations, j);
            left[allocation->address / 4096] += allocation->bytes < 0 ? -1 : 1;
        }
    }
    for (size_t i = 1; i <= SLOT_COUNT; i++) assert_int_equal(left[i], 0);
}

int main(void) { return unit_tests_run(NULL, NULL); }
