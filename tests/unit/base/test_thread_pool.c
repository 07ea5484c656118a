/* Tests thread pools: with and without threads, with jobs that wait for jobs, and with jobs that nobody has begun. */
#include "libconvert/base/thread_pool.h"

#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

#include "tests/support/unit_test.h"

enum { JOB_COUNT = 100 };

static struct thread_pool pool;
static struct thread_job jobs[JOB_COUNT];
static atomic_uint run_counts[JOB_COUNT];
static atomic_uint helper_max;

static void count(void *context, unsigned helper) {
    atomic_fetch_add((atomic_uint *)context, 1);
    if (helper > helper_max) helper_max = helper;
}

static void run_all(unsigned thread_count) {
    helper_max = 0;
    memset(run_counts, 0, sizeof run_counts);
    thread_pool_init(&pool, thread_count);
    for (int i = 0; i < JOB_COUNT; i++) thread_pool_submit(&pool, &jobs[i], count, &run_counts[i]);
    for (int i = 0; i < JOB_COUNT; i++) thread_pool_await(&pool, &jobs[i]);
    thread_pool_fini(&pool);
    for (int i = 0; i < JOB_COUNT; i++) assert_int_equal(run_counts[i], 1);
    assert_true(helper_max < thread_count || !thread_count);
}

TEST(test_all_jobs_run_once) {
    for (unsigned thread_count = 0; thread_count < 6; thread_count++) run_all(thread_count);
    run_all(1000);
    assert_true(helper_max <= THREAD_POOL_HELPERS_MAX);
}

/* ---- Order. ---- */

static struct thread_job *order[JOB_COUNT];
static size_t order_count;

static void note(void *context, unsigned helper) { order[order_count++] = context; }

TEST(test_order_without_threads) {
    order_count = 0;
    thread_pool_init(&pool, 1);
    assert_false(thread_pool_help(&pool));
    for (int i = 0; i < 4; i++) thread_pool_submit(&pool, &jobs[i], note, &jobs[i]);
    thread_pool_await(&pool, &jobs[2]);
    assert_int_equal(order_count, 1); /* none of those before */
    assert_true(thread_pool_help(&pool));
    thread_pool_await(&pool, &jobs[3]);
    assert_int_equal(order_count, 3);
    assert_ptr_equal(order[0], &jobs[2]);
    assert_ptr_equal(order[1], &jobs[0]);
    assert_ptr_equal(order[2], &jobs[3]);
    thread_pool_submit(&pool, &jobs[2], note, &jobs[2]);
    thread_pool_fini(&pool); /* drops jobs 1 and 2 */
    assert_int_equal(order_count, 3);
}

/* ---- Jobs of jobs. ---- */

enum { PART_COUNT = 5 };

static void run_parts(void *context, unsigned helper) {
    struct thread_job parts[PART_COUNT];
    for (int i = 0; i < PART_COUNT; i++) thread_pool_submit(&pool, &parts[i], count, context);
    for (int i = 0; i < PART_COUNT; i++) thread_pool_await(&pool, &parts[i]);
}

TEST(test_jobs_wait_for_jobs) {
    for (unsigned thread_count = 1; thread_count < 6; thread_count++) {
        memset(run_counts, 0, sizeof run_counts);
        thread_pool_init(&pool, thread_count);
        for (int i = 0; i < JOB_COUNT; i++) thread_pool_submit(&pool, &jobs[i], run_parts, &run_counts[i]);
        for (int i = 0; i < JOB_COUNT; i++) thread_pool_await(&pool, &jobs[i]);
        thread_pool_fini(&pool);
        for (int i = 0; i < JOB_COUNT; i++) assert_int_equal(run_counts[i], PART_COUNT);
    }
}

/* ---- Spare threads. ---- */

static sem_t may_end;

static void await_end(void *context, unsigned helper) { sem_wait(&may_end); }

TEST(test_spare_count) {
    sem_init(&may_end, 0, 0);
    thread_pool_init(&pool, 1);
    assert_int_equal(thread_pool_spare_count(&pool), 0);
    thread_pool_set_limit(&pool, 3);
    assert_int_equal(thread_pool_spare_count(&pool), 2);
    for (unsigned i = 0; i < 3; i++) {
        thread_pool_submit(&pool, &jobs[i], await_end, NULL);
        assert_int_equal(thread_pool_spare_count(&pool), i ? 0 : 1);
    }
    for (int i = 0; i < 3; i++) sem_post(&may_end);
    for (int i = 0; i < 3; i++) thread_pool_await(&pool, &jobs[i]);
    thread_pool_fini(&pool);
    sem_destroy(&may_end);
}

/* The thread that waits for the first job runs the second one: nobody else could. */
static void need_waiting_thread(void *context, unsigned helper) {
    run_counts[0] = 1;
    while (thread_pool_spare_count(&pool) == 0) sched_yield();
    thread_pool_submit(&pool, &jobs[1], count, &run_counts[1]);
    while (!run_counts[1]) sched_yield();
}

TEST(test_waiting_threads_are_spare) {
    memset(run_counts, 0, sizeof run_counts);
    thread_pool_init(&pool, 2);
    thread_pool_submit(&pool, &jobs[0], need_waiting_thread, NULL);
    while (!run_counts[0]) sched_yield();
    thread_pool_await(&pool, &jobs[0]);
    assert_int_equal(run_counts[1], 1);
    thread_pool_fini(&pool);
}

int main(void) { return unit_tests_run(NULL, NULL); }
