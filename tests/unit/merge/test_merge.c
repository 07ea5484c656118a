/* Tests merging the profiles of several inputs: their places on the timeline, which processes and threads are the same,
 * and that every row arrives. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libconvert/base/memory.h"
#include "libconvert/merge/merge.h"
#include "libconvert/profile/cut_stacks.h"
#include "tests/support/assert_text.h"
#include "tests/support/counter_samples.h"
#include "tests/support/full_profile.h"
#include "tests/support/marker_value.h"
#include "tests/support/profile_check.h"
#include "tests/support/unit_test.h"

enum { INPUT_COUNT = 3 };
static const int64_t SECOND_NS = 1000000000;
static const int64_t EPOCH_NS = INT64_C(1700000000000000000);

static struct failure failure;
static struct merge merge;
static struct profile whole;

static int begin(void **state) {
    static const char *const names[INPUT_COUNT] = {"a.trace", "b.trace", "perf.data"};
    failure_clear(&failure);
    merge_init(&merge, INPUT_COUNT, &failure);
    profile_init(&whole, &failure);
    for (size_t i = 0; i < INPUT_COUNT; i++) {
        merge.inputs[i].name = text_of(names[i]);
        merge.inputs[i].is_recorder = i < 2;
    }
    return 0;
}

static int end(void **state) {
    profile_fini(&whole);
    merge_fini(&merge);
    return 0;
}

/* ---- Making inputs. ---- */

static struct profile *part(size_t input) { return &merge.inputs[input].profile; }

static void set_clock(size_t input, bool is_monotonic, int64_t epoch_ns, const char *boot_id) {
    part(input)->meta.is_clock_monotonic = is_monotonic;
    part(input)->meta.epoch_offset_ns = epoch_ns;
    part(input)->meta.boot_id = text_of(boot_id);
}

static struct process *add_process(size_t input, int64_t pid, int64_t start_ns, int64_t end_ns) {
    process_id id = profile_add_process(part(input), pid, 0);
    struct process *process = profile_process_at(part(input), id);
    process->start_ns = start_ns;
    process->end_ns = end_ns;
    return process;
}

/* Adds a thread to the last process of the input. */
static struct thread *add_thread(size_t input, int64_t tid, int64_t start_ns, int64_t end_ns) {
    process_id process = {(uint32_t)part(input)->processes.count - 1};
    struct thread *thread = profile_thread_at(part(input), profile_add_thread(part(input), process, tid, 0));
    thread->start_ns = start_ns;
    thread->end_ns = end_ns;
    return thread;
}

static stack_id stack_of(size_t input, const char *function) {
    struct profile *profile = part(input);
    frame_id frame = profile_named_frame(profile, text_of(function), (struct category_pair){0});
    return profile_stack(profile, stack_none(), frame);
}

static void add_sample(size_t input, struct thread *thread, int64_t time_ns, const char *function) {
    thread_add_sample(thread, time_ns, stack_of(input, function), 1);
    ledger_read(&part(input)->ledger, LEDGER_SAMPLES, 1);
    ledger_enter(&part(input)->ledger, LEDGER_SAMPLES, LEDGER_KEPT, TEXT("sample"), 1, NULL);
}

static void add_marker(size_t input, struct thread *thread, int64_t time_ns, const char *name) {
    struct marker marker = {.start_ns = time_ns,
                            .end_ns = time_ns,
                            .name = profile_string(part(input), text_of(name)),
                            .stack = stack_none(),
                            .schema = MARKER_SCHEMA_NONE};
    profile_add_marker(part(input), thread, marker, NULL);
}

/* Adds a process whose main thread has one sample, at the given time. */
static struct process *add_simple(size_t input, int64_t pid, int64_t time_ns, const char *function) {
    struct process *process = add_process(input, pid, TIME_NONE, TIME_NONE);
    add_sample(input, add_thread(input, pid, TIME_NONE, TIME_NONE), time_ns, function);
    return process;
}

/* ---- Looking at the result. ---- */

static void run(void) {
    merge_run(&merge, &whole);
    profile_finish(&whole);
    assert_string_equal(failure.message, "");
    assert_null(profile_fault(&whole));
    assert_true(ledger_is_balanced(&whole.ledger));
}

static void assert_samples(const char *expected) { assert_printed(profile_samples_text(&whole), expected); }

static void assert_timeline(size_t input, enum gecko_convert_timeline timeline, int64_t offset_ns) {
    assert_int_equal(merge.inputs[input].timeline, timeline);
    assert_int_equal(merge.inputs[input].offset_ns, offset_ns);
}

static uint64_t lost_samples(void) { return ledger_sum(&whole.ledger, LEDGER_SAMPLES, LEDGER_LOST); }

/* ---- The timeline. ---- */

TEST(test_monotonic_clocks_are_one, begin, end) {
    set_clock(0, true, EPOCH_NS, "");
    set_clock(1, true, EPOCH_NS + SECOND_NS, "");
    set_clock(2, true, 0, "");
    add_simple(0, 1, 5 * SECOND_NS, "a");
    add_simple(1, 2, 6 * SECOND_NS, "b");
    add_simple(2, 3, 7 * SECOND_NS, "c");
    run();
    for (size_t i = 0; i < INPUT_COUNT; i++) assert_timeline(i, GECKO_CONVERT_TIMELINE_CLOCK, 0);
    assert_samples(
        "1/1 thread 1 0 1 a\n"
        "2/2 thread 2 1000000000 1 b\n"
        "3/3 thread 3 2000000000 1 c\n");
    assert_true(whole.meta.is_clock_monotonic);
    assert_int_equal(whole.meta.start_time_ms, (EPOCH_NS + 5 * SECOND_NS) / 1000000);
}

TEST(test_other_boots_are_placed_by_the_time_of_day, begin, end) {
    set_clock(0, true, EPOCH_NS, "boot 1");
    set_clock(1, true, EPOCH_NS + 100 * SECOND_NS, "boot 2");
    set_clock(2, true, EPOCH_NS - 50 * SECOND_NS, "");
    add_simple(0, 7, 5 * SECOND_NS, "a");
    add_simple(1, 7, 6 * SECOND_NS, "b");
    add_simple(2, 7, 60 * SECOND_NS, "c");
    run();
    assert_timeline(0, GECKO_CONVERT_TIMELINE_CLOCK, 0);
    assert_timeline(1, GECKO_CONVERT_TIMELINE_TIME_OF_DAY, 100 * SECOND_NS);
    assert_timeline(2, GECKO_CONVERT_TIMELINE_TIME_OF_DAY, -50 * SECOND_NS);
    assert_string_equal(merge.inputs[1].remark, "");
    assert_string_equal(merge.inputs[2].remark,
                        "its clock disagrees with that of a.trace by 50 s: taken for another boot, by the time of day");
    assert_samples(
        "7/7 thread 7 0 1 a\n"
        "7.2/7 thread 7 101000000000 1 b\n"
        "7.3/7 thread 7 5000000000 1 c\n");
}

TEST(test_another_clock_is_placed_by_the_time_of_day, begin, end) {
    set_clock(0, true, EPOCH_NS, "");
    set_clock(1, true, EPOCH_NS, "");
    set_clock(2, false, EPOCH_NS - SECOND_NS, "");
    add_simple(0, 7, 5 * SECOND_NS, "a");
    add_simple(2, 7, 7 * SECOND_NS, "c");
    run();
    assert_timeline(2, GECKO_CONVERT_TIMELINE_TIME_OF_DAY, -SECOND_NS);
    assert_samples(
        "7/7 thread 7 0 1 a\n"
        "7/7 thread 7 1000000000 1 c\n");
}

TEST(test_unknown_clocks_begin_with_the_timeline, begin, end) {
    set_clock(0, true, EPOCH_NS, "");
    set_clock(1, true, EPOCH_NS, "");
    add_simple(0, 7, 5 * SECOND_NS, "a");
    add_simple(1, 8, 6 * SECOND_NS, "b");
    add_simple(2, 7, 100 * SECOND_NS, "c");
    run();
    assert_timeline(2, GECKO_CONVERT_TIMELINE_APART, -95 * SECOND_NS);
    assert_samples(
        "7/7 thread 7 0 1 a\n"
        "8/8 thread 8 1000000000 1 b\n"
        "7.2/7 thread 7 0 1 c\n");
}

TEST(test_no_clock_is_known, begin, end) {
    add_simple(0, 7, 5 * SECOND_NS, "a");
    add_simple(1, 7, 60 * SECOND_NS, "b");
    add_simple(2, 7, 100 * SECOND_NS, "c");
    run();
    for (size_t i = 0; i < INPUT_COUNT; i++) assert_int_equal(merge.inputs[i].timeline, GECKO_CONVERT_TIMELINE_APART);
    assert_samples(
        "7/7 thread 7 0 1 a\n"
        "7.2/7 thread 7 0 1 b\n"
        "7.3/7 thread 7 0 1 c\n");
}

TEST(test_given_offsets, begin, end) {
    set_clock(0, true, EPOCH_NS, "");
    merge.inputs[1].alignment = (struct gecko_convert_alignment){GECKO_CONVERT_ALIGN_BY_OFFSET, -SECOND_NS};
    merge.inputs[2].alignment = (struct gecko_convert_alignment){GECKO_CONVERT_ALIGN_BY_OFFSET, 2 * SECOND_NS};
    add_simple(0, 1, 5 * SECOND_NS, "a");
    add_simple(1, 2, 6 * SECOND_NS, "b");
    add_simple(2, 1, 100 * SECOND_NS, "c");
    run();
    assert_timeline(1, GECKO_CONVERT_TIMELINE_GIVEN, -2 * SECOND_NS);
    assert_timeline(2, GECKO_CONVERT_TIMELINE_GIVEN, -93 * SECOND_NS);
    assert_samples(
        "1/1 thread 1 1000000000 1 a\n"
        "1/1 thread 1 3000000000 1 c\n"
        "2/2 thread 2 0 1 b\n");
}

TEST(test_all_offsets_are_given, begin, end) {
    for (size_t i = 0; i < INPUT_COUNT; i++) {
        merge.inputs[i].alignment =
            (struct gecko_convert_alignment){GECKO_CONVERT_ALIGN_BY_OFFSET, (int64_t)i * SECOND_NS};
        add_simple(i, (int64_t)i + 1, (int64_t)i * 77 * SECOND_NS, "a");
    }
    run();
    assert_samples(
        "1/1 thread 1 0 1 a\n"
        "2/2 thread 2 1000000000 1 a\n"
        "3/3 thread 3 2000000000 1 a\n");
}

TEST(test_a_clock_that_the_user_names, begin, end) {
    set_clock(0, true, EPOCH_NS, "");
    set_clock(1, true, EPOCH_NS, "");
    merge.inputs[2].alignment.kind = GECKO_CONVERT_ALIGN_MONOTONIC;
    add_simple(0, 1, 5 * SECOND_NS, "a");
    add_simple(2, 2, 6 * SECOND_NS, "c");
    run();
    assert_timeline(2, GECKO_CONVERT_TIMELINE_CLOCK, 0);
}

TEST(test_the_processor_counter_places_perf, begin, end) {
    set_clock(0, true, EPOCH_NS, "");
    set_clock(1, true, EPOCH_NS, "");
    /* At 2 GHz: 3 s after perf's base, the recorder's trace begins. */
    part(1)->meta.tick_relation =
        (struct tick_relation){.is_known = true, .base_ticks = 7000000000, .base_ns = 20 * SECOND_NS};
    part(2)->meta.tick_relation = (struct tick_relation){
        .is_known = true, .base_ticks = 1000000000, .base_ns = 5 * SECOND_NS, .multiplier = 1 << 9, .shift = 10};
    add_simple(1, 7, 21 * SECOND_NS, "recorded");
    add_simple(2, 7, 10 * SECOND_NS, "sampled");
    run();
    assert_timeline(2, GECKO_CONVERT_TIMELINE_TICKS, 12 * SECOND_NS);
    assert_samples(
        "7/7 thread 7 0 1 recorded\n"
        "7/7 thread 7 1000000000 1 sampled\n");
    assert_int_equal(whole.processes.count, 1);
}

TEST(test_impossible_ticks_place_nothing, begin, end) {
    set_clock(0, true, EPOCH_NS, "");
    set_clock(1, true, EPOCH_NS, "");
    part(0)->meta.tick_relation =
        (struct tick_relation){.is_known = true, .base_ticks = INT64_MAX, .base_ns = SECOND_NS};
    part(2)->meta.tick_relation =
        (struct tick_relation){.is_known = true, .base_ns = INT64_MAX, .multiplier = UINT32_MAX};
    add_simple(0, 7, SECOND_NS, "recorded");
    add_simple(2, 7, SECOND_NS, "sampled");
    run();
    assert_int_equal(merge.inputs[2].timeline, GECKO_CONVERT_TIMELINE_APART);
}

static void set_one_clock(void) {
    for (size_t i = 0; i < INPUT_COUNT; i++) set_clock(i, true, EPOCH_NS, "");
}

/* perf's clock is 10 s behind. The recorder notices each start 20 us late, and stops 30 us before the end. */
static void add_same_events(int64_t behind_ns) {
    set_clock(0, true, EPOCH_NS, "");
    set_clock(1, true, EPOCH_NS, "");
    add_process(0, 7, 20 * SECOND_NS, 30 * SECOND_NS - 30000);
    add_marker(0, add_thread(0, 7, 20 * SECOND_NS, TIME_NONE), 21 * SECOND_NS, "mark");
    add_thread(0, 8, 25 * SECOND_NS + 20000, TIME_NONE);
    add_process(2, 7, TIME_NONE, 30 * SECOND_NS - behind_ns);
    add_sample(2, add_thread(2, 7, TIME_NONE, 30 * SECOND_NS - behind_ns), 22 * SECOND_NS - behind_ns, "c");
    add_thread(2, 8, 25 * SECOND_NS - 10 * SECOND_NS, TIME_NONE);
}

TEST(test_events_of_both_inputs_place_one, begin, end) {
    add_same_events(10 * SECOND_NS);
    run();
    assert_timeline(2, GECKO_CONVERT_TIMELINE_EVENTS, 10 * SECOND_NS - 5000);
    assert_samples("7/7 thread 7 999995000 1 c\n");
    assert_int_equal(whole.threads.count, 2);
}

TEST(test_vague_events_are_remarked_on, begin, end) {
    add_same_events(5 * SECOND_NS);
    run();
    /* The start of thread 8 says 10 s; the end of the process says 5 s. */
    assert_int_equal(merge.inputs[2].timeline, GECKO_CONVERT_TIMELINE_EVENTS);
    assert_string_equal(merge.inputs[2].remark, "its times may be wrong by 2500 ms");
}

TEST(test_guessed_starts_are_no_events, begin, end) {
    set_one_clock();
    set_clock(2, false, 0, "");
    part(2)->meta.are_starts_guessed = true;
    add_process(0, 7, 20 * SECOND_NS, TIME_NONE);
    add_marker(0, add_thread(0, 7, 20 * SECOND_NS, TIME_NONE), 21 * SECOND_NS, "mark");
    add_process(2, 7, TIME_NONE, TIME_NONE);
    add_sample(2, add_thread(2, 7, 15 * SECOND_NS, TIME_NONE), 15 * SECOND_NS, "c");
    run();
    assert_int_equal(merge.inputs[2].timeline, GECKO_CONVERT_TIMELINE_APART);
    assert_int_equal(whole.processes.count, 2);
}

TEST(test_impossible_events_place_nothing, begin, end) {
    add_same_events(11 * SECOND_NS);
    run();
    assert_int_equal(merge.inputs[2].timeline, GECKO_CONVERT_TIMELINE_APART);
    assert_string_equal(merge.inputs[2].remark, "starts and ends of tasks contradict those in a.trace by 999 ms");
    assert_int_equal(whole.processes.count, 2);
}

/* ---- The recordings. ---- */

TEST(test_the_recordings_are_one, begin, end) {
    set_one_clock();
    part(0)->recording = (struct recording_times){10 * SECOND_NS, 14 * SECOND_NS, 20 * SECOND_NS};
    part(1)->recording = (struct recording_times){11 * SECOND_NS, 13 * SECOND_NS, 30 * SECOND_NS};
    for (size_t i = 0; i < INPUT_COUNT; i++) add_simple(i, 1 + (int64_t)i, 15 * SECOND_NS, "run");
    run();
    assert_samples(
        "1/1 thread 1 5000000000 1 run\n"
        "2/2 thread 2 5000000000 1 run\n"
        "3/3 thread 3 5000000000 1 run\n");
    assert_int_equal(whole.start_ns, 3 * SECOND_NS);
    assert_int_equal(whole.end_ns, 20 * SECOND_NS);
}

/* An input that was merged itself may name any number. Joining them one by one once kept each start of the list. */
TEST(test_each_importer_is_named_once, begin, end) {
    enum { IMPORTER_COUNT = 4000, LIMIT_BYTES = 8 * 1024 * 1024 };
    static char importers[IMPORTER_COUNT * 16], expected[IMPORTER_COUNT * 16];
    static struct memory_limit limit;
    size_t used = 0;
    for (int i = 0; i < IMPORTER_COUNT; i++)
        used += (size_t)snprintf(importers + used, sizeof importers - used, "%sperf %d", i ? ", " : "", i);
    snprintf(expected, sizeof expected, "grec, perf 7, perf 0%s", importers + strlen("perf 0"));
    char *again = strstr(expected + strlen("grec, perf 7"), ", perf 7,");
    memmove(again, again + strlen(", perf 7"), strlen(again + strlen(", perf 7")) + 1);
    for (size_t i = 0; i < INPUT_COUNT; i++) add_simple(i, 1 + (int64_t)i, SECOND_NS, "run");
    part(0)->meta.imported_from = TEXT("grec, perf 7");
    part(1)->meta.imported_from = part(2)->meta.imported_from = text_of(importers);
    memory_limit_init(&limit, LIMIT_BYTES);
    failure.memory = &limit;
    run();
    failure.memory = NULL;
    assert_true(text_equal(whole.meta.imported_from, text_of(expected)));
}

/* The times of a recording are those of its clock. */
TEST(test_a_recording_of_another_boot, begin, end) {
    set_clock(0, true, EPOCH_NS, "boot");
    set_clock(1, true, EPOCH_NS + 100 * SECOND_NS, "other boot");
    for (size_t i = 0; i < 2; i++) {
        part(i)->recording = (struct recording_times){TIME_NONE, 10 * SECOND_NS, 20 * SECOND_NS};
        add_simple(i, 1 + (int64_t)i, 15 * SECOND_NS, "run");
    }
    run();
    assert_samples(
        "1/1 thread 1 5000000000 1 run\n"
        "2/2 thread 2 105000000000 1 run\n");
    assert_int_equal(whole.start_ns, 0);
    assert_int_equal(whole.end_ns, 110 * SECOND_NS);
}

/* perf may begin before the recorder. */
TEST(test_events_before_the_recording, begin, end) {
    set_one_clock();
    part(0)->recording = (struct recording_times){10 * SECOND_NS, 14 * SECOND_NS, 20 * SECOND_NS};
    add_simple(0, 1, 15 * SECOND_NS, "run");
    add_simple(2, 2, 9 * SECOND_NS, "start");
    run();
    assert_samples(
        "1/1 thread 1 6000000000 1 run\n"
        "2/2 thread 2 0 1 start\n");
    assert_int_equal(whole.start_ns, 0);
}

/* ---- The same processes and threads. ---- */

static void add_same_thread(void) {
    set_one_clock();
    struct process *process = add_process(0, 7, 20 * SECOND_NS, 30 * SECOND_NS);
    process->name = TEXT("server");
    struct thread *recorded = add_thread(0, 7, 20 * SECOND_NS, 30 * SECOND_NS);
    recorded->name = TEXT("main loop");
    add_sample(0, recorded, 21 * SECOND_NS, "recorded");
    add_sample(0, recorded, 22 * SECOND_NS, "recorded");
    add_marker(0, recorded, 21 * SECOND_NS, "mark");
    add_process(2, 7, TIME_NONE, TIME_NONE);
    struct thread *sampled = add_thread(2, 7, TIME_NONE, TIME_NONE);
    sampled->name = TEXT("comm");
    add_sample(2, sampled, 21 * SECOND_NS, "sampled");
    part(2)->recording.end_ns = 30 * SECOND_NS;
}

TEST(test_a_thread_has_samples_of_perf_and_markers_of_the_recorder, begin, end) {
    add_same_thread();
    run();
    assert_samples("7/7 main loop 0 1 sampled\n");
    const struct thread *thread = profile_thread_at(&whole, (thread_id){0});
    assert_int_equal(whole.threads.count, 1);
    assert_int_equal(thread->markers.count, 1);
    assert_int_equal(lost_samples(), 2);
    struct profile_text *ledger = ledger_entries_text(&whole.ledger);
    assert_non_null(
        strstr(ledger->bytes, "samples lost 2 a.trace: sample of the recorder in a thread that perf sampled\n"));
    free(ledger);
}

/* Nothing but perf has samples of the time in which the recording is paused. */
TEST(test_samples_of_perf_stay_while_the_recorder_is_paused, begin, end) {
    add_same_thread();
    profile_add_paused_range(part(0), (process_id){0}, TIME_NONE, 20 * SECOND_NS + 5);
    profile_add_paused_range(part(0), (process_id){0}, 23 * SECOND_NS, 25 * SECOND_NS);
    profile_add_paused_range(part(0), (process_id){0}, 28 * SECOND_NS, TIME_NONE);
    struct thread *sampled = profile_thread_at(part(2), (thread_id){0});
    for (int64_t second = 20; second <= 30; second++) add_sample(2, sampled, second * SECOND_NS, "again");
    merge.samples = GECKO_CONVERT_SAMPLES_RECORDER;
    run();
    assert_samples(
        "7/7 main loop 0 1 again\n"
        "7/7 main loop 1000000000 1 recorded\n"
        "7/7 main loop 2000000000 1 recorded\n"
        "7/7 main loop 4000000000 1 again\n"
        "7/7 main loop 9000000000 1 again\n"
        "7/7 main loop 10000000000 1 again\n");
    assert_int_equal(lost_samples(), 8);
}

/* perf was attached for a second, and stopped 40 ms before the last sample of the recorder. */
TEST(test_perf_replaces_samples_while_it_records, begin, end) {
    add_same_thread();
    part(2)->recording.end_ns = 22 * SECOND_NS - 40000000;
    part(2)->meta.interval_ns = 30000000;
    run();
    assert_samples(
        "7/7 main loop 0 1 sampled\n"
        "7/7 main loop 1000000000 1 recorded\n");
    assert_int_equal(lost_samples(), 1);
}

TEST(test_samples_of_the_recorder_on_request, begin, end) {
    merge.samples = GECKO_CONVERT_SAMPLES_RECORDER;
    add_same_thread();
    run();
    assert_samples(
        "7/7 main loop 0 1 recorded\n"
        "7/7 main loop 1000000000 1 recorded\n");
    assert_int_equal(lost_samples(), 1);
}

/* The thread executes a program that the recorder does not record, while another process goes on. */
TEST(test_the_recorder_replaces_samples_while_a_thread_lives, begin, end) {
    merge.samples = GECKO_CONVERT_SAMPLES_RECORDER;
    add_same_thread();
    profile_thread_at(part(0), (thread_id){0})->end_ns = 22 * SECOND_NS;
    add_sample(2, profile_thread_at(part(2), (thread_id){0}), 25 * SECOND_NS, "executed");
    part(0)->recording.end_ns = 30 * SECOND_NS;
    run();
    assert_samples(
        "7/7 main loop 0 1 recorded\n"
        "7/7 main loop 1000000000 1 recorded\n"
        "7/7 main loop 4000000000 1 executed\n");
    assert_int_equal(lost_samples(), 1);
}

TEST(test_whole_stacks_of_the_recorder_are_better_than_cut_ones, begin, end) {
    add_same_thread();
    ledger_enter(&merge.inputs[2].profile.ledger, LEDGER_SAMPLES, LEDGER_NOTED, TEXT(CUT_STACKS_CAUSE "advice"), 1,
                 NULL);
    run();
    assert_samples(
        "7/7 main loop 0 1 recorded\n"
        "7/7 main loop 1000000000 1 recorded\n");
}

TEST(test_cut_stacks_of_perf_on_request, begin, end) {
    merge.samples = GECKO_CONVERT_SAMPLES_PERF;
    add_same_thread();
    ledger_enter(&merge.inputs[2].profile.ledger, LEDGER_SAMPLES, LEDGER_NOTED, TEXT(CUT_STACKS_CAUSE "advice"), 1,
                 NULL);
    run();
    assert_samples("7/7 main loop 0 1 sampled\n");
}

TEST(test_reused_pids_are_two_processes, begin, end) {
    set_one_clock();
    /* The first process was killed, so the recorder does not know its end. */
    add_process(0, 7, 10 * SECOND_NS + 5000000, TIME_NONE);
    add_marker(0, add_thread(0, 7, TIME_NONE, TIME_NONE), 11 * SECOND_NS, "first");
    add_process(0, 7, 20 * SECOND_NS + 5000000, TIME_NONE);
    add_marker(0, add_thread(0, 7, TIME_NONE, TIME_NONE), 21 * SECOND_NS, "second");
    add_process(2, 7, 10 * SECOND_NS, 15 * SECOND_NS);
    add_sample(2, add_thread(2, 7, TIME_NONE, TIME_NONE), 11 * SECOND_NS, "first");
    add_process(2, 7, 20 * SECOND_NS, 25 * SECOND_NS);
    add_sample(2, add_thread(2, 7, TIME_NONE, TIME_NONE), 21 * SECOND_NS, "second");
    run();
    assert_samples(
        "7/7 thread 7 0 1 first\n"
        "7.2/7 thread 7 10000000000 1 second\n");
    for (uint32_t i = 0; i < 2; i++) assert_int_equal(profile_thread_at(&whole, (thread_id){i})->markers.count, 1);
}

TEST(test_a_process_that_executes_another_program_is_one, begin, end) {
    set_one_clock();
    static struct command_line launcher, program;
    struct process *first = add_process(0, 7, 10 * SECOND_NS, TIME_NONE);
    first->is_replaced = true;
    first->command_line = &launcher;
    add_marker(0, add_thread(0, 7, TIME_NONE, TIME_NONE), 11 * SECOND_NS, "before");
    add_process(0, 7, 20 * SECOND_NS, TIME_NONE)->command_line = &program;
    add_marker(0, add_thread(0, 7, TIME_NONE, TIME_NONE), 21 * SECOND_NS, "after");
    add_process(2, 7, 9 * SECOND_NS, 25 * SECOND_NS);
    add_sample(2, add_thread(2, 7, 9 * SECOND_NS, 25 * SECOND_NS), 12 * SECOND_NS, "run");
    run();
    assert_samples("7/7 thread 7 1000000000 1 run\n");
    assert_int_equal(profile_thread_at(&whole, (thread_id){0})->markers.count, 2);
    assert_ptr_equal(profile_process_at(&whole, (process_id){0})->command_line, &program);
}

TEST(test_two_traces_of_one_process, begin, end) {
    set_one_clock();
    for (size_t i = 0; i < 2; i++) {
        int64_t time_ns = (20 + 10 * (int64_t)i) * SECOND_NS;
        add_process(i, 7, 10 * SECOND_NS, TIME_NONE);
        add_sample(i, add_thread(i, 7, time_ns, TIME_NONE), time_ns, "run");
    }
    run();
    assert_samples(
        "7/7 thread 7 0 1 run\n"
        "7/7 thread 7 10000000000 1 run\n");
}

/* Traces of two runs of "app", the second in the seconds 20 to 21. */
static void add_runs(int64_t second_pid, int64_t first_end_s) {
    set_one_clock();
    for (size_t i = 0; i < 2; i++) {
        int64_t start_ns = (i ? 20 : 10) * SECOND_NS, end_ns = i ? 21 * SECOND_NS : first_end_s * SECOND_NS;
        struct process *process = add_process(i, i ? second_pid : 7, start_ns, end_ns);
        process->name = TEXT("app");
        struct thread *thread = add_thread(i, process->pid, start_ns, end_ns);
        add_sample(i, thread, start_ns, "run");
        add_sample(i, thread, end_ns, "run");
    }
}

TEST(test_two_runs_of_a_program_are_refused, begin, end) {
    add_runs(8, 11);
    merge_run(&merge, &whole);
    assert_int_equal(failure.code, FAILURE_USAGE);
    assert_string_equal(failure.message,
                        "b.trace is a later run of app than a.trace: name one of them, make a profile of each with "
                        "--output-dir DIR, or say where one begins with --align FILE=OFFSET");
}

TEST(test_runs_of_one_session_are_one_profile, begin, end) {
    enum { OVERLAP, ONE_PROCESS, BRIDGE, OTHER_PROGRAM, GIVEN, CASE_COUNT };
    for (int i = 0; i < CASE_COUNT; i++) {
        end(NULL);
        begin(NULL);
        add_runs(i == ONE_PROCESS ? 7 : 8, i == OVERLAP ? 20 : 11);
        if (i == BRIDGE) add_simple(2, 99, 11 * SECOND_NS, "first");
        if (i == BRIDGE) add_simple(2, 98, 20 * SECOND_NS, "last");
        if (i == OTHER_PROGRAM) profile_process_at(part(1), (process_id){0})->name = TEXT("other");
        if (i == GIVEN) merge.inputs[1].alignment.kind = GECKO_CONVERT_ALIGN_MONOTONIC;
        run();
    }
}

/* The recorder does not see how a process ends that has stopped recording. perf may. */
TEST(test_a_process_that_outlives_its_recording, begin, end) {
    static const struct {
        int64_t perf_end_ns;
        int64_t shutdown_ns;
    } cases[] = {{TIME_NONE, TIME_NONE}, {INT64_C(25000000000), INT64_C(14000000000)}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        end(NULL);
        begin(NULL);
        set_one_clock();
        add_process(0, 7, 10 * SECOND_NS, 20 * SECOND_NS)->lives_on = true;
        add_marker(0, add_thread(0, 7, TIME_NONE, TIME_NONE), 11 * SECOND_NS, "mark");
        add_process(2, 7, 9 * SECOND_NS, cases[i].perf_end_ns);
        add_sample(2, add_thread(2, 7, TIME_NONE, TIME_NONE), 12 * SECOND_NS, "run");
        run();
        assert_int_equal(process_shutdown_ns(profile_process_at(&whole, (process_id){0})), cases[i].shutdown_ns);
    }
}

TEST(test_lives_that_overlap_are_kept_apart, begin, end) {
    set_one_clock();
    add_process(0, 7, 10 * SECOND_NS, 30 * SECOND_NS);
    add_sample(0, add_thread(0, 7, TIME_NONE, TIME_NONE), 11 * SECOND_NS, "a");
    add_process(1, 7, 20 * SECOND_NS, 30 * SECOND_NS);
    add_sample(1, add_thread(1, 7, TIME_NONE, TIME_NONE), 21 * SECOND_NS, "b");
    run();
    assert_samples(
        "7/7 thread 7 0 1 a\n"
        "7.2/7 thread 7 10000000000 1 b\n");
    assert_int_equal(ledger_sum(&whole.ledger, LEDGER_RECORDS, LEDGER_NOTED), 1);
}

TEST(test_namespaces_tell_processes_apart, begin, end) {
    set_one_clock();
    add_simple(0, 7, 10 * SECOND_NS, "a")->pid_namespace = 4026531836;
    add_simple(1, 7, 10 * SECOND_NS, "b")->pid_namespace = 4026532000;
    add_simple(2, 7, 10 * SECOND_NS, "c"); /* unknown: the initial one */
    run();
    assert_samples(
        "7/7 thread 7 0 1 c\n"
        "7.2/7 thread 7 0 1 b\n");
}

/* The recorder in a container knows the pids that perf on the host sees. */
TEST(test_a_container_that_perf_sees_from_outside, begin, end) {
    set_one_clock();
    struct process *inner = add_process(0, 7, 10 * SECOND_NS, TIME_NONE);
    inner->pid_namespace = inner->home_namespace = 4026532000;
    inner->outer_pid = 4711;
    add_marker(0, add_thread(0, 7, TIME_NONE, TIME_NONE), 11 * SECOND_NS, "main");
    struct thread *worker = add_thread(0, 8, TIME_NONE, TIME_NONE);
    worker->outer_tid = 4712;
    add_marker(0, worker, 11 * SECOND_NS, "worker");
    add_marker(0, add_thread(0, 9, TIME_NONE, TIME_NONE), 11 * SECOND_NS, "sampled alone");
    add_process(2, 4711, 9 * SECOND_NS, TIME_NONE)->home_namespace = 4026532000;
    add_sample(2, add_thread(2, 4711, TIME_NONE, TIME_NONE), 11 * SECOND_NS, "main");
    add_sample(2, add_thread(2, 4712, TIME_NONE, TIME_NONE), 12 * SECOND_NS, "worker");
    add_sample(2, add_thread(2, 9, TIME_NONE, TIME_NONE), 12 * SECOND_NS, "other");
    /* Pids of the container are others on the host. */
    add_process(2, 7, 9 * SECOND_NS, TIME_NONE)->home_namespace = 4026531836;
    add_sample(2, add_thread(2, 7, TIME_NONE, TIME_NONE), 12 * SECOND_NS, "of the host");
    run();
    assert_int_equal(whole.processes.count, 2);
    assert_int_equal(whole.threads.count, 5);
    for (uint32_t i = 0; i < 2; i++) {
        const struct thread *thread = profile_thread_at(&whole, (thread_id){i});
        assert_int_equal(thread->markers.count, 1);
        assert_int_equal(samples_count(&thread->samples), 1);
    }
}

/* The outer pid belongs to another process, which is in another namespace: it is that of another container's host. */
TEST(test_an_outer_pid_in_another_namespace, begin, end) {
    set_one_clock();
    struct process *inner = add_simple(0, 7, 10 * SECOND_NS, "a");
    inner->pid_namespace = inner->home_namespace = 4026532000;
    inner->outer_pid = 4711;
    add_simple(2, 4711, 10 * SECOND_NS, "b")->home_namespace = 4026531836;
    run();
    assert_int_equal(whole.processes.count, 2);
}

TEST(test_an_ambiguous_namespace_equals_none, begin, end) {
    set_one_clock();
    add_simple(0, 7, 10 * SECOND_NS, "a")->pid_namespace = 4026532001;
    add_simple(1, 7, 10 * SECOND_NS, "b")->pid_namespace = 4026532002;
    add_simple(2, 7, 10 * SECOND_NS, "c");
    run();
    assert_int_equal(whole.processes.count, 3);
}

/* ---- Rows. ---- */

TEST(test_everything_arrives, begin, end) {
    build_full_profile(part(0));
    uint32_t slot_count = part(0)->payloads.slots.count;
    uint32_t cell_count = part(0)->payloads.cells.count;
    for (size_t i = 1; i < INPUT_COUNT; i++) build_full_profile(part(i));
    for (size_t i = 0; i < INPUT_COUNT; i++)
        part(i)->meta.boot_id = text_of(i == 0 ? "boot 1" : i == 1 ? "boot 2" : "boot 3");
    uint32_t stack_count = stack_table_count(&part(0)->stacks), frame_count = row_table_count(&part(0)->frames);
    run();
    assert_int_equal(whole.processes.count, INPUT_COUNT * 4);
    assert_int_equal(whole.threads.count, INPUT_COUNT * 4);
    assert_int_equal(whole.marker_schemas.count, 1);
    assert_int_equal(stack_table_count(&whole.stacks), stack_count);
    assert_int_equal(row_table_count(&whole.frames), frame_count);
    assert_int_equal(whole.payloads.first_slot, INPUT_COUNT * slot_count);
    assert_int_equal(whole.payloads.first_cell, INPUT_COUNT * cell_count);
    assert_int_equal(whole.paused_ranges.count, INPUT_COUNT * 3);
    assert_int_equal(whole.profiling_log.count, INPUT_COUNT * 7);
    assert_int_equal(whole.counters.count, INPUT_COUNT * 4);
    assert_true(text_equal(whole.meta.product, TEXT("app")));
}

static void add_schema(size_t input, struct thread *thread, const char *label) {
    struct marker_field field = {.key = TEXT("value"), .label = text_of(label), .format = MARKER_UNIQUE_STRING};
    struct marker_schema schema = {.name = TEXT("Request"), .fields = &field, .field_count = 1};
    union marker_value value = {.string = profile_string(part(input), text_of(label))};
    struct marker marker = {.start_ns = SECOND_NS,
                            .end_ns = SECOND_NS,
                            .name = profile_string(part(input), TEXT("request")),
                            .stack = stack_none(),
                            .schema = profile_take_marker_schema(part(input), &schema)};
    profile_add_marker(part(input), thread, marker, &value);
}

TEST(test_equal_definitions_are_one, begin, end) {
    static const char *const labels[INPUT_COUNT] = {"Value", "Value", "Other"};
    set_one_clock();
    for (size_t i = 0; i < INPUT_COUNT; i++) {
        profile_string(part(i), text_of(labels[INPUT_COUNT - 1 - i])); /* the inputs number strings differently */
        add_process(i, (int64_t)i + 1, TIME_NONE, TIME_NONE);
        add_schema(i, add_thread(i, (int64_t)i + 1, TIME_NONE, TIME_NONE), labels[i]);
        categories_intern(&part(i)->categories, TEXT("I/O"), i == 2 ? COLOR_RED : COLOR_BLUE, TEXT(""));
    }
    run();
    assert_int_equal(whole.marker_schemas.count, 2);
    for (uint32_t i = 0; i < INPUT_COUNT; i++) {
        const struct marker *marker = column_at(&profile_thread_at(&whole, (thread_id){i})->markers, 0);
        const struct marker_schema *schema = column_at(&whole.marker_schemas, marker->schema);
        assert_true(text_equal(schema->name, i == 2 ? TEXT("Request (variant 2)") : TEXT("Request")));
        assert_true(text_equal(strings_text(&whole.strings, value_of(&whole, marker, 0).string), text_of(labels[i])));
    }
    size_t category_count = whole.categories.rows.count;
    assert_true(text_equal(categories_at(&whole.categories, category_count - 2)->name, TEXT("I/O")));
    assert_true(text_equal(categories_at(&whole.categories, category_count - 1)->name, TEXT("I/O (variant 2)")));
}

/* Each variant is compared with all others, so their number is limited. */
TEST(test_payloads_of_too_many_variants_are_lost, begin, end) {
    enum { VARIANT_COUNT = 60, ROOM = 100 };
    static char labels[INPUT_COUNT][VARIANT_COUNT][32];
    set_one_clock();
    for (size_t i = 0; i < INPUT_COUNT; i++) {
        add_process(i, (int64_t)i + 1, TIME_NONE, TIME_NONE);
        struct thread *thread = add_thread(i, (int64_t)i + 1, TIME_NONE, TIME_NONE);
        for (int j = 0; j < VARIANT_COUNT; j++) {
            snprintf(labels[i][j], sizeof labels[i][j], "%d of %zu", j, i);
            add_schema(i, thread, labels[i][j]);
        }
    }
    run();
    assert_int_equal(whole.marker_schemas.count, ROOM);
    for (uint32_t i = 0; i < INPUT_COUNT; i++)
        assert_int_equal(profile_thread_at(&whole, (thread_id){i})->markers.count, VARIANT_COUNT);
    assert_int_equal(ledger_sum(&whole.ledger, LEDGER_VALUES, LEDGER_LOST), INPUT_COUNT * VARIANT_COUNT - ROOM);
}

/* Numbers and texts of each input are kept in different ways by their sizes. */
TEST(test_values_of_all_inputs, begin, end) {
    static const struct decimal numbers[] = {
        {.mantissa = INT64_MAX}, {.mantissa = -1}, {.mantissa = INT64_MIN, .scale = 18}, {.mantissa = 25, .scale = 1}};
    static const struct marker_field fields[] = {
        {.key = TEXT("text"), .format = MARKER_STRING},  {.key = TEXT("first"), .format = MARKER_DECIMAL},
        {.key = TEXT("time"), .format = MARKER_TIME},    {.key = TEXT("second"), .format = MARKER_DECIMAL},
        {.key = TEXT("none"), .format = MARKER_DECIMAL}, {.key = TEXT("real"), .format = MARKER_DECIMAL}};
    static const struct marker_schema schema = {.name = TEXT("Values"), .fields = fields, .field_count = 6};
    set_one_clock();
    for (size_t i = 0; i < INPUT_COUNT; i++) {
        const union marker_value values[] = {{.text = text_of(i ? "b" : "")},
                                             {.number = numbers[i]},
                                             {.time_ns = SECOND_NS},
                                             {.number = numbers[i + 1]},
                                             marker_value_absent(VALUE_NUMBER),
                                             marker_value_real(1e40 + (double)i)};
        struct marker marker = {.start_ns = SECOND_NS,
                                .end_ns = SECOND_NS,
                                .name = profile_string(part(i), TEXT("values")),
                                .stack = stack_none(),
                                .schema = profile_marker_schema(part(i), &schema)};
        add_process(i, (int64_t)i + 1, TIME_NONE, TIME_NONE);
        profile_add_marker(part(i), add_thread(i, (int64_t)i + 1, TIME_NONE, TIME_NONE), marker, values);
    }
    run();
    for (uint32_t i = 0; i < INPUT_COUNT; i++) {
        const struct marker *marker = column_at(&profile_thread_at(&whole, (thread_id){i})->markers, 0);
        const union marker_value none = value_of(&whole, marker, 4);
        assert_true(text_equal(value_of(&whole, marker, 0).text, text_of(i ? "b" : "")));
        for (uint32_t j = 0; j < 2; j++) {
            struct decimal number = value_of(&whole, marker, 1 + 2 * j).number;
            assert_true(number.mantissa == numbers[i + j].mantissa && number.scale == numbers[i + j].scale);
        }
        assert_true(marker_value_is_absent(VALUE_NUMBER, &none));
        assert_true(marker_value_real_of(value_of(&whole, marker, 5).number) == 1e40 + i);
    }
}

static void add_counter(size_t input, int64_t first_ns, int64_t value) {
    struct counter counter = {.process = {0},
                              .name = TEXT("queue"),
                              .category = TEXT("app"),
                              .description = TEXT(""),
                              .graph = COUNTER_ACCUMULATED};
    struct counter *row = profile_add_counter(part(input), &counter);
    counter_add_sample(row, first_ns, value, 0);
    counter_add_sample(row, first_ns + SECOND_NS, 1, 0);
}

TEST(test_a_counter_goes_on_in_the_next_trace, begin, end) {
    set_one_clock();
    for (size_t i = 0; i < 2; i++) {
        add_process(i, 7, 10 * SECOND_NS, TIME_NONE);
        add_marker(i, add_thread(i, 7, TIME_NONE, TIME_NONE), 20 * SECOND_NS, "mark");
    }
    add_counter(0, 30 * SECOND_NS, 100);
    add_counter(1, 20 * SECOND_NS, 50);
    run();
    assert_int_equal(whole.counters.count, 1);
    const struct counter *counter = column_at(&whole.counters, 0);
    int64_t value = 0;
    for (size_t i = 0; i < counter->samples.count; i++)
        value += ((const struct counter_sample *)column_at(&counter->samples, i))->change;
    assert_int_equal(value, 101);
}

TEST(test_counters_at_the_same_time_are_two, begin, end) {
    set_one_clock();
    for (size_t i = 0; i < 2; i++) {
        add_process(i, 7, 10 * SECOND_NS, TIME_NONE);
        add_marker(i, add_thread(i, 7, TIME_NONE, TIME_NONE), 20 * SECOND_NS, "mark");
        add_counter(i, (20 * SECOND_NS) + (int64_t)i, 1);
    }
    run();
    assert_int_equal(whole.counters.count, 2);
}

TEST(test_weights_of_different_things_are_refused, begin, end) {
    add_simple(0, 1, SECOND_NS, "a");
    add_simple(1, 2, SECOND_NS, "b");
    part(0)->meta.weight_type = WEIGHT_BYTES;
    part(1)->meta.weight_type = WEIGHT_SAMPLES;
    merge_run(&merge, &whole);
    assert_int_equal(failure.code, FAILURE_INPUT);
    assert_string_equal(
        failure.message,
        "the weights of samples in a.trace and b.trace count different things: convert them one by one");
}

TEST(test_periods_become_processor_time, begin, end) {
    set_one_clock();
    add_simple(0, 1, SECOND_NS, "a");
    add_simple(2, 2, SECOND_NS, "c");
    part(2)->meta.cpu_delta_unit = CPU_DELTA_NS;
    samples_at(&profile_thread_at(part(2), (thread_id){0})->samples, 0)->weight = 1000000;
    run();
    assert_int_equal(whole.meta.cpu_delta_unit, CPU_DELTA_NONE);
    assert_int_equal(samples_cpu_ns(&profile_thread_at(&whole, (thread_id){1})->samples, 0), 1000000);
    assert_false(samples_have_cpu(&profile_thread_at(&whole, (thread_id){0})->samples));
}

static void set_interval(size_t input, int64_t interval_ns) {
    part(input)->meta.has_times = true;
    part(input)->meta.interval_ns = interval_ns;
}

TEST(test_samples_weigh_what_they_stand_for, begin, end) {
    set_one_clock();
    add_simple(0, 1, SECOND_NS, "a");
    add_simple(1, 2, SECOND_NS, "b");
    add_simple(2, 3, SECOND_NS, "c");
    set_interval(0, 1000000);
    set_interval(1, 500000);
    set_interval(2, 250000);
    part(2)->meta.cpu_delta_unit = CPU_DELTA_NS;
    samples_at(&profile_thread_at(part(2), (thread_id){0})->samples, 0)->weight = 200000;
    run();
    assert_int_equal(whole.meta.weight_type, WEIGHT_SAMPLES);
    assert_int_equal(whole.meta.interval_ns, 250000);
    assert_samples(
        "1/1 thread 1 0 4 a\n"
        "2/2 thread 2 0 2 b\n"
        "3/3 thread 3 0 1 c\n");
    assert_int_equal(samples_cpu_ns(&profile_thread_at(&whole, (thread_id){2})->samples, 0), 200000);
}

/* The recorder's samples are dropped, so their interval does not matter. */
TEST(test_interval_of_the_samples_that_stay, begin, end) {
    set_one_clock();
    add_simple(0, 1, SECOND_NS, "recorder");
    add_simple(2, 1, SECOND_NS, "perf");
    set_interval(0, 100000);
    set_interval(2, 250000);
    run();
    assert_int_equal(whole.meta.weight_type, WEIGHT_ONE);
    assert_int_equal(whole.meta.interval_ns, 250000);
    assert_samples("1/1 thread 1 0 1 perf\n");
}

/* The recorder samples a thread while it waits, too, unlike perf. An input without samples does not matter. */
TEST(test_samples_of_every_state, begin, end) {
    set_one_clock();
    add_simple(0, 1, SECOND_NS, "a");
    part(0)->meta.has_every_state = true;
    add_process(2, 2, TIME_NONE, TIME_NONE);
    run();
    assert_true(whole.meta.has_every_state);
}

TEST(test_samples_of_some_states, begin, end) {
    set_one_clock();
    add_simple(0, 1, SECOND_NS, "a");
    part(0)->meta.has_every_state = true;
    add_simple(2, 2, SECOND_NS, "c");
    run();
    assert_false(whole.meta.has_every_state);
}

TEST(test_large_weights, begin, end) {
    add_simple(0, 1, SECOND_NS, "a");
    add_simple(1, 2, SECOND_NS, "b");
    struct thread *thread = profile_thread_at(part(1), (thread_id){0});
    part(0)->meta.weight_type = part(1)->meta.weight_type = WEIGHT_SAMPLES;
    profile_weight_encode(&whole, (struct decimal){.mantissa = INT64_C(1) << 50});
    samples_at(&thread->samples, 0)->weight =
        profile_weight_encode(part(1), (struct decimal){.mantissa = INT64_C(1) << 40});
    run();
    assert_samples(
        "1/1 thread 1 0 1 a\n"
        "2/2 thread 2 0 1099511627776 b\n");
}

int main(void) { return unit_tests_run(NULL, NULL); }
