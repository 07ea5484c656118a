/* Tests threads that cannot be asked for their stacks, because the program uses the signals itself or the threads
 * block them. Such threads must still have tracks and processor time. */
#include <stdio.h>
#include <stdlib.h>

#include <semaphore.h>
#include <signal.h>
#include <sys/prctl.h>

#include "tests/support/profile_check.h"
#include "tests/support/sampler_check.h"
#include "tests/support/unit_test.h"

CODE_SECTION(working)

enum {
    FOUND_ROUND_COUNT = 40, /* the sampler has found a new thread by then: it reads the list of threads every 10 ms */
    SEEN_ROUND_COUNT = 15,  /* the sampler has looked at all processor times by then, of registered and other threads */
    WORK_ROUND_COUNT = 30,
};

/* A thread that never registers. It works and measures its processor time while the sampler knows it. */
struct stranger {
    struct busy_thread thread;
    atomic_uint_fast64_t seen_ns; /* processor time of the measured part; 0 until that part is over */
    atomic_bool is_told_to_unblock;
    atomic_bool has_unblocked;
    atomic_bool has_pending;
};

static struct stranger *stranger_of(struct busy_thread *thread) { return (struct stranger *)thread; }

IN_SECTION(working) static void work_a_little(void) {
    volatile uint64_t sum __attribute__((unused)) = 0;
    for (uint64_t i = 0; i < 1000; i++) sum += i;
}

static void work_rounds(uint64_t count) {
    for (uint64_t end = atomic_load(&round_count) + count; atomic_load(&round_count) < end;) work_a_little();
}

static void work_seen(struct busy_thread *self) {
    work_rounds(FOUND_ROUND_COUNT);
    uint64_t from_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
    work_rounds(WORK_ROUND_COUNT);
    uint64_t seen_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - from_ns;
    work_rounds(SEEN_ROUND_COUNT);
    atomic_store(&stranger_of(self)->seen_ns, seen_ns);
}

static void work_seen_until_end(struct busy_thread *self) {
    sigset_t pending;
    work_seen(self);
    while (goes_on(self)) work_a_little();
    sigpending(&pending);
    atomic_store(&stranger_of(self)->has_pending, sigismember(&pending, SIGURG));
}

static void work_seen_and_unblock(struct busy_thread *self) {
    sigset_t none;
    work_seen(self);
    while (!atomic_load(&stranger_of(self)->is_told_to_unblock)) work_a_little();
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    atomic_store(&stranger_of(self)->has_unblocked, true);
    while (goes_on(self)) work_a_little();
}

static void sleep_long(struct busy_thread *self) {
    while (goes_on(self)) sleep_ms(300);
}

/* Starts a thread that has its name before its first instruction. */
static void stranger_start(struct stranger *stranger, const char *name, void (*run)(struct busy_thread *self)) {
    char own_name[16];
    *stranger = (struct stranger){.thread = {.run = run}};
    prctl(PR_GET_NAME, own_name, 0, 0, 0);
    prctl(PR_SET_NAME, name, 0, 0, 0);
    busy_thread_start(&stranger->thread);
    prctl(PR_SET_NAME, own_name, 0, 0, 0);
}

static void stranger_start_deaf(struct stranger *stranger, const char *name, void (*run)(struct busy_thread *self)) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    stranger_start(stranger, name, run);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void stranger_wait_seen(struct stranger *stranger) {
    while (!atomic_load(&stranger->seen_ns)) usleep(1000);
}

static void start_with_all(const struct temp_folder *folder) {
    start_sampling(folder, "unreached.trace", (struct grec_options){.interval_us = 1000, .flags = GREC_ALL_THREADS});
    wait_rounds(1);
}

static const struct recorded *stop_and_check(const struct temp_folder *folder) {
    const struct recorded *recorded = stop_and_read(folder, "unreached.trace");
    const char *fault = profile_fault(&recorded->profile);
    if (fault) fail_msg("the profile has a fault: %s", fault);
    assert_nothing_lost(recorded);
    return recorded;
}

/* At the end of each thread, less than half of an interval may be left. */
static void assert_cpu(int64_t sum_ns, uint64_t seen_ns, uint64_t spent_ns) {
    enum { LEFT_NS_MAX = 10 * 500000 };
    if (sum_ns < (int64_t)seen_ns - LEFT_NS_MAX || sum_ns > (int64_t)spent_ns)
        fail_msg("%" PRId64 " ns of at least %" PRIu64 ", at most %" PRIu64, sum_ns, seen_ns, spent_ns);
}

static uint64_t process_cpu_ns(void) { return clock_now_ns(CLOCK_PROCESS_CPUTIME_ID); }

static void assert_no_stacks(const struct recorded *recorded, const char *name) {
    const struct thread *thread = need_thread(recorded, name);
    for (uint32_t i = 0; i < samples_count(&thread->samples); i++)
        assert_true(stack_is_unasked(&recorded->profile, sample_stack(thread, i)));
}

/* Returns the sum of the processor times of all threads with that name. */
static int64_t sum_cpu_of_name(const struct profile *profile, const char *name) {
    int64_t sum_ns = 0;
    for (size_t i = 0; i < profile->threads.count; i++) {
        const struct thread *thread = column_at(&profile->threads, i);
        if (text_equal(thread->name, text_of(name))) sum_ns += sum_cpu_ns(thread);
    }
    return sum_ns;
}

/* ---- The program uses the signals. ---- */

static atomic_int own_signal_count;

static void count_own_signal(int number) { atomic_fetch_add(&own_signal_count, 1); }

static void take_signal(int number) {
    struct sigaction own = {.sa_handler = count_own_signal, .sa_flags = SA_RESTART};
    atomic_store(&own_signal_count, 0);
    sigaction(number, &own, NULL);
}

static void take_all_signals(void) {
    take_signal(SIGURG);
    take_signal(SIGWINCH);
}

static int tear_down(void **state) {
    signal(SIGURG, SIG_DFL);
    signal(SIGWINCH, SIG_DFL);
    return tear_down_folder(state);
}

enum { STRANGER_COUNT = 3 };

static const struct recorded *run_strangers_without_signal(const struct temp_folder *folder) {
    struct stranger strangers[STRANGER_COUNT], sleeper;
    uint64_t seen_ns = 0;
    for (int i = 0; i < STRANGER_COUNT; i++) stranger_start(&strangers[i], "worker", work_seen_until_end);
    stranger_start(&sleeper, "sleeper", sleep_long);
    for (int i = 0; i < STRANGER_COUNT; i++) stranger_wait_seen(&strangers[i]);
    wait_asleep(&sleeper.thread);
    const struct recorded *recorded = stop_and_check(folder);
    for (int i = 0; i < STRANGER_COUNT; i++) busy_thread_join(&strangers[i].thread);
    busy_thread_join(&sleeper.thread);
    for (int i = 0; i < STRANGER_COUNT; i++) seen_ns += atomic_load(&strangers[i].seen_ns);
    assert_int_equal(count_threads(&recorded->profile, "worker"), STRANGER_COUNT);
    assert_cpu(sum_cpu_of_name(&recorded->profile, "worker"), seen_ns, process_cpu_ns());
    assert_no_stacks(recorded, "worker");
    const struct thread *thread = need_thread(recorded, "sleeper");
    stack_id stack = sample_stack(thread, samples_count(&thread->samples) - 1);
    assert_true(stack_has_name(&recorded->profile, stack, "(waits in clock_nanosleep)"));
    assert_int_equal(count_markers(&recorded->profile, "CPU use of a thread that is not registered"), 0);
    return recorded;
}

TEST(test_own_handlers, set_up_folder, tear_down) {
    take_all_signals();
    start_with_all(*state);
    const struct recorded *recorded = run_strangers_without_signal(*state);
    assert_int_equal(atomic_load(&own_signal_count), 0);
    assert_int_equal(count_said(recorded, "the program uses SIGURG: its threads are sampled without stacks"), 1);
    assert_int_equal(count_said(recorded, " blocks SIGURG"), 0);
}

/* The program sets handlers during the recording. The sampler notices this in the next round, and must leave the
 * handlers alone from then on. */
TEST(test_own_handlers_later, set_up_folder, tear_down) {
    start_with_all(*state);
    take_all_signals();
    wait_rounds(2);
    atomic_store(&own_signal_count, 0);
    const struct recorded *recorded = run_strangers_without_signal(*state);
    assert_int_equal(atomic_load(&own_signal_count), 0);
    assert_int_equal(count_said(recorded, "the program uses SIGURG: its threads are sampled without stacks"), 1);
}

/* Checks that the sampler uses its next signal if the program uses SIGURG. It must leave the program's handler
 * alone, whether the handler was set before or after the start. */
static void use_next_signal(const struct temp_folder *folder, bool is_at_start) {
    struct stranger stranger;
    if (is_at_start) take_signal(SIGURG);
    start_with_all(folder);
    if (!is_at_start) take_signal(SIGURG);
    wait_rounds(2);
    atomic_store(&own_signal_count, 0);
    stranger_start(&stranger, "worker", work_seen_until_end);
    stranger_wait_seen(&stranger);
    wait_stacks(&stranger.thread, 20);
    const struct recorded *recorded = stop_and_check(folder);
    busy_thread_join(&stranger.thread);
    assert_int_equal(atomic_load(&own_signal_count), 0);
    raise(SIGURG);
    assert_int_equal(atomic_load(&own_signal_count), 1);
    assert_int_equal(count_said(recorded, "the program uses SIGURG: its threads are interrupted by SIGWINCH"), 1);
    assert_true(count_samples_in(&recorded->profile, need_thread(recorded, "worker"), working_code()) > 0);
}

TEST(test_next_signal, set_up_folder, tear_down) {
    skip_under_thread_sanitizer();
    use_next_signal(*state, true);
}

TEST(test_next_signal_later, set_up_folder, tear_down) {
    skip_under_thread_sanitizer();
    use_next_signal(*state, false);
}

/* These threads end at any moment between two rounds. */
TEST(test_short_strangers, set_up_folder, tear_down) {
    enum { THREAD_COUNT = 10 };
    uint64_t seen_ns = 0;
    take_all_signals();
    start_with_all(*state);
    for (int i = 0; i < THREAD_COUNT; i++) {
        struct stranger stranger;
        stranger_start(&stranger, "short", work_seen);
        busy_thread_join(&stranger.thread);
        seen_ns += atomic_load(&stranger.seen_ns);
    }
    uint64_t spent_ns = process_cpu_ns();
    const struct recorded *recorded = stop_and_check(*state);
    assert_int_equal(count_threads(&recorded->profile, "short"), THREAD_COUNT);
    assert_cpu(sum_cpu_of_name(&recorded->profile, "short"), seen_ns, spent_ns);
}

enum { LONG_INTERVAL_MS = 100, WORK_MS = 450 };

static void work_and_nap(struct busy_thread *self) {
    while (clock_now_ns(CLOCK_THREAD_CPUTIME_ID) < (uint64_t)WORK_MS * 1000000) work_a_little();
    atomic_store(&stranger_of(self)->seen_ns, clock_now_ns(CLOCK_THREAD_CPUTIME_ID));
    while (goes_on(self)) sleep_ms(10);
}

/* Returns the processor time of the thread's samples for which it was not asked. */
static int64_t sum_unasked_ns(const struct recorded *recorded, const char *name) {
    const struct thread *thread = need_thread(recorded, name);
    int64_t sum_ns = 0;
    for (uint32_t i = 0; i < samples_count(&thread->samples); i++)
        if (stack_is_unasked(&recorded->profile, sample_stack(thread, i)))
            sum_ns += samples_cpu_ns(&thread->samples, i);
    return sum_ns;
}

/* What a thread has used since its last sample belongs to the time when it had stacks, also if it has waited since. */
TEST(test_own_handlers_after_wait, set_up_folder, tear_down) {
    struct stranger stranger;
    start_sampling(*state, "unreached.trace",
                   (struct grec_options){.interval_us = LONG_INTERVAL_MS * 1000, .flags = GREC_ALL_THREADS});
    wait_rounds(1);
    stranger_start(&stranger, "worker", work_and_nap);
    stranger_wait_seen(&stranger);
    wait_rounds(3);
    take_all_signals();
    wait_rounds(3);
    const struct recorded *recorded = stop_and_check(*state);
    busy_thread_join(&stranger.thread);
    assert_true(sum_unasked_ns(recorded, "worker") < (int64_t)LONG_INTERVAL_MS * 1000000 / 4);
    assert_int_equal(count_said(recorded, "the program uses SIGURG: its threads are sampled without stacks"), 1);
}

/* A thread that is interrupted for the first time after LONG_INTERVAL_MS of work, and works less. */
struct brief {
    struct busy_thread thread;
    sem_t may_go_on;
};

enum { BRIEF_WORK_MS = 30 };

static void work_briefly_and_wait(struct busy_thread *self) {
    while (clock_now_ns(CLOCK_THREAD_CPUTIME_ID) < (uint64_t)BRIEF_WORK_MS * 1000000) work_a_little();
    sem_wait(&((struct brief *)self)->may_go_on);
    while (goes_on(self)) sleep_ms(10);
}

/* What a thread has used before a wait with a stack is not what it uses while it has none, however little that is. */
TEST(test_own_handlers_after_little_work, set_up_folder, tear_down) {
    enum { AFTERWARDS_NS_MAX = 10000000 };
    struct brief brief = {.thread = {.name = "brief", .run = work_briefly_and_wait}};
    int64_t all_ns, unasked_ns;
    sem_init(&brief.may_go_on, 0, 0);
    start_sampling(*state, "unreached.trace", (struct grec_options){.interval_us = LONG_INTERVAL_MS * 1000});
    busy_thread_start(&brief.thread);
    wait_asleep(&brief.thread);
    take_all_signals();
    sem_post(&brief.may_go_on);
    wait_rounds(3);
    const struct recorded *recorded = stop_and_check(*state);
    busy_thread_join(&brief.thread);
    all_ns = sum_cpu_ns(need_thread(recorded, "brief"));
    unasked_ns = sum_unasked_ns(recorded, "brief");
    assert_true(all_ns - unasked_ns > (int64_t)BRIEF_WORK_MS * 1000000 - AFTERWARDS_NS_MAX);
    assert_true(unasked_ns < AFTERWARDS_NS_MAX);
}

static void work_in_bursts(struct busy_thread *self) {
    enum { BURST_COUNT = 200, BURST_NS = 200000 };
    work_rounds(FOUND_ROUND_COUNT);
    take_all_signals();
    while (sleep_and_count_rounds(50) < 2) continue;
    uint64_t from_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < BURST_COUNT; i++) {
        uint64_t end_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID) + BURST_NS;
        while (clock_now_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns) work_a_little();
        sleep_ms(2);
    }
    atomic_store(&stranger_of(self)->seen_ns, clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - from_ns);
    while (goes_on(self)) sleep_ms(10);
}

/* A thread that works shortly between waits still uses that time while it cannot be reached, and not before. */
TEST(test_own_handlers_between_waits, set_up_folder, tear_down) {
    struct stranger stranger;
    start_with_all(*state);
    stranger_start(&stranger, "worker", work_in_bursts);
    stranger_wait_seen(&stranger);
    wait_rounds(3);
    const struct recorded *recorded = stop_and_check(*state);
    busy_thread_join(&stranger.thread);
    assert_cpu(sum_unasked_ns(recorded, "worker"), atomic_load(&stranger.seen_ns), process_cpu_ns());
}

/* ---- Threads that block the signal. ---- */

/* The sampler must not send the signal to threads that block it from their start, because a sigwait could find it. */
TEST(test_deaf_from_birth, set_up_folder, tear_down) {
    enum { THREAD_COUNT = 2 };
    struct stranger strangers[THREAD_COUNT];
    uint64_t seen_ns = 0;
    start_with_all(*state);
    for (int i = 0; i < THREAD_COUNT; i++) stranger_start_deaf(&strangers[i], "deaf", work_seen_until_end);
    for (int i = 0; i < THREAD_COUNT; i++) stranger_wait_seen(&strangers[i]);
    sleep_ms(600);
    for (int i = 0; i < THREAD_COUNT; i++) wait_stacks(&strangers[i].thread, 20);
    const struct recorded *recorded = stop_and_check(*state);
    for (int i = 0; i < THREAD_COUNT; i++) {
        busy_thread_join(&strangers[i].thread);
        seen_ns += atomic_load(&strangers[i].seen_ns);
        assert_false(atomic_load(&strangers[i].has_pending));
    }
    assert_int_equal(count_threads(&recorded->profile, "deaf"), THREAD_COUNT);
    assert_cpu(sum_cpu_of_name(&recorded->profile, "deaf"), seen_ns, process_cpu_ns());
    assert_no_stacks(recorded, "deaf");
    assert_int_equal(count_said(recorded, "\"deaf\" blocks SIGURG"), THREAD_COUNT);
}

/* A thread unblocks the signal. It must keep its track, and have stacks from then on. */
TEST(test_deaf_at_first, set_up_folder, tear_down) {
    skip_under_thread_sanitizer();
    struct stranger stranger;
    start_with_all(*state);
    stranger_start_deaf(&stranger, "deaf", work_seen_and_unblock);
    stranger_wait_seen(&stranger);
    /* It blocks the signal for longer than new threads may: that is for 10 ms of their processor time. */
    wait_stacks(&stranger.thread, 20);
    atomic_store(&stranger.is_told_to_unblock, true);
    while (!atomic_load(&stranger.has_unblocked)) usleep(1000);
    /* Ten times a second, the sampler checks whether the thread still blocks the signal. */
    sleep_ms(150);
    wait_stacks(&stranger.thread, 20);
    const struct recorded *recorded = stop_and_check(*state);
    busy_thread_join(&stranger.thread);
    assert_int_equal(count_threads(&recorded->profile, "deaf"), 1);
    const struct thread *thread = need_thread(recorded, "deaf");
    assert_cpu(sum_cpu_ns(thread), atomic_load(&stranger.seen_ns), process_cpu_ns());
    assert_true(stack_is_unasked(&recorded->profile, sample_stack(thread, 0)));
    assert_true(count_samples_in(&recorded->profile, thread, working_code()) > 0);
}

/* ---- Threads that are left out. ---- */

/* A thread whose name the filter leaves out must not be in the trace at all, whatever it does. */
TEST(test_left_out, set_up_folder, tear_down) {
    struct stranger stranger;
    start_sampling(*state, "unreached.trace",
                   (struct grec_options){.interval_us = 1000, .flags = GREC_ALL_THREADS, .threads = "other"});
    wait_rounds(1);
    stranger_start(&stranger, "stranger", work_seen);
    stranger_wait_seen(&stranger);
    const struct recorded *recorded = stop_and_check(*state);
    busy_thread_join(&stranger.thread);
    assert_null(find_thread(&recorded->profile, "stranger"));
    assert_int_equal(count_markers(&recorded->profile, "CPU use of a thread that is not registered"), 0);
}

/* ---- Threads whose processor time is recorded as markers only. ---- */

static int64_t sum_marked_ns(const struct profile *profile, const char *name) {
    const struct marker *marker = NULL;
    int64_t sum_ns = 0;
    while ((marker = next_marker(profile, "CPU use of a thread that is not registered", marker, NULL))) {
        struct text of = strings_text(&profile->strings, value_of(profile, marker, 1).string);
        if (text_equal(of, text_of(name))) sum_ns += value_of(profile, marker, 2).duration_ns;
    }
    return sum_ns;
}

/* The markers must have all processor time of a thread that ends between two markers, and of a thread that still
 * runs when the recording ends. */
TEST(test_rest_of_time, set_up_folder, tear_down) {
    struct stranger gone, left;
    start_sampling(*state, "unreached.trace", (struct grec_options){.interval_us = 1000});
    wait_rounds(1);
    stranger_start(&gone, "gone", work_seen);
    stranger_start(&left, "left", work_seen_until_end);
    busy_thread_join(&gone.thread);
    stranger_wait_seen(&left);
    const struct recorded *recorded = stop_and_check(*state);
    busy_thread_join(&left.thread);
    uint64_t spent_ns = process_cpu_ns();
    assert_null(find_thread(&recorded->profile, "gone"));
    assert_cpu(sum_marked_ns(&recorded->profile, "gone"), atomic_load(&gone.seen_ns), spent_ns);
    assert_cpu(sum_marked_ns(&recorded->profile, "left"), atomic_load(&left.seen_ns), spent_ns);
}

int main(void) { return unit_tests_run(NULL, NULL); }
