/* System calls that end when a handler runs, SA_RESTART or not: the sampler's is none that the program sees. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>

#include "tests/support/sampler_check.h"

/* ---- Calls, each until the pipe has something to read, or for a while. They return 0 when they were not cut short. */

struct waiter {
    int (*wait)(struct waiter *self);
    int pipe[2];
    pthread_t thread;
    atomic_bool is_ready;
    atomic_bool is_over;
    int result;
};

static int of_result(long result) { return result < 0 ? errno : 0; }

static int in_poll(struct waiter *self) {
    struct pollfd descriptor = {.fd = self->pipe[0], .events = POLLIN};
    return of_result(poll(&descriptor, 1, -1));
}

static int in_ppoll(struct waiter *self) {
    struct pollfd descriptor = {.fd = self->pipe[0], .events = POLLIN};
    return of_result(ppoll(&descriptor, 1, NULL, NULL));
}

static int in_select(struct waiter *self) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(self->pipe[0], &set);
    return of_result(select(self->pipe[0] + 1, &set, NULL, NULL, NULL));
}

static int in_pselect(struct waiter *self) {
    fd_set set;
    sigset_t none;
    sigemptyset(&none);
    FD_ZERO(&set);
    FD_SET(self->pipe[0], &set);
    return of_result(pselect(self->pipe[0] + 1, &set, NULL, NULL, NULL, &none));
}

static int in_epoll(struct waiter *self, bool has_mask) {
    struct epoll_event event = {.events = EPOLLIN};
    sigset_t none;
    sigemptyset(&none);
    int epoll = epoll_create1(0);
    epoll_ctl(epoll, EPOLL_CTL_ADD, self->pipe[0], &event);
    int result = of_result(has_mask ? epoll_pwait(epoll, &event, 1, -1, &none) : epoll_wait(epoll, &event, 1, -1));
    close(epoll);
    return result;
}

static int in_epoll_wait(struct waiter *self) { return in_epoll(self, false); }
static int in_epoll_pwait(struct waiter *self) { return in_epoll(self, true); }

static const struct timespec a_while = {0, 50000000};

static int in_nanosleep(struct waiter *self) {
    (void)self;
    return of_result(nanosleep(&a_while, NULL));
}

static int in_clock_nanosleep(struct waiter *self) {
    (void)self;
    return clock_nanosleep(CLOCK_MONOTONIC, 0, &a_while, NULL);
}

static int in_sigtimedwait(struct waiter *self) {
    sigset_t set;
    (void)self;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMAX);
    int result = of_result(sigtimedwait(&set, NULL, &a_while));
    return result == EAGAIN ? 0 : result;
}

static int in_msgrcv(struct waiter *self) {
    struct {
        long kind;
        char text[8];
    } message = {.kind = 1};
    (void)self;
    int queue = msgget(IPC_PRIVATE, 0600);
    /* Nothing comes, so that the queue has to go. */
    pid_t child = fork();
    if (!child) {
        nanosleep(&a_while, NULL);
        msgctl(queue, IPC_RMID, NULL);
        _exit(0);
    }
    int result = of_result(msgrcv(queue, &message, sizeof message.text, 0, 0));
    msgctl(queue, IPC_RMID, NULL);
    return result == EIDRM ? 0 : result;
}

static int in_semtimedop(struct waiter *self) {
    struct sembuf take = {.sem_op = -1};
    (void)self;
    int set = semget(IPC_PRIVATE, 1, 0600);
    int result = of_result(semtimedop(set, &take, 1, &a_while));
    semctl(set, 0, IPC_RMID);
    return result == EAGAIN ? 0 : result;
}

static int in_recv(struct waiter *self) {
    const struct timeval limit = {0, 50000};
    int sockets[2];
    char byte;
    (void)self;
    socketpair(AF_UNIX, SOCK_STREAM, 0, sockets);
    setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    int result = of_result(recv(sockets[0], &byte, 1, 0));
    close(sockets[0]);
    close(sockets[1]);
    return result == EAGAIN ? 0 : result;
}

static int in_sem_timedwait(struct waiter *self) {
    sem_t semaphore;
    struct timespec end;
    (void)self;
    sem_init(&semaphore, 0, 0);
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec++;
    int result = of_result(sem_timedwait(&semaphore, &end));
    sem_destroy(&semaphore);
    return result == ETIMEDOUT ? 0 : result;
}

/* ---- Waiting while the signal comes. ---- */

static void *run_waiter(void *context) {
    struct waiter *self = context;
    grec_thread_register("waiter");
    atomic_store(&self->is_ready, true);
    self->result = self->wait(self);
    atomic_store(&self->is_over, true);
    return NULL;
}

static void begin(struct waiter *waiter) {
    assert_int_equal(pipe(waiter->pipe), 0);
    assert_int_equal(pthread_create(&waiter->thread, NULL, run_waiter, waiter), 0);
    while (!atomic_load(&waiter->is_ready)) usleep(100);
}

/* What the call came to. */
static int end(struct waiter *waiter) {
    assert_int_equal(write(waiter->pipe[1], "x", 1), 1);
    pthread_join(waiter->thread, NULL);
    close(waiter->pipe[0]);
    close(waiter->pipe[1]);
    return waiter->result;
}

static void send_signals(struct waiter *waiter) {
    for (int i = 0; i < 5; i++) {
        sleep_ms(5);
        if (!atomic_load(&waiter->is_over)) pthread_kill(waiter->thread, SIGURG);
    }
}

#if defined(__x86_64__)
static void test_calls_go_on(void **state) {
    skip_under_thread_sanitizer();
    static const struct {
        const char *name;
        int (*wait)(struct waiter *self);
    } calls[] = {
        {"poll", in_poll},
        {"ppoll", in_ppoll},
        {"select", in_select},
        {"pselect", in_pselect},
        {"epoll_wait", in_epoll_wait},
        {"epoll_pwait", in_epoll_pwait},
        {"nanosleep", in_nanosleep},
        {"clock_nanosleep", in_clock_nanosleep},
        {"sigtimedwait", in_sigtimedwait},
        {"msgrcv", in_msgrcv},
        {"semtimedop", in_semtimedop},
        {"recv", in_recv},
        {"sem_timedwait", in_sem_timedwait},
    };
    struct recorded recorded;
    start_sampling(*state, "calls.trace", (struct grec_options){.interval_us = 500});
    wait_rounds(2);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct waiter waiter = {.wait = calls[i].wait};
        begin(&waiter);
        send_signals(&waiter);
        int result = end(&waiter);
        if (result) fail_msg("%s: %s", calls[i].name, strerror(result));
    }
    stop_and_read(&recorded, *state, "calls.trace");
    recorded_fini(&recorded);
}

/* From work into a short wait, over and over: signals come when the wait has just begun. */
static void *wait_often(void *cut_short_count) {
    enum { WAIT_COUNT = 1000 };
    const struct timespec moment = {0, 100000};
    grec_thread_register("often");
    for (int i = 0; i < WAIT_COUNT; i++) {
        uint64_t end_ns = clock_now_ns(CLOCK_MONOTONIC) + 100000 + (uint64_t)i * 7919 % 100000;
        while (clock_now_ns(CLOCK_MONOTONIC) < end_ns) {
        }
        int result = i % 2 ? nanosleep(&moment, NULL) : poll(NULL, 0, 1);
        if (result) ++*(int *)cut_short_count;
    }
    return NULL;
}

static void test_waits_are_whole(void **state) {
    skip_under_thread_sanitizer();
    struct recorded recorded;
    pthread_t thread;
    int cut_short_count = 0;
    start_sampling(*state, "often.trace", (struct grec_options){.interval_us = 100});
    wait_rounds(2);
    assert_int_equal(pthread_create(&thread, NULL, wait_often, &cut_short_count), 0);
    pthread_join(thread, NULL);
    stop_and_read(&recorded, *state, "often.trace");
    assert_int_equal(cut_short_count, 0);
    assert_true(samples_count(&need_thread(&recorded, "often")->samples) > 100);
    recorded_fini(&recorded);
}
#endif

static void do_nothing(int number) { (void)number; }

/* A handler of the program that may have run before the sampler's one: the program is to know that the call ended. */
static void test_calls_end_for_other_handlers(void **state) {
    skip_under_thread_sanitizer();
    struct recorded recorded;
    struct waiter waiter = {.wait = in_poll};
    struct sigaction action = {.sa_handler = do_nothing}, before;
    sigfillset(&action.sa_mask);
    sigaction(SIGUSR2, &action, &before);
    start_sampling(*state, "other.trace", (struct grec_options){.interval_us = 500});
    wait_rounds(2);
    begin(&waiter);
    while (!atomic_load(&waiter.is_over)) send_signals(&waiter);
    assert_int_equal(end(&waiter), EINTR);
    stop_and_read(&recorded, *state, "other.trace");
    sigaction(SIGUSR2, &before, NULL);
    recorded_fini(&recorded);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up_folder, tear_down_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
        TEST(test_calls_go_on),
        TEST(test_waits_are_whole),
#endif
        TEST(test_calls_end_for_other_handlers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
