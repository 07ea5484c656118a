/* Tests which threads are sampled, under which names, which threads are only counted, and threads that cannot be
 * interrupted. */
#include <stdio.h>
#include <stdlib.h>

#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "recorder/sampler/sampled_thread.h"
#include "recorder/write/thread_registry.h"
#include "tests/support/sampler_check.h"
#include "tests/support/unit_test.h"
#include "tests/support/wait_for_child.h"

CODE_SECTION(working)

IN_SECTION(working) static void work_here(struct busy_thread *self) {
    static volatile uint64_t sum __attribute__((unused));
    while (goes_on(self))
        for (uint64_t i = 0; i < 1000; i++) sum += i;
}

/* ---- Time without rounds. ---- */

static atomic_bool is_held, may_go_on;

static void hold_sampler(void *unused) {
    (void)unused;
    atomic_store(&is_held, true);
    while (!atomic_load(&may_go_on)) usleep(100);
}

/* Waits for the end of a round. The sampler makes no other before continue_rounds. */
static void stop_rounds(void) {
    atomic_store(&is_held, false);
    atomic_store(&may_go_on, false);
    sampler_call_after_rounds(hold_sampler, NULL);
    while (!atomic_load(&is_held)) usleep(100);
}

static void continue_rounds(void) {
    sampler_call_after_rounds(count_round, NULL);
    atomic_store(&may_go_on, true);
}

/* ---- Threads that do not register. ---- */

static void work_as_stranger(struct busy_thread *self) {
    pthread_setname_np(pthread_self(), "stranger");
    work_here(self);
}

/* Works for a fraction of a millisecond, and sleeps. */
static void work_a_little(void) {
    static volatile uint64_t sum __attribute__((unused));
    for (uint64_t i = 0; i < 20000; i++) sum += i;
    usleep(500);
}

/* A thread that only has to use some processor time. */
static void work_now_and_then(struct busy_thread *self) {
    pthread_setname_np(pthread_self(), "stranger");
    while (goes_on(self)) work_a_little();
}

struct cpu_marks {
    size_t count;
    int64_t used_ns;
    int64_t longest_ns;
};

static struct cpu_marks find_cpu_marks(const struct profile *profile) {
    struct cpu_marks marks = {0};
    const struct marker *marker = NULL;
    const struct thread *owner = NULL;
    while ((marker = next_marker(profile, "CPU use of a thread that is not registered", marker, &owner))) {
        assert_true(text_equal(owner->name, TEXT("main one")));
        struct profile_text *payload = payload_text(profile, marker);
        assert_non_null(strstr(payload->bytes, "name='stranger'"));
        free(payload);
        int64_t used_ns = value_of(profile, marker, 2).duration_ns, span_ns = marker->end_ns - marker->start_ns;
        double share = marker_value_real_of(value_of(profile, marker, 3).number);
        double exact_share = (double)used_ns / (double)span_ns;
        assert_true(used_ns > 0 && share > exact_share * 0.99 && share < exact_share * 1.01 && share < 1.1);
        marks.count++;
        marks.used_ns += used_ns;
        if (span_ns > marks.longest_ns) marks.longest_ns = span_ns;
    }
    return marks;
}

/* Processor time of unregistered threads is recorded as markers of the main thread, one a second. */
TEST(test_unregistered_thread, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    enum { PERIOD_MS = 1000, FOUND_MS = 30, LOOK_COUNT = 2, CPU_NS = 20000000 };
    struct busy_thread thread = {.run = work_now_and_then};
    start_sampling(*state, "stranger.trace", (struct grec_options){.interval_us = 1000});
    grec_thread_register("main one");
    busy_thread_start(&thread);
    sleep_ms(FOUND_MS);
    wait_rounds(2);
    uint64_t from_ns = cpu_of_thread_ns(&thread);
    for (int i = 0; i < LOOK_COUNT; i++) {
        sleep_ms(PERIOD_MS + FOUND_MS);
        wait_cpu(&thread, CPU_NS);
        wait_rounds(2);
    }
    uint64_t seen_ns = cpu_of_thread_ns(&thread) - from_ns;
    sleep_ms(FOUND_MS);
    wait_rounds(2);
    grec_stop();
    uint64_t spent_ns = cpu_of_thread_ns(&thread);
    busy_thread_join(&thread);
    const struct recorded *recorded = recorded_read(temp_folder_file(*state, "stranger.trace"));
    struct cpu_marks marks = find_cpu_marks(&recorded->profile);
    assert_true(marks.count >= LOOK_COUNT);
    if (marks.used_ns < (int64_t)seen_ns || marks.used_ns > (int64_t)spent_ns)
        fail_msg("%" PRId64 " ns, not %" PRIu64 " to %" PRIu64, marks.used_ns, seen_ns, spent_ns);
    assert_true(marks.longest_ns > PERIOD_MS * 990000);
    assert_null(find_thread(&recorded->profile, "stranger"));
}

static atomic_int rename_phase;

static void work_under_two_names(struct busy_thread *self) {
    pthread_setname_np(pthread_self(), "first name");
    atomic_store(&rename_phase, 1);
    while (atomic_load_explicit(&rename_phase, memory_order_relaxed) == 1) {
    }
    pthread_setname_np(pthread_self(), "second name");
    atomic_store(&rename_phase, 3);
    while (atomic_load(&rename_phase) == 3) work_a_little();
    work_here(self);
}

/* All threads are sampled under the names that the kernel has for them, and follow changes of these names. */
TEST(test_all_threads, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    struct busy_thread thread = {.run = work_under_two_names};
    atomic_store(&rename_phase, 0);
    start_sampling(*state, "all.trace", (struct grec_options){.interval_us = 1000, .flags = GREC_ALL_THREADS});
    busy_thread_start(&thread);
    while (atomic_load(&rename_phase) != 1) usleep(100);
    wait_stacks(&thread, 10);
    atomic_store(&rename_phase, 2);
    while (atomic_load(&rename_phase) != 3) usleep(100);
    /* The sampler reads the names again once a second. */
    sleep_ms(1100);
    atomic_store(&rename_phase, 4);
    wait_stacks(&thread, 100);
    const struct recorded *recorded = stop_and_read(*state, "all.trace");
    busy_thread_join(&thread);
    const struct thread *samples = need_thread(recorded, "second name");
    assert_true(count_samples_in(&recorded->profile, samples, working_code()) > 50);
    assert_null(find_thread(&recorded->profile, "first name"));
    assert_null(find_thread(&recorded->profile, "grec-helper"));
    assert_nothing_lost(recorded);
}

static void record_and_rename_at_end(struct busy_thread *self) {
    pthread_setname_np(pthread_self(), "first name");
    GREC_INSTANT("begin", NULL);
    atomic_store(&rename_phase, 1);
    while (atomic_load_explicit(&rename_phase, memory_order_relaxed) == 1) work_a_little();
    pthread_setname_np(pthread_self(), "second name");
}

/* A thread that the recorder knows tells its last name itself, however soon it ends. */
TEST(test_name_of_an_ending_thread, set_up_folder, tear_down_folder) {
    struct busy_thread thread = {.run = record_and_rename_at_end, .may_leave = true};
    atomic_store(&rename_phase, 0);
    start_sampling(*state, "ending.trace", (struct grec_options){.interval_us = 1000});
    busy_thread_start(&thread);
    while (atomic_load(&rename_phase) != 1) usleep(100);
    wait_stacks(&thread, 10);
    atomic_store(&rename_phase, 2);
    busy_thread_join(&thread);
    wait_rounds(2);
    const struct recorded *recorded = stop_and_read(*state, "ending.trace");
    assert_true(samples_count(&need_thread(recorded, "second name")->samples) > 0);
    assert_null(find_thread(&recorded->profile, "first name"));
}

static void register_at_last(struct busy_thread *self) {
    (void)self;
    pthread_setname_np(pthread_self(), "stranger");
    atomic_store(&rename_phase, 1);
    while (atomic_load(&rename_phase) == 1) work_a_little();
    grec_thread_register("own name");
}

/* A thread that the sampler has found registers, and ends before the next round. */
TEST(test_own_name_at_the_end, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    struct busy_thread thread = {.run = register_at_last};
    atomic_store(&rename_phase, 0);
    start_sampling(*state, "own-end.trace", (struct grec_options){.interval_us = 1000, .flags = GREC_ALL_THREADS});
    busy_thread_start(&thread);
    while (atomic_load(&rename_phase) != 1) usleep(100);
    wait_stacks(&thread, 10);
    stop_rounds();
    atomic_store(&rename_phase, 2);
    busy_thread_join(&thread);
    continue_rounds();
    wait_rounds(2);
    const struct recorded *recorded = stop_and_read(*state, "own-end.trace");
    assert_true(samples_count(&need_thread(recorded, "own name")->samples) > 0);
    assert_null(find_thread(&recorded->profile, "stranger"));
}

/* A thread that names itself, works a little and ends has that name, although names are read again only each second. */
TEST(test_name_of_a_short_thread, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    enum { READ_MS = 10 };
    struct busy_thread thread = {.run = work_under_two_names};
    atomic_store(&rename_phase, 0);
    start_sampling(*state, "short.trace", (struct grec_options){.interval_us = 1000, .flags = GREC_ALL_THREADS});
    busy_thread_start(&thread);
    while (atomic_load(&rename_phase) != 1) usleep(100);
    wait_stacks(&thread, 10);
    atomic_store(&rename_phase, 2);
    while (atomic_load(&rename_phase) != 3) usleep(100);
    sleep_ms(READ_MS);
    wait_rounds(2);
    atomic_store(&rename_phase, 4);
    busy_thread_join(&thread);
    wait_rounds(2);
    const struct recorded *recorded = stop_and_read(*state, "short.trace");
    need_thread(recorded, "second name");
    assert_null(find_thread(&recorded->profile, "first name"));
}

enum { SELDOM_MS = 100 };

static void work_for_more_than_an_interval(struct busy_thread *self) {
    pthread_setname_np(pthread_self(), "stranger");
    wait_rounds(2); /* one may have begun before the thread */
    uint64_t end_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID) + SELDOM_MS * UINT64_C(1300000);
    while (clock_now_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns) continue;
    atomic_store(&self->may_leave, true);
}

/* The thread is found in one round, and has ended in the round that writes its first sample. */
TEST(test_name_of_one_sample, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    struct busy_thread thread = {.run = work_for_more_than_an_interval};
    start_sampling(*state, "seldom.trace",
                   (struct grec_options){.interval_us = SELDOM_MS * 1000, .flags = GREC_ALL_THREADS});
    wait_rounds(1);
    busy_thread_start(&thread);
    busy_thread_join(&thread);
    wait_rounds(2);
    const struct recorded *recorded = stop_and_read(*state, "seldom.trace");
    assert_true(samples_count(&need_thread(recorded, "stranger")->samples) > 0);
}

static void sleep_as_stranger(struct busy_thread *self) {
    pthread_setname_np(pthread_self(), "stranger");
    while (goes_on(self)) pause();
}

static void ignore_signal(int number) { (void)number; }

/* A thread that does not run has no further sample that could tell its new name. */
TEST(test_name_at_the_end, set_up_folder, tear_down_folder) {
    struct busy_thread thread = {.run = sleep_as_stranger};
    signal(SIGUSR1, ignore_signal);
    start_sampling(*state, "end.trace", (struct grec_options){.interval_us = 1000, .flags = GREC_ALL_THREADS});
    busy_thread_start(&thread);
    sleep_ms(30);
    wait_rounds(20);
    pthread_setname_np(thread.thread, "sleeper");
    const struct recorded *recorded = stop_and_read(*state, "end.trace");
    atomic_store(&thread.is_told_to_end, true);
    while (!atomic_load(&thread.cpu_ns)) {
        pthread_kill(thread.thread, SIGUSR1);
        usleep(200);
    }
    busy_thread_join(&thread);
    assert_true(samples_count(&need_thread(recorded, "sleeper")->samples) > 0);
    assert_null(find_thread(&recorded->profile, "stranger"));
}

/* A thread that registers itself keeps the name that it gave. */
TEST(test_own_name_stays, set_up_folder, tear_down_folder) {
    struct busy_thread thread = {.name = "named by itself", .run = work_as_stranger};
    start_sampling(*state, "own.trace", (struct grec_options){.interval_us = 1000, .flags = GREC_ALL_THREADS});
    busy_thread_start(&thread);
    wait_rounds(200);
    wait_stacks(&thread, 30);
    const struct recorded *recorded = stop_and_read(*state, "own.trace");
    busy_thread_join(&thread);
    assert_true(samples_count(&need_thread(recorded, "named by itself")->samples) > 10);
    assert_null(find_thread(&recorded->profile, "stranger"));
}

/* ---- Threads that only sleep. ---- */

CODE_SECTION(sleeping)

enum sleeper_phase { SLEEPS, HAS_SPOKEN, MUST_END, HAS_ENDED };

struct sleeper {
    pthread_t thread;
    atomic_uint tid;
    atomic_int phase; /* enum sleeper_phase */
};

static void sleep_until_interrupted(void) {
    struct timespec long_time = {1000, 0};
    assert_int_equal(nanosleep(&long_time, NULL), -1);
}

/* Sleeps, then records events. These events must be in the thread's own track. */
IN_SECTION(sleeping) static void *sleep_and_speak(void *argument) {
    struct sleeper *sleeper = argument;
    pthread_setname_np(pthread_self(), "sleeper");
    atomic_store(&sleeper->tid, (unsigned)syscall(SYS_gettid));
    sleep_until_interrupted();
    GREC_INSTANT("awake", NULL);
    atomic_store(&sleeper->phase, HAS_SPOKEN);
    /* The sampler may have sent its signal while this thread was running. */
    while (atomic_load(&sleeper->phase) == HAS_SPOKEN) sleep_until_interrupted();
    atomic_store(&sleeper->phase, HAS_ENDED);
    NOT_THE_LAST_THING();
    return NULL;
}

static void interrupt(int number) { (void)number; }

static bool is_in_nanosleep(uint32_t tid) {
    int call = call_of_thread(tid);
    return call == SYS_nanosleep || call == SYS_clock_nanosleep;
}

static void sleeper_start(struct sleeper *sleeper) {
    struct sigaction action = {.sa_handler = interrupt};
    *sleeper = (struct sleeper){.phase = SLEEPS};
    sigaction(SIGUSR1, &action, NULL);
    assert_int_equal(pthread_create(&sleeper->thread, NULL, sleep_and_speak, sleeper), 0);
    while (!is_in_nanosleep(atomic_load(&sleeper->tid))) usleep(100);
}

static void sleeper_wake(struct sleeper *sleeper) {
    assert_int_equal(atomic_load(&sleeper->phase), SLEEPS);
    pthread_kill(sleeper->thread, SIGUSR1);
    while (atomic_load(&sleeper->phase) == SLEEPS) usleep(100);
    while (!is_in_nanosleep(atomic_load(&sleeper->tid))) usleep(100);
}

/* The sleeper must have spoken. A signal that arrives just before it sleeps again has no effect. */
static void sleeper_join(struct sleeper *sleeper) {
    atomic_store(&sleeper->phase, MUST_END);
    while (atomic_load(&sleeper->phase) != HAS_ENDED) {
        pthread_kill(sleeper->thread, SIGUSR1);
        usleep(100);
    }
    pthread_join(sleeper->thread, NULL);
}

/* Starts a sleeping thread and then the sampler. The thread sleeps before the sampler starts, so no signal can be on
 * its way to it. */
static void start_with_sleeper(const struct temp_folder *folder, struct sleeper *sleeper, const char *threads) {
    sleeper_start(sleeper);
    start_sampling(folder, "sleepers.trace",
                   (struct grec_options){.interval_us = 1000, .flags = GREC_ALL_THREADS, .threads = threads});
    /* On a busy machine the first rounds may be over before the sampler has listed the threads. */
    wait_rounds(40);
}

static void assert_sleeps(const struct recorded *recorded, const struct thread *thread) {
    const struct profile *profile = &recorded->profile;
    size_t count = samples_count(&thread->samples);
    assert_true(count > 0);
    stack_id stack = sample_stack(thread, count - 1);
    assert_true(stack_has_name(profile, stack, "(waits in clock_nanosleep)"));
    if (!IS_SANITIZED) assert_true(stack_has_code(profile, stack, sleeping_code()));
}

/* A sleeping thread that has not registered must have a track with its stack, and must not be woken for it. */
TEST(test_sleeping_stranger, set_up_folder, tear_down_folder) {
    struct sleeper sleeper;
    start_with_sleeper(*state, &sleeper, NULL);
    assert_int_equal(atomic_load(&sleeper.phase), SLEEPS);
    const struct recorded *recorded = stop_and_read(*state, "sleepers.trace");
    sleeper_wake(&sleeper);
    sleeper_join(&sleeper);
    assert_sleeps(recorded, need_thread(recorded, "sleeper"));
    assert_nothing_lost(recorded);
}

/* Events that a previously unregistered thread records later must be in the same track. */
TEST(test_stranger_that_speaks, set_up_folder, tear_down_folder) {
    struct sleeper sleeper;
    start_with_sleeper(*state, &sleeper, NULL);
    sleeper_wake(&sleeper);
    wait_rounds(5);
    const struct recorded *recorded = stop_and_read(*state, "sleepers.trace");
    sleeper_join(&sleeper);
    const struct thread *thread = need_thread(recorded, "sleeper");
    assert_int_equal(count_threads(&recorded->profile, "sleeper"), 1);
    assert_int_equal(count_markers_of(&recorded->profile, thread, "awake"), 1);
    assert_sleeps(recorded, thread);
    assert_nothing_lost(recorded);
}

/* A thread whose name the filter leaves out must have no track. */
TEST(test_unwanted_stranger, set_up_folder, tear_down_folder) {
    struct sleeper sleeper;
    start_with_sleeper(*state, &sleeper, "other");
    sleeper_wake(&sleeper);
    const struct recorded *recorded = stop_and_read(*state, "sleepers.trace");
    sleeper_join(&sleeper);
    assert_null(find_thread(&recorded->profile, "sleeper"));
}

/* ---- Threads that come to be wanted. ---- */

/* How a thread that was left out comes to be wanted, under which name, and how long the sampler takes to notice. */
struct coming {
    const char *first_name; /* NULL: the thread does not register at first */
    uint32_t flags;
    void (*come)(void);
    const char *name;
    unsigned notice_ms;
};

struct comer {
    struct busy_thread thread;
    const struct coming *coming;
    uint64_t unwanted_ns;         /* processor time before it is wanted */
    atomic_uint_fast64_t seen_ns; /* what it uses once the sampler has noticed; 0 until then */
};

static void come_by_registering(void) { grec_thread_register("wanted"); }
static void come_by_system_name(void) { pthread_setname_np(pthread_self(), "wanted"); }
static void come_by_options(void) {
    grec_start(&(struct grec_options){.interval_us = 1000, .threads = "other", .flags = GREC_SAMPLER});
    grec_thread_register("other");
}

static void work_cpu_ms(uint64_t ms) {
    volatile uint64_t sum __attribute__((unused)) = 0;
    for (uint64_t end_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000;
         clock_now_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns;)
        for (uint64_t i = 0; i < 1000; i++) sum += i;
}

static void work_and_come(struct busy_thread *self) {
    enum { UNWANTED_MS = 200, WANTED_MS = 20, LIST_MS = 20 };
    struct comer *comer = (struct comer *)self;
    work_cpu_ms(UNWANTED_MS);
    comer->unwanted_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
    sleep_ms(LIST_MS);
    wait_rounds(2);
    comer->coming->come();
    sleep_ms(comer->coming->notice_ms);
    wait_rounds(2);
    uint64_t from_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
    work_cpu_ms(WANTED_MS);
    atomic_store(&comer->seen_ns, clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - from_ns);
    while (goes_on(self)) sleep_ms(10);
}

/* A thread that comes to be wanted has the processor time that it uses from then on, and none of that before. */
TEST(test_coming_to_be_wanted, set_up_folder, tear_down_folder) {
    enum { INTERVAL_NS = 1000000 };
    static const struct coming comings[] = {
        {"other", 0, come_by_registering, "wanted", 0},
        {"other", 0, come_by_options, "other", 0},
        {NULL, GREC_ALL_THREADS, come_by_registering, "wanted", 0},
        {NULL, GREC_ALL_THREADS, come_by_system_name, "wanted", 1100},
    };
    for (size_t i = 0; i < sizeof comings / sizeof *comings; i++) {
        struct comer comer = {.thread = {.name = comings[i].first_name, .run = work_and_come}, .coming = &comings[i]};
        start_sampling(*state, "coming.trace",
                       (struct grec_options){.interval_us = 1000, .threads = "wanted", .flags = comings[i].flags});
        busy_thread_start(&comer.thread);
        while (!atomic_load(&comer.seen_ns)) usleep(1000);
        wait_rounds(2);
        const struct recorded *recorded = stop_and_read(*state, "coming.trace");
        uint64_t wanted_ns = cpu_of_thread_ns(&comer.thread) - comer.unwanted_ns;
        busy_thread_join(&comer.thread);
        int64_t sum_ns = sum_cpu_ns(need_thread(recorded, comings[i].name));
        if (sum_ns < (int64_t)atomic_load(&comer.seen_ns) - INTERVAL_NS || sum_ns > (int64_t)wanted_ns + INTERVAL_NS)
            fail_msg("case %zu: %" PRId64 " ns of at least %" PRIu64 ", at most %" PRIu64, i, sum_ns,
                     atomic_load(&comer.seen_ns), wanted_ns);
    }
}

static void *sleep_or_end(void *argument) {
    struct busy_thread *self = argument;
    struct timespec time = {0, 1000 + 997 * (long)((uintptr_t)&time / 64 % 1000)};
    while (goes_on(self) && time.tv_nsec < 3000000) {
        nanosleep(&time, NULL);
        time.tv_nsec *= 2;
    }
    if (time.tv_nsec % 2 == 0) GREC_INSTANT("late words", NULL);
    return NULL;
}

/* Many threads sleep, end or record while the sampler holds records for them. Each thread must have at most one
 * track at a time. */
TEST(test_storm_of_sleepers, set_up_folder, tear_down_folder) {
    enum { ROUND_COUNT = HAS_THREAD_SANITIZER ? 10 : 60, AT_A_TIME = 16 };
    struct busy_thread control = {0};
    start_sampling(*state, "sleepers.trace", (struct grec_options){.interval_us = 100, .flags = GREC_ALL_THREADS});
    for (int round = 0; round < ROUND_COUNT; round++) {
        pthread_t threads[AT_A_TIME];
        for (int i = 0; i < AT_A_TIME; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, sleep_or_end, &control), 0);
        if (round % 10 == 0) grec_pause();
        for (int i = 0; i < AT_A_TIME; i++) pthread_join(threads[i], NULL);
        grec_resume();
    }
    const struct recorded *recorded = stop_and_read(*state, "sleepers.trace");
    const struct profile *profile = &recorded->profile;
    for (size_t i = 0; i < profile->threads.count; i++)
        for (size_t j = 0; j < i; j++) {
            const struct thread *a = column_at(&profile->threads, i), *b = column_at(&profile->threads, j);
            if (a->tid == b->tid && a->start_ns < b->end_ns && b->start_ns < a->end_ns)
                fail_msg("thread %lld has two tracks at a time: %lld to %lld ns, %lld to %lld", (long long)a->tid,
                         (long long)a->start_ns, (long long)a->end_ns, (long long)b->start_ns, (long long)b->end_ns);
        }
    assert_nothing_lost(recorded);
}

/* ---- Threads that have released their records. ---- */

static size_t count_tracks(const struct profile *profile, uint32_t tid) {
    size_t count = 0;
    for (size_t i = 0; i < profile->threads.count; i++)
        count += ((const struct thread *)column_at(&profile->threads, i))->tid == tid;
    return count;
}

/* The sampler reads the kernel's list in so many rounds. */
enum { LISTED_ROUND_COUNT = 40 };

static void wait_as_thread_ends(void *unused) {
    (void)unused;
    wait_rounds(LISTED_ROUND_COUNT);
}

/* Destructors of thread-specific data run in the order of their keys, and the recorder's key is older than this one. */
static void *record_and_end_late(void *argument) {
    pthread_key_t *key = argument;
    pthread_setspecific(*key, key);
    GREC_INSTANT("words", NULL);
    return (void *)(uintptr_t)gettid();
}

/* The sampler finds a thread that the recorder has left. The thread must have no second track. */
TEST(test_late_end, set_up_folder, tear_down_folder) {
    pthread_key_t key;
    pthread_t thread;
    void *tid;
    assert_int_equal(pthread_key_create(&key, wait_as_thread_ends), 0);
    start_sampling(*state, "late.trace", (struct grec_options){.interval_us = 1000, .flags = GREC_ALL_THREADS});
    assert_int_equal(pthread_create(&thread, NULL, record_and_end_late, &key), 0);
    assert_int_equal(pthread_join(thread, &tid), 0);
    const struct recorded *recorded = stop_and_read(*state, "late.trace");
    pthread_key_delete(key);
    assert_int_equal(count_tracks(&recorded->profile, (uint32_t)(uintptr_t)tid), 1);
}

/* What the main thread tells a thread to do. */
static atomic_int task;
enum { TASK_REGISTERED, TASK_UNREGISTERED, TASK_REGISTERED_AGAIN };

static void work_until(int next) {
    while (atomic_load(&task) < next) work_a_little();
}

static void work_unregistered(struct busy_thread *self) {
    pthread_setname_np(pthread_self(), "stranger");
    work_until(TASK_UNREGISTERED);
    grec_thread_unregister();
    work_until(TASK_REGISTERED_AGAIN);
    grec_thread_register("second life");
    while (goes_on(self)) work_a_little();
}

/* Processor time of a thread that has unregistered is recorded as that of a thread that never registered, and no other
 * part of its time is recorded twice. */
TEST(test_life_after_unregistering, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    enum { CPU_NS = 20000000, INTERVAL_US = 1000, LENT_NS_MAX = 2 * INTERVAL_US * 1000 };
    struct busy_thread thread = {.name = "first life", .run = work_unregistered};
    uint64_t between_ns;
    atomic_store(&task, TASK_REGISTERED);
    start_sampling(*state, "lives.trace", (struct grec_options){.interval_us = INTERVAL_US, .flags = GREC_ALL_THREADS});
    grec_thread_register("main one");
    busy_thread_start(&thread);
    wait_cpu(&thread, CPU_NS);
    uint64_t from_ns = cpu_of_thread_ns(&thread);
    atomic_store(&task, TASK_UNREGISTERED);
    wait_rounds(LISTED_ROUND_COUNT);
    uint64_t seen_from_ns = cpu_of_thread_ns(&thread);
    wait_cpu(&thread, CPU_NS);
    between_ns = cpu_of_thread_ns(&thread) - seen_from_ns;
    wait_rounds(LISTED_ROUND_COUNT);
    atomic_store(&task, TASK_REGISTERED_AGAIN);
    wait_cpu(&thread, CPU_NS);
    grec_stop();
    uint64_t spent_ns = cpu_of_thread_ns(&thread);
    busy_thread_join(&thread);
    const struct recorded *recorded = recorded_read(temp_folder_file(*state, "lives.trace"));
    const struct profile *profile = &recorded->profile;
    const struct thread *first = need_thread(recorded, "first life"), *second = need_thread(recorded, "second life");
    assert_int_equal(count_tracks(profile, (uint32_t)first->tid), 2);
    struct cpu_marks marks = find_cpu_marks(profile);
    assert_true(marks.used_ns >= (int64_t)between_ns && marks.used_ns <= (int64_t)(spent_ns - from_ns));
    int64_t sampled_ns = sum_cpu_ns(first) + sum_cpu_ns(second);
    /* At the end of each life, samples may stand for an interval too much. */
    if (sampled_ns + marks.used_ns > (int64_t)spent_ns + LENT_NS_MAX)
        fail_msg("%" PRId64 " ns of samples and %" PRId64 " of markers, but %" PRIu64 " spent", sampled_ns,
                 marks.used_ns, spent_ns);
}

/* What happens while the sampler makes a record ready: its first store into the record faults. */
static struct {
    void *page;
    size_t page_bytes;
    sem_t has_faulted;
    sem_t may_continue;
    sem_t may_end;
    volatile sig_atomic_t count;
} fault;

static void choose_page(struct thread_writers *writers, struct thread_record *record, void *unused) {
    (void)unused;
    bool is_free = !thread_registry_tid(writers) && !thread_registry_absent_tid(writers);
    uintptr_t address = (uintptr_t)&record->start_ticks;
    if (is_free && !fault.page) fault.page = (void *)(address - address % fault.page_bytes);
}

static void handle_fault(int number) {
    (void)number;
    fault.count++;
    mprotect(fault.page, fault.page_bytes, PROT_READ | PROT_WRITE);
    sem_post(&fault.has_faulted);
    sem_wait(&fault.may_continue);
}

static void *record_and_release(void *tid) {
    atomic_store((atomic_uint *)tid, (unsigned)gettid());
    sem_wait(&fault.has_faulted);
    GREC_INSTANT("words", NULL);
    grec_thread_unregister();
    sem_post(&fault.may_continue);
    sem_wait(&fault.may_end);
    return NULL;
}

static void assert_not_held(struct thread_writers *writers, struct thread_record *record, void *tid) {
    (void)record;
    assert_false(thread_registry_is_held(writers) && thread_registry_tid(writers) == *(const unsigned *)tid);
}

/* A thread claims a record, records and releases it while the sampler takes a record to hold for the thread, which has
 * had its track then. */
TEST(test_release_while_held, set_up_folder, tear_down_folder) {
    struct sigaction action = {.sa_handler = handle_fault, .sa_flags = (int)SA_RESETHAND}, before;
    atomic_uint tid = 0;
    pthread_t thread;
    fault.page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    sem_init(&fault.has_faulted, 0, 0);
    sem_init(&fault.may_continue, 0, 0);
    sem_init(&fault.may_end, 0, 0);
    start_sampling(*state, "hold.trace", (struct grec_options){.interval_us = 1000});
    wait_rounds(1);
    assert_int_equal(pthread_create(&thread, NULL, record_and_release, &tid), 0);
    while (!atomic_load(&tid)) usleep(100);
    thread_registry_each_record(choose_page, NULL);
    assert_non_null(fault.page);
    sigaction(SIGSEGV, &action, &before);
    assert_int_equal(mprotect(fault.page, fault.page_bytes, PROT_READ), 0);
    thread_registry_hold(tid);
    sigaction(SIGSEGV, &before, NULL);
    assert_int_equal(fault.count, 1);
    thread_registry_each_record(assert_not_held, &tid);
    sem_post(&fault.may_end);
    pthread_join(thread, NULL);
    stop_and_read(*state, "hold.trace");
}

/* ---- Threads that start and end. ---- */

static void *register_and_end(void *unused) {
    grec_thread_register("short");
    GREC_INSTANT("in a short thread", NULL);
    return NULL;
}

/* Threads start and end faster than the sampler can look at them. */
TEST(test_short_threads, set_up_folder, tear_down_folder) {
    enum { THREAD_COUNT = HAS_THREAD_SANITIZER ? 400 : 1000, AT_A_TIME = 4 };
    char own_name[16];
    pthread_getname_np(pthread_self(), own_name, sizeof own_name);
    start_sampling(*state, "short.trace", (struct grec_options){.interval_us = 100, .flags = GREC_ALL_THREADS});
    for (int i = 0; i < THREAD_COUNT; i += AT_A_TIME) {
        pthread_t threads[AT_A_TIME];
        for (int j = 0; j < AT_A_TIME; j++)
            assert_int_equal(pthread_create(&threads[j], NULL, register_and_end, NULL), 0);
        for (int j = 0; j < AT_A_TIME; j++) pthread_join(threads[j], NULL);
    }
    const struct recorded *recorded = stop_and_read(*state, "short.trace");
    assert_int_equal(count_markers(&recorded->profile, "in a short thread"), THREAD_COUNT);
    /* If the sampler found a thread before it registered, the thread may have kept the kernel's name. */
    size_t named_count = 0;
    for (size_t i = 0; i < recorded->profile.threads.count; i++) {
        const struct thread *thread = column_at(&recorded->profile.threads, i);
        if (!count_markers_of(&recorded->profile, thread, "in a short thread")) continue;
        bool is_named = text_equal(thread->name, TEXT("short"));
        if (!is_named) assert_true(text_equal(thread->name, text_of(own_name)));
        named_count += is_named;
    }
    assert_true(named_count > 0);
    assert_nothing_lost(recorded);
}

/* ---- Threads that end between two rounds. ---- */

CODE_SECTION(relay_odd)
CODE_SECTION(relay_even)

enum { RELAY_COUNT = 60, RELAY_CPU_NS = 3000000 };

static void compute_until(uint64_t cpu_ns) {
    while (clock_now_ns(CLOCK_THREAD_CPUTIME_ID) < cpu_ns) {
    }
}

IN_SECTION(relay_odd) static void run_odd(void) {
    compute_until(RELAY_CPU_NS);
    NOT_THE_LAST_THING();
}

IN_SECTION(relay_even) static void run_even(void) {
    compute_until(RELAY_CPU_NS);
    NOT_THE_LAST_THING();
}

static void *run_in_relay(void *is_odd) {
    make_first_call();
    grec_thread_register(is_odd ? "odd" : "even");
    if (is_odd)
        run_odd();
    else
        run_even();
    return NULL;
}

/* The record of a thread that has ended belongs to the next thread at once. Stacks that the first one has left are its
 * own all the same. */
TEST(test_threads_in_relay, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    start_sampling(*state, "relay.trace", (struct grec_options){.interval_us = 1000});
    for (uintptr_t i = 0; i < RELAY_COUNT; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, run_in_relay, (void *)(i % 2)), 0);
        pthread_join(thread, NULL);
    }
    const struct recorded *recorded = stop_and_read(*state, "relay.trace");
    for (size_t i = 0; i < recorded->profile.threads.count; i++) {
        const struct thread *thread = column_at(&recorded->profile.threads, i);
        if (text_equal(thread->name, TEXT("odd")))
            assert_int_equal(count_samples_in(&recorded->profile, thread, relay_even_code()), 0);
        if (text_equal(thread->name, TEXT("even")))
            assert_int_equal(count_samples_in(&recorded->profile, thread, relay_odd_code()), 0);
    }
}

enum { BRIEF_COUNT = 40, BRIEF_CPU_NS = 3000000 };

struct brief_thread {
    pthread_t thread;
    pthread_barrier_t *barrier; /* NULL: the thread waits for no others */
    char name[16];
    uint64_t cpu_ns;
};

static void *live_briefly(void *argument) {
    struct brief_thread *self = argument;
    make_first_call();
    grec_thread_register(self->name);
    if (self->barrier) pthread_barrier_wait(self->barrier);
    compute_until(BRIEF_CPU_NS);
    self->cpu_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

static void start_briefly(struct brief_thread *brief, int number, pthread_barrier_t *barrier) {
    brief->barrier = barrier;
    snprintf(brief->name, sizeof brief->name, "brief %d", number);
    assert_int_equal(pthread_create(&brief->thread, NULL, live_briefly, brief), 0);
}

/* Half of the threads run one after another, each of which could have the record of the one before. The others run
 * together. */
static void run_brief_threads(struct brief_thread threads[BRIEF_COUNT]) {
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, BRIEF_COUNT / 2);
    for (int i = 0; i < BRIEF_COUNT / 2; i++) {
        start_briefly(&threads[i], i, NULL);
        pthread_join(threads[i].thread, NULL);
    }
    for (int i = BRIEF_COUNT / 2; i < BRIEF_COUNT; i++) start_briefly(&threads[i], i, &barrier);
    for (int i = BRIEF_COUNT / 2; i < BRIEF_COUNT; i++) pthread_join(threads[i].thread, NULL);
    pthread_barrier_destroy(&barrier);
}

/* Checks that a thread has ended, and has its last sample, before the next one has begun. */
static void assert_disjoint(const struct thread *thread, const struct thread *next) {
    assert_true(thread->end_ns <= next->start_ns);
    assert_true(sample_time_ns(thread, samples_count(&thread->samples) - 1) <= thread->end_ns);
}

/* Each thread that begins and ends between two rounds has samples with what it has used, at the time when it lived. */
TEST(test_time_between_two_rounds, set_up_folder, tear_down_folder) {
    int64_t all_ns = 0;
    struct brief_thread threads[BRIEF_COUNT];
    start_sampling(*state, "brief.trace", (struct grec_options){.interval_us = 1000});
    wait_rounds(2);
    stop_rounds();
    run_brief_threads(threads);
    continue_rounds();
    wait_rounds(2);
    const struct recorded *recorded = stop_and_read(*state, "brief.trace");
    for (int i = 0; i < BRIEF_COUNT; i++) {
        const struct thread *thread = need_thread(recorded, threads[i].name);
        int64_t sum_ns = sum_cpu_ns(thread), used_ns = (int64_t)threads[i].cpu_ns;
        all_ns += sum_ns;
        if (sum_ns < used_ns) fail_msg("%s: %" PRId64 " of %" PRId64 " ns", threads[i].name, sum_ns, used_ns);
        for (size_t j = 0; j < samples_count(&thread->samples); j++)
            assert_true(stack_is_rest(&recorded->profile, sample_stack(thread, j)));
        if (i + 1 < BRIEF_COUNT / 2) assert_disjoint(thread, need_thread(recorded, threads[i + 1].name));
    }
    assert_true(all_ns <= (int64_t)clock_now_ns(CLOCK_PROCESS_CPUTIME_ID));
    assert_nothing_lost(recorded);
}

CODE_SECTION(instant)

enum { INSTANT_COUNT = 400, INSTANT_CPU_NS = 300000, MET_COUNT = 100 };

IN_SECTION(instant) static void live_for_an_instant(void) {
    compute_until(INSTANT_CPU_NS);
    NOT_THE_LAST_THING();
}

static void *run_for_an_instant(void *used_ns) {
    make_first_call();
    grec_thread_register("instant");
    live_for_an_instant();
    *(uint64_t *)used_ns += clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

/* Runs threads until rounds have met MET_COUNT of them, also if the sampler has to wait for a processor. Returns what
 * they have used. */
static uint64_t run_instants(void) {
    enum { UNREAD_COUNT = 100 };
    uint64_t used_ns = 0;
    for (int i = 0, met_count = 0; i < INSTANT_COUNT || met_count < MET_COUNT; i++) {
        pthread_t thread;
        uint64_t before = atomic_load(&round_count);
        assert_int_equal(pthread_create(&thread, NULL, run_for_an_instant, &used_ns), 0);
        pthread_join(thread, NULL);
        met_count += atomic_load(&round_count) != before;
        /* What too many threads leave between two rounds is lost. */
        if (i % UNREAD_COUNT == 0) wait_rounds(1);
    }
    return used_ns;
}

/* The profile must not have less than the threads have used, but for an interval, nor more than the process since
 * start_ns. Returns the number of stacks. */
static size_t check_instants(const struct recorded *recorded, uint64_t used_ns, uint64_t start_ns,
                             int64_t interval_us) {
    int64_t sum_ns = 0, most_ns = (int64_t)(clock_now_ns(CLOCK_PROCESS_CPUTIME_ID) - start_ns);
    size_t stack_count = 0;
    for (size_t i = 0; i < recorded->profile.threads.count; i++) {
        const struct thread *thread = column_at(&recorded->profile.threads, i);
        sum_ns += sum_cpu_ns(thread);
        stack_count += count_samples_in(&recorded->profile, thread, instant_code());
    }
    if (sum_ns < (int64_t)used_ns - interval_us * 1000 || sum_ns > most_ns)
        fail_msg("%" PRId64 " of %" PRIu64 " ns, at most %" PRId64, sum_ns, used_ns, most_ns);
    return stack_count;
}

/* Threads that live for a third of an interval have their processor time in the profile, and a part of them a stack. */
TEST(test_time_of_threads_below_an_interval, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    enum { INTERVAL_US = 1000 };
    uint64_t start_ns = clock_now_ns(CLOCK_PROCESS_CPUTIME_ID);
    start_sampling(*state, "instant.trace", (struct grec_options){.interval_us = INTERVAL_US});
    wait_rounds(2);
    uint64_t used_ns = run_instants();
    const struct recorded *recorded = stop_and_read(*state, "instant.trace");
    size_t stack_count = check_instants(recorded, used_ns, start_ns, INTERVAL_US);
    /* At clock ticks alone, chance may give none of them a stack. */
    if (!count_said(recorded, "perf_event_open: ")) assert_true(stack_count >= MET_COUNT / 20);
}

/* Works for a fraction of an interval, and waits, twice. */
static void *run_and_wait(void *used_ns) {
    enum { PART_NS = 400000, WAIT_MS = 10, PART_COUNT = 2 };
    make_first_call();
    grec_thread_register("instant");
    for (int i = 0; i < PART_COUNT; i++) {
        compute_until(clock_now_ns(CLOCK_THREAD_CPUTIME_ID) + PART_NS);
        sleep_ms(WAIT_MS);
    }
    *(uint64_t *)used_ns += clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

/* A thread that works for less than an interval may wait before it leaves a stack, and after that. */
TEST(test_time_of_short_threads_that_wait, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    enum { INTERVAL_US = 4000, COUNT = 50 };
    uint64_t start_ns = clock_now_ns(CLOCK_PROCESS_CPUTIME_ID), used_ns = 0;
    start_sampling(*state, "waiting.trace", (struct grec_options){.interval_us = INTERVAL_US});
    wait_rounds(2);
    for (int i = 0; i < COUNT; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, run_and_wait, &used_ns), 0);
        pthread_join(thread, NULL);
    }
    const struct recorded *recorded = stop_and_read(*state, "waiting.trace");
    check_instants(recorded, used_ns, start_ns, INTERVAL_US);
}

static int64_t sum_rests_ns(const struct recorded *recorded) {
    int64_t sum_ns = 0;
    for (size_t i = 0; i < recorded->profile.threads.count; i++) {
        const struct thread *thread = column_at(&recorded->profile.threads, i);
        for (uint32_t j = 0; j < samples_count(&thread->samples); j++) {
            bool is_rest = stack_is_rest(&recorded->profile, sample_stack(thread, j));
            if (is_rest) sum_ns += samples_cpu_ns(&thread->samples, j);
        }
    }
    return sum_ns;
}

/* What short threads have used that no later one stands for is not said to have been used where another thread was. */
TEST(test_time_of_the_last_short_threads, set_up_folder, tear_down_folder) {
    enum { INTERVAL_US = 2000, COUNT = 20, BEFORE_NS = 100000000 };
    uint64_t used_ns = 0;
    start_sampling(*state, "last.trace", (struct grec_options){.interval_us = INTERVAL_US});
    compute_until(clock_now_ns(CLOCK_THREAD_CPUTIME_ID) + BEFORE_NS);
    wait_rounds(2);
    stop_rounds();
    for (int i = 0; i < COUNT; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, run_for_an_instant, &used_ns), 0);
        pthread_join(thread, NULL);
    }
    continue_rounds();
    wait_rounds(1);
    const struct recorded *recorded = stop_and_read(*state, "last.trace");
    int64_t rest_ns = sum_rests_ns(recorded);
    if (rest_ns < (int64_t)used_ns - INTERVAL_US * 1000) fail_msg("%" PRId64 " of %" PRIu64 " ns", rest_ns, used_ns);
}

static sem_t is_idle, may_end;

static void *work_and_idle(void *unused) {
    make_first_call();
    grec_thread_register("idle");
    compute_until(INSTANT_CPU_NS);
    sem_post(&is_idle);
    sem_wait(&may_end);
    return unused;
}

/* The first thread may wait so often that it has none. */
static void count_without_event(struct thread_writers *writers, struct thread_record *record, void *count) {
    const struct sampled_thread *thread = __atomic_load_n(&record->sampled, __ATOMIC_ACQUIRE);
    uint32_t tid = thread_registry_tid(writers);
    bool has_clocks = thread && __atomic_load_n(&thread->clocks.has_timer, __ATOMIC_ACQUIRE);
    if (!has_clocks || !tid || tid == (uint32_t)getpid()) return;
    *(size_t *)count += !__atomic_load_n(&thread->clocks.has_event, __ATOMIC_ACQUIRE);
}

/* Threads that wait for ever after a short time keep the event of their first stack. It takes no descriptors that
 * events of other threads need. */
TEST(test_few_descriptors, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    enum { COUNT = 100, DESCRIPTOR_COUNT = 160 };
    struct rlimit before;
    pthread_t threads[COUNT];
    size_t without_count = 0;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit few = {.rlim_cur = DESCRIPTOR_COUNT, .rlim_max = before.rlim_max};
    sem_init(&is_idle, 0, 0);
    sem_init(&may_end, 0, 0);
    start_sampling(*state, "few.trace", (struct grec_options){.interval_us = 1000});
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, work_and_idle, NULL), 0);
        sem_wait(&is_idle);
    }
    wait_rounds(2);
    thread_registry_each_record(count_without_event, &without_count);
    for (int i = 0; i < COUNT; i++) sem_post(&may_end);
    for (int i = 0; i < COUNT; i++) pthread_join(threads[i], NULL);
    const struct recorded *recorded = stop_and_read(*state, "few.trace");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    if (!count_said(recorded, "perf_event_open: ")) assert_int_equal(without_count, 0);
}

static void *register_and_end_by_call(void *unused) {
    (void)unused;
    make_first_call();
    grec_thread_register("ended");
    syscall(SYS_exit, 0);
    return NULL;
}

/* A thread that has ended without giving its record back must not stand for a thread that began later. */
TEST(test_stranger_after_an_end_by_call, set_up_folder, tear_down_folder) {
    if (IS_SANITIZED) skip(); /* they do not allow such an end */
    pthread_t ended;
    struct busy_thread thread = {.run = work_as_stranger};
    start_sampling(*state, "ended.trace", (struct grec_options){.interval_us = 1000, .flags = GREC_ALL_THREADS});
    assert_int_equal(pthread_create(&ended, NULL, register_and_end_by_call, NULL), 0);
    pthread_join(ended, NULL);
    busy_thread_start(&thread);
    wait_stacks(&thread, 100);
    const struct recorded *recorded = stop_and_read(*state, "ended.trace");
    busy_thread_join(&thread);
    const struct thread *samples = need_thread(recorded, "stranger");
    assert_true(count_samples_in(&recorded->profile, samples, working_code()) > 50);
}

/* The processor time that a thread had used when its second life began, and when it ended. */
static uint64_t second_from_ns, second_to_ns;

/* Ends without the calls that give a thread's record back. */
static void *live_twice(void *unused) {
    (void)unused;
    make_first_call();
    grec_thread_register("first life");
    compute_until(BRIEF_CPU_NS);
    wait_rounds(2);
    stop_rounds();
    grec_thread_unregister();
    grec_thread_register("second life");
    second_from_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
    compute_until(second_from_ns + 2 * BRIEF_CPU_NS);
    second_to_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
    continue_rounds();
    wait_rounds(2);
    syscall(SYS_exit, 0);
    return NULL;
}

/* A thread registers again between two rounds. What it has done since then belongs to its second life alone, and what
 * it left at the end of the first one tells nothing of the end of the second. */
TEST(test_two_lives_between_rounds, set_up_folder, tear_down_folder) {
    if (IS_SANITIZED) skip(); /* they do not allow such an end */
    enum { INTERVAL_US = 1000, LENT_NS_MAX = 2 * INTERVAL_US * 1000 };
    pthread_t thread;
    start_sampling(*state, "twice.trace", (struct grec_options){.interval_us = INTERVAL_US});
    wait_rounds(2);
    assert_int_equal(pthread_create(&thread, NULL, live_twice, NULL), 0);
    pthread_join(thread, NULL);
    wait_rounds(2);
    const struct recorded *recorded = stop_and_read(*state, "twice.trace");
    const struct thread *first = need_thread(recorded, "first life"), *second = need_thread(recorded, "second life");
    assert_true(first->end_ns <= second->start_ns);
    assert_true(sample_time_ns(second, samples_count(&second->samples) - 1) < second->end_ns);
    assert_true(sum_cpu_ns(first) <= (int64_t)second_from_ns + LENT_NS_MAX);
    assert_true(sum_cpu_ns(second) + LENT_NS_MAX >= (int64_t)(second_to_ns - second_from_ns));
}

static void count_record(struct thread_writers *writers, struct thread_record *record, void *count) {
    (void)writers;
    (void)record;
    ++*(size_t *)count;
}

static void run_short_threads(int thread_count) {
    for (int i = 0; i < thread_count; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, register_and_end, NULL), 0);
        pthread_join(thread, NULL);
    }
}

static void count_waiting(struct thread_writers *writers, struct thread_record *record, void *count) {
    (void)record;
    *(size_t *)count += thread_registry_absent_tid(writers) != 0;
}

/* A thread that only prepares chunks makes no rounds in which records of ended threads become free. */
TEST(test_records_without_sampling, set_up_folder, tear_down_folder) {
    enum { THREAD_COUNT = 40 };
    size_t waiting_count = 0;
    start_recording(*state, "helper.trace", (struct grec_options){.flags = GREC_HELPER});
    run_short_threads(THREAD_COUNT);
    thread_registry_each_record(count_waiting, &waiting_count);
    const struct recorded *recorded = stop_and_read(*state, "helper.trace");
    assert_int_equal(waiting_count, 0);
    assert_int_equal(count_markers(&recorded->profile, "in a short thread"), THREAD_COUNT);
}

/* Records of ended threads wait for the sampler, but not as many as threads may end until its next round. */
TEST(test_records_without_rounds, set_up_folder, tear_down_folder) {
    enum { THREAD_COUNT = 1000, WAITING_COUNT_MAX = 600 };
    size_t before_count = 0, after_count = 0;
    start_sampling(*state, "records.trace", (struct grec_options){.interval_us = 1000});
    stop_rounds();
    thread_registry_each_record(count_record, &before_count);
    run_short_threads(THREAD_COUNT);
    thread_registry_each_record(count_record, &after_count);
    continue_rounds();
    const struct recorded *recorded = stop_and_read(*state, "records.trace");
    assert_true(after_count - before_count < WAITING_COUNT_MAX);
    assert_int_equal(count_markers(&recorded->profile, "in a short thread"), THREAD_COUNT);
}

enum { LONG_INTERVAL_US = 100000, LAST_CPU_NS = 75000000 };

/* Computes for three quarters of an interval, and ends before the sampler makes its next round, unless the machine is
 * busy. */
static void *compute_and_end(void *name) {
    make_first_call();
    grec_thread_register(name);
    wait_rounds(2);
    compute_until(clock_now_ns(CLOCK_THREAD_CPUTIME_ID) + LAST_CPU_NS);
    return NULL;
}

TEST(test_time_before_the_end, set_up_folder, tear_down_folder) {
    static const char *const names[] = {"early", "middle", "last"};
    start_sampling(*state, "ends.trace", (struct grec_options){.interval_us = LONG_INTERVAL_US});
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, compute_and_end, (void *)(uintptr_t)names[i]), 0);
        pthread_join(thread, NULL);
    }
    const struct recorded *recorded = stop_and_read(*state, "ends.trace");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int64_t sum_ns = sum_cpu_ns(need_thread(recorded, names[i]));
        if (sum_ns < LAST_CPU_NS) fail_msg("%s: %" PRId64 " ns", names[i], sum_ns);
    }
    assert_nothing_lost(recorded);
}

/* The first thread works before the sampler has found it, unless the machine is busy. */
TEST(test_time_at_the_start, set_up_folder, tear_down_folder) {
    enum { RECORDING_COUNT = 10, CPU_NS = 20000000 };
    skip_under_thread_sanitizer();
    for (int i = 0; i < RECORDING_COUNT; i++) {
        grec_thread_register("first");
        start_sampling(*state, "start.trace", (struct grec_options){.interval_us = 1000});
        uint64_t from_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
        compute_until(from_ns + CPU_NS);
        uint64_t used_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - from_ns;
        const struct recorded *recorded = stop_and_read(*state, "start.trace");
        int64_t sum_ns = sum_cpu_ns(need_thread(recorded, "first"));
        if (sum_ns < (int64_t)used_ns) fail_msg("%" PRId64 " of %" PRIu64 " ns", sum_ns, used_ns);
    }
}

/* The sampler of a child begins after some milliseconds of processor time, which short children do not use. */
TEST(test_time_of_children, set_up_folder, tear_down_folder) {
    static const char *const names[] = {"shorter", "short", "long"};
    static const uint64_t cpu_ns[] = {2000000, 4000000, 30000000};
    skip_forks_under_sanitizers();
    start_sampling(*state, "children.trace", (struct grec_options){.interval_us = 1000});
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        pid_t pid = fork();
        if (!pid) {
            grec_thread_register(names[i]);
            compute_until(clock_now_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns[i]);
            grec_stop();
            _exit(0);
        }
        assert_int_equal(wait_for_child(pid), 0);
    }
    const struct recorded *recorded = stop_and_read(*state, "children.trace");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int64_t sum_ns = sum_cpu_ns(need_thread(recorded, names[i]));
        if (sum_ns < (int64_t)cpu_ns[i]) fail_msg("%s: %" PRId64 " ns", names[i], sum_ns);
    }
}

static void compute_at_last(struct busy_thread *self) {
    (void)self;
    compute_until(LAST_CPU_NS);
}

/* The recording ends before a round finds the thread, which still runs. */
TEST(test_time_of_the_last_thread, set_up_folder, tear_down_folder) {
    struct busy_thread thread = {.name = "last", .run = compute_at_last};
    start_sampling(*state, "last.trace", (struct grec_options){.interval_us = LONG_INTERVAL_US});
    wait_rounds(2);
    stop_rounds();
    busy_thread_start(&thread);
    busy_thread_wait(&thread);
    continue_rounds();
    const struct recorded *recorded = stop_and_read(*state, "last.trace");
    busy_thread_join(&thread);
    assert_true(sum_cpu_ns(need_thread(recorded, "last")) >= LAST_CPU_NS);
    assert_nothing_lost(recorded);
}

static void compute_as_stranger(struct busy_thread *self) {
    (void)self;
    pthread_setname_np(pthread_self(), "stranger");
    compute_until(LAST_CPU_NS);
}

/* A thread that has not registered ends after the last round, and then the recording ends. */
TEST(test_time_of_an_ended_stranger, set_up_folder, tear_down_folder) {
    struct busy_thread thread = {.run = compute_as_stranger};
    start_sampling(*state, "stranger.trace",
                   (struct grec_options){.interval_us = LONG_INTERVAL_US, .flags = GREC_ALL_THREADS});
    wait_rounds(2); /* what a thread has used before the first round is not known */
    busy_thread_start(&thread);
    busy_thread_wait(&thread);
    wait_rounds(2);
    busy_thread_join(&thread);
    const struct recorded *recorded = stop_and_read(*state, "stranger.trace");
    assert_true(sum_cpu_ns(need_thread(recorded, "stranger")) >= LAST_CPU_NS);
}

static void wait_to_leave(struct busy_thread *self) { (void)self; }

/* The recording ends before the sampler sees that another thread has the record of the one that has ended. */
TEST(test_name_after_the_end, set_up_folder, tear_down_folder) {
    struct busy_thread next = {.name = "next", .run = wait_to_leave};
    pthread_t thread;
    char ended[] = "ended";
    start_sampling(*state, "names.trace", (struct grec_options){.interval_us = LONG_INTERVAL_US});
    assert_int_equal(pthread_create(&thread, NULL, compute_and_end, ended), 0);
    pthread_join(thread, NULL);
    busy_thread_start(&next);
    const struct recorded *recorded = stop_and_read(*state, "names.trace");
    busy_thread_join(&next);
    assert_true(sum_cpu_ns(need_thread(recorded, "ended")) >= LAST_CPU_NS);
}

enum { LIFE_COUNT = 80, LIFE_INTERVAL_US = 5000, LIFE_CPU_NS = 3000000 };

/* Unregisters between two rounds, and registers again before the sampler reads the list of threads. */
static void *live_again(void *all_ns) {
    make_first_call();
    for (int i = 0; i < LIFE_COUNT; i++) {
        grec_thread_register("returning");
        wait_rounds(1);
        compute_until(clock_now_ns(CLOCK_THREAD_CPUTIME_ID) + LIFE_CPU_NS);
        grec_thread_unregister();
        wait_rounds(1);
    }
    *(uint64_t *)all_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

/* What a thread has used before it unregistered is not part of its next life, and what its samples stand for too early
 * is not used again. Samples may stand for an interval more than the thread has used: where the machine is virtual, the
 * event's clock may be ahead of the thread's. */
TEST(test_time_of_several_lives, set_up_folder, tear_down_folder) {
    pthread_t thread;
    uint64_t all_ns = 0;
    int64_t sum_ns = 0;
    start_sampling(*state, "several.trace", (struct grec_options){.interval_us = LIFE_INTERVAL_US});
    assert_int_equal(pthread_create(&thread, NULL, live_again, &all_ns), 0);
    pthread_join(thread, NULL);
    const struct recorded *recorded = stop_and_read(*state, "several.trace");
    for (size_t i = 0; i < recorded->profile.threads.count; i++) {
        const struct thread *life = column_at(&recorded->profile.threads, i);
        if (text_equal(life->name, TEXT("returning"))) sum_ns += sum_cpu_ns(life);
    }
    int64_t most_ns = (int64_t)all_ns + LIFE_INTERVAL_US * 1000;
    if (!sum_ns || sum_ns > most_ns) fail_msg("%" PRId64 " of %" PRIu64 " ns", sum_ns, all_ns);
}

/* ---- The signal. ---- */

static void work_deaf(struct busy_thread *self) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    work_here(self);
}

/* A thread that blocks the signal has processor time but no stacks. The recorder reports this once. */
TEST(test_blocked_signal, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    struct busy_thread thread = {.name = "deaf", .run = work_deaf};
    start_sampling(*state, "deaf.trace", (struct grec_options){.interval_us = 1000});
    wait_rounds(1);
    busy_thread_start(&thread);
    wait_stacks(&thread, 10);
    /* The recorder reports such a thread after half a second. */
    sleep_ms(600);
    uint64_t from_ns = cpu_of_thread_ns(&thread);
    wait_stacks(&thread, 60);
    uint64_t seen_ns = cpu_of_thread_ns(&thread) - from_ns;
    wait_stacks(&thread, 2);
    grec_stop();
    uint64_t spent_ns = cpu_of_thread_ns(&thread);
    busy_thread_join(&thread);
    const struct recorded *recorded = recorded_read(temp_folder_file(*state, "deaf.trace"));
    assert_int_equal(count_said(recorded, "\"deaf\" blocks SIGURG"), 1);
    const struct thread *samples = need_thread(recorded, "deaf");
    size_t without = 0;
    for (uint32_t i = 0; i < samples_count(&samples->samples); i++)
        without += stack_is_unasked(&recorded->profile, sample_stack(samples, i));
    int64_t sum_ns = sum_cpu_ns(samples);
    if (without < 50 || sum_ns < (int64_t)seen_ns || sum_ns > (int64_t)spent_ns)
        fail_msg("%zu samples without stacks, %" PRId64 " ns, not %" PRIu64 " to %" PRIu64, without, sum_ns, seen_ns,
                 spent_ns);
    assert_int_equal(count_samples_in(&recorded->profile, samples, working_code()), 0);
}

static atomic_bool has_resumed;

static bool has_clocks(const struct thread_record *record) {
    const struct sampled_thread *sampled = __atomic_load_n(&record->sampled, __ATOMIC_ACQUIRE);
    return sampled && __atomic_load_n(&sampled->signal, __ATOMIC_RELAXED);
}

/* Works until a clock of the thread has fired, and leaves its signal blocked and pending. */
static void await_pending_signal(void) {
    sigset_t all, pending;
    sigfillset(&all);
    while (!has_clocks(thread_record_self)) work_a_little();
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    do sigpending(&pending);
    while (!sigismember(&pending, SIGURG));
}

/* Unblocks the signal in a pause, so that it arrives there. */
static void work_through_pause(struct busy_thread *self) {
    sigset_t none;
    sigemptyset(&none);
    await_pending_signal();
    grec_pause();
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    grec_resume();
    GREC_INSTANT("at work", NULL);
    atomic_store(&has_resumed, true);
    work_here(self);
}

TEST(test_signal_in_pause, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    struct busy_thread thread = {.name = "busy", .run = work_through_pause};
    atomic_store(&has_resumed, false);
    start_sampling(*state, "in-pause.trace", (struct grec_options){.interval_us = 1000});
    busy_thread_start(&thread);
    while (!atomic_load(&has_resumed)) usleep(1000);
    wait_stacks(&thread, 20);
    const struct recorded *recorded = stop_and_read(*state, "in-pause.trace");
    busy_thread_join(&thread);
    assert_int_equal(count_said(recorded, " blocks SIGURG"), 0);
    const struct thread *samples = need_thread(recorded, "busy");
    size_t after_count = 0;
    for (size_t i = 0; i < samples_count(&samples->samples); i++)
        after_count += sample_time_ns(samples, i) > at_work_ns(&recorded->profile) &&
                       stack_has_code(&recorded->profile, sample_stack(samples, i), working_code());
    assert_true(after_count > 3);
}

static sem_t may_unblock;

/* A thread that blocks the signal until it has been found, and unblocks it before it works, is reached. Meanwhile it
 * uses less processor time than a new thread may, however long the sampler needs. */
static void block_and_work(struct busy_thread *self) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    for (int i = 0; i < 50; i++) sleep_ms(1);
    sem_wait(&may_unblock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    work_here(self);
}

TEST(test_blocked_at_first, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    struct busy_thread thread = {.name = "busy", .run = block_and_work};
    sem_init(&may_unblock, 0, 0);
    start_sampling(*state, "at-first.trace", (struct grec_options){.interval_us = 1000});
    busy_thread_start(&thread);
    wait_rounds(50);
    sem_post(&may_unblock);
    wait_cpu(&thread, 200000000);
    wait_rounds(2);
    const struct recorded *recorded = stop_and_read(*state, "at-first.trace");
    busy_thread_join(&thread);
    assert_int_equal(count_said(recorded, " blocks SIGURG"), 0);
    const struct samples *samples = &need_thread(recorded, "busy")->samples;
    for (size_t i = 0; i < samples->rows.count; i++) assert_false(stack_is_none(samples_at(samples, i)->stack));
}

static atomic_int own_signal_count;

static void count_own_signal(int number, siginfo_t *info, void *context) { atomic_fetch_add(&own_signal_count, 1); }

static void forget_signal(void) { signal(SIGURG, SIG_DFL); }

/* The program's own handler must stay installed, whether it was set before or during the recording. */
TEST(test_handler_of_the_program, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    struct sigaction own = {.sa_sigaction = count_own_signal, .sa_flags = SA_SIGINFO}, now;
    struct busy_thread thread = {.name = "busy", .run = work_here};
    atomic_store(&own_signal_count, 0);
    sigaction(SIGURG, &own, NULL);
    start_sampling(*state, "own.trace", (struct grec_options){.interval_us = 1000});
    busy_thread_start(&thread);
    wait_stacks(&thread, 30);
    raise(SIGURG);
    const struct recorded *recorded = stop_and_read(*state, "own.trace");
    busy_thread_join(&thread);
    sigaction(SIGURG, NULL, &now);
    forget_signal();
    assert_true(now.sa_sigaction == count_own_signal);
    assert_int_equal(atomic_load(&own_signal_count), 1);
    assert_int_equal(count_said(recorded, "the program uses SIGURG: its threads are interrupted by SIGWINCH"), 1);
    assert_true(count_samples_in(&recorded->profile, need_thread(recorded, "busy"), working_code()) > 10);
}

TEST(test_handler_taken_over, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    struct sigaction own = {.sa_sigaction = count_own_signal, .sa_flags = SA_SIGINFO};
    struct busy_thread thread = {.name = "busy", .run = work_here};
    start_sampling(*state, "taken.trace", (struct grec_options){.interval_us = 1000});
    busy_thread_start(&thread);
    wait_stacks(&thread, 30);
    sigaction(SIGURG, &own, NULL);
    /* A round that has already begun may send one more signal. The thread handles it when it runs. */
    wait_stacks(&thread, 2);
    atomic_store(&own_signal_count, 0);
    wait_stacks(&thread, 20);
    int later_count = atomic_load(&own_signal_count);
    const struct recorded *recorded = stop_and_read(*state, "taken.trace");
    busy_thread_join(&thread);
    forget_signal();
    assert_int_equal(later_count, 0);
    assert_int_equal(count_said(recorded, "the program uses SIGURG: its threads are interrupted by SIGWINCH"), 1);
    /* More samples than were taken before the program used the signal. */
    assert_true(count_samples_in(&recorded->profile, need_thread(recorded, "busy"), working_code()) > 40);
}

/* A thread that is cancelled asynchronously, in the middle of its handler, would never leave it. The end of the
 * recording would wait for that for seconds. */
TEST(test_no_cancellation_in_handler, set_up_folder, tear_down_folder) {
    enum { CANCELLING_SIGNAL = 32 }; /* the C library's own, which its headers do not name */
    skip_under_thread_sanitizer();
    struct sigaction now;
    struct busy_thread thread = {.name = "busy", .run = work_here};
    start_sampling(*state, "cancelled.trace", (struct grec_options){.interval_us = 1000});
    busy_thread_start(&thread);
    wait_stacks(&thread, 2);
    sigaction(SIGURG, NULL, &now);
    stop_and_read(*state, "cancelled.trace");
    busy_thread_join(&thread);
    assert_int_equal(sigismember(&now.sa_mask, CANCELLING_SIGNAL), 1);
}

/* ---- Parts of what the sampler records. ---- */

static bool has_counter(const struct recorded *recorded, const char *name) {
    const struct column *counters = &recorded->profile.counters;
    for (size_t i = 0; i < counters->count; i++)
        if (text_equal(((const struct counter *)column_at(counters, i))->name, text_of(name))) return true;
    return false;
}

/* With GREC_NO_STACKS, samples have the processor time and nothing else, and no thread is interrupted. That holds for
 * what a thread has used after the last round before its end, too. */
TEST(test_without_stacks, set_up_folder, tear_down_folder) {
    struct busy_thread thread = {.run = work_here, .name = "busy"};
    start_sampling(*state, "parts.trace", (struct grec_options){.flags = GREC_NO_STACKS});
    busy_thread_start(&thread);
    wait_rounds(20);
    stop_rounds();
    wait_cpu(&thread, LAST_CPU_NS);
    busy_thread_join(&thread);
    continue_rounds();
    wait_rounds(2);
    const struct recorded *recorded = stop_and_read_whole(*state, "parts.trace");
    const struct samples *samples = &need_thread(recorded, "busy")->samples;
    assert_true(samples->rows.count > 0);
    for (size_t i = 0; i < samples->rows.count; i++) assert_true(stack_is_none(samples_at(samples, i)->stack));
    assert_non_null(samples->details);
}

#define ZONE "/sys/class/powercap/zone"

static bool write_zone(const char *name, const char *text) {
    char path[64];
    snprintf(path, sizeof path, ZONE "/%s", name);
    FILE *file = fopen(path, "w");
    bool is_written = file && fputs(text, file) >= 0;
    return file && fclose(file) == 0 && is_written;
}

/* Shows this process a powercap zone, in place of those that the machine may have. Returns false if that is not
 * permitted. The folder is unmounted at the end of the process. */
static bool mount_power_zone(void) {
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", "/sys/class", "tmpfs", 0, "size=1m") == 0 && mkdir("/sys/class/powercap", 0755) == 0 &&
           mkdir(ZONE, 0755) == 0 && write_zone("name", "test zone\n") &&
           write_zone("max_energy_range_uj", "262143328850\n");
}

/* Each counter is there unless its flag is given. */
TEST(test_counters_by_flags, set_up_folder, tear_down_folder) {
    static const uint32_t cases[] = {0, GREC_NO_PROCESS_CPU, GREC_NO_MEMORY, GREC_NO_POWER,
                                     GREC_NO_PROCESS_CPU | GREC_NO_MEMORY | GREC_NO_POWER};
    bool has_zone = mount_power_zone();
    if (!has_zone) print_message("the counter of power is not tested: nothing can be mounted here\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (has_zone) assert_true(write_zone("energy_uj", "1000000\n"));
        start_sampling(*state, "parts.trace", (struct grec_options){.flags = cases[i]});
        wait_rounds(1);
        if (has_zone) assert_true(write_zone("energy_uj", "1003600\n"));
        wait_rounds(20); /* memory and power are read every 10 ms */
        const struct recorded *recorded = stop_and_read(*state, "parts.trace");
        assert_int_equal(has_counter(recorded, "processCPU"), !(cases[i] & GREC_NO_PROCESS_CPU));
        assert_int_equal(has_counter(recorded, "resident set"), !(cases[i] & GREC_NO_MEMORY));
        assert_int_equal(has_counter(recorded, "test zone"), has_zone && !(cases[i] & GREC_NO_POWER));
    }
}

int main(void) { return unit_tests_run(NULL, NULL); }
