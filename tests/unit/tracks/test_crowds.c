/* Tests crowds: which threads and processes get one track, and what becomes of what they have. */
#include "libconvert/tracks/crowds.h"

#include <stdio.h>

#include "libconvert/base/memory.h"
#include "tests/support/assert_text.h"
#include "tests/support/marker_value.h"
#include "tests/support/profile_check.h"
#include "tests/support/profile_fixture.h"
#include "tests/support/unit_test.h"

static const int64_t MS = 1000000;

static struct thread *at(thread_id id) { return profile_thread_at(&profile, id); }

static int begin(void **state) {
    begin_profile(state);
    profile.meta.has_times = true;
    profile.meta.interval_ns = MS;
    return 0;
}

static process_id add_process(int64_t pid, const char *name, process_id parent) {
    process_id id = profile_add_process(&profile, pid, 0);
    profile_process_at(&profile, id)->name = text_of(name);
    profile_process_at(&profile, id)->parent = parent;
    return id;
}

/* Adds a thread with a sample, of which 1 ms is processor time, at its start and at its end. */
static thread_id add_thread(process_id process, int64_t tid, const char *name, int64_t start_ms, int64_t end_ms) {
    thread_id id = profile_add_thread(&profile, process, tid, 0);
    struct thread *thread = at(id);
    thread->name = text_of(name);
    thread->start_ns = start_ms * MS;
    thread->end_ns = end_ms * MS;
    for (int i = 0; i < 2; i++) {
        thread_add_sample(thread, i ? thread->end_ns : thread->start_ns, stack_none(), 1);
        samples_set_details(&thread->samples, MS, TIME_NONE);
    }
    return id;
}

/* Adds a process with a main thread. */
static process_id add_program(int64_t pid, const char *name, process_id parent, int64_t start_ms, int64_t end_ms) {
    process_id id = add_process(pid, name, parent);
    add_thread(id, pid, name, start_ms, end_ms);
    return id;
}

/* Adds threads that run for 8 ms, one after the other. */
static void add_requests(process_id process, int count, const char *format) {
    for (int i = 0; i < count; i++) {
        thread_id id = add_thread(process, 1000 + i, "", i * 10, i * 10 + 8);
        at(id)->name = profile_text_format(&profile, format, i);
    }
}

static void merge(const char *pattern) {
    profile_merge_crowds(&profile, pattern ? text_of(pattern) : (struct text){0});
    finish_profile();
    const char *fault = profile_fault(&profile);
    if (fault) fail_msg("%s", fault);
}

/* Compares the threads that are written with "NAME:SAMPLES/MARKERS NAME:SAMPLES/MARKERS ". */
static void assert_tracks(const char *expected) {
    char text[1024] = "";
    size_t used = 0;
    for (size_t i = 0; i < profile.thread_order.count; i++) {
        const struct thread *thread = profile_ordered_thread(&profile, i);
        used += (size_t)snprintf(text + used, sizeof text - used, "%.*s:%u/%u ", (int)thread->name.bytes_count,
                                 thread->name.bytes, samples_count(&thread->samples), thread->markers.count);
        assert_true(used < sizeof text);
    }
    assert_string_equal(text, expected);
}

static uint64_t noted(void) { return ledger_sum(&profile.ledger, LEDGER_RECORDS, LEDGER_NOTED); }

/* ---- Threads. ---- */

static int64_t cpu_of(const struct thread *track) {
    int64_t cpu_ns = 0;
    for (uint32_t i = 0; i < samples_count(&track->samples); i++) cpu_ns += samples_cpu_ns(&track->samples, i);
    return cpu_ns;
}

TEST(threads_that_follow_each_other_are_one_track, begin, end_profile) {
    add_requests(add_program(1, "server", process_none(), 0, 400), 31, "request");
    merge(NULL);
    assert_tracks("server:2/0 request and 30 more:62/31 ");
    const struct thread *track = profile_ordered_thread(&profile, 1);
    assert_int_equal(cpu_of(track), 62 * MS);
    assert_int_equal(track->start_ns, 0);
    assert_int_equal(track->end_ns, 308 * MS);
    assert_int_equal(track->merged_count, 30);
    assert_int_equal(noted(), 30);
}

TEST(each_member_is_a_marker, begin, end_profile) {
    add_requests(add_program(1, "server", process_none(), 0, 400), 31, "request");
    merge(NULL);
    const struct thread *track = profile_ordered_thread(&profile, 1);
    const struct marker *marker = column_at(&track->markers, 30);
    assert_text(strings_text(&profile.strings, marker->name), "request");
    assert_int_equal(marker->start_ns, 300 * MS);
    assert_int_equal(marker->end_ns, 308 * MS);
    assert_text(value_of(&profile, marker, 0).text, "1030");
    assert_int_equal(value_of(&profile, marker, 1).number.mantissa, 2);
}

TEST(thirty_threads_are_no_crowd, begin, end_profile) {
    add_requests(add_program(1, "server", process_none(), 0, 400), 30, "request");
    merge(NULL);
    assert_int_equal(profile.thread_order.count, 31);
    assert_int_equal(noted(), 0);
}

/* Sets the processor time of each sample. Tracks have 4 ms in each period of 4 ms: that many intervals. */
static void set_cpu(thread_id id, int64_t cpu_ms) {
    const struct samples *samples = &at(id)->samples;
    for (uint32_t i = 0; i < samples_count(samples); i++)
        *(int64_t *)column_at(&samples->details->cpu_ns, i) = cpu_ms * MS;
}

TEST(threads_at_a_time_have_tracks_of_their_own, begin, end_profile) {
    process_id server = add_program(1, "server", process_none(), 0, 400);
    add_requests(server, 31, "request");
    set_cpu(add_thread(server, 2000, "request", 20, 48), 4);
    set_cpu(add_thread(server, 2001, "request", 60, 68), 4);
    merge(NULL);
    assert_tracks("server:2/0 request and 30 more:62/31 request and 1 more:4/2 ");
}

static void assert_no_time_overlaps(const struct thread *track) {
    int64_t last_ns = INT64_MIN;
    for (uint32_t i = 0; i < samples_count(&track->samples); i++) {
        int64_t time_ns = samples_at(&track->samples, i)->time_ns;
        assert_true(i == 0 || time_ns - samples_cpu_ns(&track->samples, i) >= last_ns);
        last_ns = time_ns;
    }
}

/* Its processor time is that of no other thread, though others have events meanwhile. */
TEST(threads_that_run_in_turns_are_one_track, begin, end_profile) {
    process_id server = add_program(1, "server", process_none(), 0, 400);
    add_requests(server, 31, "request");
    add_thread(server, 2000, "request", 15, 45);
    merge(NULL);
    assert_tracks("server:2/0 request and 31 more:64/32 ");
    assert_no_time_overlaps(profile_ordered_thread(&profile, 1));
}

/* The track has the sum, and the front-end cuts off none of it. */
TEST(threads_that_run_at_a_time_for_short_are_one_track, begin, end_profile) {
    process_id server = add_program(1, "server", process_none(), 0, 400);
    add_requests(server, 31, "request");
    add_thread(server, 2000, "request", 18, 48);
    add_thread(server, 2001, "request", 58, 59);
    merge(NULL);
    assert_tracks("server:2/0 request and 32 more:66/33 ");
    const struct thread *track = profile_ordered_thread(&profile, 1);
    assert_no_time_overlaps(track);
    assert_int_equal(cpu_of(track), 66 * MS);
}

/* A thread that tells no processor time comes last, and the others' time does not fit between their samples. */
TEST(time_that_has_no_place_goes_to_the_last_sample_that_tells_time, begin, end_profile) {
    process_id server = add_program(1, "server", process_none(), 0, 1000);
    set_cpu(add_thread(server, 1000, "request", 8, 8), 1);
    set_cpu(add_thread(server, 1001, "request", 8, 8), 1);
    for (int i = 0; i < 31; i++) {
        thread_id id = profile_add_thread(&profile, server, 2000 + i, 0);
        at(id)->name = TEXT("request");
        thread_add_sample(at(id), (100 + i * 10) * MS, stack_none(), 1);
    }
    merge(NULL);
    assert_tracks("server:2/0 request and 32 more:35/33 ");
    const struct samples *samples = &profile_ordered_thread(&profile, 1)->samples;
    static const int64_t cpu_ms[] = {1, 0, 0, 3};
    for (uint32_t i = 0; i < 35; i++) assert_int_equal(samples_cpu_ns(samples, i), i < 4 ? cpu_ms[i] * MS : TIME_NONE);
}

/* Cycles between two samples may be more than nanoseconds. */
TEST(cycles_stay_where_they_are, begin, end_profile) {
    process_id server = add_program(1, "server", process_none(), 0, 400);
    add_requests(server, 31, "request");
    thread_id quick = add_thread(server, 2000, "request", 311, 315);
    set_cpu(quick, 4);
    *(int64_t *)column_at(&at(quick)->samples.details->cpu_ns, 1) = 12 * MS;
    profile.meta.cpu_delta_unit = CPU_DELTA_CYCLES;
    profile.meta.has_cpu_apart = true;
    merge(NULL);
    assert_tracks("server:2/0 request and 31 more:64/32 ");
    const struct samples *samples = &profile_ordered_thread(&profile, 1)->samples;
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(samples_cpu_ns(samples, i), i < 62 ? MS : i == 62 ? 4 * MS : 12 * MS);
}

/* Adds a thread that lives for 9 ms and has used 3 ms when it ends, of which its only sample tells. */
static thread_id add_short_thread(process_id process, int64_t tid, int64_t start_ms) {
    thread_id id = profile_add_thread(&profile, process, tid, 0);
    at(id)->name = TEXT("request");
    at(id)->start_ns = start_ms * MS;
    at(id)->end_ns = (start_ms + 9) * MS;
    thread_add_sample(at(id), at(id)->end_ns, stack_none(), 1);
    samples_set_details(&at(id)->samples, 3 * MS, TIME_NONE);
    return id;
}

/* Two end at a time, since a round of the sampler finds both, but each may have run for a part of the time before. */
TEST(threads_that_end_at_a_time_may_have_run_in_turns, begin, end_profile) {
    process_id server = add_program(1, "server", process_none(), 0, 400);
    for (int i = 0; i < 40; i++) add_short_thread(server, 1000 + i, i / 2 * 12);
    merge(NULL);
    assert_tracks("server:2/0 request and 39 more:40/40 ");
    const struct thread *track = profile_ordered_thread(&profile, 1);
    assert_no_time_overlaps(track);
    assert_int_equal(cpu_of(track), 40 * 3 * MS);
    for (uint32_t i = 0; i < 40; i++) assert_int_equal(samples_at(&track->samples, i)->time_ns, (i / 2 * 12 + 9) * MS);
}

/* Three threads have used 6 ms within 4 ms. */
TEST(threads_that_end_at_a_time_may_have_run_at_a_time, begin, end_profile) {
    process_id server = add_program(1, "server", process_none(), 0, 400);
    for (int i = 0; i < 60; i++) add_short_thread(server, 1000 + i, i / 3 * 12);
    merge(NULL);
    assert_tracks("server:2/0 request and 39 more:40/40 request and 19 more:20/20 ");
    for (size_t i = 1; i < 3; i++) assert_no_time_overlaps(profile_ordered_thread(&profile, i));
}

/* Adds a crowd, of which a thread waits at 606 ms, while another one runs from 605 to 608 ms. */
static const struct samples *merge_waiting_thread(void) {
    process_id server = add_program(1, "server", process_none(), 0, 700);
    for (int i = 0; i < 40; i++) add_short_thread(server, 1000 + i, i * 12);
    thread_id waiting = add_thread(server, 2000, "request", 600, 606);
    *(int64_t *)column_at(&at(waiting)->samples.details->cpu_ns, 1) = 0;
    at(add_short_thread(server, 2001, 599))->end_ns = 609 * MS;
    merge(NULL);
    assert_tracks("server:2/0 request and 41 more:43/42 ");
    return &profile_ordered_thread(&profile, 1)->samples;
}

/* The front-end counts processor time from the sample before. */
TEST(a_thread_that_waits_takes_no_time_of_others, begin, end_profile) {
    const struct samples *samples = merge_waiting_thread();
    for (uint32_t i = 41; i < 43; i++) {
        assert_int_equal(samples_at(samples, i)->time_ns, 608 * MS);
        assert_int_equal(samples_cpu_ns(samples, i), i == 41 ? 3 * MS : 0);
    }
}

/* The weight of a wait is its length, so its sample stays at its beginning. */
TEST(waits_with_lengths_do_not_move, begin, end_profile) {
    profile.meta.weight_type = WEIGHT_TRACING_MS;
    const struct samples *samples = merge_waiting_thread();
    static const int64_t times_ms[] = {600, 606, 608}, cpu_ms[] = {2, 0, 2};
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(samples_at(samples, 40 + i)->time_ns, times_ms[i] * MS);
        assert_int_equal(samples_cpu_ns(samples, 40 + i), cpu_ms[i] * MS);
    }
}

/* Samples of its waits would be most of those of the others' track. */
TEST(a_thread_that_lives_through_all_others_has_its_own_track, begin, end_profile) {
    process_id server = add_program(1, "server", process_none(), 0, 400);
    add_requests(server, 40, "request");
    thread_id other = add_thread(server, 2000, "request", -2, 400);
    for (int i = 0; i < 39; i++) {
        thread_add_sample(at(other), (i * 10 + 9) * MS, stack_none(), 1);
        samples_set_details(&at(other)->samples, 0, TIME_NONE);
    }
    merge(NULL);
    assert_tracks("server:2/0 request and 39 more:80/40 request:41/0 ");
}

TEST(threads_without_processor_time_run_all_the_time, begin, end_profile) {
    process_id server = add_program(1, "server", process_none(), 0, 400);
    add_requests(server, 31, "request");
    thread_id other = profile_add_thread(&profile, server, 2000, 0);
    at(other)->name = TEXT("request");
    thread_add_sample(at(other), 15 * MS, stack_none(), 1);
    thread_add_sample(at(other), 45 * MS, stack_none(), 1);
    merge(NULL);
    assert_tracks("server:2/0 request and 30 more:62/31 request:2/0 ");
}

/* Each of them runs for 50 000 periods, as far as its two samples tell. */
TEST(long_turns_take_little_memory, begin, end_profile) {
    static struct memory_limit limit;
    memory_limit_init(&limit, 8 << 20);
    process_id server = add_program(1, "server", process_none(), 0, 400);
    for (int i = 0; i < 100; i++) {
        thread_id id = profile_add_thread(&profile, server, 1000 + i, 0);
        at(id)->name = TEXT("worker");
        for (int j = 0; j < 2; j++) thread_add_sample(at(id), (i + j * 200000) * MS, stack_none(), 1);
    }
    failure.memory = &limit;
    merge(NULL);
    assert_int_equal(profile.thread_order.count, 101);
    failure.memory = NULL;
}

/* 30 of the 40 live at a time. */
TEST(workers_that_live_together_stay, begin, end_profile) {
    process_id server = add_program(1, "server", process_none(), 0, 400);
    for (int i = 0; i < 40; i++) add_thread(server, 1000 + i, "worker", i * 2 + 1, 60 + i * 2);
    merge(NULL);
    assert_int_equal(profile.thread_order.count, 31);
}

TEST(more_than_thirty_workers_that_run_in_turns_are_one_track, begin, end_profile) {
    process_id server = add_program(1, "server", process_none(), 0, 400);
    for (int i = 0; i < 31; i++) add_thread(server, 1000 + i, "worker", i * 2 + 1, 200 + i * 2);
    merge(NULL);
    assert_tracks("server:2/0 worker and 30 more:62/31 ");
    assert_true(profile.meta.keeps_thread_order);
}

/* No track has more processor time than a thread can use, however many there are. */
TEST(workers_that_all_run_have_tracks_of_their_own, begin, end_profile) {
    process_id server = add_program(1, "server", process_none(), 0, 400);
    for (int i = 0; i < 100; i++) set_cpu(add_thread(server, 1000 + i, "worker", 4, 200), 4);
    merge(NULL);
    assert_int_equal(profile.thread_order.count, 101);
    assert_int_equal(noted(), 0);
    assert_false(profile.meta.keeps_thread_order);
}

/* Two processors are enough for three threads of which each runs together with each other one. */
TEST(threads_can_need_more_tracks_than_processors, begin, end_profile) {
    process_id server = add_program(1, "server", process_none(), 0, 400);
    profile.meta.logical_cpu_count = 2;
    add_requests(server, 40, "request");
    set_cpu(add_thread(server, 2000, "request", 12, 44), 3);
    set_cpu(add_thread(server, 2001, "request", 12, 32), 3);
    set_cpu(add_thread(server, 2002, "request", 32, 44), 3);
    merge(NULL);
    assert_tracks("server:2/0 request and 40 more:82/41 request:2/0 request:2/0 ");
}

TEST(threads_that_never_ended_follow_by_their_events, begin, end_profile) {
    add_requests(add_program(1, "server", process_none(), 0, 400), 31, "request");
    for (size_t i = 0; i < profile.threads.count; i++)
        at((thread_id){(uint32_t)i})->start_ns = at((thread_id){(uint32_t)i})->end_ns = TIME_NONE;
    merge(NULL);
    assert_tracks("server:2/0 request and 30 more:62/31 ");
    assert_int_equal(profile_ordered_thread(&profile, 1)->end_ns, TIME_NONE);
}

TEST(numbers_in_names_do_not_count, begin, end_profile) {
    add_requests(add_program(1, "server", process_none(), 0, 400), 31, "Thread-%d (serve)");
    merge(NULL);
    assert_tracks("server:2/0 Thread-0 (serve) and 30 more:62/31 ");
}

TEST(other_names_stay, begin, end_profile) {
    process_id server = add_program(1, "server", process_none(), 0, 400);
    add_requests(server, 31, "request");
    add_thread(server, 2000, "log", 500, 510);
    add_thread(server, 2001, "log", 600, 610);
    merge(NULL);
    assert_tracks("server:2/0 request and 30 more:62/31 log:2/0 log:2/0 ");
}

TEST(a_pattern_merges_small_crowds, begin, end_profile) {
    process_id server = add_program(1, "server", process_none(), 0, 400);
    add_requests(server, 3, "request");
    add_thread(server, 2000, "log", 500, 510);
    add_thread(server, 2001, "log", 600, 610);
    merge("l?g*");
    assert_tracks("server:2/0 request:2/0 request:2/0 request:2/0 log and 1 more:4/2 ");
}

TEST(threads_of_other_processes_stay, begin, end_profile) {
    add_requests(add_program(1, "server", process_none(), 0, 400), 16, "request");
    add_requests(add_program(2, "another", process_none(), 0, 400), 16, "request");
    merge(NULL);
    assert_int_equal(profile.thread_order.count, 34);
}

TEST(all_threads_follow_each_other_if_times_are_made_up, begin, end_profile) {
    profile.meta.has_times = false;
    process_id server = add_process(1, "server", process_none());
    for (int i = 0; i < 31; i++) add_thread(server, 1000 + i, "request", 0, 10);
    merge(NULL);
    assert_tracks("request and 30 more:62/0 ");
}

TEST(a_thread_without_content_is_told, begin, end_profile) {
    process_id server = add_program(1, "server", process_none(), 0, 400);
    add_requests(server, 31, "request");
    thread_id idle = profile_add_thread(&profile, server, 3000, 0);
    at(idle)->name = TEXT("request");
    at(idle)->start_ns = 350 * MS;
    at(idle)->end_ns = 351 * MS;
    merge(NULL);
    assert_tracks("server:2/0 request and 31 more:62/32 ");
}

/* A script runs many programs, of which few run long enough for a sample. The last four ran after all events. */
TEST(processes_without_content_are_told, begin, end_profile) {
    process_id script = add_program(1, "sh", process_none(), 0, 395);
    for (int i = 0; i < 44; i++) {
        process_id child = add_process(100 + i, "sed", script);
        profile_process_at(&profile, child)->start_ns = i * 10 * MS;
        profile_process_at(&profile, child)->end_ns = (i * 10 + 8) * MS;
        thread_id id = profile_add_thread(&profile, child, 100 + i, 0);
        at(id)->name = TEXT("sed");
        if (i % 8 == 0 && i < 40) thread_add_sample(at(id), (i * 10 + 1) * MS, stack_none(), 1);
    }
    merge(NULL);
    assert_tracks("sh:2/0 sed and 39 more:5/40 ");
}

/* ---- What refers to threads. ---- */

TEST(rows_name_the_track, begin, end_profile) {
    process_id server = add_program(1, "server", process_none(), 0, 400);
    add_requests(server, 31, "request");
    thread_id last = {profile.threads.count - 1}, first = {1};
    profile_add_allocation(&profile, last, 305 * MS, 100, 0x10, stack_none());
    profile_add_allocation(&profile, (thread_id){0}, 306 * MS, -100, 0x10, stack_none());
    struct marker marker = {.start_ns = 307 * MS,
                            .end_ns = 307 * MS,
                            .name = profile_string(&profile, TEXT("other's stack")),
                            .stack = stack_none(),
                            .schema = MARKER_SCHEMA_NONE};
    const struct stack_origin origin = {.time_ns = 307 * MS, .thread = last};
    profile_add_marker_from(&profile, at((thread_id){0}), &marker, &origin, NULL);
    merge(NULL);
    const struct thread *track = profile_ordered_thread(&profile, 1);
    assert_ptr_equal(track, at(first));
    /* The deallocation moves to the thread that allocated. */
    assert_int_equal(track->allocations.count, 2);
    const struct allocation *allocation = column_at(&track->allocations, 0);
    assert_int_equal(allocation->thread.index, first.index);
    const struct marker *moved = column_at(&profile_ordered_thread(&profile, 0)->markers, 0);
    const thread_id *found = profile_origin_thread(&profile, moved);
    assert_non_null(found);
    assert_int_equal(found->index, first.index);
}

/* ---- Processes. ---- */

/* Adds a shell that runs a program `count` times, whose child runs for a part of that time. */
static process_id add_script(int count) {
    process_id shell = add_program(1, "sh", process_none(), 0, 1000);
    for (int i = 0; i < count; i++) {
        process_id gcc = add_program(100 + i, "gcc", shell, i * 10, i * 10 + 8);
        add_program(1000 + i, "cc1", gcc, i * 10 + 2, i * 10 + 6);
    }
    return shell;
}

TEST(processes_that_follow_each_other_are_one_track, begin, end_profile) {
    add_script(31);
    merge(NULL);
    assert_tracks("sh:2/0 gcc and 30 more:62/31 cc1 and 30 more:62/31 ");
    const struct process *process = profile_process_at(&profile, profile_ordered_thread(&profile, 1)->process);
    assert_text(process->pid_text, "100");
    assert_text(process->name, "gcc");
    assert_text(process->title, "gcc and 30 more");
    assert_int_equal(process->start_ns, TIME_NONE);
    assert_int_equal(noted(), 120);
}

/* A server may name each child after its request. */
TEST(names_of_processes_differ_only_in_numbers, begin, end_profile) {
    process_id master = add_program(1, "master", process_none(), 0, 1000);
    for (int i = 0; i < 31; i++) {
        struct text name = profile_text_format(&profile, "req %d", i);
        process_id child = add_program(100 + i, "", master, i * 10, i * 10 + 8);
        profile_process_at(&profile, child)->name = name;
        at((thread_id){profile.threads.count - 1})->name = name;
    }
    merge(NULL);
    assert_tracks("master:2/0 req 0 and 30 more:62/31 ");
}

TEST(a_pattern_tells_numbers_apart, begin, end_profile) {
    process_id master = add_program(1, "master", process_none(), 0, 1000);
    add_program(11, "worker 1", master, 0, 8);
    add_program(12, "worker 2", master, 10, 18);
    add_program(13, "worker 10", master, 20, 28);
    merge("worker 1*");
    assert_tracks("master:2/0 worker 1 and 1 more:4/2 worker 2:2/0 ");
}

/* Equal parents are counted together, but their children stay theirs. */
TEST(children_of_equal_parents_are_counted_together, begin, end_profile) {
    process_id first = add_program(1, "sh", process_none(), 0, 1000);
    process_id second = add_program(2, "sh", process_none(), 0, 1000);
    for (int i = 0; i < 31; i++) add_program(100 + i, "gcc", i % 2 ? first : second, i * 10, i * 10 + 8);
    merge(NULL);
    assert_tracks("sh:2/0 sh:2/0 gcc and 15 more:32/16 gcc and 14 more:30/15 ");
}

TEST(threads_of_equal_processes_are_counted_together, begin, end_profile) {
    for (int i = 0; i < 2; i++) {
        process_id process = add_program(1 + i, "java", process_none(), 0, 1000);
        for (int j = 0; j < 16; j++) add_thread(process, 100 + 20 * i + j, "gc", j * 10, j * 10 + 8);
    }
    merge(NULL);
    assert_tracks("java:2/0 gc and 15 more:32/16 java:2/0 gc and 15 more:32/16 ");
}

TEST(children_of_other_parents_stay, begin, end_profile) {
    process_id first = add_program(1, "sh", process_none(), 0, 1000);
    process_id second = add_program(2, "make", process_none(), 0, 1000);
    for (int i = 0; i < 32; i++) add_program(100 + i, "gcc", i % 2 ? first : second, i * 10, i * 10 + 8);
    merge(NULL);
    assert_int_equal(profile.thread_order.count, 34);
}

TEST(threads_of_merged_processes_are_merged, begin, end_profile) {
    process_id shell = add_program(1, "sh", process_none(), 0, 1000);
    for (int i = 0; i < 31; i++) {
        process_id java = add_program(100 + i, "java", shell, i * 10, i * 10 + 8);
        if (i < 3) add_thread(java, 1000 + i, "gc", i * 10 + 1, i * 10 + 4);
    }
    merge(NULL);
    assert_tracks("sh:2/0 java and 30 more:62/31 gc and 2 more:6/3 ");
}

TEST(a_process_may_descend_from_itself, begin, end_profile) {
    process_id first = add_program(1, "a", process_none(), 0, 10);
    process_id second = add_program(2, "b", first, 0, 10);
    profile_process_at(&profile, first)->parent = second;
    profile_process_at(&profile, add_program(3, "c", process_none(), 0, 10))->parent = second;
    merge("*");
    assert_int_equal(profile.thread_order.count, 3);
}

static void add_counter(process_id process, const char *name, enum counter_graph graph, int64_t time_ms,
                        int64_t change) {
    struct counter description = {
        .process = process, .name = text_of(name), .category = TEXT("Memory"), .graph = graph};
    struct counter *counter = profile_add_counter(&profile, &description);
    struct counter_sample *sample = column_push(&counter->samples);
    *sample = (struct counter_sample){.time_ns = time_ms * MS, .change = change};
}

/* Returns the value of the counter at the time. */
static int64_t value_at(const struct counter *counter, int64_t time_ms) {
    int64_t value = 0;
    for (size_t i = 0; i < counter->samples.count; i++) {
        const struct counter_sample *sample = column_at(&counter->samples, i);
        if (sample->time_ns <= time_ms * MS) value += sample->change;
    }
    return value;
}

TEST(counters_begin_at_zero_in_each_process, begin, end_profile) {
    process_id shell = add_program(1, "sh", process_none(), 0, 1000);
    for (int i = 0; i < 31; i++) {
        process_id process = add_program(100 + i, "gcc", shell, i * 10, i * 10 + 8);
        add_counter(process, "memory", COUNTER_ACCUMULATED, i * 10 + 2, 100);
        add_counter(process, "bytes", COUNTER_RATE, i * 10 + 2, 7);
        profile_add_paused_range(&profile, process, i * 10 * MS + 1, TIME_NONE);
        profile_add_overhead(&profile, &(struct overhead){.process = process, .time_ns = i * 10 * MS});
    }
    add_counter(shell, "memory", COUNTER_ACCUMULATED, 5, 50);
    merge(NULL);
    assert_int_equal(profile.counters.count, 3);
    const struct counter *memory = column_at(&profile.counters, 1), *bytes = column_at(&profile.counters, 2);
    assert_text(memory->name, "memory");
    assert_int_equal(value_at(memory, 5), 100);
    assert_int_equal(value_at(memory, 9), 0);
    assert_int_equal(value_at(memory, 305), 100);
    assert_int_equal(value_at(bytes, 1000), 31 * 7);
    for (size_t i = 0; i < profile.paused_ranges.count; i++)
        assert_int_not_equal(((const struct paused_range *)column_at(&profile.paused_ranges, i))->end_ns, TIME_NONE);
    assert_int_equal(profile.overheads.count, 31);
    assert_int_equal(ledger_sum(&profile.ledger, LEDGER_VALUES, LEDGER_LOST), 0);
}

int main(void) { return unit_tests_run(NULL, NULL); }
