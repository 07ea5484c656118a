/* Tests how child processes end, what they inherit, and what passes between them and their parents. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libconvert/base/child_process.h"
#include "libconvert/base/memory.h"
#include "tests/support/unit_test.h"
#include "tests/support/wait_for_child.h"

/* ---- How they end. ---- */

static void do_nothing(void *context, struct channel *channel) {}

static void call_exit(void *context, struct channel *channel) { exit(EXIT_SUCCESS); }

static void call_leave(void *context, struct channel *channel) { child_leave(); }

static void call_abort(void *context, struct channel *channel) { abort(); }

static void trap(void *context, struct channel *channel) { __builtin_trap(); }

static void read_beyond_the_end(void *context, struct channel *channel) {
    int file = memfd_create("empty", 0);
    volatile const char *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
    *(char *)context = map[0];
}

static void handle(int number) { (void)number; }

TEST(ends_are_told) {
    static const struct {
        child_work *work;
        enum child_end end;
    } cases[] = {
        {do_nothing, CHILD_DONE}, {call_exit, CHILD_NO_MEMORY}, {call_leave, CHILD_NO_MEMORY},
        {trap, CHILD_CRASHED},    {call_abort, CHILD_CRASHED},  {read_beyond_the_end, CHILD_LOST_BYTES},
    };
    /* The child must not run the program's handlers. */
    static const int signals[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) signal(signals[i], handle);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct child_process child;
        char byte;
        assert_true(child_start(&child, cases[i].work, &byte, NULL));
        assert_false(channel_receive(&child.channel, &byte, 1));
        assert_int_equal(child_await(&child), cases[i].end);
    }
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) signal(signals[i], SIG_DFL);
}

TEST(somebody_else_may_wait) {
    struct child_process child;
    char byte;
    signal(SIGCHLD, SIG_IGN);
    assert_true(child_start(&child, do_nothing, NULL, NULL));
    assert_false(channel_receive(&child.channel, &byte, 1));
    assert_int_equal(child_await(&child), CHILD_CRASHED);
    signal(SIGCHLD, SIG_DFL);
}

/* ---- How much memory they get. ---- */

static const size_t MIB = 1024 * 1024;

/* Tells how many MiB can be allocated. */
static void allocate_much(void *context, struct channel *channel) {
    uint64_t count = 0;
    while (count < 256 && mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
        count++;
    channel_send(channel, &count, sizeof count);
}

static uint64_t allocated_mib(const struct memory_limit *limit) {
    struct child_process child;
    uint64_t count;
    assert_true(child_start(&child, allocate_much, NULL, limit));
    assert_true(channel_receive(&child.channel, &count, sizeof count));
    assert_int_equal(child_await(&child), CHILD_DONE);
    return count;
}

TEST(they_get_as_much_as_the_limit) {
    struct memory_limit limit;
    memory_limit_init(&limit, 64 * MIB);
    atomic_store(&limit.held_bytes, 60 * MIB);
    /* The kernel counts the stack too, and the child needs some pages itself. */
    assert_in_range(allocated_mib(&limit), 60, 64);
    memory_limit_init(&limit, UINT64_MAX);
    assert_int_equal(allocated_mib(&limit), 256);
    assert_int_equal(allocated_mib(NULL), 256);
}

/* ---- What they have. ---- */

struct surroundings {
    uint64_t descriptors; /* one bit for each of the first 64 that is open */
    int channel;
    bool has_all_signals_blocked;
    rlim_t core_bytes_max;
};

static void tell_surroundings(void *context, struct channel *channel) {
    struct surroundings own = {.channel = channel->descriptor, .has_all_signals_blocked = true};
    for (int i = 0; i < 64; i++)
        if (fcntl(i, F_GETFD) >= 0) own.descriptors |= UINT64_C(1) << i;
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    static const int signals[] = {SIGINT, SIGTERM, SIGSEGV, SIGBUS, SIGURG, SIGPIPE};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (!sigismember(&blocked, signals[i])) own.has_all_signals_blocked = false;
    struct rlimit core;
    getrlimit(RLIMIT_CORE, &core);
    own.core_bytes_max = core.rlim_cur;
    channel_send(channel, &own, sizeof own);
}

TEST(they_have_nothing_of_their_parents) {
    struct child_process child;
    struct surroundings surroundings;
    sigset_t before, after;
    int file = open("/dev/null", O_RDONLY);
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    assert_true(child_start(&child, tell_surroundings, NULL, NULL));
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    assert_true(channel_receive(&child.channel, &surroundings, sizeof surroundings));
    assert_int_equal(child_await(&child), CHILD_DONE);
    assert_true(surroundings.descriptors == (UINT64_C(1) << STDERR_FILENO | UINT64_C(1) << surroundings.channel));
    assert_true(surroundings.has_all_signals_blocked);
    assert_int_equal(surroundings.core_bytes_max, 0);
    for (int number = 1; number < 32; number++)
        assert_int_equal(sigismember(&before, number), sigismember(&after, number));
    close(file);
}

static void send_pid_and_wait(void *context, struct channel *channel) {
    pid_t pid = getpid();
    channel_send(channel, &pid, sizeof pid);
    channel_flush(channel);
    for (;;) pause();
}

TEST(they_end_with_their_parents) {
    int ends[2];
    pid_t pid = 0;
    assert_int_equal(pipe(ends), 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t parent = fork();
    assert_true(parent >= 0);
    if (parent == 0) {
        struct child_process child;
        if (!child_start(&child, send_pid_and_wait, NULL, NULL) || !channel_receive(&child.channel, &pid, sizeof pid))
            _exit(1);
        _exit(write(ends[1], &pid, sizeof pid) == sizeof pid ? 0 : 1);
    }
    assert_int_equal(wait_for_child(parent), 0);
    assert_int_equal(read(ends[0], &pid, sizeof pid), sizeof pid);
    assert_int_equal(wait_for_child(pid), 128 + SIGKILL);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    close(ends[0]);
    close(ends[1]);
}

/* ---- What passes. ---- */

enum { SENT_BYTES = 5 * 1000 * 1000 + 7, STEP_BYTES = 100 * 1000 };

static char byte_at(size_t i) { return (char)(i * 31 >> 3); }

static void send_much(void *context, struct channel *channel) {
    char *bytes = malloc(SENT_BYTES);
    for (size_t i = 0; i < SENT_BYTES; i++) bytes[i] = byte_at(i);
    for (size_t i = 0, count = 1; i < SENT_BYTES; i += count, count = count * 3 % STEP_BYTES) {
        if (count > SENT_BYTES - i) count = SENT_BYTES - i;
        if (!channel_send(channel, bytes + i, count)) child_leave();
    }
    free(bytes);
}

TEST(bytes_come_in_order) {
    struct child_process child;
    char bytes[1009];
    assert_true(child_start(&child, send_much, NULL, NULL));
    for (size_t i = 0; i < SENT_BYTES; i += sizeof bytes) {
        size_t count = SENT_BYTES - i < sizeof bytes ? SENT_BYTES - i : sizeof bytes;
        assert_true(channel_receive(&child.channel, bytes, count));
        for (size_t j = 0; j < count; j++)
            if (bytes[j] != byte_at(i + j)) fail_msg("byte %zu", i + j);
    }
    assert_false(channel_receive(&child.channel, bytes, 1));
    assert_int_equal(child_await(&child), CHILD_DONE);
}

TEST(a_child_that_nobody_listens_to_ends) {
    struct child_process child;
    assert_true(child_start(&child, send_much, NULL, NULL));
    assert_int_equal(child_await(&child), CHILD_NO_MEMORY);
}

/* Answers each number with the sum of all numbers so far. Numbers have several bytes, so they can be torn. */
static void sum_up(void *context, struct channel *channel) {
    uint64_t sum = *(const uint64_t *)context;
    for (uint64_t number; channel_receive(channel, &number, sizeof number);) {
        sum += number;
        channel_send(channel, &sum, sizeof sum);
    }
}

TEST(ends_take_turns) {
    struct child_process child;
    uint64_t sum = 1000;
    assert_true(child_start(&child, sum_up, &sum, NULL));
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t received;
        sum += i;
        assert_true(channel_send(&child.channel, &i, 3));
        assert_true(channel_send(&child.channel, (const char *)&i + 3, sizeof i - 3));
        assert_true(channel_receive(&child.channel, &received, sizeof received));
        assert_int_equal(received, sum);
    }
    assert_int_equal(child_await(&child), CHILD_DONE);
}

/* The test would end here if sending raised SIGPIPE. */
TEST(sending_to_one_that_has_gone_fails) {
    struct child_process child;
    char bytes[4096] = {0};
    assert_true(child_start(&child, trap, NULL, NULL));
    bool is_good = true;
    for (unsigned i = 0; i < 1000 && is_good; i++) is_good = channel_send(&child.channel, bytes, sizeof bytes);
    assert_false(is_good);
    assert_int_equal(child_await(&child), CHILD_CRASHED);
}

int main(void) { return unit_tests_run(NULL, NULL); }
