/* Tests what a sampler records of other threads: samples, machine code, allocations and overhead. Also tests where the
 * stacks of markers were captured. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "libconvert/base/memory.h"
#include "libconvert/profile/sweep.h"
#include "readers/filter.h"
#include "tests/support/jitdump_builder.h"
#include "tests/support/sampler_trace.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trace_fixture.h"
#include "tests/support/unit_test.h"

static const char CAUSE_BASE[] = "sample that continues a missing one";
static const char CAUSE_UNNAMED[] = "sample of a thread that was not named";

/* Begins an events chunk with process 10 and its sampler. */
static void begin_events(void) {
    begin_app_chunk(0, 0);
    add_thread(&fixture.trace, 0, 1, 11, 0, "sampler");
}

/* begin_events, with the mappings up to that definition, if it is not 0, and thread 7, "one", which is sampled. */
static void begin_one(uint64_t mappings) {
    begin_events();
    if (mappings) add_mappings(&fixture.trace, mappings);
    add_sampled_thread(&fixture.trace, 7, 20, 0, "one");
}

static void put_label_frame(struct trace_builder *trace, uint64_t label) {
    put_byte(trace, BUILD_FRAME_LABEL);
    put_leb(trace, label);
}

static void add_empty_sample(uint64_t t, uint64_t uid, unsigned flags, uint64_t kept) {
    put_thread_sample(&fixture.trace, t, uid, flags, kept);
    put_leb(&fixture.trace, 0);
    trace_block(&fixture.trace, BUILD_THREAD_SAMPLE);
}

/* Adds a full sample of one label. */
static void add_label_sample(uint64_t t, uint64_t uid, uint64_t kept, uint64_t label) {
    struct trace_builder *trace = &fixture.trace;
    put_thread_sample(trace, t, uid, 0, kept);
    put_leb(trace, 1);
    put_label_frame(trace, label);
    trace_block(trace, BUILD_THREAD_SAMPLE);
}

/* Adds a full sample of one address. It is absolute if the running address is 0. */
static void add_address_sample(uint64_t t, uint64_t uid, unsigned kind, int64_t delta) {
    struct trace_builder *trace = &fixture.trace;
    put_thread_sample(trace, t, uid, 0, 0);
    put_leb(trace, 1);
    put_address(trace, kind, delta);
    trace_block(trace, BUILD_THREAD_SAMPLE);
}

static const struct frame *leaf_of(uint32_t thread, uint32_t row) {
    const struct samples *samples = &profile_ordered_thread(&fixture.profile, thread)->samples;
    stack_id stack = samples_at(samples, row)->stack;
    return profile_frame_at(&fixture.profile, profile_stack_at(&fixture.profile, stack)->frame);
}

/* ---- All of it. ---- */

TEST(test_sampler_trace, setup, teardown) {
    build_sampler_trace(&fixture.trace);
    read_trace();
    assert_samples(
        "10/10 main 1000000 1 run;0x1010;0x1021\n"
        "10/10 main 2000000 1 run;0x1010;0x1121\n"
        "10/10 main 3000000 1 run;0x1010;0x1121\n"
        "10/12 worker 1000000 1 0x1020\n"
        "10/12 worker 2000000 1 \n");
    assert_int_equal(lost_sum(), 0);
    assert_ledger("sample of another thread", 4);
    assert_ledger("sample of another thread, same as the previous one", 1);
    assert_ledger("thread of samples that follow", 2);
    assert_ledger("end of a sampled thread", 1);
    assert_ledger("mappings of the next entries", 1);
    assert_ledger("round of the sampler", 2);
    assert_ledger("allocation", 2);
    assert_ledger("sample whose outermost frames are missing", 1);
    assert_ledger("sample of a thread that could not be stopped: it has no stack", 1);
    assert_int_equal(fixture.profile.meta.interval_ns, 1000000);
    assert_true(fixture.profile.meta.has_stacks);
    const struct thread *worker = profile_ordered_thread(&fixture.profile, 2);
    assert_int_equal(worker->end_ns, 3000000);
    const struct frame *leaf = leaf_of(0, 0);
    assert_int_equal(leaf->address, 0x1021);
    /* A label with a category calls it, directly or through a native frame that the sample before has too. */
    assert_int_equal(leaf->inherits_category, 1);
    assert_int_equal(leaf_of(0, 1)->inherits_category, 1);
    const struct frame *unlabelled = leaf_of(2, 0);
    const struct category *user = categories_at(&fixture.profile.categories, unlabelled->category);
    assert_int_equal(unlabelled->inherits_category, 0);
    assert_text(user->name, "User");
    assert_text(*category_subcategory_at(user, unlabelled->subcategory), "libapp.so");
    const struct lib *lib = libs_at(&fixture.profile.libs, leaf->lib);
    assert_text(lib->path, "/usr/lib/libapp.so");
    assert_text(lib->code_id, "0123456789abcdef");
    assert_text(lib->breakpad_id, "67452301AB89EFCD00000000000000000");
}

/* Adds a sample without a stack, in which the thread ran. */
static void add_running_sample(uint64_t t, uint64_t uid) {
    struct trace_builder *trace = &fixture.trace;
    put_leb(trace, t);
    put_leb(trace, uid);
    put_leb(trace, BUILD_HAS_CPU);
    put_leb(trace, 1000);
    put_leb(trace, 0);
    put_leb(trace, 0);
    trace_block(trace, BUILD_THREAD_SAMPLE);
}

/* The recorder was asked for a sample each 0.1 ms, and took one each 0.5 ms. */
TEST(test_interval_is_measured, setup, teardown) {
    enum { SAMPLE_COUNT = 40, CONFIGURED_NS = 100000, DISTANCE_TICKS = 500000 };
    trace_definitions_chunk(&fixture.trace);
    define_meta(&fixture.trace, "samplingInterval", "100000");
    begin_events();
    add_sampled_thread(&fixture.trace, 7, 10, 0, "main");
    for (int i = 0; i < SAMPLE_COUNT; i++) add_running_sample(DISTANCE_TICKS, 7);
    trace_seal(&fixture.trace, 100000000, 50000000);
    read_trace();
    assert_int_equal(fixture.profile.meta.interval_ns, 250000);
    assert_int_equal(fixture.profile.meta.configuration.interval_ns, CONFIGURED_NS);
}

/* A round of the sampler may be late. The thread ran, or waited, until then all the same. */
TEST(test_late_samples_need_no_weights, setup, teardown) {
    begin_events();
    add_sampled_thread(&fixture.trace, 7, 10, 0, "main");
    add_running_sample(0, 7);
    add_running_sample(2000000, 7);
    add_running_sample(9000000, 7);
    trace_seal(&fixture.trace, 12000000, 6000000);
    read_trace();
    emit(&emitter_processed);
    assert_has("\"timeDeltas\":[0,1,4.5],\"weight\":null,");
}

TEST(test_windows_make_no_difference, setup, teardown) {
    build_sampler_trace(&fixture.trace);
    for (size_t window_bytes = 1; window_bytes < 5000; window_bytes += 611) {
        read_bytes(trace_text(&fixture.trace), window_bytes);
        assert_int_equal(lost_sum(), 0);
        assert_ledger("sample of another thread", 4);
    }
}

static const char statistics[] =
    "\"statistics\":{\"maxCleaning\":0,\"meanCleaning\":0,\"minCleaning\":0,\"maxCounter\":1.5,\"meanCounter\":1,"
    "\"minCounter\":0.5,\"maxInterval\":1100,\"meanInterval\":1100,\"minInterval\":1100,\"maxLockings\":1.25,"
    "\"meanLockings\":0.75,\"minLockings\":0.25,\"maxOverhead\":4.75,\"meanOverhead\":3.75,\"minOverhead\":2.751,"
    "\"maxThread\":3,\"meanThread\":2,\"minThread\":1.001,\"overheadDurations\":7.501,\"overheadPercentage\":0.006819,"
    "\"profiledDuration\":1100,\"samplingCount\":2}";

TEST(test_processed, setup, teardown) {
    build_sampler_trace(&fixture.trace);
    read_trace();
    sweep_profile(&fixture.profile);
    emit(&emitter_processed);
    assert_has("\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"}");
    assert_has("\"interval\":1,");
    assert_has(
        "\"timeDeltas\":[1,1,1],\"weight\":null,\"weightType\":\"samples\",\"threadCPUDelta\":[null,800000,900001],"
        "\"eventDelay\":[null,1.234567,null],\"length\":3}");
    /* The worker's samples have no CPU times. */
    assert_has("\"timeDeltas\":[1,1],\"weight\":null,\"weightType\":\"samples\",\"length\":2}");
    /* The main thread's deallocation belongs to the sampler's allocation. */
    assert_has("\"nativeAllocations\":{\"time\":[3,3.5],\"weight\":[4096,-4096],\"stack\":[");
    assert_has(
        ",null],\"memoryAddress\":[139637976731648,139637976731648],\"threadId\":[11,10],\"weightType\":\"bytes\","
        "\"length\":2}");
    assert_has(
        "\"profilerOverhead\":[{\"samples\":{\"time\":[1.05,2.15],\"locking\":[0.25,1.25],"
        "\"expiredMarkerCleaning\":[0,0],\"counters\":[1.5,0.5],\"threads\":[3,1.001],\"length\":2},");
    assert_has(statistics);
    assert_has("\"pid\":\"10\",\"mainThreadIndex\":0}]");
    assert_has("\"category\":[1,null,null,");
    assert_has("\"subcategory\":[0,null,null,");
}

TEST(test_gecko, setup, teardown) {
    build_sampler_trace(&fixture.trace);
    read_trace();
    sweep_profile(&fixture.profile);
    emit(&emitter_gecko);
    assert_has("\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"}");
    assert_has(
        "\"samples\":{\"schema\":{\"stack\":0,\"time\":1,\"threadCPUDelta\":2,\"eventDelay\":3},\"data\":[[2,1,null],"
        "[3,2,800000,1.234567],[3,3,900001]]}");
    assert_has("\"samples\":{\"schema\":{\"stack\":0,\"time\":1,\"eventDelay\":2},\"data\":[[0,1],[null,2]]}");
    assert_has(
        "\"data\":[[0,3,null,0,0,{\"type\":\"Native allocation\",\"size\":4096,"
        "\"memoryAddress\":139637976731648,\"threadId\":11,\"stack\":{\"tid\":11,\"samples\":{\"schema\":{\"stack\":0,"
        "\"time\":1},\"data\":[[");
    assert_has(
        "[0,3.5,null,0,0,{\"type\":\"Native allocation\",\"size\":-4096,\"memoryAddress\":139637976731648,"
        "\"threadId\":10}]");
    assert_has("\"stringTable\":[\"Native allocation\",");
    assert_has(
        "\"profilerOverhead\":{\"samples\":{\"schema\":{\"time\":0,\"locking\":1,\"expiredMarkerCleaning\":2,"
        "\"counters\":3,\"threads\":4},\"data\":[[1050,0.25,0,1.5,3],[2150,1.25,0,0.5,1.001]]},");
    assert_has(statistics);
    assert_has(",false,null,null]");
}

/* ---- Where stacks of markers were taken. ---- */

/* Writes a marker with options and a stack of one label. Write its origin next. */
static void put_marker_with_stack(uint64_t t, unsigned flags, uint64_t marker, uint64_t label) {
    struct trace_builder *trace = &fixture.trace;
    put_lebs(trace, t, 32 | flags, marker, 0, 1);
    put_label_frame(trace, label);
}

enum { HAS_ORIGIN = 64 };

static void build_origins(void) {
    struct trace_builder *trace = begin_definitions();
    uint64_t label = define_label(trace, "label", 0, "", 0);
    uint64_t typed = define_marker(trace, "typed", 0, define_type(trace, "T", 15));
    uint64_t plain = define_marker(trace, "plain", 0, 0);
    begin_events();
    add_thread(trace, 100, 2, 12, 0, "asks");
    add_instant(trace, 0, plain);
    add_thread(trace, 200, 3, 13, 0, "works");
    put_marker_with_stack(2000, 0, plain, label);
    trace_block(trace, BUILD_MARKER);
    put_marker_with_stack(2000, HAS_ORIGIN, plain, label);
    put_origin(trace, 200, 3, 13, 10);
    trace_block(trace, BUILD_MARKER);
    put_marker_with_stack(2000, HAS_ORIGIN, plain, label);
    put_origin(trace, 200, 2, 12, 10);
    trace_block(trace, BUILD_MARKER);
    put_marker_with_stack(2000, HAS_ORIGIN, typed, label);
    put_origin(trace, 8100, 2, 12, 10);
    trace_block(trace, BUILD_MARKER);
    /* The origin is in the process that this one was forked from, which has no chunk here. */
    put_marker_with_stack(2000, HAS_ORIGIN, typed, label);
    put_origin(trace, 0, 90, 91, 9);
    trace_block(trace, BUILD_MARKER);
    add_instant(trace, 2000, typed);
    seal_and_read();
}

TEST(test_origins_of_stacks, setup, teardown) {
    build_origins();
    assert_markers(
        "10/12 instant 50 Other plain\n"
        "10/13 instant 1100 Other plain <label>\n"
        "10/13 instant 2100 Other plain <label> taken at 2000\n"
        "10/13 instant 3100 Other plain StackOfAnotherThread{} <label> taken at 3000 in 10/12\n"
        "10/13 instant 4100 Other typed T{v=-} <label> taken at 50 in 10/12\n"
        "10/13 instant 5100 Other typed T{v=-} <label> in 9/91\n"
        "10/13 instant 6100 Other typed T{v=-}\n");
    assert_int_equal(lost_sum(), 0);
}

TEST(test_origins_in_processed, setup, teardown) {
    build_origins();
    sweep_profile(&fixture.profile);
    emit(&emitter_processed);
    assert_has("{\"name\":\"T\",\"display\":[\"marker-chart\",\"marker-table\",\"timeline-overview\"],");
    assert_has("{\"key\":\"stackThread\",\"label\":\"Stack taken in\",\"format\":\"tid\"}]");
    assert_has("{\"type\":\"NoPayloadUserData\",\"cause\":{\"stack\":0,\"time\":0.0011,\"tid\":13}}");
    assert_has("{\"type\":\"NoPayloadUserData\",\"cause\":{\"stack\":0,\"time\":0.002,\"tid\":13}}");
    assert_has(
        "{\"type\":\"StackOfAnotherThread\",\"stackThread\":12,\"cause\":{\"stack\":0,\"time\":0.003,\"tid\":12}}");
    assert_has("{\"type\":\"T\",\"stackThread\":12,\"cause\":{\"stack\":0,\"time\":0.00005,\"tid\":12}}");
    assert_has("{\"type\":\"T\",\"stackThread\":91,\"cause\":{\"stack\":0,\"time\":0.0051,\"tid\":91}}");
    assert_has("{\"type\":\"T\"}");
}

TEST(test_origins_in_gecko, setup, teardown) {
    build_origins();
    sweep_profile(&fixture.profile);
    emit(&emitter_gecko);
    assert_has("{\"key\":\"stackThread\",\"label\":\"Stack taken in\",\"format\":\"tid\"}]");
    assert_has(
        "{\"type\":\"NoPayloadUserData\",\"stack\":{\"tid\":13,\"samples\":{\"schema\":{\"stack\":0,\"time\":1},"
        "\"data\":[[0,0.002]]}}}");
    assert_has(
        "{\"type\":\"StackOfAnotherThread\",\"stackThread\":12,\"stack\":{\"tid\":12,\"samples\":{\"schema\":"
        "{\"stack\":0,\"time\":1},\"data\":[[0,0.003]]}}}");
    assert_has("{\"type\":\"T\",\"stackThread\":91,\"stack\":{\"tid\":91,");
}

/* An origin has no effect if the stack is missing or cannot be read. An impossible origin is ignored. */
TEST(test_origins_that_cannot_be, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t label = define_label(trace, "label", 0, "", 0);
    uint64_t plain = define_marker(trace, "plain", 0, 0);
    begin_events();
    /* The stack has no frames. */
    put_lebs(trace, 2000, 32 | HAS_ORIGIN, plain, 0, 0);
    put_origin(trace, 10, 2, 12, 10);
    trace_block(trace, BUILD_MARKER);
    /* The stack has a frame of an unknown kind. */
    put_lebs(trace, 2000, 32 | HAS_ORIGIN, plain, 0, 1);
    put_byte(trace, 99);
    trace_block(trace, BUILD_MARKER);
    /* The marker has no stack. */
    add_block(trace, BUILD_MARKER, 2000, HAS_ORIGIN, plain);
    put_marker_with_stack(2000, HAS_ORIGIN, plain, label);
    put_origin(trace, INT64_MAX, 1, 11, 10);
    trace_block(trace, BUILD_MARKER);
    /* The origin is cut off. */
    put_marker_with_stack(2000, HAS_ORIGIN, plain, label);
    put_zigzag(trace, 10);
    trace_block(trace, BUILD_MARKER);
    seal_and_read();
    assert_markers(
        "10/11 instant 1000 Other plain\n"
        "10/11 instant 2000 Other plain\n"
        "10/11 instant 3000 Other plain\n"
        "10/11 instant 4000 Other plain <label>\n");
    assert_ledger(CAUSE_DAMAGED, 1);
    assert_ledger("stack with a frame of an unknown kind", 1);
}

/* ---- Threads. ---- */

TEST(test_thread_that_has_entries_of_its_own, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t label = define_label(trace, "label", 0, "", 0);
    begin_events();
    add_sampled_thread(trace, 7, 20, 400, "young");
    add_label_sample(1000, 7, 0, label);
    add_sampled_thread(trace, 7, 20, 400, "old");
    seal();
    begin_app_chunk(3000, 1500);
    add_thread(trace, 0, 7, 20, -2600, "");
    put_lebs(trace, 0, 1);
    put_label_frame(trace, label);
    trace_block(trace, BUILD_SAMPLE);
    seal_and_read();
    assert_samples(
        "10/20 old 500 1 label\n"
        "10/20 old 1500 1 label\n");
    assert_int_equal(lost_sum(), 0);
}

/* Adds a sample that thread `uid`, with that tid, took of itself at `ticks` after the chunk's base. */
static void add_own_sample(uint64_t uid, unsigned tid, uint64_t ticks, uint64_t label) {
    struct trace_builder *trace = &fixture.trace;
    begin_app_chunk(0, 0);
    add_thread(trace, 0, uid, tid, 0, "own");
    put_lebs(trace, ticks, 1);
    put_label_frame(trace, label);
    trace_block(trace, BUILD_SAMPLE);
}

/* The sampler counts all CPU time, so a sample that the thread took itself has none, wherever its chunk is. Without a
 * sampler nothing is known. */
TEST(test_cpu_of_own_samples, setup, teardown) {
    uint64_t label = define_label(begin_definitions(), "label", 0, "", 0);
    add_own_sample(7, 20, 1000, label);
    seal();
    add_own_sample(8, 21, 1000, label);
    seal();
    begin_events();
    add_sampled_thread(&fixture.trace, 7, 20, 0, "own");
    add_running_sample(4000, 7);
    seal();
    add_own_sample(7, 20, 6000, label);
    seal_and_read();
    const struct samples *sampled = &profile_ordered_thread(&fixture.profile, 0)->samples;
    assert_int_equal(samples_count(sampled), 3);
    assert_int_equal(samples_cpu_ns(sampled, 0), 0);
    assert_int_equal(samples_cpu_ns(sampled, 1), 1000);
    assert_int_equal(samples_cpu_ns(sampled, 2), 0);
    assert_false(samples_have_cpu(&profile_ordered_thread(&fixture.profile, 1)->samples));
}

/* A thread that began before the recording tells its first entry's time, and the sampler the time at which it first
 * wrote of the thread, which is after it took the sample. */
TEST(test_start_before_the_first_sample, setup, teardown) {
    uint64_t label = define_label(begin_definitions(), "label", 0, "", 0);
    enum { TAKEN_BEFORE_TICKS = 3000 };
    begin_events();
    for (unsigned uid = 7; uid < 9; uid++) {
        add_sampled_thread(&fixture.trace, uid, 13 + uid, 6000, "sampled");
        put_leb(&fixture.trace, uid == 7 ? 6000 : 0);
        put_leb(&fixture.trace, uid);
        put_leb(&fixture.trace, BUILD_HAS_CPU | BUILD_HAS_AGE);
        put_leb(&fixture.trace, 1000);
        put_leb(&fixture.trace, TAKEN_BEFORE_TICKS);
        put_lebs(&fixture.trace, 0, 0);
        trace_block(&fixture.trace, BUILD_THREAD_SAMPLE);
    }
    seal();
    begin_app_chunk(0, 0);
    add_thread(&fixture.trace, 0, 7, 20, 100000, "late");
    put_lebs(&fixture.trace, 100000, 1);
    put_label_frame(&fixture.trace, label);
    trace_block(&fixture.trace, BUILD_SAMPLE);
    seal_and_read();
    for (uint32_t i = 0; i < 2; i++) {
        const struct thread *thread = profile_ordered_thread(&fixture.profile, i);
        assert_int_equal(thread->start_ns, samples_at(&thread->samples, 0)->time_ns);
    }
}

/* The process tells its end, and the sampler takes a last sample after that. */
TEST(test_end_after_the_last_sample, setup, teardown) {
    begin_events();
    add_sampled_thread(&fixture.trace, 7, 20, 0, "sampled");
    put_leb(&fixture.trace, 500);
    put_leb(&fixture.trace, 2);
    trace_block(&fixture.trace, BUILD_PROCESS_END);
    put_lebs(&fixture.trace, 4000, 7);
    put_leb(&fixture.trace, BUILD_HAS_CPU);
    put_leb(&fixture.trace, 1000);
    put_lebs(&fixture.trace, 0, 0);
    trace_block(&fixture.trace, BUILD_THREAD_SAMPLE);
    seal_and_read();
    const struct thread *thread = profile_ordered_thread(&fixture.profile, 0);
    int64_t last_ns = samples_at(&thread->samples, samples_count(&thread->samples) - 1)->time_ns;
    assert_int_equal(thread->end_ns, last_ns);
    assert_int_equal(process_shutdown_ns(profile_process_at(&fixture.profile, thread->process)), last_ns);
}

/* The sampler records a name that it saw earlier than the thread recorded its own name. */
TEST(test_ranks_of_names, setup, teardown) {
    enum { IS_NAMED = 2 };
    struct trace_builder *trace = begin_definitions();
    uint64_t label = define_label(trace, "label", 0, "", 0);
    begin_events();
    for (unsigned uid = 7; uid < 9; uid++) {
        add_sampled_thread_of(trace, uid, 13 + uid, IS_NAMED, 0, "by the program");
        add_label_sample(1000, uid, 0, label);
        add_sampled_thread(trace, uid, 13 + uid, 0, "by the system");
    }
    seal();
    begin_app_chunk(100, 50);
    add_thread_of(trace, 0, 7, 20, IS_NAMED, 0, "its own");
    seal_and_read();
    assert_samples(
        "10/20 its own 500 1 label\n"
        "10/21 by the program 1000 1 label\n");
    assert_int_equal(lost_sum(), 0);
}

/* Of several names by the system, the latest one counts, whether the thread or the sampler recorded it and wherever its
 * chunk is in the file. */
TEST(test_latest_name_of_the_system, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t label = define_label(trace, "label", 0, "", 0);
    begin_app_chunk(3000, 1500);
    add_thread(trace, 0, 7, 20, 0, "third");
    add_thread(trace, 0, 8, 21, 0, "third");
    seal();
    begin_events();
    for (unsigned uid = 7; uid < 9; uid++) add_sampled_thread(trace, uid, 13 + uid, 0, "first");
    add_label_sample(2000, 7, 0, label);
    add_label_sample(0, 8, 0, label);
    for (unsigned uid = 7; uid < 9; uid++) add_sampled_thread(trace, uid, 13 + uid, 0, "second");
    add_label_sample(2000, 7, 0, label);
    add_sampled_thread(trace, 8, 21, 0, "fourth");
    seal();
    begin_app_chunk(1000, 500);
    add_thread(trace, 0, 7, 20, 0, "older");
    seal_and_read();
    assert_samples(
        "10/20 third 1000 1 label\n"
        "10/20 third 2000 1 label\n"
        "10/21 fourth 1000 1 label\n");
}

/* A thread records the name that the system had for it at its start. The sampler has read a later one. */
TEST(test_renamed_before_the_first_event, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t label = define_label(trace, "label", 0, "", 0);
    begin_events();
    for (unsigned uid = 7; uid < 9; uid++) {
        add_sampled_thread(trace, uid, 13 + uid, 0, "first");
        add_label_sample(1000, uid, 0, label);
        add_sampled_thread(trace, uid, 13 + uid, 0, "second");
    }
    seal();
    for (int i = 0; i < 2; i++) {
        begin_app_chunk(3000 + 1000 * (unsigned)i, 500);
        add_thread(trace, 0, 7, 20, -3000, "first");
        add_thread(trace, 0, 8, 21, -3000, i == 0 ? "first" : "third");
        seal();
    }
    read_trace();
    assert_samples(
        "10/20 second 500 1 label\n"
        "10/21 third 1000 1 label\n");
}

/* A thread must be named again in each chunk and for each process. Otherwise its samples are lost. */
TEST(test_threads_that_are_not_named, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t label = define_label(trace, "label", 0, "", 0);
    begin_events();
    add_label_sample(1000, 7, 0, label);
    add_thread_same(trace, 0, 7);
    add_block(trace, BUILD_SAMPLED_THREAD_END, 0, 7);
    add_sampled_thread(trace, 7, 20, 0, "named");
    add_label_sample(1000, 7, 0, label);
    add_process(trace, 10, BUILD_START_NS, "app");
    add_label_sample(0, 7, 0, label);
    seal();
    begin_app_chunk(5000, 2500);
    add_thread_same(trace, 0, 7);
    seal_and_read();
    assert_samples("10/20 named 1000 1 label\n");
    assert_ledger(CAUSE_UNNAMED, 4);
    assert_ledger("end of a sampled thread that was not named", 1);
    assert_int_equal(lost_sum(), 5);
}

TEST(test_entries_without_a_process, setup, teardown) {
    struct trace_builder *trace = &fixture.trace;
    trace_events_chunk(trace, 0, 0);
    add_sampled_thread(trace, 7, 20, 0, "named");
    add_mappings(trace, 5);
    add_empty_sample(10, 7, 0, 0);
    add_thread_same(trace, 10, 7);
    add_tick(trace, 10, 1, 2, 3);
    add_process(trace, 10, BUILD_START_NS, "app");
    add_sampled_thread(trace, 7, 20, 0, "named");
    add_empty_sample(0, 7, 0, 0);
    put_leb(trace, 0);
    put_zigzag(trace, 1);
    put_lebs(trace, 1, 0);
    trace_block(trace, BUILD_ALLOCATION);
    seal_and_read();
    assert_samples("10/20 named 15 1 \n");
    assert_int_equal(fixture.profile.origin_ns, BUILD_START_NS);
    assert_ledger("sample without a thread named before it", 2);
    assert_ledger("entry without a process or thread named before it", 4);
}

/* ---- Samples that stand for processor time. ---- */

enum { SPAN_INTERVAL_NS = 1000, TICKS_PER_NS = 2 };

static void begin_spans_at(int64_t start_ns) {
    struct trace_builder *trace = &fixture.trace;
    begin_events();
    put_lebs(trace, 7, 20, 0);
    put_zigzag(trace, start_ns * TICKS_PER_NS);
    put_text(trace, "one");
    put_leb(trace, SPAN_INTERVAL_NS);
    trace_block(trace, BUILD_SAMPLED_THREAD);
}

static void begin_spans(void) { begin_spans_at(0); }

/* Adds a sample without a stack that was taken age_ns before the entry was written. */
static void add_span(uint64_t passed_ns, uint64_t cpu_ns, uint64_t age_ns) {
    struct trace_builder *trace = &fixture.trace;
    put_lebs(trace, passed_ns * TICKS_PER_NS, 7, BUILD_HAS_CPU | (age_ns ? BUILD_HAS_AGE : 0), cpu_ns);
    if (age_ns) put_leb(trace, age_ns * TICKS_PER_NS);
    put_lebs(trace, 0, 0);
    trace_block(trace, BUILD_THREAD_SAMPLE);
}

/* Checks the times and processor times of the thread's samples, "time:cpu ...". */
static void assert_spans(const char *expected) {
    const struct samples *samples = &profile_ordered_thread(&fixture.profile, 0)->samples;
    char text[400] = "";
    for (uint32_t i = 0; i < samples_count(samples); i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%lld:%lld", i ? " " : "",
                 (long long)samples_at(samples, i)->time_ns, (long long)samples_cpu_ns(samples, i));
    assert_string_equal(text, expected);
}

/* A sample becomes one sample for each interval of the processor time that it stands for, in the ledger too. What is
 * left of an interval counts for the next sample. */
TEST(test_samples_of_several_intervals, setup, teardown) {
    begin_spans();
    add_span(1000, 0, 0);
    add_span(9000, 2600, 0); /* 0.4 intervals too many */
    add_span(2000, 1400, 0);
    add_span(2000, 100, 0); /* each sample is kept */
    seal_and_read();
    assert_spans("1000:0 8268:866 9134:867 10000:867 12000:1400 14000:100");
    assert_int_equal(ledger_sum(&fixture.profile.ledger, LEDGER_SAMPLES, LEDGER_KEPT), 6);
    assert_int_equal(lost_sum(), 0);
}

/* No sample stands for that much processor time. Each sample of the profile would cost memory. */
TEST(test_samples_of_too_many_intervals, setup, teardown) {
    begin_spans();
    add_span(1000, (uint64_t)1 << 60, 0);
    add_span(1000, 1000, 0);
    seal_and_read();
    assert_int_equal(ledger_sum(&fixture.profile.ledger, LEDGER_SAMPLES, LEDGER_KEPT), (1 << 20) + 1);
    assert_ledger("intervals of a sample beyond the first 1048576", 1);
}

/* Reads the trace with one filter. */
static void read_filtered(enum gecko_convert_filter_kind kind, const char *value) {
    struct gecko_convert_filter given = {.kind = kind, .value = value};
    struct filter filter;
    filter_init(&filter, &given, 1, &fixture.failure);
    fixture.options.filter = &filter;
    read_trace();
    fixture.options.filter = NULL;
    filter_fini(&filter);
}

static uint64_t sample_sum(enum gecko_convert_fate fate) {
    return ledger_sum(&fixture.profile.ledger, LEDGER_SAMPLES, fate);
}

/* Times count from the first sample. An entry that became several samples counts as several, so that all add up. */
TEST(test_filters, setup, teardown) {
    begin_spans();
    add_span(1000, 0, 0);
    add_span(9000, 2600, 0);
    add_span(2000, 1400, 0);
    seal();
    read_filtered(GECKO_CONVERT_FILTER_TIME, "0.000008-0.00001");
    assert_spans("9134:867 10000:867");
    assert_int_equal(sample_sum(LEDGER_KEPT), 2);
    assert_int_equal(sample_sum(LEDGER_FILTERED), 3);
    read_filtered(GECKO_CONVERT_FILTER_TIME, "50%-");
    assert_spans("8268:866 9134:867 10000:867 12000:1400");
    read_filtered(GECKO_CONVERT_FILTER_COMM, "o?e");
    assert_int_equal(sample_sum(LEDGER_KEPT), 5);
    read_filtered(GECKO_CONVERT_FILTER_TID, "21-99");
    assert_int_equal(sample_sum(LEDGER_KEPT), 0);
    assert_int_equal(sample_sum(LEDGER_FILTERED), 5);
}

/* No sample that found the thread waiting comes within its processor time. */
TEST(test_intervals_after_a_wait, setup, teardown) {
    begin_spans();
    add_span(1000, 0, 0);
    add_span(10000, 0, 0);
    add_span(600, 4000, 0);
    seal_and_read();
    assert_spans("1000:0 7600:0 8600:1000 9600:1000 10600:1000 11600:1000");
}

TEST(test_work_between_waits, setup, teardown) {
    begin_spans();
    add_span(1000, 1000, 0);
    add_span(1000, 0, 0);
    add_span(1000, 0, 0);
    add_span(100, 1000, 0); /* began at 2100 */
    add_span(500, 0, 0);
    add_span(200, 1000, 0); /* began at 2800, before the last one ended */
    add_span(2000, 0, 0);
    add_span(1000, 1000, 0);
    seal_and_read();
    assert_spans("1000:1000 2000:0 2100:0 3100:1000 3100:0 3800:1000 5800:0 6800:1000");
}

/* A sample of a wait may be written before one that was taken earlier. */
TEST(test_wait_after_work, setup, teardown) {
    begin_spans();
    add_span(1000, 0, 0);
    add_span(1000, 0, 0);
    add_span(500, 1000, 700);
    seal_and_read();
    assert_spans("800:0 1800:1000 2000:0");
}

/* The samples come after the thread's start. */
TEST(test_intervals_after_the_start, setup, teardown) {
    begin_spans_at(11000);
    add_span(11600, 4000, 0);
    seal_and_read();
    assert_spans("11150:1000 11300:1000 11450:1000 11600:1000");
    assert_int_equal(profile_ordered_thread(&fixture.profile, 0)->start_ns, 11000);
}

/* An event that waits at the time of the sample has waited less long before. */
TEST(test_delays_of_several_intervals, setup, teardown) {
    begin_spans();
    add_span(1000, 0, 0);
    put_lebs(&fixture.trace, 9000 * TICKS_PER_NS, 7, BUILD_HAS_CPU | BUILD_HAS_DELAY, 3000, 1500, 0, 0);
    trace_block(&fixture.trace, BUILD_THREAD_SAMPLE);
    seal_and_read();
    const struct samples *samples = &profile_ordered_thread(&fixture.profile, 0)->samples;
    assert_int_equal(samples_count(samples), 4);
    static const int64_t delays_ns[] = {0, 500, 1500};
    for (uint32_t i = 0; i < 3; i++) assert_int_equal(samples_delay_ns(samples, i + 1), delays_ns[i]);
}

/* So has one that waits at the time of a wait which makes room for work. */
TEST(test_delay_at_a_moved_wait, setup, teardown) {
    begin_spans();
    add_span(1000, 1000, 0);
    put_lebs(&fixture.trace, 9000 * TICKS_PER_NS, 7, BUILD_HAS_CPU | BUILD_HAS_DELAY, 0, 1500, 0, 0);
    trace_block(&fixture.trace, BUILD_THREAD_SAMPLE);
    add_span(300, 1000, 0);
    seal_and_read();
    assert_spans("1000:1000 9300:0 10300:1000");
    assert_int_equal(samples_delay_ns(&profile_ordered_thread(&fixture.profile, 0)->samples, 1), 800);
}

TEST(test_samples_that_were_taken_before, setup, teardown) {
    begin_spans();
    add_span(1000, 0, 0);
    add_span(10000, 1000, 4000);
    add_span(0, 1000, 3000);
    add_span(0, 0, 0);
    seal_and_read();
    assert_spans("1000:0 7000:1000 8000:1000 11000:0");
    assert_int_equal(lost_sum(), 0);
}

/* Time that was used between samples belongs to all of them. */
TEST(test_time_between_samples, setup, teardown) {
    begin_spans();
    add_span(1000, 0, 0);
    add_span(1000, 1000, 0);
    add_span(1000, 500, 0);
    add_span(1000, 1, 0);
    add_block(&fixture.trace, BUILD_THREAD_REST, 0, 7, 300);
    seal_and_read();
    assert_spans("1000:0 2000:1200 3000:600 4000:1");
    assert_int_equal(lost_sum(), 0);
}

/* The sampler finds out later that a thread has ended. */
TEST(test_end_before_entry, setup, teardown) {
    begin_spans();
    add_span(1000, 1000, 0);
    add_block(&fixture.trace, BUILD_SAMPLED_THREAD_END, 3000 * TICKS_PER_NS, 7, 1500 * TICKS_PER_NS);
    seal_and_read();
    assert_spans("1000:1000");
    assert_int_equal(profile_ordered_thread(&fixture.profile, 0)->end_ns, 2500);
    assert_int_equal(lost_sum(), 0);
}

/* An end of long before the recording is no time that it can tell. */
TEST(test_end_out_of_range, setup, teardown) {
    begin_spans();
    add_span(1000, 1000, 0);
    add_block(&fixture.trace, BUILD_SAMPLED_THREAD_END, 0, 7, INT64_MAX);
    seal_and_read();
    assert_spans("1000:1000");
    assert_int_equal(lost_sum(), 1);
}

/* A short thread may have less time in its only sample. */
TEST(test_more_time_of_a_short_thread, setup, teardown) {
    begin_spans();
    add_span(1000, 100, 0);
    add_block(&fixture.trace, BUILD_THREAD_REST, 0, 7, 999);
    seal_and_read();
    assert_spans("1000:1099");
    assert_int_equal(lost_sum(), 0);
}

/* If the samples have less, most of them were lost. */
TEST(test_more_time_between_samples, setup, teardown) {
    begin_spans();
    add_span(1000, 1000, 0);
    add_block(&fixture.trace, BUILD_THREAD_REST, 0, 7, 1001);
    add_block(&fixture.trace, BUILD_THREAD_REST, 0, 8, 1);
    seal_and_read();
    assert_spans("1000:1000");
    assert_ledger("CPU time between the samples of a thread", 1);
    assert_int_equal(lost_sum(), 1);
}

/* The second sample would have been taken before the recording began, so nothing behind it is believed. */
TEST(test_age_that_cannot_be, setup, teardown) {
    begin_spans();
    add_span(1000, 0, 0);
    add_span(1000, 1000, (uint64_t)1 << 62);
    add_span(1000, 1000, 0);
    seal_and_read();
    assert_spans("1000:0");
    assert_int_equal(lost_sum(), 2);
}

/* ---- Stacks that continue the previous one. ---- */

TEST(test_kept_frames, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t a = define_label(trace, "a", 0, "", 0), b = define_label(trace, "b", 0, "", 0);
    begin_one(0);
    add_sampled_thread(trace, 8, 21, 0, "two");
    add_label_sample(2, 7, 0, a);
    add_label_sample(0, 8, 0, b);
    add_label_sample(2, 7, 1, b);
    add_label_sample(2, 7, 2, a);
    add_empty_sample(2, 7, 0, 1);
    add_thread_same(trace, 2, 7);
    add_thread_same(trace, 0, 8);
    seal_and_read();
    assert_samples(
        "10/20 one 1 1 a\n"
        "10/20 one 2 1 a;b\n"
        "10/20 one 3 1 a;b;a\n"
        "10/20 one 4 1 a\n"
        "10/20 one 5 1 a\n"
        "10/21 two 1 1 b\n"
        "10/21 two 5 1 b\n");
    assert_int_equal(lost_sum(), 0);
}

/* ---- Categories. ---- */

static void add_categories(struct profile_text *out, stack_id id) {
    if (stack_is_none(id)) return;
    const struct profile *profile = &fixture.profile;
    const struct stack *stack = profile_stack_at(profile, id);
    const struct frame *frame = profile_frame_at(profile, stack->frame);
    const struct category *category = categories_at(&profile->categories, frame->category);
    struct text subcategory = *category_subcategory_at(category, frame->subcategory);
    add_categories(out, stack->prefix);
    if (!stack_is_none(stack->prefix)) profile_text_add(out, TEXT(" > "));
    profile_text_add(out, frame_func_name(profile, stack->frame));
    profile_text_add(out, TEXT(": "));
    profile_text_add(out, frame->inherits_category ? TEXT("inherits") : category->name);
    if (frame->subcategory) profile_text_add(out, TEXT("/"));
    if (frame->subcategory) profile_text_add(out, subcategory);
}

/* Asserts what the frames of the first thread's samples are, with their categories. */
static void assert_categories(const char *expected) {
    struct profile_text *out = profile_text_create();
    const struct samples *samples = &profile_ordered_thread(&fixture.profile, 0)->samples;
    for (uint32_t i = 0; i < samples_count(samples); i++) {
        add_categories(out, samples_at(samples, i)->stack);
        profile_text_add(out, TEXT("\n"));
    }
    assert_printed(out, expected);
}

static void put_script_frame(struct trace_builder *trace, uint64_t category, const char *function) {
    put_byte(trace, BUILD_FRAME_SCRIPT);
    put_leb(trace, category);
    put_text(trace, function);
    put_text(trace, "/app/a.js");
    put_lebs(trace, 1, 1);
}

/* Begins a full sample of thread 7 with so many frames after the kept ones. End it with trace_block(…,
 * BUILD_THREAD_SAMPLE). */
static void put_frames_of_sample(struct trace_builder *trace, uint64_t kept, uint64_t count) {
    put_thread_sample(trace, 100, 7, 0, kept);
    put_leb(trace, count);
}

TEST(test_categories_of_what_labels_call, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t io = define_category(trace, "I/O", 3, 0), disk = define_category(trace, "Disk", 3, io);
    uint64_t read = define_label(trace, "read", disk, "", 0), plain = define_label(trace, "plain", 0, "", 0);
    uint64_t library = define_library(trace, "/usr/lib/libapp.so", "");
    uint64_t mapping = define_mapping(trace, 0x10000, 0x2000, 0, library);
    begin_events();
    add_sampled_thread(trace, 7, 10, 0, "main");
    add_mappings(trace, mapping);
    /* A label without a category takes over that of the label around it, and so does what it calls. */
    put_frames_of_sample(trace, 0, 4);
    put_address(trace, BUILD_FRAME_EXACT, 0x10010);
    put_label_frame(trace, read);
    put_label_frame(trace, plain);
    put_address(trace, BUILD_FRAME_EXACT, 0x10);
    trace_block(trace, BUILD_THREAD_SAMPLE);
    /* The label around it may be among the frames of the sample before. */
    put_frames_of_sample(trace, 2, 3);
    put_address(trace, BUILD_FRAME_EXACT, 0x10);
    put_label_frame(trace, plain);
    put_address(trace, BUILD_FRAME_EXACT, 0x10);
    trace_block(trace, BUILD_THREAD_SAMPLE);
    /* Without a label around it, it takes over that of its caller, and what it calls keeps its own. */
    put_frames_of_sample(trace, 1, 2);
    put_label_frame(trace, plain);
    put_address(trace, BUILD_FRAME_EXACT, 0x10);
    trace_block(trace, BUILD_THREAD_SAMPLE);
    /* Nothing calls it. */
    put_frames_of_sample(trace, 0, 1);
    put_label_frame(trace, plain);
    trace_block(trace, BUILD_THREAD_SAMPLE);
    seal_and_read();
    assert_categories(
        "0x10: User/libapp.so > read: I/O/Disk > plain: I/O/Disk > 0x20: inherits\n"
        "0x10: User/libapp.so > read: I/O/Disk > 0x30: inherits > plain: I/O/Disk > 0x40: inherits\n"
        "0x10: User/libapp.so > plain: User/libapp.so > 0x50: User/libapp.so\n"
        "plain: Other\n");
}

TEST(test_categories_of_what_scripts_call, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t category = define_category(trace, "JavaScript", 5, 0);
    begin_events();
    add_sampled_thread(trace, 7, 10, 0, "main");
    put_frames_of_sample(trace, 0, 4);
    put_address(trace, BUILD_FRAME_EXACT, 0x10);
    put_script_frame(trace, category, "outer");
    put_script_frame(trace, 0, "inner");
    put_address(trace, BUILD_FRAME_EXACT, 0x10);
    trace_block(trace, BUILD_THREAD_SAMPLE);
    seal_and_read();
    assert_categories("0x10: User > outer: JavaScript > inner: JavaScript > 0x20: inherits\n");
}

TEST(test_categories_of_waits, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t io = define_category(trace, "I/O", 3, 0), disk = define_category(trace, "Disk", 3, io);
    uint64_t idle = define_category(trace, "Idle", 1, 0);
    uint64_t read = define_label(trace, "read", disk, "", 0), rest = define_label(trace, "rest", idle, "", 0);
    uint64_t wait = define_label(trace, "(waits in poll)", idle, "", 0);
    begin_events();
    add_sampled_thread(trace, 7, 10, 0, "main");
    put_frames_of_sample(trace, 0, 3);
    put_label_frame(trace, read);
    put_address(trace, BUILD_FRAME_EXACT, 0x10);
    put_label_frame(trace, wait);
    trace_block(trace, BUILD_THREAD_SAMPLE);
    put_frames_of_sample(trace, 2, 2);
    put_address(trace, BUILD_FRAME_EXACT, 0x10);
    put_label_frame(trace, wait);
    trace_block(trace, BUILD_THREAD_SAMPLE);
    put_frames_of_sample(trace, 0, 2);
    put_address(trace, BUILD_FRAME_EXACT, 0x10);
    put_label_frame(trace, wait);
    trace_block(trace, BUILD_THREAD_SAMPLE);
    put_frames_of_sample(trace, 0, 2);
    put_label_frame(trace, rest);
    put_label_frame(trace, wait);
    trace_block(trace, BUILD_THREAD_SAMPLE);
    seal_and_read();
    assert_categories(
        "read: I/O/Disk > 0x10: inherits > (waits in poll): Idle/I/O\n"
        "read: I/O/Disk > 0x10: inherits > 0x20: inherits > (waits in poll): Idle/I/O\n"
        "0x30: User > (waits in poll): Idle\n"
        "rest: Idle > (waits in poll): Idle\n");
    bool *are_idle = profile_idle_stacks(&fixture.profile);
    const struct samples *samples = &profile_ordered_thread(&fixture.profile, 0)->samples;
    for (uint32_t i = 0; i < 4; i++) assert_true(profile_is_idle(are_idle, samples_at(samples, i)->stack));
    memory_free(are_idle);
}

TEST(test_stacks_without_a_base, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t a = define_label(trace, "a", 0, "", 0);
    begin_one(0);
    add_thread_same(trace, 0, 7);
    add_label_sample(0, 7, 1, a);
    add_label_sample(2, 7, 0, a);
    add_label_sample(2, 7, 2, a);
    add_thread_same(trace, 2, 7);
    add_label_sample(2, 7, 1, a);
    add_label_sample(2, 7, UINT64_MAX, a);
    add_label_sample(2, 7, 0, a);
    /* A stack with an unknown frame is invalid, so no later stack can continue it. */
    put_thread_sample(trace, 2, 7, 0, 1);
    put_leb(trace, 1);
    put_byte(trace, 9);
    trace_block(trace, BUILD_THREAD_SAMPLE);
    add_thread_same(trace, 2, 7);
    add_label_sample(2, 7, 1, a);
    seal_and_read();
    assert_samples(
        "10/20 one 1 1 a\n"
        "10/20 one 6 1 a\n"
        "10/20 one 7 1 \n"
        "10/20 one 8 1 \n");
    assert_ledger(CAUSE_BASE, 7);
    assert_ledger("stack with a frame of an unknown kind", 1);
}

TEST(test_unknown_flags, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t a = define_label(trace, "a", 0, "", 0);
    begin_one(0);
    add_label_sample(0, 7, 0, a);
    add_empty_sample(2, 7, 32, 0);
    add_thread_same(trace, 2, 7);
    add_address_sample(2, 7, BUILD_FRAME_EXACT, 16);
    add_label_sample(2, 7, 0, a);
    add_block(trace, BUILD_THREAD_SAME, 2, 7, 64);
    seal_and_read();
    /* The running address is unknown from here on. */
    assert_samples("10/20 one 0 1 a\n10/20 one 3 1 \n10/20 one 4 1 a\n");
    assert_ledger("sample with unknown flags", 2);
    assert_ledger(CAUSE_BASE, 1);
    assert_ledger("stack with a frame of an unknown kind", 1);
}

TEST(test_flags_of_the_last_full_sample, setup, teardown) {
    struct trace_builder *trace = &fixture.trace;
    begin_one(0);
    add_empty_sample(0, 7, BUILD_IS_TRUNCATED | BUILD_IS_UNREACHED, 0);
    add_thread_same(trace, 2, 7);
    seal_and_read();
    assert_ledger("sample whose outermost frames are missing", 2);
    assert_ledger("sample of a thread that could not be stopped: it has no stack", 2);
}

/* ---- Addresses. ---- */

TEST(test_mappings_over_time, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t old = define_library(trace, "/old.so", ""), young = define_library(trace, "/young.so (deleted)", "");
    uint64_t first = define_mapping(trace, 0x1000, 0x1000, 0, old);
    uint64_t second = define_mapping(trace, 0x1800, 0x100, 0x40, young);
    uint64_t third = define_mapping(trace, 0x1800, 0x800, 0, 0);
    /* This definition equals the second one but has another id: it maps the library again. */
    uint64_t fourth = define_mapping(trace, 0x1800, 0x100, 0x40, young);
    put_mapping(trace, 11, BUILD_START_NS, 0x1000, 0x1000, 0x7000, old);
    trace_definition(trace, BUILD_MAPPING);
    put_mapping(trace, 10, BUILD_START_NS + 1, 0x1000, 0x1000, 0x7000, old);
    uint64_t last = trace_definition(trace, BUILD_MAPPING);
    begin_one(0);
    add_address_sample(0, 7, BUILD_FRAME_EXACT, 0x1810);
    const uint64_t ids[] = {first, second, third, fourth, last, first};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        add_mappings(trace, ids[i]);
        add_address_sample(2, 7, BUILD_FRAME_EXACT, 0);
    }
    add_address_sample(2, 7, BUILD_FRAME_RETURNS, 0x2000 - 0x1810);
    add_address_sample(2, 7, BUILD_FRAME_EXACT, 0);
    seal_and_read();
    assert_samples(
        "10/20 one 0 1 0x1810\n10/20 one 1 1 0x810\n10/20 one 2 1 0x50\n10/20 one 3 1 0x1810\n10/20 one 4 1 0x50\n"
        "10/20 one 5 1 0x50\n10/20 one 6 1 0x810\n10/20 one 7 1 0xfff\n10/20 one 8 1 0x2000\n");
    assert_int_equal(leaf_of(0, 1)->address, 0x810);
    assert_int_equal(leaf_of(0, 3)->address, ADDRESS_NONE);
    assert_text(libs_at(&fixture.profile.libs, leaf_of(0, 2)->lib)->path, "/young.so");
    assert_int_equal(leaf_of(0, 7)->address, 0xfff);
    assert_int_equal(lost_sum(), 0);
}

TEST(test_inherited_mappings, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t library = define_library(trace, "/lib.so", ""), other = define_library(trace, "/other.so", "");
    put_mapping(trace, 9, BUILD_START_NS, 0x1000, 0x1000, 0, library);
    uint64_t parents = trace_definition(trace, BUILD_MAPPING);
    uint64_t inherited = define_inheritance(trace, 10, 9, parents);
    uint64_t own = define_mapping(trace, 0x1800, 0x100, 0x40, other);
    put_mapping(trace, 9, BUILD_START_NS, 0x1000, 0x1000, 0, other);
    uint64_t last = trace_definition(trace, BUILD_MAPPING);
    begin_one(0);
    add_address_sample(0, 7, BUILD_FRAME_EXACT, 0x1810);
    const uint64_t ids[] = {parents, inherited, own, last};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        add_mappings(trace, ids[i]);
        add_address_sample(2, 7, BUILD_FRAME_EXACT, 0);
    }
    add_address_sample(2, 7, BUILD_FRAME_EXACT, 0x1000 - 0x1810);
    seal_and_read();
    assert_samples(
        "10/20 one 0 1 0x1810\n10/20 one 1 1 0x1810\n10/20 one 2 1 0x810\n10/20 one 3 1 0x50\n"
        "10/20 one 4 1 0x50\n10/20 one 5 1 0x0\n");
    assert_text(libs_at(&fixture.profile.libs, leaf_of(0, 2)->lib)->path, "/lib.so");
    assert_text(libs_at(&fixture.profile.libs, leaf_of(0, 5)->lib)->path, "/lib.so");
    assert_int_equal(lost_sum(), 0);
}

/* Each process forks the next one: 10 is the last, and has the mappings of the first. */
TEST(test_mappings_of_many_generations, setup, teardown) {
    enum { GENERATIONS = 100 };
    struct trace_builder *trace = begin_definitions();
    uint64_t library = define_library(trace, "/lib.so", "");
    put_mapping(trace, 10 + GENERATIONS, BUILD_START_NS, 0x1000, 0x1000, 0, library);
    uint64_t last = trace_definition(trace, BUILD_MAPPING);
    for (uint32_t pid = 10 + GENERATIONS; pid > 10; pid--) last = define_inheritance(trace, pid - 1, pid, last);
    begin_one(last);
    add_address_sample(0, 7, BUILD_FRAME_EXACT, 0x1010);
    seal_and_read();
    assert_samples("10/20 one 0 1 0x10\n");
}

TEST(test_inheritances_that_cannot_be, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t library = define_library(trace, "/lib.so", "");
    put_mapping(trace, 9, BUILD_START_NS, 0x1000, 0x1000, 0, library);
    trace_definition(trace, BUILD_MAPPING);
    define_inheritance(trace, 10, 9, 3);
    put_lebs(trace, 10, BUILD_START_NS, 9);
    trace_definition(trace, BUILD_INHERITANCE);
    begin_one(4);
    add_address_sample(0, 7, BUILD_FRAME_EXACT, 0x1000);
    seal_and_read();
    assert_samples("10/20 one 0 1 0x1000\n");
    assert_ledger("damaged definition", 2);
}

TEST(test_addresses_of_any_size, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t library = define_library(trace, "/lib.so", "");
    define_mapping(trace, 0x1000, 0x1000, 0x7ffffff0, library);
    define_mapping(trace, 0x3000, 0x1000, UINT64_MAX - 0xf, library);
    uint64_t last = define_mapping(trace, UINT64_MAX - 0xfff, 0x1000, 0, library);
    begin_one(last);
    add_address_sample(0, 7, BUILD_FRAME_EXACT, 0x100f);
    add_address_sample(2, 7, BUILD_FRAME_EXACT, 1);
    add_address_sample(2, 7, BUILD_FRAME_EXACT, 0x2000);
    add_address_sample(2, 7, BUILD_FRAME_RETURNS, -0x3010);
    /* Addresses wrap around below 0. */
    add_address_sample(2, 7, BUILD_FRAME_EXACT, -1);
    add_address_sample(2, 7, BUILD_FRAME_EXACT, INT64_MIN);
    seal_and_read();
    assert_samples(
        "10/20 one 0 1 0x7fffffff\n10/20 one 1 1 0x80000000\n10/20 one 2 1 0x3010\n10/20 one 3 1 0x0\n"
        "10/20 one 4 1 0xfff\n10/20 one 5 1 0x7fffffffffffffff\n");
    assert_int_equal(leaf_of(0, 0)->address, INT32_MAX);
    assert_int_equal(leaf_of(0, 1)->address, ADDRESS_NONE);
    assert_int_equal(leaf_of(0, 4)->address, 0xfff);
}

TEST(test_runs_of_addresses, setup, teardown) {
    struct trace_builder *trace = &fixture.trace;
    begin_one(0);
    put_thread_sample(trace, 0, 7, 0, 0);
    put_leb(trace, 3);
    put_byte(trace, BUILD_FRAME_RETURNS);
    put_leb(trace, 2);
    put_zigzag(trace, 0x11);
    put_zigzag(trace, 0x10);
    put_address(trace, BUILD_FRAME_EXACT, -1);
    trace_block(trace, BUILD_THREAD_SAMPLE);
    seal_and_read();
    assert_samples("10/20 one 0 1 0x10;0x20;0x20\n");
    /* Tries a run longer than the stack, an empty run, and a stack longer than its entry. */
    static const unsigned char wrong[][4] = {{1, 3, 2, 0}, {1, 3, 0, 0}, {9, 3, 1, 0}, {2, 4, 1, 0}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        trace_builder_fini(trace);
        trace_builder_init(trace);
        begin_one(0);
        put_thread_sample(trace, 0, 7, 0, 0);
        put_bytes(trace, wrong[i], sizeof wrong[i]);
        trace_block(trace, BUILD_THREAD_SAMPLE);
        add_thread_same(trace, 0, 7);
        seal();
        read_trace();
        assert_ledger(CAUSE_DAMAGED, 2);
    }
}

TEST(test_numbers_that_cannot_be, setup, teardown) {
    struct trace_builder *trace = &fixture.trace;
    for (unsigned flag = 1; flag <= 3; flag++) {
        trace_builder_fini(trace);
        trace_builder_init(trace);
        begin_one(0);
        if (flag < 3) {
            add_block(trace, BUILD_THREAD_SAME, 0, 7, flag, ((uint64_t)1 << 60) + 1);
        } else {
            add_tick(trace, 0, 0, 0, UINT64_MAX);
        }
        seal();
        read_trace();
        assert_ledger(CAUSE_DAMAGED, 1);
    }
}

/* The library's definition may come after the events. The sampler's earlier entries must be kept until then. */
TEST(test_definitions_behind, setup, teardown) {
    struct trace_builder *trace = &fixture.trace;
    begin_one(0);
    add_address_sample(0, 7, BUILD_FRAME_EXACT, 0x5000);
    add_mappings(trace, 2);
    put_thread_sample(trace, 2, 7, 0, 1);
    put_leb(trace, 1);
    put_address(trace, BUILD_FRAME_EXACT, 0x10);
    trace_block(trace, BUILD_THREAD_SAMPLE);
    seal();
    trace_definitions_chunk(trace);
    uint64_t library = define_library(trace, "/lib.so", "");
    define_mapping(trace, 0x5000, 0x1000, 0, library);
    read_trace();
    assert_samples("10/20 one 0 1 0x5000\n10/20 one 1 1 0x5000;0x10\n");
    assert_int_equal(lost_sum(), 0);
    /* Definition 1 is damaged, so the mapping has no library. */
    size_t at = trace->chunk_at + CHUNK_HEADER_BYTES + 9;
    trace->bytes[at] ^= 1;
    read_trace();
    assert_samples("10/20 one 0 1 0x5000\n10/20 one 1 1 0x5000;0x5010\n");
    assert_ledger("mapping whose library's definition is missing", 1);
    assert_ledger("damaged definition", 1);
}

/* The chunks of definitions are in another order, and one is missing. */
TEST(test_definitions_out_of_order, setup, teardown) {
    struct trace_builder *trace = &fixture.trace;
    trace->next_id = 3;
    trace_definitions_chunk(trace);
    uint64_t last = define_mapping(trace, 0x5000, 0x1000, 0x100, 1);
    begin_one(last);
    add_address_sample(0, 7, BUILD_FRAME_EXACT, 0x5000);
    seal();
    trace->next_id = 1;
    trace_definitions_chunk(trace);
    uint64_t library = define_library(trace, "/lib.so", "");
    size_t end = trace->bytes_count;
    define_mapping(trace, 0x5000, 0x1000, 0, library);
    read_trace();
    assert_samples("10/20 one 0 1 0x100\n");
    assert_int_equal(end, trace->bytes_count);
    /* Definition 3 applies even though definition 2 is missing. */
    size_t second_at = trace->chunk_at + CHUNK_HEADER_BYTES + 8 + 12;
    trace_write(trace, second_at, 0, 4);
    read_trace();
    assert_samples("10/20 one 0 1 0x100\n");
}

TEST(test_memory_without_a_file, setup, teardown) {
    static const char *const paths[] = {"",           "[heap]",           "[stack:12]", "[anon:dalvik]", "//anon",
                                        "/memfd:jit", "/tmp/jit-10.dump", "/dev/zero",  "anon_inode:x"};
    struct trace_builder *trace = begin_definitions();
    enum { PATH_COUNT = sizeof paths / sizeof *paths };
    for (size_t i = 0; i < PATH_COUNT; i++)
        define_mapping(trace, 0x1000 * (i + 1), 0x1000, 0, define_library(trace, paths[i], ""));
    uint64_t vdso = define_library(trace, "[vdso]", "");
    uint64_t last = define_mapping(trace, 0x100000, 0x1000, 0, vdso);
    begin_one(last);
    for (size_t i = 0; i < PATH_COUNT; i++) add_address_sample(2, 7, BUILD_FRAME_EXACT, 0x1000);
    add_address_sample(2, 7, BUILD_FRAME_EXACT, 0x100000 - 0x1000 * PATH_COUNT);
    seal_and_read();
    for (uint32_t i = 0; i < PATH_COUNT; i++) assert_int_equal(leaf_of(0, i)->address, ADDRESS_NONE);
    assert_int_equal(leaf_of(0, PATH_COUNT)->address, 0);
    assert_int_equal(libs_count(&fixture.profile.libs), 1);
}

/* An address that the trace names gets a name, a library and an address. Other addresses stay numbers, for the
 * symbolizer. */
TEST(test_symbols, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t vdso = define_library(trace, "linux-vdso.so.1", "id"), other = define_library(trace, "/lib.so", "");
    define_symbol(trace, vdso, 0xa00, 0x20, "__vdso_gettimeofday");
    define_symbol(trace, vdso, 0xa20, 0x10, "__vdso_time");
    define_mapping(trace, 0x7000, 0x1000, 0, vdso);
    uint64_t last = define_mapping(trace, 0x9000, 0x1000, 0, other);
    begin_one(last);
    add_address_sample(0, 7, BUILD_FRAME_EXACT, 0x7a00);
    add_address_sample(2, 7, BUILD_FRAME_RETURNS, 0x20);
    add_address_sample(2, 7, BUILD_FRAME_EXACT, 0);
    add_address_sample(2, 7, BUILD_FRAME_EXACT, 0x10);
    add_address_sample(2, 7, BUILD_FRAME_EXACT, 0x2000 - 0x30);
    seal_and_read();
    assert_samples(
        "10/20 one 0 1 __vdso_gettimeofday\n10/20 one 1 1 __vdso_gettimeofday\n10/20 one 2 1 __vdso_time\n"
        "10/20 one 3 1 0xa30\n10/20 one 4 1 0xa00\n");
    const struct frame *frame = leaf_of(0, 2);
    assert_text(libs_at(&fixture.profile.libs, frame->lib)->path, "linux-vdso.so.1");
    assert_int_equal(frame->address, 0xa20);
    assert_int_equal(profile_native_symbol_at(&fixture.profile, frame->native_symbol)->address, 0xa20);
    assert_int_equal(lost_sum(), 0);
}

TEST(test_symbols_that_cannot_be, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t vdso = define_library(trace, "linux-vdso.so.1", "id");
    define_symbol(trace, vdso, 0xa00, 0, "empty");
    define_symbol(trace, vdso, UINT64_MAX, 2, "beyond the end");
    define_symbol(trace, 99, 0xa00, 0x20, "of nothing");
    put_leb(trace, vdso);
    trace_definition(trace, BUILD_SYMBOL);
    uint64_t last = define_mapping(trace, 0x7000, 0x1000, 0, vdso);
    begin_one(last);
    add_address_sample(0, 7, BUILD_FRAME_EXACT, 0x7a00);
    seal_and_read();
    assert_samples("10/20 one 0 1 0xa00\n");
    assert_ledger("damaged definition", 4);
}

TEST(test_mappings_that_cannot_be, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t library = define_library(trace, "/lib.so", "");
    define_mapping(trace, 0x1000, 0, 0, library);
    define_mapping(trace, UINT64_MAX, 2, 0, library);
    define_mapping(trace, 0x1000, 0x1000, 0, 99);
    put_leb(trace, 10);
    trace_definition(trace, BUILD_MAPPING);
    put_text(trace, "/cut.so");
    trace_definition(trace, BUILD_LIBRARY);
    begin_one(6);
    add_address_sample(0, 7, BUILD_FRAME_EXACT, 0x1000);
    seal_and_read();
    assert_samples("10/20 one 0 1 0x1000\n");
    assert_ledger("damaged definition", 5);
}

/* Samples and stacks of the threads themselves have addresses too, relative to the same running address. */
TEST(test_addresses_everywhere, setup, teardown) {
    struct trace_builder *trace = &fixture.trace;
    begin_events();
    put_lebs(trace, 0, 1);
    put_address(trace, BUILD_FRAME_EXACT, 0x100);
    trace_block(trace, BUILD_SAMPLE);
    /* This marker is lost, but its stack still changes the running address. */
    put_lebs(trace, 0, 32, 99, 0, 1);
    put_address(trace, BUILD_FRAME_EXACT, 0x10);
    trace_block(trace, 10);
    add_sampled_thread(trace, 7, 20, 0, "one");
    add_address_sample(0, 99, BUILD_FRAME_EXACT, 0x10);
    add_address_sample(0, 7, BUILD_FRAME_EXACT, 1);
    seal_and_read();
    assert_samples("10/11 sampler 0 1 0x100\n10/20 one 0 1 0x121\n");
    assert_ledger("marker whose definition is missing", 1);
    assert_ledger(CAUSE_UNNAMED, 1);
}

/* If a thread continues in the chunk of another thread, its entries start with its process and a new running
 * address. */
TEST(test_addresses_behind_a_process, setup, teardown) {
    struct trace_builder *trace = &fixture.trace;
    begin_one(0);
    add_address_sample(0, 7, BUILD_FRAME_EXACT, 0x100);
    add_process(trace, 10, BUILD_START_NS, "app");
    add_thread(trace, 0, 1, 11, 0, "sampler");
    add_sampled_thread(trace, 7, 20, 0, "one");
    add_address_sample(0, 7, BUILD_FRAME_EXACT, 0x20);
    /* After a frame of an unknown kind, the running address is unknown until a new one begins. */
    put_thread_sample(trace, 0, 7, 0, 0);
    put_leb(trace, 1);
    put_byte(trace, 99);
    trace_block(trace, BUILD_THREAD_SAMPLE);
    add_process(trace, 10, BUILD_START_NS, "app");
    add_thread(trace, 0, 1, 11, 0, "sampler");
    add_sampled_thread(trace, 7, 20, 0, "one");
    add_address_sample(0, 7, BUILD_FRAME_EXACT, 0x30);
    seal_and_read();
    assert_samples("10/20 one 0 1 0x100\n10/20 one 0 1 0x20\n10/20 one 0 1 \n10/20 one 0 1 0x30\n");
}

/* ---- Damage anywhere. ---- */

static void read_anything(const void *bytes, size_t bytes_count) {
    char *copy = malloc(bytes_count ? bytes_count : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, bytes_count);
    read_bytes((struct text){copy, bytes_count}, 0);
    free(copy);
}

TEST(test_every_cut, setup, teardown) {
    build_sampler_trace(&fixture.trace);
    size_t events_at = fixture.trace.chunk_at;
    for (size_t count = events_at - 3900; count < events_at + 400; count++) read_anything(fixture.trace.bytes, count);
}

TEST(test_every_flipped_byte, setup, teardown) {
    struct trace_builder *trace = &fixture.trace;
    build_sampler_trace(trace);
    size_t end = trace->chunk_at + trace_read(trace, trace->chunk_at + CHUNK_AT_COMMIT, 4);
    for (size_t at = trace->chunk_at + CHUNK_HEADER_BYTES; at < end; at++) {
        for (unsigned flip = 1; flip < 256; flip <<= 1) {
            trace->bytes[at] ^= (unsigned char)flip;
            trace_hash_chunk(trace, trace->chunk_at);
            read_anything(trace->bytes, trace->bytes_count);
            trace->bytes[at] ^= (unsigned char)flip;
        }
    }
}

/* ---- Generated code. ---- */

static struct temp_folder folder;
static uint64_t start_monotonic_ns;

/* Prepares a trace that was recorded on this machine a moment ago. */
static int setup_jit(void **state) {
    setup(state);
    start_monotonic_ns = trace_of_this_boot(&fixture.trace);
    if (!temp_folder_init(&folder)) return -1;
    fixture.options.perf_map_folder = folder.path;
    return 0;
}

static int teardown_jit(void **state) {
    temp_folder_fini(&folder);
    return teardown(state);
}

static void write_file(const char *name, const void *bytes, size_t bytes_count) {
    assert_true(file_write(temp_folder_file(&folder, name), (struct text){bytes, bytes_count}));
}

/* Sets the file's modification time to that many seconds from now. */
static void date_file(const char *name, int64_t seconds) {
    struct timespec times[2] = {{.tv_sec = time(NULL) + seconds}, {.tv_sec = time(NULL) + seconds}};
    assert_int_equal(utimensat(AT_FDCWD, temp_folder_file(&folder, name), times, 0), 0);
}

static const char perf_map[] =
    "1000 100 old name\n"
    "0x2000 0x10 JS:*fn /app/file.js:10:3\n"
    "\n"
    "1000 80 a new name\n"
    "3000 20 py::run:/app/run.py\n";

/* Builds samples of process 10 at these addresses, 2000 ticks apart, and the end of the process if has_end. */
static void build_jit_trace(const uint64_t *addresses, size_t count, uint64_t mappings_id, bool has_end) {
    struct trace_builder *trace = &fixture.trace;
    trace_events_chunk(trace, 0, 0);
    add_process(trace, 10, start_monotonic_ns, "app");
    if (mappings_id) add_mappings(trace, mappings_id);
    add_sampled_thread(trace, 7, 20, 0, "one");
    uint64_t before = 0;
    for (size_t i = 0; i < count; i++) {
        add_address_sample(i ? 2000 : 0, 7, BUILD_FRAME_EXACT, (int64_t)(addresses[i] - before));
        before = addresses[i];
    }
    seal();
    if (!has_end) return;
    trace_events_chunk(trace, count * 2000, 0);
    add_process(trace, 10, start_monotonic_ns, "app");
    add_mark(trace, BUILD_PROCESS_END, 0);
    seal();
}

static void build_mapped_trace(void) { build_jit_trace((const uint64_t[]){0x1000}, 1, 0, false); }

TEST(test_perf_map, setup_jit, teardown_jit) {
    write_file("perf-10.map", perf_map, sizeof perf_map - 1);
    const uint64_t addresses[] = {0x1000, 0x107f, 0x1080, 0x2005, 0x3000, 0x4000};
    build_jit_trace(addresses, 6, 0, true);
    read_trace();
    assert_samples(
        "10/20 one 0 1 a new name\n10/20 one 1000 1 a new name\n10/20 one 2000 1 old name\n"
        "10/20 one 3000 1 fn\n10/20 one 4000 1 run\n10/20 one 5000 1 0x4000\n");
    const struct profile *profile = &fixture.profile;
    const struct func *func = profile_func_at(profile, leaf_of(0, 0)->func);
    const struct resource *resource = profile_resource_at(profile, func->resource);
    assert_text(strings_text(&profile->strings, resource->name), "perf-10.map");
    const struct frame *script = leaf_of(0, 3);
    assert_text(categories_at(&profile->categories, script->category)->name, "JIT");
    func = profile_func_at(profile, script->func);
    assert_int_equal(func->flags, FUNC_IS_JS);
    assert_int_equal(func->line, 10);
    assert_int_equal(func->column, 3);
    assert_text(categories_at(&profile->categories, leaf_of(0, 4)->category)->name, "Script");
    assert_int_equal(lost_sum(), 0);
    assert_ledger("damaged part of a file about generated code", 0);
}

TEST(test_perf_map_with_damage, setup_jit, teardown_jit) {
    static const char damaged[] = "1000 100 name\nnonsense\n1000\n1000 0 nothing\n1000 10 \n";
    write_file("perf-10.map", damaged, sizeof damaged - 1);
    build_mapped_trace();
    read_trace();
    assert_samples("10/20 one 0 1 name\n");
    assert_ledger("damaged part of a file about generated code", 4);
    write_file("perf-10.map", "", 0);
    read_trace();
    assert_samples("10/20 one 0 1 0x1000\n");
    assert_ledger("file about generated code that cannot be used", 1);
}

/* Files of another process with the same pid, and files from before the last boot, are not trusted. */
TEST(test_files_that_are_not_believed, setup_jit, teardown_jit) {
    write_file("perf-10.map", perf_map, sizeof perf_map - 1);
    const uint64_t addresses[] = {0x1000};
    build_jit_trace(addresses, 1, 0, true);
    date_file("perf-10.map", -30);
    read_trace();
    assert_samples("10/20 one 0 1 0x1000\n");
    date_file("perf-10.map", 30);
    read_trace();
    assert_samples("10/20 one 0 1 0x1000\n");
    date_file("perf-10.map", 0);
    read_trace();
    assert_samples("10/20 one 0 1 a new name\n");
    struct trace_builder *trace = &fixture.trace;
    trace_write(trace, BUILD_AT_START_REALTIME, now_ns(CLOCK_REALTIME) + 100000000000u, 8);
    trace_hash_header(trace);
    read_trace();
    assert_samples("10/20 one 0 1 0x1000\n");
    trace_write(trace, BUILD_AT_START_REALTIME, 1000000000000000000u, 8);
    trace_hash_header(trace);
    read_trace();
    assert_samples("10/20 one 0 1 0x1000\n");
}

/* The end of the process comes after the samples that need the file, among entries of all kinds. */
TEST(test_end_behind_what_waits, setup_jit, teardown_jit) {
    struct trace_builder *trace = &fixture.trace;
    write_file("perf-10.map", perf_map, sizeof perf_map - 1);
    trace_events_chunk(trace, 0, 0);
    add_process(trace, 10, start_monotonic_ns, "app");
    add_sampled_thread(trace, 7, 20, 0, "one");
    add_address_sample(0, 7, BUILD_FRAME_EXACT, 0x1000);
    add_sampled_thread(trace, 8, 21, 0, "two");
    add_mappings(trace, 0);
    trace_block(trace, 99);
    add_thread_same(trace, 2000000000, 7);
    add_thread(trace, 0, 9, 22, 0, "three");
    add_mark(trace, BUILD_PROCESS_END, 4000000000);
    seal();
    /* The process ended two seconds after it began. */
    date_file("perf-10.map", 10);
    read_trace();
    assert_samples("10/20 one 0 1 a new name\n10/20 one 1000000000 1 a new name\n");
    assert_int_equal(profile_process_at(&fixture.profile, (process_id){0})->end_ns, 2000000000);
    date_file("perf-10.map", 14);
    read_trace();
    assert_samples("10/20 one 0 1 0x1000\n10/20 one 1000000000 1 0x1000\n");
}

/* If the trace has no end of the process, the process may still be writing the file. */
TEST(test_file_of_a_process_without_an_end, setup_jit, teardown_jit) {
    write_file("perf-10.map", perf_map, sizeof perf_map - 1);
    date_file("perf-10.map", 30);
    build_mapped_trace();
    read_trace();
    assert_samples("10/20 one 0 1 a new name\n");
}

TEST(test_mapped_file_goes_before, setup_jit, teardown_jit) {
    struct trace_builder *trace = &fixture.trace;
    write_file("perf-10.map", perf_map, sizeof perf_map - 1);
    trace_definitions_chunk(trace);
    uint64_t library = define_library(trace, "/lib.so", ""), heap = define_library(trace, "[heap]", "");
    put_mapping(trace, 10, start_monotonic_ns, 0x1000, 0x80, 0, library);
    trace_definition(trace, BUILD_MAPPING);
    put_mapping(trace, 10, start_monotonic_ns, 0x1080, 0x80, 0, heap);
    uint64_t last = trace_definition(trace, BUILD_MAPPING);
    const uint64_t addresses[] = {0x1000, 0x1080};
    build_jit_trace(addresses, 2, last, false);
    read_trace();
    assert_samples("10/20 one 0 1 0x0\n10/20 one 1000 1 old name\n");
}

/* Process 9 has forked 10, which has forked 11. Each began a second after its parent; 9 ended four seconds after it
 * began. What a process describes itself takes precedence. */
TEST(test_perf_maps_of_parents, setup_jit, teardown_jit) {
    static const char parents[] = "1000 100 inherited\n2000 100 replaced\n";
    const uint64_t starts_ns[] = {start_monotonic_ns, start_monotonic_ns + 1000000000, start_monotonic_ns + 2000000000};
    struct trace_builder *trace = begin_definitions();
    uint64_t library = define_library(trace, "/lib.so", "");
    put_mapping(trace, 9, starts_ns[0], 0x9000, 0x1000, 0, library);
    uint64_t last = trace_definition(trace, BUILD_MAPPING);
    for (uint32_t child = 1; child < 3; child++) {
        put_lebs(trace, 9 + child, starts_ns[child], 8 + child, starts_ns[child - 1], last);
        last = trace_definition(trace, BUILD_INHERITANCE);
    }
    write_file("perf-9.map", parents, sizeof parents - 1);
    write_file("perf-11.map", "2000 100 own\n", 13);
    trace_events_chunk(trace, 0, 0);
    add_process(trace, 9, starts_ns[0], "app");
    add_mark(trace, BUILD_PROCESS_END, UINT64_C(8000000000));
    seal();
    trace_events_chunk(trace, 0, 0);
    for (uint32_t i = 1; i < 3; i++) {
        add_process(trace, 9 + i, starts_ns[i], "app");
        add_mappings(trace, last);
        add_sampled_thread(trace, 6 + i, 19 + i, 0, "one");
        add_address_sample(0, 6 + i, BUILD_FRAME_EXACT, 0x1000);
        add_address_sample(2000, 6 + i, BUILD_FRAME_EXACT, 0x1000);
    }
    seal();
    read_trace();
    assert_samples(
        "10/20 one 0 1 inherited\n10/20 one 1000 1 replaced\n11/21 one 1000 1 inherited\n11/21 one 2000 1 own\n");
    date_file("perf-9.map", 20);
    read_trace();
    assert_samples("10/20 one 0 1 0x1000\n10/20 one 1000 1 0x2000\n11/21 one 1000 1 0x1000\n11/21 one 2000 1 own\n");
    date_file("perf-9.map", -30);
    read_trace();
    assert_samples("10/20 one 0 1 0x1000\n10/20 one 1000 1 0x2000\n11/21 one 1000 1 0x1000\n11/21 one 2000 1 own\n");
    assert_int_equal(lost_sum(), 0);
}

TEST(test_ignored_files, setup_jit, teardown_jit) {
    write_file("perf-10.map", perf_map, sizeof perf_map - 1);
    build_mapped_trace();
    fixture.options.ignores_code_files = true;
    read_trace();
    assert_samples("10/20 one 0 1 0x1000\n");
    fixture.options.ignores_code_files = false;
    read_trace();
    assert_samples("10/20 one 0 1 a new name\n");
}

/* Maps the dump into process 10. Returns the id of the mapping. */
static uint64_t define_dump(void) {
    struct trace_builder *trace = begin_definitions();
    uint64_t library = define_library(trace, temp_folder_file(&folder, "jit-10.dump"), "");
    put_mapping(trace, 10, start_monotonic_ns, 0x900000, 0x1000, 0, library);
    return trace_definition(trace, BUILD_MAPPING);
}

TEST(test_jitdump, setup_jit, teardown_jit) {
    struct dump dump;
    uint64_t t = start_monotonic_ns;
    dump_header(&dump, 10, 0);
    dump_load(&dump, t, 0x1000, 0x100, "first");
    dump_head(&dump, 2, 16, t + 1);
    dump_load(&dump, t + 2500, 0x1000, 0x80, "second");
    dump_move(&dump, t + 4500, 0x1000, 0x2000, 0x80);
    dump_move(&dump, t + 4600, 0x7000, 0x3000, 0x80);
    dump_head(&dump, 3, 16, t + 9000);
    write_file("jit-10.dump", dump.bytes, dump.count);
    write_file("perf-10.map", perf_map, sizeof perf_map - 1);
    uint64_t last = define_dump();
    const uint64_t addresses[] = {0x1000, 0x1000, 0x1000, 0x1000, 0x2000, 0x3000, 0x10f0};
    build_jit_trace(addresses, 7, last, false);
    read_trace();
    /* The perf map may name what the dump does not. */
    assert_samples(
        "10/20 one 0 1 first\n10/20 one 1000 1 first\n10/20 one 2000 1 first\n10/20 one 3000 1 second\n"
        "10/20 one 4000 1 fn\n10/20 one 5000 1 run\n"
        "10/20 one 6000 1 first\n");
    assert_ledger("damaged part of a file about generated code", 0);
    assert_int_equal(lost_sum(), 0);
}

/* Python writes its dump beside perf maps. The process may end before it is seen that it maps it. */
TEST(test_jitdump_that_is_not_mapped, setup_jit, teardown_jit) {
    struct dump dump;
    dump_header(&dump, 10, 0);
    dump_load(&dump, start_monotonic_ns, 0x1000, 0x100, "first");
    write_file("jit-10.dump", dump.bytes, dump.count);
    build_mapped_trace();
    read_trace();
    assert_samples("10/20 one 0 1 first\n");
}

TEST(test_jitdump_with_moves, setup_jit, teardown_jit) {
    struct dump dump;
    dump_header(&dump, 10, 1);
    dump_load(&dump, 123, 0x1000, 0x100, "moving");
    dump_move(&dump, 5, 0x1000, 0x2000, 0x100);
    write_file("jit-10.dump", dump.bytes, dump.count);
    uint64_t last = define_dump();
    const uint64_t addresses[] = {0x1000, 0x2000};
    build_jit_trace(addresses, 2, last, false);
    read_trace();
    assert_samples("10/20 one 0 1 moving\n10/20 one 1000 1 moving\n");
}

static void assert_dump(const struct dump *dump, size_t bytes_count, const char *samples, uint64_t damaged_count,
                        uint64_t unusable_count) {
    write_file("jit-10.dump", dump->bytes, bytes_count);
    read_trace();
    assert_samples(samples);
    assert_ledger("damaged part of a file about generated code", damaged_count);
    assert_ledger("file about generated code that cannot be used", unusable_count);
}

TEST(test_jitdump_with_damage, setup_jit, teardown_jit) {
    struct dump dump;
    uint64_t last = define_dump();
    const uint64_t addresses[] = {0x1000};
    build_jit_trace(addresses, 1, last, false);
    static const char known[] = "10/20 one 0 1 name\n", unknown[] = "10/20 one 0 1 0x1000\n";
    dump_header(&dump, 11, 1);
    dump_load(&dump, 0, 0x1000, 0x100, "name");
    assert_dump(&dump, dump.count, unknown, 1, 1);
    dump_header(&dump, 10, 1);
    assert_dump(&dump, dump.count, unknown, 0, 1);
    assert_dump(&dump, 39, unknown, 1, 1);
    dump_load(&dump, 0, 0x1000, 0x100, "name");
    size_t good_count = dump.count;
    assert_dump(&dump, good_count, known, 0, 0);
    assert_dump(&dump, good_count - 1, known, 1, 0);
    dump_load(&dump, 0, 0x1000, 0x100, "");
    dump_load(&dump, 0, 0x1000, 0, "nothing");
    dump_move(&dump, 0, 0x1000, 0x2000, 0);
    assert_dump(&dump, dump.count, known, 3, 0);
    dump.count = good_count;
    dump_head(&dump, 0, 20, 0);
    dump_number(&dump, 0, 4);
    dump_head(&dump, 1, 20, 0);
    dump_number(&dump, 0, 4);
    dump_head(&dump, 0, 15, 0);
    assert_dump(&dump, dump.count, known, 3, 0);
    assert_dump(&dump, dump.count - 1, known, 3, 0);
    dump.bytes[0] ^= 1;
    assert_dump(&dump, dump.count, unknown, 1, 1);
}

/* ---- Files about generated code that are not read. ---- */

static const char owner_note[] = "file about generated code that belongs to another user, not read",
                  kind_note[] = "file about generated code that is not a regular file, not read",
                  size_note[] = "file about generated code of more than 1 GiB, not read";

/* The user that this program pretends to be; 0 for the real one. */
static uid_t assumed_user;

uid_t geteuid(void) { return assumed_user ? assumed_user : getuid(); }

/* Makes the file belong to another user: changes its owner if this is root, otherwise pretends to be another user. */
static uid_t give_away(const char *name) {
    enum { OTHER_USER = 4711 };
    if (getuid() == 0)
        assert_int_equal(lchown(temp_folder_file(&folder, name), OTHER_USER, OTHER_USER), 0);
    else
        assumed_user = OTHER_USER;
    return getuid() == 0 ? OTHER_USER : getuid();
}

/* Reads a trace of a process with a perf map and checks what became of the map. */
static void assert_unread(const char *note) {
    read_trace();
    assert_samples("10/20 one 0 1 0x1000\n");
    assert_ledger(note, 1);
    assert_ledger("damaged part of a file about generated code", 0);
    assert_int_equal(lost_sum(), 0);
}

static int teardown_owner(void **state) {
    assumed_user = 0;
    return teardown_jit(state);
}

TEST(test_perf_map_of_another_user, setup_jit, teardown_owner) {
    write_file("perf-10.map", perf_map, sizeof perf_map - 1);
    build_mapped_trace();
    give_away("perf-10.map");
    assert_unread(owner_note);
}

TEST(test_perf_map_of_the_owner_of_the_trace, setup_jit, teardown_owner) {
    write_file("perf-10.map", perf_map, sizeof perf_map - 1);
    build_mapped_trace();
    struct text trace = trace_text(&fixture.trace);
    write_file("trace", trace.bytes, trace.bytes_count);
    uid_t user = give_away("perf-10.map"), owner;
    give_away("trace");
    struct input *input = input_open(temp_folder_file(&folder, "trace"), &fixture.failure);
    assert_non_null(input);
    assert_true(input_owner(input, &owner));
    assert_int_equal(owner, user);
    profile_init(&fixture.profile, &fixture.failure);
    fixture.has_profile = true;
    struct reader_options options = {.perf_map_folder = fixture.options.perf_map_folder};
    reader_trace.run(input, &fixture.profile, &options);
    input_close(input);
    profile_finish(&fixture.profile);
    assert_samples("10/20 one 0 1 a new name\n");
    assert_ledger(owner_note, 0);
}

TEST(test_jitdump_of_another_user, setup_jit, teardown_owner) {
    struct dump dump;
    dump_header(&dump, 10, 1);
    dump_load(&dump, 0, 0x1000, 0x100, "name");
    write_file("jit-10.dump", dump.bytes, dump.count);
    uint64_t last = define_dump();
    const uint64_t addresses[] = {0x1000};
    build_jit_trace(addresses, 1, last, false);
    give_away("jit-10.dump");
    assert_unread(owner_note);
}

/* Anybody could have made the link to a file of this user. */
TEST(test_link_of_another_user, setup_jit, teardown_owner) {
    if (getuid() != 0) skip();
    write_file("file", perf_map, sizeof perf_map - 1);
    assert_int_equal(symlink("file", temp_folder_file(&folder, "perf-10.map")), 0);
    build_mapped_trace();
    read_trace();
    assert_samples("10/20 one 0 1 a new name\n");
    give_away("perf-10.map");
    assert_unread(owner_note);
}

TEST(test_perf_maps_that_are_no_files, setup_jit, teardown_jit) {
    const char *path = temp_folder_file(&folder, "perf-10.map");
    build_mapped_trace();
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_unread(kind_note);
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_unread(kind_note);
    rmdir(path);
}

/* The file has 20 GB, none of which are on the disk. */
TEST(test_perf_map_that_is_too_large, setup_jit, teardown_jit) {
    const char *path = temp_folder_file(&folder, "perf-10.map");
    write_file("perf-10.map", perf_map, sizeof perf_map - 1);
    if (truncate(path, INT64_C(20) << 30) != 0) skip();
    build_mapped_trace();
    assert_unread(size_note);
}

/* The file is a compressed perf map. The reader must not decompress it, and sees damaged text. */
TEST(test_perf_map_is_not_unpacked, setup_jit, teardown_jit) {
    write_file("file", perf_map, sizeof perf_map - 1);
    char command[PATH_MAX + 64];
    snprintf(command, sizeof command, "cd '%s' && gzip -c file > perf-10.map", folder.path);
    assert_int_equal(system(command), 0);
    build_mapped_trace();
    read_trace();
    assert_samples("10/20 one 0 1 0x1000\n");
    assert_ledger("file about generated code that cannot be used", 1);
}

/* Replaces the file after it was checked by its path. */
static const char *replaced_path;

int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if (replaced_path && strcmp(path, replaced_path) == 0) {
        unlink(path);
        mkfifo(path, 0600);
        replaced_path = NULL;
    }
    return openat(AT_FDCWD, path, flags, mode);
}

TEST(test_perf_map_that_becomes_a_fifo, setup_jit, teardown_jit) {
    write_file("perf-10.map", perf_map, sizeof perf_map - 1);
    build_mapped_trace();
    replaced_path = temp_folder_file(&folder, "perf-10.map");
    assert_unread(kind_note);
    assert_null(replaced_path);
}

int main(void) { return unit_tests_run(NULL, NULL); }
