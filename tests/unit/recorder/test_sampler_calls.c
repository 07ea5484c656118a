/* System calls that a signal interrupts. The program must learn of each of its own signals that ended a wait, just
 * as it does without the recorder. */
#include <stdio.h>
#include <stdlib.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "tests/support/sampler_check.h"
#include "tests/support/unit_test.h"

static void do_nothing(int number) { (void)number; }

/* ---- A handler of the program whose only effect is to end a wait, like many handlers of SIGCHLD. ---- */

struct wait_for_signals {
    pthread_t thread;
    atomic_uint ready_count; /* number of the wait that the thread is about to begin */
    atomic_uint sent_count;  /* signals sent to the thread */
};

enum { SIGNAL_COUNT = 3000 };

static void *wait_for_signals(void *argument) {
    struct wait_for_signals *self = argument;
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    sigdelset(&before, SIGUSR1);
    grec_thread_register("waiter");
    for (unsigned i = 1; i <= SIGNAL_COUNT; i++) {
        atomic_store(&self->ready_count, i);
        while (atomic_load(&self->sent_count) < i) sigsuspend(&before);
    }
    return NULL;
}

/* Waits end with the program's signals. If the recorder restarted such a wait, it would last forever. */
static void test_waits_end_with_signals(void **state) {
    skip_under_thread_sanitizer();
    struct recorded recorded;
    struct wait_for_signals waits = {0};
    struct sigaction action = {.sa_handler = do_nothing, .sa_flags = SA_RESTART}, before;
    sigaction(SIGUSR1, &action, &before);
    alarm(HANG_SECONDS);
    start_sampling(*state, "signals.trace", (struct grec_options){.interval_us = 100});
    assert_int_equal(pthread_create(&waits.thread, NULL, wait_for_signals, &waits), 0);
    for (unsigned i = 1; i <= SIGNAL_COUNT; i++) {
        while (atomic_load(&waits.ready_count) < i) {
        }
        atomic_store(&waits.sent_count, i);
        pthread_kill(waits.thread, SIGUSR1);
    }
    pthread_join(waits.thread, NULL);
    alarm(0);
    stop_and_read(&recorded, *state, "signals.trace");
    sigaction(SIGUSR1, &before, NULL);
    recorded_fini(&recorded);
}

/* ---- A system call that the sampler's own signal interrupts. ---- */

struct waiter {
    pthread_t thread;
    int pipe[2];
    atomic_uint tid;
    atomic_bool is_over;
    int error;
};

static void *wait_in_poll(void *argument) {
    struct waiter *self = argument;
    struct pollfd descriptor = {.fd = self->pipe[0], .events = POLLIN};
    grec_thread_register("waiter");
    atomic_store(&self->tid, (unsigned)gettid());
    self->error = poll(&descriptor, 1, -1) < 0 ? errno : 0;
    atomic_store(&self->is_over, true);
    return NULL;
}

static void test_cut_short_calls_say_so(void **state) {
    skip_under_thread_sanitizer();
    struct recorded recorded;
    struct waiter waiter = {0};
    start_sampling(*state, "calls.trace", (struct grec_options){.interval_us = 1000});
    wait_rounds(2);
    assert_int_equal(pipe(waiter.pipe), 0);
    alarm(HANG_SECONDS);
    assert_int_equal(pthread_create(&waiter.thread, NULL, wait_in_poll, &waiter), 0);
    while (!atomic_load(&waiter.tid) || call_of_thread(atomic_load(&waiter.tid)) <= 0) usleep(100);
    while (!atomic_load(&waiter.is_over)) {
        pthread_kill(waiter.thread, SIGURG);
        sleep_ms(1);
    }
    alarm(0);
    pthread_join(waiter.thread, NULL);
    close(waiter.pipe[0]);
    close(waiter.pipe[1]);
    stop_and_read(&recorded, *state, "calls.trace");
    assert_int_equal(waiter.error, EINTR);
    recorded_fini(&recorded);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up_folder, tear_down_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_waits_end_with_signals),
        TEST(test_cut_short_calls_say_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
