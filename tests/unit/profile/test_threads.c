/* Tests the details of samples, allocations, and overheads, in a profile that is put in order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libconvert/base/memory.h"
#include "libconvert/profile/sweep.h"
#include "tests/support/chunk_text.h"
#include "tests/support/profile_check.h"
#include "tests/support/profile_fixture.h"
#include "tests/support/unit_test.h"
#include "writer/emitter.h"

static void finish(void) {
    profile_finish(&profile);
    assert_string_equal(failure.message, "");
    assert_true(ledger_is_balanced(&profile.ledger));
    const char *fault = profile_fault(&profile);
    if (fault) fail_msg("%s", fault);
}

static struct thread *at(thread_id id) { return profile_thread_at(&profile, id); }

static stack_id stack_named(const char *name) {
    frame_id frame = profile_named_frame(&profile, text_of(name), (struct category_pair){0});
    return profile_stack(&profile, stack_none(), frame);
}

static void add_sample(thread_id thread, int64_t time_ns, int64_t cpu_ns, int64_t delay_ns) {
    thread_add_sample(at(thread), time_ns, stack_none(), 1);
    samples_set_details(&at(thread)->samples, cpu_ns, delay_ns);
}

static char *emit(const struct emitter *emitter) {
    struct chunk_list out;
    chunk_list_init(&out, &failure);
    emitter->emit(&profile, &profile.ledger, &out, &(struct emit_options){0}, (struct progress){0});
    char *document = chunk_text(&out);
    chunk_list_fini(&out);
    assert_string_equal(failure.message, "");
    assert_true(ledger_is_balanced(&profile.ledger));
    return document;
}

static void assert_written(const struct emitter *emitter, const char *part) {
    char *document = emit(emitter);
    if (!strstr(document, part)) fail_msg("missing: %s\nin: %s", part, document);
    free(document);
}

static void assert_not_written(const struct emitter *emitter, const char *part) {
    char *document = emit(emitter);
    if (strstr(document, part)) fail_msg("unwanted: %s\nin: %s", part, document);
    free(document);
}

static uint64_t ledger_of(const char *cause) {
    uint64_t count = 0;
    for (size_t i = 0; i < profile.ledger.entries.count; i++)
        if (text_equal(ledger_at(&profile.ledger, i)->cause, text_of(cause)))
            count += ledger_at(&profile.ledger, i)->count;
    return count;
}

/* ---- Details of samples. ---- */

TEST(details_begin_and_end_anywhere, begin_profile, end_profile) {
    thread_id thread = profile_add_thread(&profile, profile_add_process(&profile, 7, 0), 7, 0);
    for (int64_t i = 0; i < 100; i++)
        add_sample(thread, i * 10, i == 40 ? 4 : TIME_NONE, i == 60 || i == 61 ? i : TIME_NONE);
    const struct samples *samples = &at(thread)->samples;
    assert_int_equal(samples->details->cpu_ns.count, 100);
    assert_int_equal(samples->details->delay_ns.count, 100);
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(samples_cpu_ns(samples, i), i == 40 ? 4 : TIME_NONE);
        assert_int_equal(samples_delay_ns(samples, i), i == 60 || i == 61 ? i : TIME_NONE);
    }
    finish();
}

TEST(details_go_with_their_samples, begin_profile, end_profile) {
    thread_id thread = profile_add_thread(&profile, profile_add_process(&profile, 7, 0), 7, 0);
    add_sample(thread, 3000, 30, TIME_NONE);
    add_sample(thread, 1000, TIME_NONE, 1);
    add_sample(thread, 2000, 20, 2);
    finish();
    const struct samples *samples = &at(thread)->samples;
    static const int64_t cpu_ns[] = {TIME_NONE, 20, 30}, delay_ns[] = {1, 2, TIME_NONE};
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(samples_cpu_ns(samples, i), cpu_ns[i]);
        assert_int_equal(samples_delay_ns(samples, i), delay_ns[i]);
    }
}

/* The CPU time of a repeated sample must not be counted twice. That of other threads is written. */
TEST(repeated_samples_lose_details, begin_profile, end_profile) {
    thread_id thread = profile_add_thread(&profile, profile_add_process(&profile, 7, 0), 7, 0);
    profile.meta.weight_type = WEIGHT_SAMPLES;
    thread_add_sample(at(thread), 0, stack_none(), 1);
    thread_add_sample(at(thread), 1000000, stack_none(), 2);
    samples_set_details(&at(thread)->samples, 77, 3000000);
    finish();
    assert_written(&emitter_gecko, "\"time\":1,\"eventDelay\":2},\"data\":[[null,0],[null,1,3],[null,1,3]]");
    assert_int_equal(ledger_of("CPU time of a sample (samples are repeated, or weights are differences)"), 1);
    assert_not_written(&emitter_gecko, "sampleUnits");
}

TEST(threads_without_repeated_samples_keep_details, begin_profile, end_profile) {
    process_id process = profile_add_process(&profile, 7, 0);
    profile.meta.weight_type = WEIGHT_SAMPLES;
    for (uint32_t weight = 1; weight <= 2; weight++) {
        struct thread *thread = at(profile_add_thread(&profile, process, 6 + weight, 0));
        thread_add_sample(thread, 0, stack_none(), weight);
        samples_set_details(&thread->samples, 77, TIME_NONE);
    }
    finish();
    assert_written(&emitter_gecko, "\"threadCPUDelta\":2,\"eventDelay\":3},\"data\":[[null,0,77]]");
    assert_int_equal(ledger_of("CPU time of a sample (samples are repeated, or weights are differences)"), 1);
    assert_written(&emitter_gecko, "\"time\":1,\"eventDelay\":2},\"data\":[[null,0],[null,0]]");
    assert_written(&emitter_gecko, "\"threadCPUDelta\":\"ns\"");
}

/* ---- Allocations. ---- */

static const struct allocation *allocation_at(thread_id thread, size_t row) {
    return column_at(&at(thread)->allocations, row);
}

TEST(allocations_make_a_thread_and_the_range, begin_profile, end_profile) {
    process_id process = profile_add_process(&profile, 7, 0);
    thread_id thread = profile_add_thread(&profile, process, 8, 0);
    profile_add_allocation(&profile, thread, 5000, 16, 1, stack_none());
    profile_add_allocation(&profile, thread, 2000, 32, 2, stack_none());
    finish();
    assert_int_equal(profile.origin_ns, 2000);
    assert_int_equal(profile.end_ns, 3000);
    assert_int_equal(profile.thread_order.count, 1);
    assert_int_equal(allocation_at(thread, 0)->bytes, 32);
    assert_int_equal(allocation_at(thread, 0)->time_ns, 0);
    assert_int_equal(allocation_at(thread, 1)->time_ns, 3000);
}

TEST(what_is_given_back_goes_to_whom_took_it, begin_profile, end_profile) {
    process_id process = profile_add_process(&profile, 7, 0), other = profile_add_process(&profile, 8, 0);
    thread_id a = profile_add_thread(&profile, process, 7, 0), b = profile_add_thread(&profile, process, 71, 0);
    thread_id c = profile_add_thread(&profile, other, 8, 0);
    profile_add_allocation(&profile, b, 300, -16, 0x10, stack_none());
    profile_add_allocation(&profile, a, 100, 16, 0x10, stack_none());
    /* Nobody has allocated it, so the deallocation stays in the thread that freed it. */
    profile_add_allocation(&profile, b, 400, -16, 0x10, stack_none());
    /* Another thread allocates the address next. */
    profile_add_allocation(&profile, b, 500, 8, 0x10, stack_none());
    profile_add_allocation(&profile, a, 600, -8, 0x10, stack_none());
    /* The same address in another process. */
    profile_add_allocation(&profile, c, 200, -16, 0x10, stack_none());
    finish();
    assert_int_equal(at(a)->allocations.count, 2);
    assert_int_equal(at(b)->allocations.count, 3);
    assert_int_equal(at(c)->allocations.count, 1);
    assert_int_equal(allocation_at(a, 1)->time_ns, 200);
    assert_int_equal(allocation_at(a, 1)->thread.index, b.index);
    assert_int_equal(allocation_at(b, 0)->time_ns, 300);
    assert_int_equal(allocation_at(b, 2)->thread.index, a.index);
}

TEST(stacks_of_allocations_are_used, begin_profile, end_profile) {
    thread_id thread = profile_add_thread(&profile, profile_add_process(&profile, 7, 0), 7, 0);
    stack_named("unused");
    profile_add_allocation(&profile, thread, 0, 16, UINT64_MAX, stack_named("used"));
    profile_add_allocation(&profile, thread, 0, 0, 0, stack_none());
    finish();
    sweep_profile(&profile);
    assert_int_equal(stack_table_count(&profile.stacks), 1);
    assert_int_equal(allocation_at(thread, 0)->stack.index, 0);
    assert_true(stack_is_none(allocation_at(thread, 1)->stack));
    assert_written(
        &emitter_processed,
        "\"nativeAllocations\":{\"time\":[0,0],\"weight\":[16,0],\"stack\":[0,null],"
        "\"memoryAddress\":[9223372036854775807,0],\"threadId\":[7,7],\"weightType\":\"bytes\",\"length\":2}");
}

/* ---- Overhead. ---- */

static void add_overhead(process_id process, int64_t time_ns, int64_t ns) {
    struct overhead overhead = {
        .process = process, .time_ns = time_ns, .locking_ns = ns, .counters_ns = 2 * ns, .threads_ns = 3 * ns};
    profile_add_overhead(&profile, &overhead);
}

TEST(overhead_is_in_order, begin_profile, end_profile) {
    process_id a = profile_add_process(&profile, 7, 0), b = profile_add_process(&profile, 8, 0);
    process_id empty = profile_add_process(&profile, 9, 0);
    thread_id thread = profile_add_thread(&profile, a, 7, 0);
    thread_id worker = profile_add_thread(&profile, b, 81, 0);
    thread_add_sample(at(thread), 1000, stack_none(), 1);
    thread_add_sample(at(worker), 1000, stack_none(), 1);
    add_overhead(b, 900, 1);
    add_overhead(a, 3000, 1);
    add_overhead(empty, 3000, 1);
    add_overhead(a, 2000, 2);
    finish();
    /* An overhead does not extend the range of times. */
    assert_int_equal(profile.origin_ns, 1000);
    assert_int_equal(profile.end_ns, 0);
    assert_int_equal(profile.overheads.count, 3);
    assert_int_equal(((const struct overhead *)column_at(&profile.overheads, 0))->time_ns, 1000);
    assert_int_equal(((const struct overhead *)column_at(&profile.overheads, 1))->time_ns, 2000);
    assert_int_equal(((const struct overhead *)column_at(&profile.overheads, 2))->process.index, b.index);
    assert_int_equal(ledger_of("overhead of recording in a process without threads"), 1);
    assert_written(&emitter_processed, "\"time\":[0.001,0.002],\"locking\":[0.002,0.001],");
    assert_written(&emitter_processed, "\"pid\":\"7\",\"mainThreadIndex\":0},{");
    /* A single round has no duration. */
    assert_written(&emitter_processed,
                   "\"time\":[-0.0001],\"locking\":[0.001],\"expiredMarkerCleaning\":[0],\"counters\":[0.002],"
                   "\"threads\":[0.003],\"length\":1},");
    assert_written(&emitter_processed,
                   "\"overheadDurations\":0.006,\"overheadPercentage\":0,\"profiledDuration\":0,\"samplingCount\":1},"
                   "\"pid\":\"8\",\"mainThreadIndex\":1}]");
    assert_written(&emitter_gecko, "\"data\":[[1,0.002,0,0.004,0.006],[2,0.001,0,0.002,0.003]]}");
    /* The front-end identifies a process by its main thread. */
    assert_int_equal(ledger_of("overhead of recording in a process without a main thread"), 1);
}

/* ---- The order of processes. ---- */

static process_id add_process(int64_t pid, const char *name) {
    process_id id = profile_add_process(&profile, pid, 0);
    thread_id thread = profile_add_thread(&profile, id, pid, 0);
    at(thread)->name = text_of(name);
    thread_add_sample(at(thread), pid, stack_none(), 1);
    return id;
}

static void set_parent(process_id child, process_id parent) { profile_process_at(&profile, child)->parent = parent; }

TEST(parents_come_before_their_children, begin_profile, end_profile) {
    process_id grandchild = add_process(1, "grandchild");
    add_process(2, "alone");
    process_id child = add_process(3, "child"), root = add_process(4, "root");
    process_id unwritten = profile_add_process(&profile, 5, 0);
    add_process(6, "plugin");
    set_parent(grandchild, child);
    set_parent(child, root);
    set_parent(root, unwritten);
    finish();
    static const int64_t pids[] = {4, 3, 1, 2, 6};
    assert_int_equal(profile.thread_order.count, 5);
    for (size_t i = 0; i < 5; i++) {
        process_id process = profile_ordered_thread(&profile, i)->process;
        assert_int_equal(profile_process_at(&profile, process)->pid, pids[i]);
        assert_int_equal(profile_place_of_process(&profile, process), i);
    }
    const process_id last = {5};
    assert_int_equal(profile_process_at(&profile, last)->pid, 5);
    assert_int_equal(profile_place_of_process(&profile, last), 5);
    /* The viewer puts the type "default" first, and knows a type "plugin". */
    static const struct emitter *const formats[] = {&emitter_processed, &emitter_gecko};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        assert_written(formats[i], "\"processType\":\"default\",\"processName\":\"root\"");
        assert_written(formats[i], "\"processType\":\"child\",\"processName\":\"child\"");
        assert_written(formats[i], "\"processType\":\"alone\",\"processName\":\"alone\"");
        assert_written(formats[i], "\"processType\":\"default\",\"processName\":\"plugin\"");
    }
}

TEST(the_last_of_programs_that_execute_each_other_has_the_pid_alone, begin_profile, end_profile) {
    static const struct {
        int64_t pid;
        uint32_t generation;
        bool is_replaced;
        const char *text;
    } rows[] = {
        {7, 3, false, "7.2"}, {7, 0, false, "7"},  {7, 1, true, "7.3"}, {7, 2, true, "7.4"},  {8, 1, true, "8"},
        {8, 0, true, "8.2"},  {9, 0, true, "9.2"}, {9, 1, false, "9"},  {9, 2, false, "9.3"},
    };
    enum { ROW_COUNT = sizeof rows / sizeof *rows };
    process_id ids[ROW_COUNT];
    for (size_t i = 0; i < ROW_COUNT; i++) {
        ids[i] = profile_add_process(&profile, rows[i].pid, rows[i].generation);
        profile_process_at(&profile, ids[i])->is_replaced = rows[i].is_replaced;
    }
    finish();
    for (size_t i = 0; i < ROW_COUNT; i++)
        assert_true(text_equal(profile_process_at(&profile, ids[i])->pid_text, text_of(rows[i].text)));
}

TEST(processes_that_descend_from_themselves_are_written_once, begin_profile, end_profile) {
    process_id first = add_process(1, "first"), second = add_process(2, "second"), third = add_process(3, "third");
    set_parent(first, second);
    set_parent(second, third);
    set_parent(third, first);
    finish();
    assert_int_equal(profile.thread_order.count, 3);
}

/* ---- Categories of callers. ---- */

static stack_id stack_of(thread_id thread) { return samples_at(&at(thread)->samples, 0)->stack; }

TEST(categories_are_those_of_callers, begin_profile, end_profile) {
    thread_id thread = profile_add_thread(&profile, profile_add_process(&profile, 7, 0), 7, 0);
    thread_id other = profile_add_thread(&profile, profile_thread_at(&profile, thread)->process, 70, 0);
    struct category_pair idle = categories_intern_code(&profile.categories, CODE_IDLE, TEXT(""));
    struct frame frame = frame_of_func(profile_named_func(&profile, profile_string(&profile, TEXT("f"))), idle);
    stack_id root = profile_stack(&profile, stack_none(), profile_frame(&profile, &frame));
    frame.category = 0;
    frame.inherits_category = 1;
    frame_id inheriting = profile_frame(&profile, &frame);
    for (int64_t i = 0; i < 3; i++) thread_add_sample(at(thread), i, profile_stack(&profile, root, inheriting), 1);
    thread_add_sample(at(other), 0, profile_stack(&profile, stack_none(), inheriting), 1);
    finish();
    assert_written(&emitter_processed, "\"category\":[1,null],\"subcategory\":[0,null]");
    assert_written(&emitter_gecko, "[0,false,1,0]");
    assert_written(&emitter_gecko, "[0,false,null,null]");
    /* The first thread idles, whatever function it calls to do so. */
    bool *idle_stacks = profile_idle_stacks(&profile);
    assert_true(profile_is_idle(idle_stacks, stack_of(thread)));
    assert_false(profile_is_idle(idle_stacks, stack_of(other)));
    memory_free(idle_stacks);
}

int main(void) { return unit_tests_run(NULL, NULL); }
