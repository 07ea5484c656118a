/* Tests counters: changes and values, sampled sums, and the attributes that the viewer gets. */
#include <stdio.h>
#include <stdlib.h>

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include "recorder/sampler/process_counters.h"
#include "tests/support/recorder_trace.h"
#include "tests/support/sanitizers.h"
#include "tests/support/unit_test.h"
#include "tests/support/wait_for_child.h"

static struct grec_options no_options;

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

#define PLAIN(name, graph, flags) GREC_COUNTER(name, "Tests", NULL, NULL, graph, GREC_GRAPH_BLUE, flags)

static const struct counter *counter_of(const struct profile *profile, const char *name) {
    const struct counter *counter = find_counter(profile, name);
    if (!counter) fail_msg("there is no counter \"%s\"", name);
    return counter;
}

/* Returns the sum of all changes of a counter. */
static int64_t sum_of(const struct profile *profile, const char *name) {
    const struct counter *counter = counter_of(profile, name);
    uint64_t sum = 0;
    for (size_t i = 0; i < counter->samples.count; i++)
        sum += (uint64_t)((const struct counter_sample *)column_at(&counter->samples, i))->change;
    return (int64_t)sum;
}

static uint64_t operations_of(const struct profile *profile, const char *name) {
    const struct counter *counter = counter_of(profile, name);
    uint64_t count = 0;
    for (size_t i = 0; i < counter->samples.count; i++)
        count += ((const struct counter_sample *)column_at(&counter->samples, i))->number;
    return count;
}

/* Compares the changes of a counter, in order and without those of 0, with a text such as "+5 -3". Two changes at
 * the same instant of the clock would become one sample, so the tests let some time pass between them. */
static void assert_changes(const struct profile *profile, const char *name, const char *expected) {
    const struct counter *counter = counter_of(profile, name);
    struct profile_text *got = profile_text_create();
    int64_t last_ns = INT64_MIN;
    for (size_t i = 0; i < counter->samples.count; i++) {
        const struct counter_sample *sample = column_at(&counter->samples, i);
        assert_true(sample->time_ns > last_ns);
        last_ns = sample->time_ns;
        if (sample->change) profile_text_print(got, "%s%+" PRId64, got->used_bytes ? " " : "", sample->change);
    }
    if (strcmp(got->bytes, expected) != 0) fail_msg("%s: %s, not %s", name, got->bytes, expected);
    free(got);
}

static void take_time(void) {
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - start.tv_sec) * 1000000000 + now.tv_nsec - start.tv_nsec < 5000);
}

static void add(struct grec_counter *counter, int64_t change) {
    grec_counter_add(counter, change);
    take_time();
}

static void set(struct grec_counter *counter, int64_t value) {
    grec_counter_set(counter, value);
    take_time();
}

static void sample(void) {
    grec_sample();
    take_time();
}

/* ---- Changes recorded at once. ---- */

TEST(test_add_and_set, set_up_folder, tear_down_folder) {
    static struct grec_counter added = PLAIN("added", GREC_COUNTER_ACCUMULATED, 0);
    static struct grec_counter rate = PLAIN("rate", GREC_COUNTER_RATE, 0);
    static struct grec_counter was_set = PLAIN("set", GREC_COUNTER_ACCUMULATED, 0);
    static struct grec_counter mixed = PLAIN("mixed", GREC_COUNTER_ACCUMULATED, 0);
    static struct grec_counter large = PLAIN("large", GREC_COUNTER_ACCUMULATED, 0);
    grec_counter_add(&added, 1000);
    grec_counter_add(&rate, 1000);
    grec_counter_set(&was_set, 1000);
    start_recording(*state, "add.trace", no_options);
    static const int64_t changes[] = {5, -3, 63, 64, -64, -65, 8192, -1};
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        add(&added, changes[i]);
        add(&rate, changes[i]);
        set(&was_set, changes[i]);
    }
    add(&mixed, 10);
    set(&mixed, 100);
    add(&mixed, -30);
    set(&mixed, 70);
    set(&mixed, 0);
    add(&mixed, 1);
    add(&large, INT64_MAX);
    add(&large, INT64_MIN);
    set(&large, INT64_MIN);
    add(&large, 0);
    grec_counter_add(NULL, 1);
    grec_counter_set(NULL, 1);
    const struct recorded *recorded = stop_and_read(*state, "add.trace");
    grec_counter_add(&added, 1000);
    assert_nothing_lost(recorded);
    const struct profile *profile = &recorded->profile;
    assert_changes(profile, "added", "+1000 +5 -3 +63 +64 -64 -65 +8192 -1");
    /* Changes of a rate are summed up by intervals. */
    assert_int_equal(sum_of(profile, "rate"), 8191);
    assert_int_equal(operations_of(profile, "rate"), COUNT_OF(changes));
    assert_changes(profile, "set", "+1000 -995 -8 +66 +1 -128 -1 +8257 -8193");
    assert_changes(profile, "mixed", "+10 +90 -30 -70 +1");
    assert_changes(profile, "large", "+9223372036854775807 -9223372036854775808 -9223372036854775807");
    assert_int_equal(operations_of(profile, "added"), COUNT_OF(changes));
    assert_null(find_counter(profile, "unused"));
    assert_int_equal(profile->counters.count, 5);
    assert_int_equal(count_of_cause(&profile->ledger, LEDGER_KEPT, "change of a counter"), 2 * COUNT_OF(changes) + 6);
    assert_int_equal(count_of_cause(&profile->ledger, LEDGER_KEPT, "value of a counter"), COUNT_OF(changes) + 4);
}

/* ---- Changes summed up until the next sample. ---- */

TEST(test_sampled, set_up_folder, tear_down_folder) {
    static struct grec_counter level = PLAIN("level", GREC_COUNTER_ACCUMULATED, GREC_COUNTER_SAMPLED);
    static struct grec_counter rate = PLAIN("sampled rate", GREC_COUNTER_RATE, GREC_COUNTER_SAMPLED);
    static struct grec_counter late = PLAIN("late", GREC_COUNTER_ACCUMULATED, GREC_COUNTER_SAMPLED);
    static struct grec_counter was_set = PLAIN("sampled set", GREC_COUNTER_ACCUMULATED, GREC_COUNTER_SAMPLED);
    grec_counter_add(&level, 100000);
    start_recording(*state, "sampled.trace", no_options);
    sample();
    grec_counter_add(&level, 5);
    grec_counter_add(&level, 7);
    grec_counter_add(&rate, 3);
    grec_counter_set(&was_set, 40);
    sample();
    grec_counter_add(&level, -2);
    grec_counter_add(&rate, 4);
    sample();
    sample();
    for (int i = 0; i < 1000; i++) grec_counter_add(&rate, i);
    grec_counter_set(&was_set, 41);
    grec_counter_add(&was_set, 1);
    sample();
    /* Changes made after the last sample. */
    grec_counter_add(&level, 1);
    grec_counter_add(&late, 1);
    const struct recorded *recorded = stop_and_read_whole(*state, "sampled.trace");
    const struct profile *profile = &recorded->profile;
    assert_changes(profile, "level", "+100000 +12 -2 +1");
    assert_changes(profile, "sampled rate", "+3 +4 +499500");
    assert_changes(profile, "sampled set", "+40 +2");
    assert_changes(profile, "late", "+1");
    assert_int_equal(operations_of(profile, "level"), 0);
    assert_int_equal(counter_of(profile, "level")->samples.count >= 4, true);
    const struct thread *thread = column_at(&profile->threads, 0);
    assert_int_equal(samples_count(&thread->samples), 5);
}

/* ---- What was added up before the end. ---- */

static struct grec_counter last = PLAIN("last", GREC_COUNTER_ACCUMULATED, GREC_COUNTER_SAMPLED);

static void stop_at_once(void) { grec_stop(); }

static void pause_and_stop(void) {
    grec_pause();
    grec_counter_add(&last, 100);
    grec_stop();
}

/* The copy replaces the trace. */
static void save_and_stop(const char *path, const char *copy) {
    assert_int_equal(grec_save(copy), GREC_OK);
    grec_counter_add(&last, 100);
    grec_stop();
    assert_int_equal(rename(copy, path), 0);
}

static void assert_last(const char *path, int64_t pid, int64_t expected) {
    int64_t sum = 0;
    const struct recorded *recorded = recorded_read(path);
    assert_nothing_lost(recorded);
    for (size_t i = 0; i < recorded->profile.counters.count; i++) {
        const struct counter *counter = column_at(&recorded->profile.counters, i);
        if (profile_process_at(&recorded->profile, counter->process)->pid != pid) continue;
        for (size_t j = 0; j < counter->samples.count; j++)
            sum += ((const struct counter_sample *)column_at(&counter->samples, j))->change;
    }
    assert_int_equal(sum, expected);
    recorded_free_all();
}

/* Sums are recorded before a pause, a copy and the end, without a sampler too. */
TEST(test_last_sums, set_up_folder, tear_down_folder) {
    const char *path = temp_folder_file(*state, "last.trace");
    void (*const ends[])(void) = {stop_at_once, pause_and_stop};
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        grec_counter_set(&last, 0);
        start_recording(*state, "last.trace", no_options);
        grec_counter_add(&last, 7);
        ends[i]();
        assert_last(path, getpid(), 7);
    }
    grec_counter_set(&last, 0);
    start_recording(*state, "last.trace", no_options);
    grec_counter_add(&last, 7);
    save_and_stop(path, temp_folder_file(*state, "copy.trace"));
    assert_last(path, getpid(), 7);
}

/* Counts, tells that by the pipe, and ends: by exit, or when the parent stops all processes. */
static _Noreturn void count_in_child(int pipe_end, bool exits) {
    grec_counter_add(&last, 3);
    if (write(pipe_end, "", 1) != 1) _exit(1);
    if (exits) exit(0);
    while (grec_is_recording()) GREC_INSTANT("until told to stop", NULL);
    _exit(0);
}

TEST(test_last_sums_of_children, set_up_folder, tear_down_folder) {
    for (int exits = 0; exits < 2; exits++) {
        int pipe_ends[2];
        char byte;
        assert_int_equal(pipe(pipe_ends), 0);
        grec_counter_set(&last, 0);
        start_recording(*state, "last.trace", no_options);
        grec_counter_add(&last, 7);
        pid_t child = fork();
        assert_true(child >= 0);
        if (!child) count_in_child(pipe_ends[1], exits);
        assert_int_equal(read(pipe_ends[0], &byte, 1), 1);
        if (exits) assert_int_equal(wait_for_child(child), 0);
        grec_stop();
        if (!exits) assert_int_equal(wait_for_child(child), 0);
        assert_last(temp_folder_file(*state, "last.trace"), getpid(), 7);
        assert_last(temp_folder_file(*state, "last.trace"), child, 3);
        close(pipe_ends[0]);
        close(pipe_ends[1]);
    }
}

/* ---- Attributes for the viewer. ---- */

TEST(test_attributes, set_up_folder, tear_down_folder) {
    static struct grec_counter full = {.name = "full",
                                       .category = "Memory",
                                       .description = "What it is",
                                       .label = "On the track",
                                       .unit = "bytes",
                                       .graph = GREC_COUNTER_RATE,
                                       .color = GREC_GRAPH_TEAL,
                                       .sort_weight = -3};
    static struct grec_counter bare = {0};
    static struct grec_counter macro =
        GREC_COUNTER("macro", "power", "energy", "pWh", GREC_COUNTER_ACCUMULATED, GREC_GRAPH_YELLOW, 0);
    static struct grec_counter strange = {.name =
                                              "str\xff"
                                              "ange",
                                          .category = "c\x01",
                                          .graph = 77,
                                          .color = 99};
    static char long_name[GREC_NAME_BYTES_MAX + 2];
    static struct grec_counter long_one = {.name = long_name, .category = "Long"};
    memset(long_name, 'n', GREC_NAME_BYTES_MAX + 1);
    start_recording(*state, "attributes.trace", no_options);
    struct grec_counter *const all[] = {&full, &bare, &macro, &strange, &long_one};
    for (size_t i = 0; i < COUNT_OF(all); i++) grec_counter_add(all[i], (int64_t)i + 1);
    const struct recorded *recorded = stop_and_read_whole(*state, "attributes.trace");
    const struct profile *profile = &recorded->profile;
    const struct counter *counter = counter_of(profile, "full");
    assert_true(text_equal(counter->category, TEXT("Memory")));
    assert_true(text_equal(counter->description, TEXT("What it is")));
    assert_true(text_equal(counter->label, TEXT("On the track")));
    assert_true(text_equal(counter->unit, TEXT("bytes")));
    assert_int_equal(counter->graph, COUNTER_RATE);
    assert_int_equal(counter->color, GRAPH_TEAL);
    assert_int_equal(counter->sort_weight, -3);
    assert_int_equal(profile_process_at(profile, counter->process)->pid, getpid());
    counter = counter_of(profile, "macro");
    assert_true(text_equal(counter->category, TEXT("power")));
    assert_true(text_equal(counter->description, TEXT("energy")));
    assert_int_equal(counter->label.bytes_count, 0);
    assert_true(text_equal(counter->unit, TEXT("pWh")));
    assert_int_equal(counter->graph, COUNTER_ACCUMULATED);
    assert_int_equal(counter->color, GRAPH_YELLOW);
    assert_int_equal(counter->sort_weight, 50);
    counter = counter_of(profile, "");
    assert_int_equal(counter->category.bytes_count + counter->description.bytes_count + counter->unit.bytes_count, 0);
    assert_int_equal(counter->graph, COUNTER_ACCUMULATED);
    assert_int_equal(sum_of(profile, ""), 2);
    counter = counter_of(profile,
                         "str\\xff"
                         "ange");
    assert_true(text_equal(counter->category, TEXT("c\x01")));
    assert_true(counter->graph < COUNTER_GRAPH_COUNT && counter->color < GRAPH_COLOR_COUNT);
    assert_int_equal(sum_of(profile,
                            "str\\xff"
                            "ange"),
                     4);
    long_name[GREC_NAME_BYTES_MAX] = '\0';
    assert_int_equal(sum_of(profile, long_name), 5);
    assert_int_equal(recorded->header.cut_text_count, 1);
}

/* Two counters of the same name stay two, but an equal description is the same counter. */
TEST(test_same_names, set_up_folder, tear_down_folder) {
    static struct grec_counter first = PLAIN("same", GREC_COUNTER_ACCUMULATED, 0);
    static struct grec_counter again = PLAIN("same", GREC_COUNTER_ACCUMULATED, 0);
    static struct grec_counter other = PLAIN("same", GREC_COUNTER_RATE, 0);
    start_recording(*state, "same.trace", no_options);
    add(&first, 1);
    add(&other, 10);
    add(&again, 2);
    const struct recorded *recorded = stop_and_read_whole(*state, "same.trace");
    assert_int_equal(recorded->profile.counters.count, 2);
    const struct profile *profile = &recorded->profile;
    for (size_t i = 0; i < 2; i++) {
        const struct counter *counter = column_at(&profile->counters, i);
        int64_t sum = 0;
        for (size_t j = 0; j < counter->samples.count; j++)
            sum += ((const struct counter_sample *)column_at(&counter->samples, j))->change;
        assert_int_equal(sum, counter->graph == COUNTER_RATE ? 10 : 3);
    }
}

/* ---- Power. ---- */

TEST(test_energy_that_starts_again, set_up_folder, tear_down_folder) {
    static const struct {
        uint64_t last_uj, now_uj, range_uj, used_uj;
    } cases[] = {
        {100, 100, 1000, 0},
        {100, 250, 1000, 150},
        {990, 5, 1000, 15},
        /* The kernel reports no range, or a range that the last value exceeds. */
        {990, 5, 0, 5},
        {990, 5, 500, 5},
        {UINT64_MAX, 0, 0, 0},
        {0, UINT64_MAX, 0, UINT64_MAX},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(process_counters_used_uj(cases[i].last_uj, cases[i].now_uj, cases[i].range_uj),
                         cases[i].used_uj);
}

/* ---- Pauses, stops and other options. ---- */

TEST(test_pause, set_up_folder, tear_down_folder) {
    static struct grec_counter plain = PLAIN("plain", GREC_COUNTER_ACCUMULATED, 0);
    static struct grec_counter summed = PLAIN("summed", GREC_COUNTER_ACCUMULATED, GREC_COUNTER_SAMPLED);
    start_recording(*state, "pause.trace", no_options);
    add(&plain, 1);
    add(&summed, 1);
    sample();
    grec_pause();
    add(&plain, 10);
    add(&summed, 10);
    sample();
    set(&plain, 50);
    set(&summed, 50);
    grec_resume();
    sample();
    add(&plain, 100);
    add(&summed, 100);
    sample();
    const struct recorded *recorded = stop_and_read_whole(*state, "pause.trace");
    assert_changes(&recorded->profile, "plain", "+1 +49 +100");
    assert_changes(&recorded->profile, "summed", "+1 +49 +100");
}

/* Several changes in a pause become one change at the pause's end. In `kinds`, c means a change and v a new value. */
TEST(test_changes_in_a_pause, set_up_folder, tear_down_folder) {
    enum { STEP_COUNT_MAX = 4 };
    static const struct {
        const char *kinds;
        int64_t numbers[STEP_COUNT_MAX];
        const char *expected;
    } cases[] = {
        {"c", {-4}, "+10 -4 +1"},
        {"ccc", {5, -7, 1}, "+10 -1 +1"},
        {"cc", {5, -5}, "+10 +1"},
        {"v", {3}, "+10 -7 +1"},
        {"v", {0}, "+10 -10 +1"},
        {"v", {10}, "+10 +1"},
        {"cv", {8, 3}, "+10 -7 +1"},
        {"vc", {3, 8}, "+10 +1 +1"},
        {"vcvc", {3, 8, 100, -1}, "+10 +89 +1"},
        {"", {0}, "+10 +1"},
        {"c", {INT64_MAX}, "+10 +4611686018427387903 +1"},
        {"v", {INT64_MIN}, "+10 -4611686018427387913 +1"},
        {"cc", {INT64_MIN, -1}, "+10 -4611686018427387903 +1"},
    };
    static struct grec_counter counters[COUNT_OF(cases)][2];
    char names[COUNT_OF(cases)][2][16];
    start_recording(*state, "changes.trace", no_options);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (int is_rate = 0; is_rate < 2; is_rate++) {
            snprintf(names[i][is_rate], sizeof names[i][is_rate], "%zu %d", i, is_rate);
            counters[i][is_rate] = (struct grec_counter){.name = names[i][is_rate], .graph = (uint32_t)is_rate};
            add(&counters[i][is_rate], 10);
        }
    grec_pause();
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (size_t j = 0; cases[i].kinds[j]; j++)
            for (int is_rate = 0; is_rate < 2; is_rate++)
                (cases[i].kinds[j] == 'v' ? grec_counter_set : grec_counter_add)(&counters[i][is_rate],
                                                                                 cases[i].numbers[j]);
    grec_resume();
    take_time();
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (int is_rate = 0; is_rate < 2; is_rate++) add(&counters[i][is_rate], 1);
    const struct recorded *recorded = stop_and_read_whole(*state, "changes.trace");
    const struct paused_range *pause = column_at(&recorded->profile.paused_ranges, 0);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_changes(&recorded->profile, names[i][0], cases[i].expected);
        const struct counter *counter = counter_of(&recorded->profile, names[i][0]);
        for (size_t j = 0; j < counter->samples.count; j++) {
            const struct counter_sample *sample = column_at(&counter->samples, j);
            bool is_in_pause = sample->time_ns >= pause->start_ns && sample->time_ns < pause->end_ns;
            assert_false(sample->change && is_in_pause);
        }
        /* Changes of a rate are summed up by intervals. */
        assert_int_equal(sum_of(&recorded->profile, names[i][1]), sum_of(&recorded->profile, names[i][0]));
    }
}

/* grec_resume records the true value and does not wait for the counter's next change. This also holds for sampled
 * counters, and for counters that change only in the pause. */
TEST(test_values_after_a_pause, set_up_folder, tear_down_folder) {
    static struct grec_counter plain = PLAIN("plain after", GREC_COUNTER_ACCUMULATED, 0);
    static struct grec_counter summed = PLAIN("summed after", GREC_COUNTER_ACCUMULATED, GREC_COUNTER_SAMPLED);
    static struct grec_counter fresh = PLAIN("in the pause alone", GREC_COUNTER_ACCUMULATED, 0);
    start_recording(*state, "after.trace", no_options);
    add(&plain, 10);
    add(&summed, 10);
    sample();
    grec_pause();
    add(&plain, -9);
    add(&summed, -9);
    add(&fresh, 3);
    grec_resume();
    grec_pause();
    add(&plain, -1);
    add(&summed, -1);
    const struct recorded *recorded = stop_and_read_whole(*state, "after.trace");
    assert_int_equal(sum_of(&recorded->profile, "plain after"), 1);
    assert_int_equal(sum_of(&recorded->profile, "summed after"), 1);
    assert_int_equal(sum_of(&recorded->profile, "in the pause alone"), 3);
    /* Changes from the pause in which a recording ended must not be in the next recording. */
    start_recording(*state, "next.trace", no_options);
    add(&plain, 5);
    recorded = stop_and_read(*state, "next.trace");
    assert_int_equal(sum_of(&recorded->profile, "plain after"), 5);
}

/* A recording that continues under other options is paused for a moment. If it was paused before, it stays paused. */
TEST(test_other_options_in_a_pause, set_up_folder, tear_down_folder) {
    static struct grec_counter plain = PLAIN("plain", GREC_COUNTER_ACCUMULATED, 0);
    start_recording(*state, "options.trace", no_options);
    add(&plain, 10);
    grec_pause();
    add(&plain, -9);
    start_recording(*state, NULL, (struct grec_options){.limit_bytes = 8u << 20});
    add(&plain, 100);
    grec_resume();
    start_recording(*state, NULL, (struct grec_options){.limit_bytes = 4u << 20});
    const struct recorded *recorded = stop_and_read_whole(*state, "options.trace");
    assert_int_equal(sum_of(&recorded->profile, "plain"), 101);
}

/* Levels go on from recording to recording, also while nothing is recorded. Rates start again at 0. */
TEST(test_start_and_stop, set_up_folder, tear_down_folder) {
    static struct grec_counter plain = PLAIN("plain again", GREC_COUNTER_ACCUMULATED, 0);
    static struct grec_counter summed = PLAIN("summed again", GREC_COUNTER_ACCUMULATED, GREC_COUNTER_SAMPLED);
    static struct grec_counter rate = PLAIN("rate again", GREC_COUNTER_RATE, GREC_COUNTER_SAMPLED);
    int64_t level = 0, summed_level = 0;
    for (int64_t i = 1; i <= 3; i++) {
        char expected[64];
        start_recording(*state, "again.trace", no_options);
        sample();
        add(&plain, i);
        add(&summed, i);
        add(&rate, i);
        sample();
        const struct recorded *recorded = stop_and_read_whole(*state, "again.trace");
        level += i;
        summed_level += i;
        assert_int_equal(sum_of(&recorded->profile, "plain again"), level);
        assert_int_equal(sum_of(&recorded->profile, "summed again"), summed_level);
        grec_counter_add(&plain, 100);
        grec_counter_add(&summed, 1000);
        grec_counter_add(&rate, 1000);
        level += 100;
        summed_level += 1000;
        snprintf(expected, sizeof expected, "%+" PRId64, i);
        assert_changes(&recorded->profile, "rate again", expected);
        /* Counters of other recordings must not be in this one. */
        assert_int_equal(recorded->profile.counters.count, 3);
    }
}

/* Returns the level of a counter at that time of the profile. */
static int64_t level_at(const struct profile *profile, const char *name, int64_t time_ns) {
    const struct counter *counter = counter_of(profile, name);
    int64_t level = 0;
    for (size_t i = 0; i < counter->samples.count; i++) {
        const struct counter_sample *sample = column_at(&counter->samples, i);
        if (sample->time_ns <= time_ns) level += sample->change;
    }
    return level;
}

/* An accumulated counter has its true level from the start of the recording on, although it is noticed only when it
 * changes. */
TEST(test_levels_from_before, set_up_folder, tear_down_folder) {
    static struct grec_counter added = PLAIN("added before", GREC_COUNTER_ACCUMULATED, 0);
    static struct grec_counter was_set = PLAIN("set before", GREC_COUNTER_ACCUMULATED, 0);
    static struct grec_counter summed = PLAIN("summed before", GREC_COUNTER_ACCUMULATED, GREC_COUNTER_SAMPLED);
    static struct grec_counter constant = PLAIN("constant", GREC_COUNTER_ACCUMULATED, 0);
    static struct grec_counter in_pause = PLAIN("changed in a pause", GREC_COUNTER_ACCUMULATED, 0);
    static struct grec_counter *const all[] = {&added, &was_set, &summed, &constant, &in_pause};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        grec_counter_set(all[i], 300);
        grec_counter_add(all[i], 200);
    }
    start_recording(*state, "before.trace", no_options);
    GREC_INSTANT("early", NULL);
    take_time();
    grec_pause();
    add(&in_pause, -3);
    grec_resume();
    add(&added, -3);
    set(&was_set, 497);
    add(&summed, -3);
    GREC_INSTANT("late", NULL);
    const struct recorded *recorded = stop_and_read_whole(*state, "before.trace");
    const struct profile *profile = &recorded->profile;
    int64_t early_ns = find_marker(profile, "early", NULL)->start_ns;
    static const char *const names[] = {"added before", "set before", "summed before"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        assert_changes(profile, names[i], "+500 -3");
        assert_int_equal(level_at(profile, names[i], early_ns), 500);
    }
    assert_int_equal(sum_of(profile, "changed in a pause"), 497);
    assert_null(find_counter(profile, "constant"));
    /* The level of a counter that a recording did not notice is not lost. */
    start_recording(*state, "before.trace", no_options);
    add(&constant, 1);
    recorded = stop_and_read(*state, "before.trace");
    assert_changes(&recorded->profile, "constant", "+500 +1");
}

/* ---- Levels at the limit, where the chunks with the changes are used again. ---- */

static const struct grec_options small = {.limit_bytes = 16 * 4096, .chunk_bytes = 4096};

static void fill_trace(void) {
    for (int i = 0; i < 20000; i++) GREC_INSTANT("filler", NULL);
}

/* Checks the level at the time from which on the trace is complete, and at the end. */
static void assert_levels(const struct profile *profile, const char *name, int64_t at_first, int64_t at_end) {
    const struct marker *marker = find_marker(profile, "filler", NULL);
    assert_int_equal(level_at(profile, name, marker->start_ns), at_first);
    assert_int_equal(sum_of(profile, name), at_end);
}

struct change {
    struct grec_counter *counter;
    int64_t value;
};

static void *add_change(void *change) {
    const struct change *to_add = change;
    grec_counter_add(to_add->counter, to_add->value);
    return NULL;
}

static void add_in_thread(struct grec_counter *counter, int64_t value) {
    struct change change = {counter, value};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, add_change, &change), 0);
    pthread_join(thread, NULL);
}

static struct grec_counter interrupted = PLAIN("added in handlers", GREC_COUNTER_ACCUMULATED, 0);
static volatile sig_atomic_t handled_count;

static void add_in_handler(int number) {
    (void)number;
    grec_counter_add(&interrupted, 1);
    handled_count++;
}

/* Returns the number of changes, each of 1. */
static int64_t add_while_interrupted(void) {
    enum { HANDLED_MIN = 200 };
    struct itimerval period = {{0, 100}, {0, 100}}, none = {{0, 0}, {0, 0}};
    int64_t count = 0;
    struct sigaction action = {.sa_handler = add_in_handler}, before;
    sigaction(SIGALRM, &action, &before);
    setitimer(ITIMER_REAL, &period, NULL);
    for (; handled_count < HANDLED_MIN; count++) grec_counter_add(&interrupted, 1);
    setitimer(ITIMER_REAL, &none, NULL);
    sigaction(SIGALRM, &before, NULL);
    return count + handled_count;
}

TEST(test_levels_at_the_limit, set_up_folder, tear_down_folder) {
    enum { MANY = 50 };
    static struct grec_counter was_set = PLAIN("set once", GREC_COUNTER_ACCUMULATED, 0);
    static struct grec_counter added = PLAIN("added once", GREC_COUNTER_ACCUMULATED, 0);
    static struct grec_counter later = PLAIN("added later", GREC_COUNTER_ACCUMULATED, 0);
    static struct grec_counter summed = PLAIN("summed once", GREC_COUNTER_ACCUMULATED, GREC_COUNTER_SAMPLED);
    static struct grec_counter rate = PLAIN("rate once", GREC_COUNTER_RATE, 0);
    static struct grec_counter shared = PLAIN("of many threads", GREC_COUNTER_ACCUMULATED, 0);
    static struct grec_counter set_between = PLAIN("set between", GREC_COUNTER_ACCUMULATED, 0);
    static struct grec_counter many[MANY];
    char names[MANY][16];
    grec_counter_add(&added, 400);
    start_recording(*state, "limit.trace", small);
    set(&was_set, 1000);
    add(&added, 100);
    add(&later, 7);
    add(&summed, 70);
    sample();
    add(&rate, 5);
    for (int i = 1; i <= 4; i++) add_in_thread(&shared, i);
    add(&shared, 5);
    add_in_thread(&set_between, 50);
    add(&set_between, 50);
    set(&set_between, 7);
    add_in_thread(&set_between, 3);
    int64_t interrupted_level = add_while_interrupted();
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "many %d", i);
        many[i] = (struct grec_counter){.name = names[i]};
        add(&many[i], 1000 + i);
    }
    for (int turn = 0; turn < 3; turn++) fill_trace();
    add(&later, 1);
    /* The trace as it is now is what is left of a program that is killed. */
    for (int is_stopped = 0; is_stopped < 2; is_stopped++) {
        if (is_stopped) grec_stop();
        const struct recorded *recorded = recorded_read(temp_folder_file(*state, "limit.trace"));
        const struct profile *profile = &recorded->profile;
        assert_nothing_lost(recorded);
        assert_true(recorded->header.recycled_chunk_count > 30);
        assert_levels(profile, "set once", 1000, 1000);
        assert_levels(profile, "added once", 500, 500);
        assert_levels(profile, "added later", 7, 8);
        assert_levels(profile, "of many threads", 15, 15);
        assert_levels(profile, "set between", 10, 10);
        assert_levels(profile, "added in handlers", interrupted_level, interrupted_level);
        assert_int_equal(sum_of(profile, "summed once"), 70);
        for (int i = 0; i < MANY; i++) assert_levels(profile, names[i], 1000 + i, 1000 + i);
        assert_null(find_counter(profile, "rate once"));
    }
}

static struct grec_counter of_quiet = PLAIN("of a quiet process", GREC_COUNTER_ACCUMULATED, 0);

static void *count_once(void *unused) {
    grec_counter_add(&of_quiet, 900);
    return unused;
}

/* The chunks with the level are used again by another process. The sampler of the quiet one records the level again. */
TEST(test_level_of_a_quiet_process, set_up_folder, tear_down_folder) {
    if (HAS_THREAD_SANITIZER) skip(); /* a forked child cannot start threads */
    struct grec_options options = small;
    pthread_t thread;
    options.flags |= GREC_SAMPLER;
    start_recording(*state, "quiet.trace", options);
    GREC_INSTANT("quiet", NULL);
    assert_int_equal(pthread_create(&thread, NULL, count_once, NULL), 0);
    pthread_join(thread, NULL);
    for (int turn = 0; turn < 3; turn++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (!child) {
            fill_trace();
            exit(0);
        }
        assert_int_equal(wait_for_child(child), 0);
        while (grec_wait_for_sampling() != GREC_OK) continue;
    }
    const struct recorded *recorded = recorded_read(temp_folder_file(*state, "quiet.trace"));
    assert_true(recorded->header.recycled_chunk_count > 30);
    assert_int_equal(sum_of(&recorded->profile, "of a quiet process"), 900);
}

TEST(test_hand_over, set_up_folder, tear_down_folder) {
    static struct grec_counter plain = PLAIN("moved", GREC_COUNTER_ACCUMULATED, 0);
    static struct grec_counter summed = PLAIN("summed and moved", GREC_COUNTER_ACCUMULATED, GREC_COUNTER_SAMPLED);
    start_recording(*state, NULL, (struct grec_options){.storage = GREC_STORAGE_MEMORY});
    add(&plain, 1);
    add(&summed, 1);
    sample();
    start_recording(*state, "moved.trace", (struct grec_options){.limit_bytes = 8u << 20});
    add(&plain, 2);
    add(&summed, 2);
    sample();
    const struct recorded *recorded = stop_and_read_whole(*state, "moved.trace");
    assert_changes(&recorded->profile, "moved", "+1 +2");
    assert_changes(&recorded->profile, "summed and moved", "+1 +2");
}

/* ---- Threads. ---- */

enum { THREAD_COUNT = 4, CHANGE_COUNT = 20000 };

static struct grec_counter shared_plain = PLAIN("shared", GREC_COUNTER_ACCUMULATED, 0);
static struct grec_counter shared_sum = PLAIN("shared sum", GREC_COUNTER_RATE, GREC_COUNTER_SAMPLED);
static struct grec_counter shared_level = PLAIN("shared level", GREC_COUNTER_ACCUMULATED, GREC_COUNTER_SAMPLED);
static struct grec_counter shared_balance = PLAIN("balance", GREC_COUNTER_ACCUMULATED, 0);

static void *change_all(void *argument) {
    int64_t own = (int64_t)(intptr_t)argument;
    for (int64_t i = 0; i < CHANGE_COUNT; i++) {
        grec_counter_add(&shared_plain, own);
        grec_counter_add(&shared_sum, own);
        grec_counter_add(&shared_balance, i % 2 ? -own : own);
        if (i % 500 == 0) grec_sample();
    }
    return NULL;
}

TEST(test_threads, set_up_folder, tear_down_folder) {
    pthread_t threads[THREAD_COUNT];
    grec_counter_set(&shared_plain, 0);
    start_recording(*state, "threads.trace", (struct grec_options){.limit_bytes = GREC_UNLIMITED});
    for (int i = 0; i < THREAD_COUNT; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, change_all, (void *)(intptr_t)(i + 1)), 0);
    for (int i = 0; i < THREAD_COUNT; i++) pthread_join(threads[i], NULL);
    grec_sample();
    const struct recorded *recorded = stop_and_read_whole(*state, "threads.trace");
    const struct profile *profile = &recorded->profile;
    enum { SUM = CHANGE_COUNT * THREAD_COUNT * (THREAD_COUNT + 1) / 2 };
    assert_int_equal(sum_of(profile, "shared"), SUM);
    assert_int_equal(sum_of(profile, "shared sum"), SUM);
    assert_int_equal(sum_of(profile, "balance"), 0);
    assert_int_equal(operations_of(profile, "shared"), THREAD_COUNT * CHANGE_COUNT);
    assert_int_equal(operations_of(profile, "balance"), THREAD_COUNT * CHANGE_COUNT);
    /* A process has one counter for all of its threads. */
    assert_int_equal(profile->counters.count, 3);
}

/* ---- Pauses while threads change counters. ---- */

enum { PAUSE_COUNT = 300 };

static bool is_counting_over;

static void *count_until_over(void *argument) {
    int64_t *added = argument;
    for (int64_t count = 1; !__atomic_load_n(&is_counting_over, __ATOMIC_ACQUIRE); count++) {
        grec_counter_add(&shared_plain, 1);
        grec_counter_add(&shared_sum, 1);
        grec_counter_add(&shared_level, 1);
        __atomic_store_n(added, count, __ATOMIC_RELEASE);
        if (count % 16 == 0) sched_yield();
    }
    return NULL;
}

/* No change is lost or counted twice, no matter when a pause begins or ends. */
TEST(test_pauses_at_any_time, set_up_folder, tear_down_folder) {
    pthread_t threads[2];
    int64_t added[2] = {0, 0};
    grec_counter_set(&shared_plain, 0);
    __atomic_store_n(&is_counting_over, false, __ATOMIC_RELEASE);
    start_recording(*state, "any.trace", (struct grec_options){.limit_bytes = GREC_UNLIMITED});
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, count_until_over, &added[i]), 0);
    for (int i = 0; i < 2; i++)
        while (!__atomic_load_n(&added[i], __ATOMIC_ACQUIRE)) sched_yield();
    for (int i = 0; i < PAUSE_COUNT; i++) {
        grec_pause();
        sched_yield();
        grec_resume();
        sched_yield();
    }
    __atomic_store_n(&is_counting_over, true, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    grec_sample();
    const struct recorded *recorded = stop_and_read_whole(*state, "any.trace");
    assert_int_equal(sum_of(&recorded->profile, "shared"), added[0] + added[1]);
    assert_int_equal(sum_of(&recorded->profile, "shared sum"), added[0] + added[1]);
}

/* Changes while recordings start and stop are neither lost nor counted twice. */
TEST(test_starts_at_any_time, set_up_folder, tear_down_folder) {
    enum { START_COUNT = 50 };
    pthread_t threads[2];
    int64_t added[2] = {0, 0};
    grec_counter_set(&shared_plain, 0);
    grec_counter_set(&shared_level, 0);
    __atomic_store_n(&is_counting_over, false, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, count_until_over, &added[i]), 0);
    for (int i = 0; i < START_COUNT; i++) {
        start_recording(*state, "any.trace", (struct grec_options){.limit_bytes = GREC_UNLIMITED});
        sched_yield();
        grec_stop();
    }
    start_recording(*state, "any.trace", (struct grec_options){.limit_bytes = GREC_UNLIMITED});
    __atomic_store_n(&is_counting_over, true, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    grec_counter_add(&shared_plain, 1);
    grec_counter_add(&shared_level, 1);
    const struct recorded *recorded = stop_and_read_whole(*state, "any.trace");
    assert_int_equal(sum_of(&recorded->profile, "shared"), added[0] + added[1] + 1);
    assert_int_equal(sum_of(&recorded->profile, "shared level"), added[0] + added[1] + 1);
}

/* ---- Threads that a filter leaves out. ---- */

static struct grec_counter queue = PLAIN("queue", GREC_COUNTER_ACCUMULATED, 0);
static struct grec_counter queue_sum = PLAIN("queue sum", GREC_COUNTER_ACCUMULATED, GREC_COUNTER_SAMPLED);
static struct grec_counter size = PLAIN("size", GREC_COUNTER_ACCUMULATED, 0);

enum { QUEUE_LENGTH = 1000, QUEUE_CHANGE_COUNT = 20000 };

static void *produce(void *name) {
    grec_thread_register(name);
    for (int i = 0; i < QUEUE_CHANGE_COUNT + QUEUE_LENGTH; i++) {
        grec_counter_add(&queue, 1);
        grec_counter_add(&queue_sum, 1);
        GREC_INSTANT("produced", NULL);
    }
    grec_counter_set(&size, 70);
    grec_sample();
    return NULL;
}

static void *consume(void *name) {
    grec_thread_register(name);
    for (int i = 0; i < QUEUE_CHANGE_COUNT; i++) {
        grec_counter_add(&queue, -1);
        grec_counter_add(&queue_sum, -1);
    }
    GREC_INSTANT("consumed", NULL);
    grec_sample();
    return NULL;
}

static void run(void *(*function)(void *name), const char *name) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, function, (void *)(uintptr_t)name), 0);
    pthread_join(thread, NULL);
}

/* Records with a thread filter. Returns the number of chunks that the recording has handed out. */
static uint64_t record_queue(void **state, const char *words) {
    grec_counter_set(&queue, 0);
    grec_counter_set(&queue_sum, 0);
    start_recording(*state, "queue.trace",
                    (struct grec_options){.threads = words, .chunk_bytes = 4096, .limit_bytes = GREC_UNLIMITED});
    run(produce, "producer");
    run(consume, "consumer");
    const struct recorded *recorded = stop_and_read(*state, "queue.trace");
    const struct profile *profile = &recorded->profile;
    assert_nothing_lost(recorded);
    assert_int_equal(sum_of(profile, "queue"), QUEUE_LENGTH);
    assert_int_equal(sum_of(profile, "queue sum"), QUEUE_LENGTH);
    assert_int_equal(sum_of(profile, "size"), 70);
    assert_int_equal(operations_of(profile, "queue"), 2 * QUEUE_CHANGE_COUNT + QUEUE_LENGTH);
    bool has_producer = !words || strstr(words, "producer"), has_consumer = !words || strstr(words, "consumer");
    assert_int_equal(count_markers(profile, "produced"), has_producer ? QUEUE_CHANGE_COUNT + QUEUE_LENGTH : 0);
    assert_int_equal(count_markers(profile, "consumed"), has_consumer ? 1 : 0);
    uint64_t chunk_count = recorded->header.next_global_index;
    return chunk_count;
}

/* Counters belong to the process: the filter leaves out threads, but no changes of a counter. Changes by a thread
 * that is left out must not take much more space either; with a chunk for each, there would be thousands of chunks.
 * The number of chunks differs from run to run, because times take more bytes on a slow machine. */
TEST(test_filter, set_up_folder, tear_down_folder) {
    uint64_t chunk_count_max = 2 * record_queue(state, NULL);
    assert_true(record_queue(state, "producer") <= chunk_count_max);
    assert_true(record_queue(state, "consumer") <= chunk_count_max);
    assert_true(record_queue(state, "nobody") <= chunk_count_max);
}

/* ---- Processes. ---- */

/* A child has counters of its own, which start at 0. */
TEST(test_child, set_up_folder, tear_down_folder) {
    static struct grec_counter plain = PLAIN("of both", GREC_COUNTER_ACCUMULATED, 0);
    static struct grec_counter summed = PLAIN("sum of both", GREC_COUNTER_RATE, GREC_COUNTER_SAMPLED);
    static struct grec_counter early[] = {PLAIN("early", GREC_COUNTER_ACCUMULATED, 0),
                                          PLAIN("early sum", GREC_COUNTER_ACCUMULATED, GREC_COUNTER_SAMPLED)};
    for (size_t i = 0; i < 2; i++) grec_counter_add(&early[i], 100);
    start_recording(*state, "child.trace", no_options);
    add(&plain, 100);
    add(&summed, 100);
    sample();
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        add(&plain, 1);
        add(&summed, 2);
        sample();
        add(&summed, 3);
        for (size_t i = 0; i < 2; i++) add(&early[i], 1);
        sample();
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    add(&plain, 10);
    add(&summed, 20);
    sample();
    const struct recorded *recorded = stop_and_read_whole(*state, "child.trace");
    const struct profile *profile = &recorded->profile;
    assert_int_equal(profile->counters.count, 6);
    for (size_t i = 0; i < 6; i++) {
        const struct counter *counter = column_at(&profile->counters, i);
        bool is_child = profile_process_at(profile, counter->process)->pid == child;
        bool is_sum = counter->graph == COUNTER_RATE;
        int64_t sum = 0;
        for (size_t j = 0; j < counter->samples.count; j++)
            sum += ((const struct counter_sample *)column_at(&counter->samples, j))->change;
        assert_int_equal(sum, is_child ? (is_sum ? 5 : 1) : (is_sum ? 120 : 110));
    }
}

int main(void) { return unit_tests_run(NULL, NULL); }
