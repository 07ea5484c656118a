/* Tests the times of sampling rounds, the recorded processor time, and threads that wait. */
#include <stdio.h>
#include <stdlib.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>

#include "readers/trace/trace_cursor.h"
#include "recorder/sampler/sampled_thread.h"
#include "recorder/write/thread_registry.h"
#include "tests/support/sampler_check.h"
#include "tests/support/unit_test.h"

/* ---- Rounds. ---- */

static int64_t round_time_ns(const struct profile *profile, size_t row) {
    return ((const struct overhead *)column_at(&profile->overheads, row))->time_ns;
}

/* Checks that rounds do not come in bursts. Each round ends before the next one is due, and no round begins before
 * it is due. The only exception is a sampler that slept with the program: it resumes at the time when it wakes up.
 * So five rounds always take more than two intervals, whatever else the machine does. */
static void assert_no_burst(const struct profile *profile, int64_t interval_ns) {
    int64_t least_ns = 2 * interval_ns - interval_ns / 20;
    for (size_t i = 4; i < profile->overheads.count; i++) {
        int64_t span_ns = round_time_ns(profile, i) - round_time_ns(profile, i - 4);
        if (span_ns < least_ns) fail_msg("five rounds within %" PRId64 " ns", span_ns);
    }
}

struct pace {
    uint64_t at_pace_ns; /* if five rounds take at most this long, rounds come at the interval */
    uint64_t times_ns[5];
    atomic_bool is_met;
};

static void check_pace(void *context) {
    struct pace *pace = context;
    memmove(pace->times_ns, pace->times_ns + 1, sizeof pace->times_ns - sizeof *pace->times_ns);
    pace->times_ns[4] = clock_now_ns(CLOCK_MONOTONIC);
    if (pace->times_ns[0] && pace->times_ns[4] - pace->times_ns[0] < pace->at_pace_ns)
        atomic_store(&pace->is_met, true);
}

/* Rounds must come at the interval as soon as the machine allows it, and never faster. */
TEST(test_pace, set_up_folder, tear_down_folder) {
    static const uint32_t intervals_us[] = {1000, 5000};
    alarm(HANG_SECONDS);
    for (size_t i = 0; i < sizeof intervals_us / sizeof *intervals_us; i++) {
        uint64_t interval_ns = (uint64_t)intervals_us[i] * 1000;
        struct pace pace = {.at_pace_ns = interval_ns * 6};
        struct busy_thread thread = {.name = "busy", .run = work};
        start_sampling(*state, "pace.trace", (struct grec_options){.interval_us = intervals_us[i]});
        busy_thread_start(&thread);
        wait_rounds(20);
        sampler_call_after_rounds(check_pace, &pace);
        while (!atomic_load(&pace.is_met)) usleep(1000);
        const struct recorded *recorded = stop_and_read(*state, "pace.trace");
        busy_thread_join(&thread);
        assert_no_burst(&recorded->profile, (int64_t)interval_ns);
        assert_int_equal(recorded->profile.meta.configuration.interval_ns, interval_ns);
    }
    alarm(0);
}

/* At such a long interval the sampler never sleeps with the program. For each due time, a round is made, or it is
 * left out and counted. */
TEST(test_all_instants, set_up_folder, tear_down_folder) {
    enum { INTERVAL_US = 100000 };
    unsigned long long made_count = 0, left_out_count = 0;
    uint64_t from_ns = clock_now_ns(CLOCK_MONOTONIC);
    start_sampling(*state, "instants.trace", (struct grec_options){.interval_us = INTERVAL_US});
    wait_rounds(8);
    grec_stop();
    uint64_t all_ns = clock_now_ns(CLOCK_MONOTONIC) - from_ns;
    const struct recorded *recorded = recorded_read(temp_folder_file(*state, "instants.trace"));
    const struct column *log = &recorded->profile.profiling_log, *rounds = &recorded->profile.overheads;
    for (size_t i = 0; i < log->count; i++) {
        struct text text = ((const struct log_line *)column_at(log, i))->text;
        char line[200];
        snprintf(line, sizeof line, "%.*s", text.bytes ? (int)text.bytes_count : 0, text.bytes ? text.bytes : "");
        sscanf(line, "sampler: %llu rounds, every 100000 µs asked for, %llu left out", &made_count, &left_out_count);
    }
    assert_int_equal(made_count, rounds->count);
    int64_t span_ns = round_time_ns(&recorded->profile, rounds->count - 1) - round_time_ns(&recorded->profile, 0);
    double least_count = (double)span_ns / (INTERVAL_US * 1e3), most_count = (double)all_ns / (INTERVAL_US * 1e3);
    /* A round begins late by less than an interval. Those that the last round missed are counted too, however long that
     * was. */
    double counted = (double)(made_count + left_out_count);
    if (counted < least_count - 0.1 || counted > most_count + 1.1)
        fail_msg("%g rounds made or left out where %g to %g were due", counted, least_count, most_count);
}

struct drops {
    const struct thread_record *record;
    uint64_t first_round;
    atomic_uint count;
};

/* Counts the rounds in which a stack of the thread was dropped because tables were missing. What the first round takes
 * may have been left before there were any. */
static void count_drops(void *context) {
    struct drops *drops = context;
    const struct sampled_thread *sampled = __atomic_load_n(&drops->record->sampled, __ATOMIC_ACQUIRE);
    bool is_first = atomic_load(&round_count) == drops->first_round;
    if (!is_first && sampled && sampled->dropped_count) atomic_fetch_add(&drops->count, 1);
    count_round(NULL);
}

static uint64_t left_bytes_count(void) {
    const struct sampled_thread *sampled = __atomic_load_n(&thread_record_self->sampled, __ATOMIC_ACQUIRE);
    return sampled ? __atomic_load_n(&sampled->ring.written, __ATOMIC_RELAXED) : 0;
}

/* Computes until this thread has left some stacks. Without system calls, the event of the thread finds its own code. */
static void spin_for_stacks(int count) {
    for (uint64_t last = left_bytes_count(), now; count > 0; last = now) {
        now = left_bytes_count();
        count -= now != last;
    }
}

/* At a long interval, each stack counts: none may be dropped because tables are missing. No thread may wait, since its
 * stack would make the sampler build them. */
TEST(test_first_stacks_of_a_long_interval, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    enum { INTERVAL_MS = 20, STACK_COUNT = 8 };
    struct drops drops = {.first_round = atomic_load(&round_count)};
    start_sampling(*state, "long.trace",
                   (struct grec_options){.interval_us = INTERVAL_MS * 1000, .flags = GREC_ALL_THREADS});
    grec_thread_register("spinner");
    drops.record = thread_record_self;
    sampler_call_after_rounds(count_drops, &drops);
    spin_for_stacks(STACK_COUNT);
    const struct recorded *recorded = stop_and_read(*state, "long.trace");
    sampler_call_after_rounds(count_round, NULL);
    assert_int_equal(atomic_load(&drops.count), 0);
    const struct thread *samples = need_thread(recorded, "spinner");
    int64_t sampled_ns = 0;
    for (uint32_t i = 0; i < samples_count(&samples->samples); i++)
        if (!stack_is_rest(&recorded->profile, sample_stack(samples, i)))
            sampled_ns += samples_cpu_ns(&samples->samples, i);
    if (sampled_ns < INTERVAL_MS * INT64_C(1000000)) fail_msg("stacks for %" PRId64 " ns", sampled_ns);
}

/* ---- Sleeping with the program. ---- */

enum { ALL_ASLEEP_MS = 1000 };

static sem_t may_work;

static void sleep_and_work(struct busy_thread *self) {
    while (sem_wait(&may_work) != 0) {
    }
    GREC_INSTANT("works", NULL);
    work(self);
}

/* Sleeps until there are few rounds meanwhile, however long the machine's load keeps other threads from their sleep.
 * The sampler goes to sleep itself after 50 milliseconds. */
static void sleep_until_quiet(uint32_t interval_us) {
    size_t most_count = 10000 / interval_us + ALL_ASLEEP_MS / 20 + 50, count;
    alarm(HANG_SECONDS);
    do {
        uint64_t before = atomic_load(&round_count);
        sleep_ms(ALL_ASLEEP_MS);
        count = atomic_load(&round_count) - before;
    } while (count > most_count);
    alarm(0);
}

/* While all threads sleep there must be few rounds. A thread that begins to work must be sampled again. */
TEST(test_all_asleep, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    static const uint32_t intervals_us[] = {1000, 100};
    for (size_t i = 0; i < sizeof intervals_us / sizeof *intervals_us; i++) {
        struct busy_thread thread = {.name = "sleeper", .run = sleep_and_work};
        sem_init(&may_work, 0, 0);
        start_sampling(*state, "asleep.trace", (struct grec_options){.interval_us = intervals_us[i]});
        busy_thread_start(&thread);
        sleep_until_quiet(intervals_us[i]);
        sem_post(&may_work);
        wait_stacks(&thread, 40);
        const struct recorded *recorded = stop_and_read(*state, "asleep.trace");
        busy_thread_join(&thread);
        sem_destroy(&may_work);
        const struct thread *samples = need_thread(recorded, "sleeper");
        int64_t work_ns = find_marker(&recorded->profile, "works", NULL)->start_ns;
        size_t awake_count = 0;
        for (size_t row = 0; row < samples_count(&samples->samples); row++)
            awake_count += sample_time_ns(samples, row) > work_ns;
        if (awake_count < 20) fail_msg("%zu samples after that", awake_count);
    }
}

TEST(test_parts_of_a_round, set_up_folder, tear_down_folder) {
    start_sampling(*state, "parts.trace", (struct grec_options){.interval_us = 1000});
    wait_rounds(20);
    const struct recorded *recorded = stop_and_read(*state, "parts.trace");
    int64_t counters_ns = 0, threads_ns = 0;
    for (size_t i = 0; i < recorded->profile.overheads.count; i++) {
        const struct overhead *overhead = column_at(&recorded->profile.overheads, i);
        assert_true(overhead->locking_ns >= 0);
        counters_ns += overhead->counters_ns;
        threads_ns += overhead->threads_ns;
    }
    assert_true(counters_ns > 0 && threads_ns > 0);
}

static bool has_stopped(pid_t pid) {
    char path[32], text[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool is_read = file >= 0 && read(file, text, sizeof text - 1) > 0;
    if (file >= 0) close(file);
    const char *state = is_read ? strrchr(text, ')') : NULL;
    return state && state[1] == ' ' && state[2] == 'T';
}

/* Forks a child that stops this process and continues it after `ms` milliseconds. */
static pid_t fork_stopper(unsigned ms) {
    pid_t parent = getpid(), pid = fork();
    if (pid) return pid;
    kill(parent, SIGSTOP);
    while (getppid() == parent && !has_stopped(parent)) usleep(1000);
    sleep_ms(ms);
    kill(parent, SIGCONT);
    _exit(0);
}

TEST(test_stopped_process, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    enum { STOP_MS = 100 };
    struct busy_thread thread = {.name = "busy", .run = work};
    start_sampling(*state, "stopped.trace", (struct grec_options){.interval_us = 1000, .flags = GREC_NO_CHILDREN});
    busy_thread_start(&thread);
    wait_rounds(5);
    pid_t pid = fork_stopper(STOP_MS);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    wait_rounds(20);
    const struct recorded *recorded = stop_and_read(*state, "stopped.trace");
    busy_thread_join(&thread);
    int64_t longest_ns = 0;
    for (size_t i = 1; i < recorded->profile.overheads.count; i++) {
        int64_t span_ns = round_time_ns(&recorded->profile, i) - round_time_ns(&recorded->profile, i - 1);
        if (span_ns > longest_ns) longest_ns = span_ns;
    }
    assert_true(longest_ns > (STOP_MS - 10) * 1000000);
    assert_no_burst(&recorded->profile, 1000000);
}

/* ---- Processor time. ---- */

enum { WORK_NS = 300000000 };

static void assert_between(int64_t actual, uint64_t least, uint64_t most) {
    if (actual < (int64_t)least || actual > (int64_t)most)
        fail_msg("%" PRId64 ", not %" PRIu64 " to %" PRIu64, actual, least, most);
}

/* The samples of a thread must have all processor time that it used while it was sampled. At its end, less than half of
 * an interval may be left, or an interval too much. */
static void assert_sum(const struct thread *thread, uint64_t seen_ns, uint64_t spent_ns) {
    enum { LEFT_NS_MAX = 500000, MORE_NS_MAX = 1000000 };
    assert_between(sum_cpu_ns(thread), seen_ns - LEFT_NS_MAX, spent_ns + MORE_NS_MAX);
}

TEST(test_processor_time, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    struct busy_thread thread = {.name = "busy", .run = work};
    start_sampling(*state, "busy.trace", (struct grec_options){.interval_us = 1000});
    wait_rounds(1);
    busy_thread_start(&thread);
    wait_stacks(&thread, 10);
    uint64_t from_ns = cpu_of_thread_ns(&thread);
    wait_cpu(&thread, WORK_NS);
    uint64_t seen_ns = cpu_of_thread_ns(&thread) - from_ns;
    wait_stacks(&thread, 3);
    grec_stop();
    uint64_t spent_ns = cpu_of_thread_ns(&thread);
    busy_thread_join(&thread);
    const struct recorded *recorded = recorded_read(temp_folder_file(*state, "busy.trace"));
    assert_sum(need_thread(recorded, "busy"), seen_ns, spent_ns);
}

#define EVENTS "GECKO_RECORDER_EVENTS"

struct delay {
    const struct busy_thread *thread;
    uint64_t cpu_ns; /* the sampler is held up until the thread has used so much more */
    atomic_bool is_over;
};

static void hold_sampler(void *context) {
    struct delay *delay = context;
    if (atomic_load(&delay->is_over)) return;
    wait_cpu(delay->thread, delay->cpu_ns);
    atomic_store(&delay->is_over, true);
}

/* If the sampler comes so late that a thread's stacks do not fit in its buffer, later stacks stand for their time. */
TEST(test_late_sampler, set_up_folder, tear_down_folder) {
    enum { INTERVAL_US = 100, HELD_MS = 100, REST_MS_MAX = 30 };
    struct busy_thread thread = {.name = "busy", .run = work};
    struct delay delay = {.thread = &thread, .cpu_ns = HELD_MS * 1000000};
    int64_t with_stack_ns = 0;
    start_sampling(*state, "late.trace", (struct grec_options){.interval_us = INTERVAL_US});
    busy_thread_start(&thread);
    wait_stacks(&thread, 5);
    uint64_t from_ns = cpu_of_thread_ns(&thread);
    sampler_call_after_rounds(hold_sampler, &delay);
    while (!atomic_load(&delay.is_over)) usleep(1000);
    uint64_t held_ns = cpu_of_thread_ns(&thread) - from_ns;
    sampler_call_after_rounds(count_round, NULL);
    wait_stacks(&thread, 5);
    const struct recorded *recorded = stop_and_read(*state, "late.trace");
    busy_thread_join(&thread);
    const struct thread *samples = need_thread(recorded, "busy");
    for (uint32_t i = 0; i < samples_count(&samples->samples); i++)
        if (!stack_is_rest(&recorded->profile, sample_stack(samples, i)))
            with_stack_ns += samples_cpu_ns(&samples->samples, i);
    if (with_stack_ns < (int64_t)held_ns - REST_MS_MAX * 1000000)
        fail_msg("of %" PRIu64 " ns, %" PRId64 " ns have stacks", held_ns, with_stack_ns);
}

/* Without events, threads are sampled at clock ticks. The samples have all processor time, and are as many as at the
 * interval. */
TEST(test_without_events, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    struct busy_thread thread = {.name = "busy", .run = work};
    *getenv(EVENTS) = '0';
    start_sampling(*state, "ticks.trace", (struct grec_options){.interval_us = 1000});
    *getenv(EVENTS) = '1';
    wait_rounds(1);
    busy_thread_start(&thread);
    wait_cpu(&thread, WORK_NS);
    uint64_t seen_ns = cpu_of_thread_ns(&thread);
    wait_rounds(3);
    grec_stop();
    uint64_t spent_ns = cpu_of_thread_ns(&thread);
    busy_thread_join(&thread);
    const struct recorded *recorded = recorded_read(temp_folder_file(*state, "ticks.trace"));
    const struct thread *samples = need_thread(recorded, "busy");
    assert_sum(samples, seen_ns, spent_ns);
    /* The host may take the processor away at many ticks. */
    assert_between(samples_count(&samples->samples), seen_ns / 1000000 / 2, spent_ns / 1000000 + 20);
    assert_int_equal(
        count_said(recorded,
                   "perf_event_open: turned off by GECKO_RECORDER_EVENTS: threads are sampled at clock ticks"),
        1);
}

TEST(test_counters_of_the_process, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    struct busy_thread thread = {.name = "busy", .run = work};
    uint64_t before_ns = clock_now_ns(CLOCK_PROCESS_CPUTIME_ID);
    start_sampling(*state, "counters.trace", (struct grec_options){.interval_us = 1000});
    busy_thread_start(&thread);
    wait_rounds(2);
    uint64_t from_ns = cpu_of_thread_ns(&thread);
    wait_cpu(&thread, WORK_NS);
    uint64_t seen_ns = cpu_of_thread_ns(&thread) - from_ns;
    wait_rounds(2);
    const struct recorded *recorded = stop_and_read(*state, "counters.trace");
    uint64_t spent_ns = clock_now_ns(CLOCK_PROCESS_CPUTIME_ID) - before_ns;
    busy_thread_join(&thread);
    const struct counter *cpu = find_counter(&recorded->profile, "processCPU"),
                         *memory = find_counter(&recorded->profile, "resident set");
    int64_t sum_ns = 0, resident_bytes = 0;
    assert_true(cpu && memory);
    for (size_t i = 0; i < cpu->samples.count; i++)
        sum_ns += ((const struct counter_sample *)column_at(&cpu->samples, i))->change;
    for (size_t i = 0; i < memory->samples.count; i++)
        resident_bytes += ((const struct counter_sample *)column_at(&memory->samples, i))->change;
    assert_between(sum_ns, seen_ns, spent_ns);
    assert_true(resident_bytes > 1 << 20 && resident_bytes < (int64_t)16 << 30);
}

/* The trace is a mapping of the process, but its pages are no memory that the program uses. */
TEST(test_memory_without_the_trace, set_up_folder, tear_down_folder) {
    enum { TRACE_BYTES = 32 << 20, GROWTH_BYTES_MAX = TRACE_BYTES / 4, LONGER_THAN_PERIOD_US = 20000 };
    skip_under_thread_sanitizer();
    struct grec_status status;
    start_sampling(*state, "memory.trace", (struct grec_options){.interval_us = 1000, .flags = GREC_NO_STACKS});
    wait_rounds(2);
    do {
        for (int i = 0; i < 1000; i++) grec_text_marker("filler", NULL, "a text that fills the trace");
        grec_get_status(&status);
    } while (status.size_bytes < TRACE_BYTES);
    usleep(LONGER_THAN_PERIOD_US);
    wait_rounds(2);
    const struct recorded *recorded = stop_and_read(*state, "memory.trace");
    const struct counter *memory = find_counter(&recorded->profile, "resident set");
    assert_non_null(memory);
    int64_t bytes = 0, first_bytes = 0;
    for (size_t i = 0; i < memory->samples.count; i++) {
        bytes += ((const struct counter_sample *)column_at(&memory->samples, i))->change;
        if (!first_bytes) first_bytes = bytes;
        assert_true(bytes < first_bytes + GROWTH_BYTES_MAX && bytes > first_bytes - GROWTH_BYTES_MAX);
    }
    assert_true(first_bytes > 0);
}

/* ---- Threads that wait. ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void wait_for_condition(struct busy_thread *self) {
    pthread_mutex_lock(&mutex);
    while (goes_on(self)) pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
}

static void end_wait(struct busy_thread *thread) {
    atomic_store(&thread->is_told_to_end, true);
    pthread_mutex_lock(&mutex);
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
}

struct same_entries {
    uint64_t count;
    uint64_t bytes_count; /* "same" samples; their length is counted in bytes */
    uint64_t full_count;
    uint64_t chunk_count; /* chunks with "same" samples */
};

/* Checks an entry of a chunk: in each chunk, a "same" sample of a thread must come after a full sample of this
 * thread. Counts both kinds. */
static void count_entry(struct text entry, size_t block_bytes, bool has_full[64], struct same_entries *entries) {
    struct trace_cursor cursor = trace_cursor_of(entry);
    uint8_t kind = trace_cursor_byte(&cursor);
    if (kind != TRACE_THREAD_SAMPLE && kind != TRACE_THREAD_SAME) return;
    trace_cursor_leb(&cursor);
    uint64_t uid = trace_cursor_leb(&cursor);
    assert_true(!cursor.is_bad && uid < 64);
    if (kind == TRACE_THREAD_SAMPLE) {
        has_full[uid] = true;
        entries->full_count++;
        return;
    }
    if (!has_full[uid]) fail_msg("a chunk has a same sample of thread %" PRIu64 " before a full one", uid);
    entries->count++;
    entries->bytes_count += block_bytes;
}

static void count_chunk(const char *bytes, const struct trace_chunk_header *chunk, struct same_entries *entries) {
    bool has_full[64] = {false};
    uint64_t before = entries->count;
    uint32_t end = (uint32_t)chunk->commit;
    struct trace_cursor cursor = trace_cursor_of((struct text){bytes + chunk->first_block, end - chunk->first_block});
    while (trace_cursor_left(&cursor)) {
        const unsigned char *start = cursor.next;
        struct text entry = trace_cursor_text(&cursor);
        assert_false(cursor.is_bad);
        count_entry(entry, (size_t)(cursor.next - start), has_full, entries);
    }
    entries->chunk_count += entries->count > before;
}

static struct same_entries find_same_entries(const char *path) {
    struct same_entries entries = {0};
    struct trace_header header;
    size_t bytes_count;
    char *bytes = file_read(path, &bytes_count);
    assert_non_null(bytes);
    memcpy(&header, bytes, sizeof header);
    for (size_t at = header.chunks_offset; at + header.chunk_bytes <= bytes_count; at += header.chunk_bytes) {
        struct trace_chunk_header chunk;
        memcpy(&chunk, bytes + at, sizeof chunk);
        if (chunk.state != TRACE_CHUNK_FREE && chunk.kind == TRACE_CHUNK_EVENTS)
            count_chunk(bytes + at, &chunk, &entries);
    }
    free(bytes);
    return entries;
}

enum { WAITING_COUNT = 5 };

static void start_waiting(struct busy_thread threads[WAITING_COUNT]) {
    static const char *const names[WAITING_COUNT] = {"waits 0", "waits 1", "waits 2", "waits 3", "waits 4"};
    for (int i = 0; i < WAITING_COUNT; i++) {
        threads[i] = (struct busy_thread){.name = names[i], .run = wait_for_condition};
        busy_thread_start(&threads[i]);
    }
}

static void end_waiting(struct busy_thread threads[WAITING_COUNT]) {
    for (int i = 0; i < WAITING_COUNT; i++) end_wait(&threads[i]);
    for (int i = 0; i < WAITING_COUNT; i++) busy_thread_join(&threads[i]);
}

/* Uses small chunks, so that there are many. After a thread has gone to sleep, all of its samples are the same. */
TEST(test_asleep, set_up_folder, tear_down_folder) {
    enum { ROUND_COUNT = 300 };
    struct busy_thread threads[WAITING_COUNT];
    start_sampling(*state, "asleep.trace", (struct grec_options){.interval_us = 500, .chunk_bytes = 4096});
    start_waiting(threads);
    for (int i = 0; i < WAITING_COUNT; i++) wait_asleep(&threads[i]);
    GREC_INSTANT("all asleep", NULL);
    wait_rounds(ROUND_COUNT);
    grec_stop();
    end_waiting(threads);
    struct same_entries entries = find_same_entries(temp_folder_file(*state, "asleep.trace"));
    const struct recorded *recorded = recorded_read(temp_folder_file(*state, "asleep.trace"));
    assert_true(entries.count > WAITING_COUNT * ROUND_COUNT / 2);
    assert_true(entries.chunk_count > 2);
    if (entries.bytes_count > entries.count * 10)
        fail_msg("%" PRIu64 " bytes in %" PRIu64 " entries", entries.bytes_count, entries.count);
    int64_t asleep_ns = find_marker(&recorded->profile, "all asleep", NULL)->start_ns;
    for (int i = 0; i < WAITING_COUNT; i++) {
        const struct thread *thread = need_thread(recorded, threads[i].name);
        uint32_t count = samples_count(&thread->samples), asleep_count = 0;
        for (uint32_t row = 1; row < count; row++) {
            int64_t cpu_ns = samples_cpu_ns(&thread->samples, row);
            assert_true(cpu_ns != TIME_NONE);
            if (sample_time_ns(thread, row) <= asleep_ns) continue;
            assert_int_equal(sample_stack(thread, row).index, sample_stack(thread, count - 1).index);
            assert_int_equal(cpu_ns, 0);
            asleep_count++;
        }
        assert_true(asleep_count >= ROUND_COUNT - 1);
        assert_true(stack_depth(&recorded->profile, sample_stack(thread, count - 1)) > 3);
    }
    assert_nothing_lost(recorded);
}

CODE_SECTION(woken)

static atomic_int woken_phase;
static atomic_uint_fast64_t woken_cpu_ns;

IN_SECTION(woken) static void work_when_woken(void) {
    static volatile uint64_t sum __attribute__((unused));
    while (atomic_load_explicit(&woken_phase, memory_order_relaxed) == 1)
        for (uint64_t i = 0; i < 1000; i++) sum += i;
}

static void wait_and_work(struct busy_thread *self) {
    pthread_mutex_lock(&mutex);
    while (!atomic_load(&woken_phase)) pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    work_when_woken();
    atomic_store(&woken_cpu_ns, clock_now_ns(CLOCK_THREAD_CPUTIME_ID));
    wait_for_condition(self);
}

/* One of many sleeping threads wakes up. The samples must have its work at the right time. */
TEST(test_woken, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    struct busy_thread threads[WAITING_COUNT], woken = {.name = "woken", .run = wait_and_work};
    atomic_store(&woken_phase, 0);
    atomic_store(&woken_cpu_ns, 0);
    start_sampling(*state, "woken.trace", (struct grec_options){.interval_us = 1000});
    start_waiting(threads);
    busy_thread_start(&woken);
    wait_asleep(&woken);
    wait_rounds(100);
    uint64_t asleep_cpu_ns = cpu_of_thread_ns(&woken);
    atomic_store(&woken_phase, 1);
    pthread_mutex_lock(&mutex);
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    wait_stacks(&woken, 40);
    atomic_store(&woken_phase, 2);
    while (!atomic_load(&woken_cpu_ns)) usleep(200);
    wait_asleep(&woken);
    GREC_INSTANT("sleeps again", NULL);
    wait_rounds(100);
    const struct recorded *recorded = stop_and_read(*state, "woken.trace");
    uint64_t spent_ns = cpu_of_thread_ns(&woken);
    end_waiting(threads);
    end_wait(&woken);
    busy_thread_join(&woken);
    const struct thread *samples = need_thread(recorded, "woken");
    int64_t end_ns = find_marker(&recorded->profile, "sleeps again", NULL)->start_ns;
    assert_true(count_samples_in(&recorded->profile, samples, woken_code()) > 10);
    for (size_t i = 0; i < samples_count(&samples->samples); i++)
        if (sample_time_ns(samples, i) > end_ns)
            assert_false(stack_has_code(&recorded->profile, sample_stack(samples, i), woken_code()));
    assert_sum(samples, atomic_load(&woken_cpu_ns) - asleep_cpu_ns, spent_ns);
}

CODE_SECTION(hinted)

static sem_t hint_sem;

IN_SECTION(hinted) static void work_hinted(struct busy_thread *self) {
    static volatile uint64_t sum __attribute__((unused));
    while (goes_on(self))
        for (uint64_t i = 0; i < 1000; i++) sum += i;
}

/* Never says that it has woken up. */
static void sleep_by_hint(struct busy_thread *self) {
    grec_thread_sleep();
    while (sem_wait(&hint_sem) != 0) {
    }
    work_hinted(self);
}

static void assert_hinted_works(const struct recorded *recorded) {
    const struct thread *samples = need_thread(recorded, "hinted");
    size_t count = count_samples_in(&recorded->profile, samples, hinted_code());
    if (count < 30) fail_msg("%zu samples of work", count);
    assert_true(sum_cpu_ns(samples) > 25000000);
}

/* A thread that works although it has said that it sleeps has its samples, also in the next recording. */
TEST(test_hints, set_up_folder, tear_down_folder) {
    struct busy_thread thread = {.name = "hinted", .run = sleep_by_hint};
    sem_init(&hint_sem, 0, 0);
    start_sampling(*state, "hints.trace", (struct grec_options){.interval_us = 1000});
    busy_thread_start(&thread);
    wait_asleep(&thread);
    wait_rounds(20);
    sem_post(&hint_sem);
    wait_stacks(&thread, 40);
    const struct recorded *recorded = stop_and_read(*state, "hints.trace");
    assert_hinted_works(recorded);
    start_sampling(*state, "next.trace", (struct grec_options){.interval_us = 1000});
    wait_stacks(&thread, 40);
    recorded = stop_and_read(*state, "next.trace");
    busy_thread_join(&thread);
    sem_destroy(&hint_sem);
    assert_hinted_works(recorded);
}

/* ---- System calls that a signal could interrupt. ---- */

enum { SLEEP_COUNT_MIN = 20, SLEEP_MS = 10, ASLEEP_ROUND_COUNT = 40 };

static atomic_int sleep_count, cut_short_count;

static void work_a_little(void) {
    static volatile uint64_t sum __attribute__((unused));
    for (uint64_t i = 0; i < 20000; i++) sum += i;
}

/* Sleeps and polls until the sampler has looked often enough while the thread slept. */
static void sleep_and_poll(struct busy_thread *self) {
    uint64_t asleep_round_counts[2] = {0, 0};
    for (int i = 0; i < SLEEP_COUNT_MIN || asleep_round_counts[0] < ASLEEP_ROUND_COUNT ||
                    asleep_round_counts[1] < ASLEEP_ROUND_COUNT;
         i++) {
        work_a_little();
        uint64_t from_ns = clock_now_ns(CLOCK_MONOTONIC), from_round = atomic_load(&round_count);
        const struct timespec time = {0, SLEEP_MS * 1000000};
        int result = i % 2 ? poll(NULL, 0, SLEEP_MS) : clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
        bool is_full = clock_now_ns(CLOCK_MONOTONIC) - from_ns >= SLEEP_MS * 1000000u;
        uint64_t ended_count = atomic_load(&round_count) - from_round;
        asleep_round_counts[i % 2] += ended_count > 1 ? ended_count - 1 : 0;
        atomic_fetch_add(&sleep_count, 1);
        if (result != 0 || !is_full) atomic_fetch_add(&cut_short_count, 1);
    }
}

/* No signal cuts a system call short. */
TEST(test_sleeps_are_not_cut_short, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    struct busy_thread thread = {.name = "sleeper", .run = sleep_and_poll};
    atomic_store(&cut_short_count, 0);
    atomic_store(&sleep_count, 0);
    start_sampling(*state, "sleeps.trace", (struct grec_options){.interval_us = 100});
    wait_rounds(5);
    busy_thread_start(&thread);
    busy_thread_wait(&thread);
    busy_thread_join(&thread);
    const struct recorded *recorded = stop_and_read(*state, "sleeps.trace");
    int all_count = atomic_load(&sleep_count), short_count = atomic_load(&cut_short_count);
    if (short_count) fail_msg("%d of %d sleeps were cut short", short_count, all_count);
    const struct thread *samples = need_thread(recorded, "sleeper");
    size_t asleep = 0, in_poll = 0;
    for (size_t i = 0; i < samples_count(&samples->samples); i++) {
        asleep += stack_has_name(&recorded->profile, sample_stack(samples, i), "(waits in clock_nanosleep)");
        in_poll += stack_has_name(&recorded->profile, sample_stack(samples, i), "(waits in poll)");
    }
    assert_true(asleep > ASLEEP_ROUND_COUNT / 4);
#if defined(__x86_64__)
    assert_true(in_poll > ASLEEP_ROUND_COUNT / 4);
#endif
}

static atomic_uint_fast64_t slept_round_count;

static void sleep_long(struct busy_thread *self) {
    while (goes_on(self)) sleep_ms(10);
}

static void sleep_and_count(struct busy_thread *self) {
    while (goes_on(self)) atomic_fetch_add(&slept_round_count, sleep_and_count_rounds(10));
}

/* A thread that is never found at work must have its own name and id. A thread that is left out must be left out
 * while it waits too. */
TEST(test_threads_that_only_sleep, set_up_folder, tear_down_folder) {
    struct busy_thread wanted = {.name = "wanted sleeper", .run = sleep_and_count},
                       other = {.name = "other sleeper", .run = sleep_long};
    start_sampling(*state, "sleepers.trace", (struct grec_options){.interval_us = 500, .threads = "wanted"});
    busy_thread_start(&wanted);
    busy_thread_start(&other);
    for (uint64_t end = atomic_load(&slept_round_count) + 40; atomic_load(&slept_round_count) < end;) usleep(1000);
    busy_thread_join(&other);
    busy_thread_join(&wanted);
    const struct recorded *recorded = stop_and_read(*state, "sleepers.trace");
    assert_true(samples_count(&need_thread(recorded, "wanted sleeper")->samples) > 10);
    assert_int_equal(count_threads(&recorded->profile, "wanted sleeper"), 1);
    assert_null(find_thread(&recorded->profile, "other sleeper"));
    assert_nothing_lost(recorded);
    for (size_t i = 0; i < recorded->profile.threads.count; i++) {
        const struct thread *thread = column_at(&recorded->profile.threads, i);
        if (!text_equal(thread->name, TEXT("wanted sleeper"))) assert_int_equal(samples_count(&thread->samples), 0);
    }
}

enum { FIRST_WAIT_MS = 1000, QUIET_MS = 2000, IDLE_ROUND_COUNT = 250 };

static sem_t second_wait;

static void wait_and_wait(struct busy_thread *self) {
    (void)self;
    poll(NULL, 0, FIRST_WAIT_MS);
    sem_wait(&second_wait);
}

/* The sampler looks less and less often at a thread that waits, and sleeps itself while nothing runs. Then the thread
 * runs only from one wait to the next. */
TEST(test_next_wait_in_the_quiet, set_up_folder, tear_down_folder) {
    struct busy_thread thread = {.name = "waits", .run = wait_and_wait};
    sem_init(&second_wait, 0, 0);
    start_sampling(*state, "waits.trace", (struct grec_options){.interval_us = 1000});
    wait_rounds(1);
    busy_thread_start(&thread);
    wait_rounds(IDLE_ROUND_COUNT);
    sleep_ms(QUIET_MS);
    const struct recorded *recorded = stop_and_read(*state, "waits.trace");
    sem_post(&second_wait);
    busy_thread_join(&thread);
    const struct thread *samples = need_thread(recorded, "waits");
    size_t count = samples_count(&samples->samples);
    assert_true(count > 0);
    assert_true(stack_has_name(&recorded->profile, sample_stack(samples, count - 1), "(waits in futex)"));
}

/* ---- Delay of events. ---- */

enum { DELAY_NS = 60000000 };

static atomic_bool is_busy, is_told_to_idle, is_idle_again;

static void handle_events(struct busy_thread *self) {
    grec_event_loop_idle();
    sleep_ms(30);
    GREC_INSTANT("busy", NULL);
    grec_event_loop_busy();
    atomic_store(&is_busy, true);
    /* The thread sanitizer runs signal handlers within such calls. */
    while (!atomic_load(&is_told_to_idle)) clock_now_ns(CLOCK_MONOTONIC);
    grec_event_loop_idle();
    atomic_store(&is_idle_again, true);
    while (goes_on(self)) atomic_fetch_add(&slept_round_count, sleep_and_count_rounds(5));
}

TEST(test_event_delay, set_up_folder, tear_down_folder) {
    struct busy_thread thread = {.name = "loop", .run = handle_events};
    start_sampling(*state, "loop.trace", (struct grec_options){.interval_us = 1000});
    atomic_store(&is_busy, false);
    atomic_store(&is_told_to_idle, false);
    atomic_store(&is_idle_again, false);
    wait_rounds(1);
    busy_thread_start(&thread);
    while (!atomic_load(&is_busy)) usleep(1000);
    uint64_t end_ns = clock_now_ns(CLOCK_MONOTONIC) + DELAY_NS;
    while (clock_now_ns(CLOCK_MONOTONIC) < end_ns) usleep(1000);
    wait_stacks(&thread, 10);
    atomic_store(&is_told_to_idle, true);
    while (!atomic_load(&is_idle_again)) usleep(1000);
    /* Waits until a round that may have looked at the thread earlier has ended. */
    wait_rounds(2);
    GREC_INSTANT("idle", NULL);
    for (uint64_t end = atomic_load(&slept_round_count) + 20; atomic_load(&slept_round_count) < end;) usleep(1000);
    const struct recorded *recorded = stop_and_read(*state, "loop.trace");
    busy_thread_join(&thread);
    const struct thread *samples = need_thread(recorded, "loop");
    int64_t busy_ns = find_marker(&recorded->profile, "busy", NULL)->start_ns,
            idle_ns = find_marker(&recorded->profile, "idle", NULL)->start_ns, longest_ns = 0;
    size_t idle_count = 0;
    for (uint32_t i = 0; i < samples_count(&samples->samples); i++) {
        int64_t time_ns = sample_time_ns(samples, i), delay_ns = samples_delay_ns(&samples->samples, i);
        int64_t since_ns = time_ns - busy_ns;
        if (since_ns > 0 && time_ns < idle_ns) {
            /* The event that waits began after the marker, so its delay cannot be longer than the time since the
             * marker. */
            if (delay_ns > since_ns + since_ns / 100 + 1000)
                fail_msg("%" PRId64 " ns, %" PRId64 " ns after the event", delay_ns, since_ns);
            if (delay_ns > longest_ns) longest_ns = delay_ns;
        } else if (time_ns > idle_ns) {
            /* Time that was used between samples has no delay. */
            assert_true(delay_ns == 0 || delay_ns == TIME_NONE);
            idle_count++;
        }
    }
    if (longest_ns < DELAY_NS / 100 * 99 || !idle_count)
        fail_msg("%" PRId64 " ns at most, %zu idle", longest_ns, idle_count);
}

static atomic_bool is_between, is_again;

static void handle_events_between(struct busy_thread *self) {
    grec_event_loop_busy();
    atomic_store(&is_busy, true);
    while (!atomic_load(&is_between)) clock_now_ns(CLOCK_MONOTONIC);
    grec_event_loop_idle();
    atomic_store(&is_again, true);
    while (goes_on(self)) clock_now_ns(CLOCK_MONOTONIC);
}

/* The loop was busy in the last recording. That it is idle now was not heard. */
TEST(test_event_delay_of_the_last_recording, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    struct busy_thread thread = {.name = "loop", .run = handle_events_between};
    atomic_store(&is_busy, false);
    start_sampling(*state, "first.trace", (struct grec_options){.interval_us = 1000});
    busy_thread_start(&thread);
    while (!atomic_load(&is_busy)) usleep(1000);
    grec_stop();
    atomic_store(&is_between, true);
    while (!atomic_load(&is_again)) usleep(1000);
    start_sampling(*state, "second.trace", (struct grec_options){.interval_us = 1000});
    wait_stacks(&thread, 10);
    const struct recorded *recorded = stop_and_read(*state, "second.trace");
    busy_thread_join(&thread);
    const struct thread *samples = need_thread(recorded, "loop");
    assert_true(samples_count(&samples->samples) > 0);
    assert_false(samples_have_delays(&samples->samples));
}

/* ---- Pauses, starts, another file. ---- */

TEST(test_pause, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    enum { PAUSE_CPU_NS = 300000000, ANSWER_NS = 1000000 };
    struct busy_thread thread = {.name = "busy", .run = work};
    start_sampling(*state, "pause.trace", (struct grec_options){.interval_us = 1000});
    busy_thread_start(&thread);
    wait_stacks(&thread, 20);
    uint64_t from_clock_ns = clock_now_ns(CLOCK_MONOTONIC);
    grec_pause();
    uint64_t paused_clock_ns = clock_now_ns(CLOCK_MONOTONIC);
    /* A sample and a round that have already begun may end in the pause. */
    wait_cpu(&thread, ANSWER_NS);
    wait_rounds(2);
    int64_t begins_ns = (int64_t)(clock_now_ns(CLOCK_MONOTONIC) - from_clock_ns);
    wait_cpu(&thread, PAUSE_CPU_NS);
    int64_t ends_ns = (int64_t)(clock_now_ns(CLOCK_MONOTONIC) - paused_clock_ns);
    grec_resume();
    wait_stacks(&thread, 20);
    const struct recorded *recorded = stop_and_read(*state, "pause.trace");
    busy_thread_join(&thread);
    const struct profile *profile = &recorded->profile;
    assert_int_equal(profile->paused_ranges.count, 1);
    const struct paused_range *range = column_at(&profile->paused_ranges, 0);
    const struct thread *samples = need_thread(recorded, "busy");
    size_t before = 0, after = 0;
    int64_t after_cpu_ns = 0;
    int64_t from_ns = range->start_ns + begins_ns + begins_ns / 100;
    /* Other threads may record before the recorder has written when it resumed. */
    int64_t to_ns = range->start_ns + ends_ns - ends_ns / 100;
    assert_true(range->end_ns - range->start_ns >= PAUSE_CPU_NS / 100 * 99);
    for (size_t i = 0; i < samples_count(&samples->samples); i++) {
        int64_t time_ns = sample_time_ns(samples, i);
        assert_false(time_ns > from_ns && time_ns < to_ns);
        before += time_ns <= from_ns;
        after += time_ns >= range->end_ns;
        int64_t cpu_ns = samples_cpu_ns(&samples->samples, (uint32_t)i);
        /* Entries after the pause must not contain processor time from the pause. */
        if (time_ns < range->end_ns || cpu_ns == TIME_NONE) continue;
        after_cpu_ns += cpu_ns;
        assert_true(after_cpu_ns < time_ns - range->end_ns + PAUSE_CPU_NS / 2);
    }
    for (size_t i = 0; i < profile->overheads.count; i++)
        assert_false(round_time_ns(profile, i) > from_ns && round_time_ns(profile, i) < to_ns);
    assert_true(before > 3 && after > 3);
}

TEST(test_start_and_stop_again_and_again, set_up_folder, tear_down_folder) {
    /* The thread sanitizer sees accesses that are not ordered even if they do not meet. */
    enum { ROUND_COUNT = HAS_THREAD_SANITIZER ? 7 : 20 };
    struct busy_thread thread = {.name = NULL, .run = work};
    busy_thread_start(&thread);
    for (int i = 0; i < ROUND_COUNT; i++) {
        start_sampling(*state, "again.trace", (struct grec_options){.interval_us = 500, .flags = GREC_ALL_THREADS});
        grec_thread_register("main one");
        if (i % 4) wait_rounds((uint64_t)i);
        const struct recorded *recorded = stop_and_read_whole(*state, "again.trace");
        if (i % 4) assert_true(recorded->profile.overheads.count >= (size_t)i);
    }
    busy_thread_join(&thread);
}

/* A recording continues in another file and at another interval, and keeps its events. */
TEST(test_hand_over, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    struct busy_thread thread = {.name = "busy", .run = work};
    start_sampling(*state, "first.trace", (struct grec_options){.interval_us = 1000});
    busy_thread_start(&thread);
    wait_stacks(&thread, 20);
    GREC_INSTANT("moves", NULL);
    start_sampling(*state, "second.trace", (struct grec_options){.interval_us = 2000});
    wait_stacks(&thread, 20);
    const struct recorded *recorded = stop_and_read(*state, "second.trace");
    busy_thread_join(&thread);
    int64_t move_ns = find_marker(&recorded->profile, "moves", NULL)->start_ns;
    const struct thread *samples = need_thread(recorded, "busy");
    size_t before = 0, after = 0;
    for (size_t i = 0; i < samples_count(&samples->samples); i++)
        *(sample_time_ns(samples, i) < move_ns ? &before : &after) += 1;
    assert_int_equal(count_threads(&recorded->profile, "busy"), 1);
    if (before < 5 || after < 5) fail_msg("%zu samples before, %zu after", before, after);
    assert_nothing_lost(recorded);
}

int main(void) {
    /* A recording replaces the array of variables, and the C library the recorder's, which a later setenv would leak.
     */
    setenv(EVENTS, "1", 1);
    return unit_tests_run(NULL, NULL);
}
