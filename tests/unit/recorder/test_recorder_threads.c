/* Tests threads: their names, their starts and ends, thousands of short-lived threads, and threads that are left
 * out. */
#include <stdio.h>
#include <stdlib.h>

#include <sys/prctl.h>
#include <sys/syscall.h>

#include "tests/support/recorder_trace.h"
#include "tests/support/recorder_workers.h"
#include "tests/support/sanitizers.h"
#include "tests/support/unit_test.h"

static struct grec_options no_options;

static void run_thread(void *(*run)(void *), void *argument) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run, argument), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static uint64_t rss_bytes(void) {
    unsigned long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file) {
        if (fscanf(file, "%lu %lu", &total, &resident) != 2) resident = 0;
        fclose(file);
    }
    return (uint64_t)resident * 4096;
}

/* ---- Names. ---- */

struct named {
    const char *system_name;
    const char *name;
    bool is_registered;
    int64_t tid;
};

static void *record_named(void *argument) {
    struct named *named = argument;
    named->tid = syscall(SYS_gettid);
    prctl(PR_SET_NAME, named->system_name, 0, 0, 0);
    if (named->is_registered) grec_thread_register(named->name);
    record_number(1);
    if (named->is_registered) grec_thread_unregister();
    return NULL;
}

TEST(test_names, set_up_folder, tear_down_folder) {
    static char long_name[300], kept_name[129];
    memset(long_name, 'n', sizeof long_name - 1);
    memset(kept_name, 'n', sizeof kept_name - 1);
    struct named cases[] = {
        {"system one", NULL, false, 0},          {"system two", NULL, true, 0},
        {"system three", "registered", true, 0}, {"system four", "\xff not UTF-8 \xc3\xa9", true, 0},
        {"system five", long_name, true, 0},
    };
    static const char *const expected[] = {"system one", "system two", "registered", "\\xff not UTF-8 \xc3\xa9",
                                           kept_name};
    enum { COUNT = sizeof cases / sizeof *cases };
    start_recording(*state, "names.trace", no_options);
    for (int i = 0; i < COUNT; i++) run_thread(record_named, &cases[i]);
    const struct recorded *recorded = stop_and_read_whole(*state, "names.trace");
    assert_int_equal(recorded->header.cut_text_count, 1);
    for (int i = 0; i < COUNT; i++) {
        const struct thread *thread = find_thread(&recorded->profile, expected[i]);
        if (!thread) fail_msg("there is no thread \"%s\"", expected[i]);
        assert_int_equal(thread->tid, cases[i].tid);
        assert_int_equal(thread->is_main, false);
        assert_int_equal(count_markers_of(&recorded->profile, thread, "number"), 1);
        assert_true(thread->end_ns != TIME_NONE);
    }
}

/* Registers a thread three times. The trace must have one thread with the last name. */
static void *rename_and_record(void *argument) {
    static const char *const names[] = {"first", "second", "third"};
    for (uint64_t i = 0; i < 3; i++) {
        grec_thread_register(names[i]);
        record_number(i);
    }
    return NULL;
}

TEST(test_renamed, set_up_folder, tear_down_folder) {
    start_recording(*state, "renamed.trace", no_options);
    run_thread(rename_and_record, NULL);
    const struct recorded *recorded = stop_and_read_whole(*state, "renamed.trace");
    const struct thread *thread = find_thread(&recorded->profile, "third");
    assert_non_null(thread);
    assert_null(find_thread(&recorded->profile, "first"));
    assert_null(find_thread(&recorded->profile, "second"));
    assert_int_equal(count_markers_of(&recorded->profile, thread, "number"), 3);
}

/* A thread that registers before the recording is in two recordings. */
TEST(test_registered_before, set_up_folder, tear_down_folder) {
    grec_thread_register("before");
    for (int i = 0; i < 2; i++) {
        start_recording(*state, "before.trace", no_options);
        record_number(0);
        const struct recorded *recorded = stop_and_read(*state, "before.trace");
        const struct thread *thread = find_thread(&recorded->profile, "before");
        assert_non_null(thread);
        assert_true(thread->is_main);
        /* The thread continues after its process's recording ended. */
        const struct process *process = profile_process_at(&recorded->profile, thread->process);
        assert_true(process_shutdown_ns(process) == TIME_NONE && thread->end_ns == TIME_NONE);
    }
    grec_thread_unregister();
}

/* After grec_thread_unregister, the next event begins a new thread in the trace. */
TEST(test_unregistered_and_again, set_up_folder, tear_down_folder) {
    start_recording(*state, "lives.trace", no_options);
    grec_thread_register("first life");
    record_number(0);
    grec_thread_unregister();
    usleep(2000);
    record_number(1);
    grec_thread_register("second life");
    record_number(2);
    const struct recorded *recorded = stop_and_read_whole(*state, "lives.trace");
    const struct thread *first = find_thread(&recorded->profile, "first life");
    const struct thread *second = find_thread(&recorded->profile, "second life");
    assert_non_null(first);
    assert_non_null(second);
    assert_int_equal(first->tid, second->tid);
    assert_int_equal(count_markers_of(&recorded->profile, first, "number"), 1);
    assert_int_equal(count_markers_of(&recorded->profile, second, "number"), 2);
    assert_true(first->end_ns != TIME_NONE && second->start_ns >= first->end_ns + 2000000);
}

static void *push_wait_and_sample(void *argument) {
    pthread_barrier_t *barrier = argument;
    GREC_LABEL("its own", NULL);
    pthread_barrier_wait(barrier);
    pthread_barrier_wait(barrier);
    grec_thread_register("other");
    grec_sample();
    return NULL;
}

TEST(test_unregistered_within_labels, set_up_folder, tear_down_folder) {
    pthread_barrier_t barrier;
    pthread_t other;
    pthread_barrier_init(&barrier, NULL, 2);
    start_recording(*state, "labels.trace", no_options);
    {
        GREC_LABEL("outer", NULL);
        {
            GREC_THREAD_SCOPE("scoped");
            record_number(0);
        }
        /* Another thread takes over the label stack that the unregistered thread gave up. It must keep the stack
         * when the first thread pops its label. */
        assert_int_equal(pthread_create(&other, NULL, push_wait_and_sample, &barrier), 0);
        pthread_barrier_wait(&barrier);
    }
    pthread_barrier_wait(&barrier);
    pthread_join(other, NULL);
    pthread_barrier_destroy(&barrier);
    GREC_LABEL("later", NULL);
    grec_sample();
    const struct recorded *recorded = stop_and_read_whole(*state, "labels.trace");
    size_t sample_count = 0;
    for (size_t i = 0; i < recorded->profile.threads.count; i++) {
        const struct thread *thread = column_at(&recorded->profile.threads, i);
        if (!samples_count(&thread->samples)) continue;
        sample_count++;
        bool is_other = text_equal(thread->name, TEXT("other"));
        assert_stack(&recorded->profile, samples_at(&thread->samples, 0)->stack, is_other ? "its own" : "later");
    }
    assert_int_equal(sample_count, 2);
}

/* ---- Starts and ends. ---- */

static void *sleep_and_record(void *argument) {
    bool is_registered = argument != NULL;
    if (is_registered) grec_thread_register("timed");
    usleep(2000);
    record_number(0);
    usleep(2000);
    if (is_registered) grec_thread_unregister();
    return NULL;
}

TEST(test_starts_and_ends, set_up_folder, tear_down_folder) {
    struct thread *marker_thread = NULL;
    start_recording(*state, "times.trace", no_options);
    GREC_INSTANT("begin", NULL);
    run_thread(sleep_and_record, &marker_thread);
    GREC_INSTANT("between", NULL);
    run_thread(sleep_and_record, NULL);
    GREC_INSTANT("end", NULL);
    const struct recorded *recorded = stop_and_read(*state, "times.trace");
    const struct profile *profile = &recorded->profile;
    assert_nothing_lost(recorded);
    int64_t between_ns = find_marker(profile, "between", NULL)->start_ns;
    int64_t end_ns = find_marker(profile, "end", NULL)->start_ns;
    const struct thread *timed = find_thread(profile, "timed"), *other = NULL;
    assert_non_null(timed);
    const struct marker *marker = column_at(&timed->markers, 0);
    assert_true(timed->start_ns >= 0 && marker->start_ns >= timed->start_ns + 2000000);
    assert_true(timed->end_ns >= marker->start_ns + 2000000 && timed->end_ns < between_ns);
    for (size_t i = 0; i < profile->threads.count; i++) {
        const struct thread *thread = column_at(&profile->threads, i);
        if (thread != timed && count_markers_of(profile, thread, "number")) other = thread;
    }
    assert_non_null(other);
    /* The thread was not registered. So it begins with its first event, and its end is noticed automatically. */
    marker = column_at(&other->markers, 0);
    assert_true(other->start_ns > between_ns && other->start_ns <= marker->start_ns);
    assert_true(other->end_ns >= marker->start_ns + 2000000 && other->end_ns < end_ns);
}

/* ---- Thousands of short-lived threads. ---- */

enum { LIFE_COUNT = 3000, EVENTS_OF_LIFE = 3 };

static void *live_shortly(void *argument) {
    uint64_t number = (uint64_t)(uintptr_t)argument;
    char name[32];
    snprintf(name, sizeof name, "short %" PRIu64, number);
    if (number % 3 == 0) grec_thread_register(name);
    if (number % 3 == 1) prctl(PR_SET_NAME, name, 0, 0, 0);
    if (number % 3 == 2) {
        grec_thread_register("to be renamed");
        record_number(number);
        grec_thread_register(name);
    }
    for (int i = number % 3 == 2; i < EVENTS_OF_LIFE; i++) record_number(number);
    if (number % 2) grec_thread_unregister();
    return NULL;
}

static void live_many(uint64_t from, uint64_t end) {
    enum { AT_ONCE = 4 };
    for (uint64_t number = from; number < end; number += AT_ONCE) {
        pthread_t threads[AT_ONCE];
        for (uint64_t i = 0; i < AT_ONCE; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, live_shortly, (void *)(uintptr_t)(number + i)), 0);
        for (uint64_t i = 0; i < AT_ONCE; i++) pthread_join(threads[i], NULL);
    }
}

TEST(test_short_lives, set_up_folder, tear_down_folder) {
    struct temp_folder *folder = *state;
    start_recording(folder, "short.trace", (struct grec_options){.limit_bytes = GREC_UNLIMITED});
    live_many(0, LIFE_COUNT / 10);
    uint64_t rss_before = rss_bytes();
    live_many(LIFE_COUNT / 10, LIFE_COUNT);
    uint64_t rss_after = rss_bytes();
    /* With a chunk for each thread the file would have 196 MB. */
    const struct recorded *recorded = stop_and_read(folder, "short.trace");
    uint64_t file_bytes = file_size_of(temp_folder_file(folder, "short.trace"));
    assert_true(file_bytes < LIFE_COUNT * 300u + 10 * 65536);
    if (!getenv("TSAN_OPTIONS") && rss_after > rss_before) assert_true(rss_after - rss_before < 64u << 20);
    assert_nothing_lost(recorded);
    struct numbers numbers = collect_numbers(&recorded->profile, NULL, "number", LIFE_COUNT);
    for (uint64_t i = 0; i < LIFE_COUNT; i++) assert_int_equal(numbers.counts[i], EVENTS_OF_LIFE);
    free(numbers.counts);
    size_t life_count = 0;
    for (size_t i = 0; i < recorded->profile.threads.count; i++) {
        const struct thread *thread = column_at(&recorded->profile.threads, i);
        if (!text_starts_with(thread->name, TEXT("short "))) continue;
        const struct marker *first = column_at(&thread->markers, 0);
        const struct marker *last = column_at(&thread->markers, thread->markers.count - 1);
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)thread->name.bytes_count, thread->name.bytes);
        uint64_t number = strtoull(name + 6, NULL, 10);
        assert_int_equal(value_of(&recorded->profile, first, 0).number.mantissa, number);
        assert_int_equal(thread->markers.count, EVENTS_OF_LIFE);
        assert_true(thread->start_ns == TIME_NONE || thread->start_ns <= first->start_ns);
        assert_true(thread->end_ns != TIME_NONE && thread->end_ns >= last->start_ns);
        life_count++;
    }
    assert_int_equal(life_count, LIFE_COUNT);
}

/* Under a limit, the trace has all events of the latest threads. */
TEST(test_short_lives_in_little_room, set_up_folder, tear_down_folder) {
    struct temp_folder *folder = *state;
    enum { LIMIT_BYTES = 128 * 1024 };
    start_recording(folder, "little.trace", (struct grec_options){.limit_bytes = LIMIT_BYTES});
    live_many(0, LIFE_COUNT);
    const struct recorded *recorded = stop_and_read(folder, "little.trace");
    assert_true(file_size_of(temp_folder_file(folder, "little.trace")) <= LIMIT_BYTES);
    assert_true(recorded->header.recycled_chunk_count > 0);
    assert_nothing_lost(recorded);
    struct numbers numbers = collect_numbers(&recorded->profile, NULL, "number", LIFE_COUNT);
    uint64_t first = LIFE_COUNT;
    while (first && numbers.counts[first - 1] == EVENTS_OF_LIFE) first--;
    assert_true(first > 0 && first < LIFE_COUNT - 100);
    free(numbers.counts);
}

/* ---- Threads that end without giving back their records. ---- */

static void *end_behind_libc(void *argument) {
    record_number((uint64_t)(uintptr_t)argument);
    syscall(SYS_exit, 0);
    return NULL;
}

enum { ROUND_COUNT_OF_DESTRUCTORS = 4 };

static pthread_key_t key;

/* Values of the key are not 0. */
static void set_round(uint64_t number) { pthread_setspecific(key, (void *)(uintptr_t)(number + 1)); }

/* Records in all rounds of destructors. The C library calls none after the last one. */
static void record_round(void *argument) {
    uint64_t number = (uint64_t)(uintptr_t)argument - 1;
    record_number(number);
    if (number % ROUND_COUNT_OF_DESTRUCTORS + 1 < ROUND_COUNT_OF_DESTRUCTORS) set_round(number + 1);
}

static void *record_in_destructors(void *argument) {
    set_round((uint64_t)(uintptr_t)argument);
    return NULL;
}

/* All events of such threads are in the trace, and none in the track of an earlier thread, whose record the next one
 * takes. A thread that records after it was unregistered is another one in the trace. */
static void record_unreleased(void **state, void *(*run)(void *), uint64_t step, uint64_t track_count) {
    enum { COUNT = 200, TRACK_COUNT_OF_MAIN = 1, CHUNK_COUNT_MAX = 40 };
    start_recording(*state, "unreleased.trace", no_options);
    GREC_INSTANT("main", NULL);
    for (uint64_t i = 0; i < COUNT; i++) run_thread(run, (void *)(uintptr_t)(i * step));
    const struct recorded *recorded = stop_and_read_whole(*state, "unreleased.trace");
    assert_int_equal(recorded->header.next_thread_uid, COUNT * track_count + TRACK_COUNT_OF_MAIN + 1);
    assert_true(recorded->header.chunk_count < CHUNK_COUNT_MAX);
    struct numbers numbers = collect_numbers(&recorded->profile, NULL, "number", COUNT * step);
    for (uint64_t i = 0; i < COUNT * step; i++) assert_int_equal(numbers.counts[i], 1);
    free(numbers.counts);
}

/* The sanitizers do not allow such ends. */
TEST(test_ends_behind_libc, set_up_folder, tear_down_folder) {
    if (IS_SANITIZED) skip();
    record_unreleased(state, end_behind_libc, 1, 1);
}

/* For the thread sanitizer, a thread has ended before the last round. */
TEST(test_all_rounds_of_destructors, set_up_folder, tear_down_folder) {
    if (HAS_THREAD_SANITIZER) skip();
    assert_int_equal(pthread_key_create(&key, record_round), 0);
    record_unreleased(state, record_in_destructors, ROUND_COUNT_OF_DESTRUCTORS, 2);
    pthread_key_delete(key);
}

/* Threads that end while recording is off also give back their chunks. */
static void *record_and_wait(void *argument) {
    pthread_barrier_t *barrier = argument;
    record_number(1);
    pthread_barrier_wait(barrier);
    pthread_barrier_wait(barrier);
    return NULL;
}

TEST(test_ends_in_a_pause, set_up_folder, tear_down_folder) {
    enum { ROUND_COUNT = 100 };
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, 2);
    start_recording(*state, "pause.trace", (struct grec_options){.limit_bytes = 128 * 1024});
    for (int i = 0; i < ROUND_COUNT; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, record_and_wait, &barrier), 0);
        pthread_barrier_wait(&barrier);
        grec_pause();
        pthread_barrier_wait(&barrier);
        pthread_join(thread, NULL);
        grec_resume();
        record_number(0);
    }
    pthread_barrier_destroy(&barrier);
    const struct recorded *recorded = stop_and_read_whole(*state, "pause.trace");
    assert_int_equal(count_markers(&recorded->profile, "number"), 2 * ROUND_COUNT);
    /* Each thread that ended in a pause must have its own end within this pause. */
    const struct profile *profile = &recorded->profile;
    assert_int_equal(profile->paused_ranges.count, ROUND_COUNT);
    assert_int_equal(profile->threads.count, ROUND_COUNT + 1);
    size_t pause_count = 0;
    for (size_t i = 0; i < profile->threads.count; i++) {
        const struct thread *thread = column_at(&profile->threads, i);
        if (thread->is_main) continue;
        for (size_t j = 0; j < ROUND_COUNT; j++) {
            const struct paused_range *pause = column_at(&profile->paused_ranges, j);
            pause_count += thread->end_ns >= pause->start_ns && thread->end_ns <= pause->end_ns;
        }
    }
    assert_int_equal(pause_count, ROUND_COUNT);
}

/* ---- Threads that are cancelled. ---- */

enum { CANCELLED_EVENT_COUNT = 20000 };

struct cancelled {
    char copy_path[PATH_MAX];
    bool has_recorded, has_saved, has_stopped;
};

/* Each of the functions that it calls would end a thread which has been cancelled, if it let the thread end. */
static void *record_while_cancelled(void *argument) {
    struct cancelled *cancelled = argument;
    pthread_cancel(pthread_self());
    for (uint64_t i = 0; i < CANCELLED_EVENT_COUNT; i++) record_number(i);
    cancelled->has_recorded = true;
    cancelled->has_saved = grec_save(cancelled->copy_path) == GREC_OK;
    grec_stop();
    cancelled->has_stopped = true;
    pthread_testcancel();
    cancelled->has_stopped = false;
    return NULL;
}

/* Without sampler, the thread itself extends the file. */
TEST(test_cancelled, set_up_folder, tear_down_folder) {
    struct cancelled cancelled = {.has_recorded = false};
    pthread_t thread;
    void *result = NULL;
    snprintf(cancelled.copy_path, sizeof cancelled.copy_path, "%s", temp_folder_file(*state, "copy.trace"));
    start_recording(*state, "cancelled.trace", (struct grec_options){.chunk_bytes = 4096});
    assert_int_equal(pthread_create(&thread, NULL, record_while_cancelled, &cancelled), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    assert_true(cancelled.has_recorded);
    assert_true(cancelled.has_saved);
    assert_true(cancelled.has_stopped);
    const struct recorded *recorded = stop_and_read_whole(*state, "cancelled.trace");
    assert_int_equal(count_markers(&recorded->profile, "number"), CANCELLED_EVENT_COUNT);
}

/* ---- Threads that are left out. ---- */

static void *record_as(void *name) {
    grec_thread_register(name);
    record_number(0);
    return NULL;
}

TEST(test_filter, set_up_folder, tear_down_folder) {
    static const struct {
        const char *words;
        bool is_kept[3]; /* "Compositor", "DOM Worker", "painter" */
    } cases[] = {
        {"compositor", {true, false, false}}, {"WORKER,paint", {false, true, true}}, {"o", {true, true, false}},
        {",,x,", {false, false, false}},      {"painter2", {false, false, false}},   {" ", {false, true, false}},
    };
    static char names[][16] = {"Compositor", "DOM Worker", "painter"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        start_recording(*state, "filter.trace", (struct grec_options){.threads = cases[i].words});
        for (size_t j = 0; j < 3; j++) run_thread(record_as, names[j]);
        const struct recorded *recorded = stop_and_read_whole(*state, "filter.trace");
        for (size_t j = 0; j < 3; j++)
            if ((find_thread(&recorded->profile, names[j]) != NULL) != cases[i].is_kept[j])
                fail_msg("\"%s\" and %s", cases[i].words, names[j]);
    }
}

/* The filter follows a thread's name. Each change of the name takes effect at once, however much space is left in
 * the thread's chunk. */
TEST(test_filter_of_a_renamed_thread, set_up_folder, tear_down_folder) {
    enum { EVENT_COUNT = 20000 };
    start_recording(*state, "in-and-out.trace",
                    (struct grec_options){.threads = "in", .chunk_bytes = 4096, .limit_bytes = 1u << 20});
    uint64_t number = 0;
    for (int round = 0; round < 3; round++) {
        grec_thread_register("in");
        for (int i = 0; i < 10; i++) record_number(number++);
        grec_thread_register("out");
        for (int i = 0; i < EVENT_COUNT; i++) record_number(number++);
    }
    const struct recorded *recorded = stop_and_read(*state, "in-and-out.trace");
    grec_thread_unregister();
    assert_nothing_lost(recorded);
    struct numbers numbers = collect_numbers(&recorded->profile, NULL, "number", number);
    for (uint64_t i = 0; i < number; i++) assert_int_equal(numbers.counts[i], i % (EVENT_COUNT + 10) < 10 ? 1 : 0);
    free(numbers.counts);
}

int main(void) { return unit_tests_run(NULL, NULL); }
