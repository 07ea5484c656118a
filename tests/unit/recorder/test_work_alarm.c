/* Tests the alarm that wakes the sampler's thread. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "recorder/sampler/work_alarm.h"
#include "tests/support/unit_test.h"

static uint32_t is_over, wait_count;

static void *wait_again_and_again(void *unused) {
    const uint64_t limit_ns = 1000000;
    assert_true(work_alarm_open());
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        work_alarm_wait(limit_ns, limit_ns, &is_over);
        __atomic_fetch_add(&wait_count, 1, __ATOMIC_RELAXED);
    }
    work_alarm_close();
    return unused;
}

static uint32_t can_leave, has_left;
static pthread_t ringer;

static void *interrupt_again_and_again(void *unused) {
    while (!__atomic_load_n(&has_left, __ATOMIC_ACQUIRE)) {
        usleep(50);
        if (__atomic_load_n(&can_leave, __ATOMIC_ACQUIRE)) pthread_kill(ringer, SIGUSR1);
    }
    return unused;
}

static sigjmp_buf place;

static void leave(int number) {
    (void)number;
    siglongjmp(place, 1);
}

static uint32_t waits_so_far(void) { return __atomic_load_n(&wait_count, __ATOMIC_RELAXED); }

/* A signal handler of the program may leave work_alarm_ring by a jump, or call exit, which waits for the sampler. The
 * sampler's thread must not wait for the rest of that call. */
TEST(test_ring_is_left) {
    enum { JUMP_COUNT = 3000 };
    pthread_t sleeper, interrupter;
    volatile int count = 0;
    ringer = pthread_self();
    signal(SIGUSR1, leave);
    assert_int_equal(pthread_create(&sleeper, NULL, wait_again_and_again, NULL), 0);
    assert_int_equal(pthread_create(&interrupter, NULL, interrupt_again_and_again, NULL), 0);
    while (!waits_so_far()) sched_yield();
    sigsetjmp(place, 1);
    __atomic_store_n(&can_leave, 1, __ATOMIC_RELEASE);
    while (count++ < JUMP_COUNT)
        for (int i = 0; i < 100; i++) work_alarm_ring();
    signal(SIGUSR1, SIG_IGN);
    __atomic_store_n(&has_left, 1, __ATOMIC_RELEASE);
    pthread_join(interrupter, NULL);
    __atomic_store_n(&is_over, 1, __ATOMIC_SEQ_CST);
    work_alarm_ring();
    pthread_join(sleeper, NULL);
}

int main(void) { return unit_tests_run(NULL, NULL); }
