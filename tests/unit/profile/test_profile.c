#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libconvert/profile/profile.h"
#include "tests/support/assert_text.h"
#include "tests/support/counter_samples.h"
#include "tests/support/full_tables.h"
#include "tests/support/profile_fixture.h"
#include "tests/support/random_numbers.h"
#include "tests/support/unit_test.h"

static const int64_t MS = 1000000;
static const int64_t DEFAULT_INTERVAL_NS = 1000000;

static process_id add_process(int64_t pid, uint32_t generation) {
    return profile_add_process(&profile, pid, generation);
}

static struct thread *add_thread(process_id process, int64_t tid, uint32_t generation) {
    return profile_thread_at(&profile, profile_add_thread(&profile, process, tid, generation));
}

/* For profiles that need only one thread. */
static struct thread *add_single_thread(void) { return add_thread(add_process(7, 0), 7, 0); }

static struct thread *add_thread_with_samples(process_id process, int64_t tid, uint32_t sample_count) {
    struct thread *thread = add_thread(process, tid, 0);
    for (uint32_t i = 0; i < sample_count; i++) thread_add_sample(thread, i * MS, stack_none(), 1);
    return thread;
}

static int64_t time_ns(const struct thread *thread, size_t i) { return samples_at(&thread->samples, i)->time_ns; }
static uint32_t stack(const struct thread *thread, size_t i) { return samples_at(&thread->samples, i)->stack.index; }
static uint32_t weight(const struct thread *thread, size_t i) { return samples_at(&thread->samples, i)->weight; }

static void add_instant(struct thread *thread, int64_t start_ns, int64_t end_ns, uint32_t name) {
    static const struct marker_schema schema = {.name = TEXT("Bare")};
    profile_add_marker(&profile, thread,
                       (struct marker){.start_ns = start_ns,
                                       .end_ns = end_ns,
                                       .name = {name},
                                       .stack = stack_none(),
                                       .schema = profile_marker_schema(&profile, &schema)},
                       NULL);
}

static const struct marker *marker(const struct thread *thread, size_t i) { return column_at(&thread->markers, i); }

/* ---- Tables. ---- */

static void a_new_profile_is_empty(void **state) {
    assert_int_equal(strings_count(&profile.strings), 0);
    assert_int_equal(profile.threads.count, 0);
    assert_int_equal(profile.categories.rows.count, 1);
    assert_true(profile.meta.has_times);
    assert_int_equal(profile.meta.weight_type, WEIGHT_ONE);
    assert_int_equal(profile.meta.cpu_delta_unit, CPU_DELTA_NONE);
    assert_int_equal(profile.meta.product.bytes_count, 0);
    finish_profile();
    assert_int_equal(profile.thread_order.count, 0);
    assert_int_equal(profile.meta.extra.count, 0);
    assert_int_equal(profile.origin_ns, 0);
    assert_int_equal(profile.end_ns, 0);
    assert_int_equal(profile.meta.interval_ns, DEFAULT_INTERVAL_NS);
    assert_int_equal(profile.meta.start_time_ms, 0);
}

static void rows_of_tables_are_unique(void **state) {
    string_id name = profile_string(&profile, TEXT("libc.so.6"));
    assert_int_equal(profile_resource(&profile, name, RESOURCE_LIBRARY).index, 0);
    assert_int_equal(profile_resource(&profile, name, RESOURCE_URL).index, 1);
    assert_int_equal(profile_resource(&profile, name, RESOURCE_LIBRARY).index, 0);
    assert_int_equal(profile_resource_at(&profile, (resource_id){1})->type, RESOURCE_URL);
    assert_int_equal(profile_resource_at(&profile, (resource_id){1})->name.index, name.index);

    assert_int_equal(profile_source(&profile, TEXT("a.c")).index, 0);
    assert_int_equal(profile_source(&profile, TEXT("b.c")).index, 1);
    assert_int_equal(profile_source(&profile, TEXT("a.c")).index, 0);
    assert_text(strings_text(&profile.strings, profile_source_at(&profile, (source_id){1})->filename), "b.c");

    assert_int_equal(profile_native_symbol(&profile, (lib_id){3}, 0x1000, name).index, 0);
    assert_int_equal(profile_native_symbol(&profile, (lib_id){4}, 0x1000, name).index, 1);
    assert_int_equal(profile_native_symbol(&profile, (lib_id){3}, 0x1001, name).index, 2);
    assert_int_equal(profile_native_symbol(&profile, (lib_id){3}, 0x1000, name).index, 0);
    const struct native_symbol *symbol = profile_native_symbol_at(&profile, (native_symbol_id){2});
    assert_int_equal(symbol->lib.index, 3);
    assert_int_equal(symbol->address, 0x1001);
    assert_int_equal(symbol->name.index, name.index);

    struct func func = {.name = name, .resource = resource_none(), .source = source_none(), .line = 12};
    assert_int_equal(profile_func(&profile, &func).index, 0);
    func.line = 13;
    assert_int_equal(profile_func(&profile, &func).index, 1);
    assert_int_equal(profile_func_at(&profile, (func_id){0})->line, 12);

    struct frame frame = {
        .func = {1}, .address = ADDRESS_NONE, .lib = lib_none(), .native_symbol = native_symbol_none()};
    assert_int_equal(profile_frame(&profile, &frame).index, 0);
    frame.inline_depth = INLINE_DEPTH_MAX;
    assert_int_equal(profile_frame(&profile, &frame).index, 1);
    assert_int_equal(profile_frame(&profile, &frame).index, 1);
    assert_int_equal(profile_frame_at(&profile, (frame_id){1})->inline_depth, 255);

    stack_id root = profile_stack(&profile, stack_none(), (frame_id){1});
    assert_int_equal(profile_stack(&profile, root, (frame_id){1}).index, 1);
    assert_int_equal(profile_stack(&profile, stack_none(), (frame_id){1}).index, root.index);
    assert_int_equal(profile_stack_at(&profile, (stack_id){1})->prefix.index, root.index);
}

static void texts_are_no_strings_of_the_table(void **state) {
    assert_text(profile_text(&profile, TEXT("Linux \xff")), "Linux \xef\xbf\xbd");
    assert_text(profile_text_format(&profile, "%s %d", "cpu", 3), "cpu 3");
    assert_int_equal(strings_count(&profile.strings), 0);
    char name[5000];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    assert_int_equal(profile_text_format(&profile, "%s", name).bytes_count, 4095);
    name[4095] = '\0';
    assert_int_equal(profile_text_format(&profile, "%s", name).bytes_count, 4095);
    assert_false(failure_is_set(&failure));
}

static void processes_and_threads_start_out_bare(void **state) {
    assert_int_equal(add_process(12, 0).index, 0);
    assert_int_equal(add_process(12, 1).index, 1);
    const struct process *process = profile_process_at(&profile, (process_id){1});
    assert_int_equal(process->pid, 12);
    assert_int_equal(process->generation, 1);
    assert_true(process->start_ns == TIME_NONE && process->end_ns == TIME_NONE);
    assert_true(thread_is_none(process->main_thread));
    assert_int_equal(process->name.bytes_count, 0);
    assert_int_equal(profile_add_thread(&profile, (process_id){1}, 13, 2).index, 0);
    const struct thread *thread = profile_thread_at(&profile, (thread_id){0});
    assert_int_equal(thread->process.index, 1);
    assert_int_equal(thread->tid, 13);
    assert_int_equal(thread->generation, 2);
    assert_false(thread->is_main);
    assert_true(thread->start_ns == TIME_NONE && thread->end_ns == TIME_NONE);
    assert_int_equal(samples_count(&thread->samples), 0);
}

static void samples_are_kept_in_their_order(void **state) {
    struct thread *thread = add_single_thread();
    for (uint32_t i = 0; i < 1000; i++) thread_add_sample(thread, 3 * i, (stack_id){i * 5}, i * 7);
    assert_int_equal(samples_count(&thread->samples), 1000);
    for (uint32_t i = 0; i < 1000; i++) {
        assert_int_equal(time_ns(thread, i), 3 * i);
        assert_int_equal(stack(thread, i), i * 5);
        assert_int_equal(weight(thread, i), i * 7);
    }
}

/* ---- Weights. ---- */

static void small_weights_are_themselves(void **state) {
    static const int64_t weights[] = {0, 1, 250000, 0x7fffffff};
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        uint32_t encoded = profile_weight_encode(&profile, decimal_make(weights[i], 0));
        assert_int_equal(encoded, weights[i]);
        struct decimal decoded = profile_weight_decode(&profile, encoded);
        assert_int_equal(decoded.mantissa, weights[i]);
        assert_int_equal(decoded.scale, 0);
        assert_int_equal(decoded.exponent, 0);
    }
    assert_int_equal(row_table_count(&profile.large_weights), 0);
}

static void other_weights_are_rows(void **state) {
    static const struct decimal weights[] = {
        {0x80000000, 0, 0}, {-1, 0, 0}, {5, 1, 0}, {INT64_MAX, 0, 0}, {INT64_MIN, 0, 0}, {-25, 2, 0}, {1, 18, 0},
    };
    for (uint32_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        uint32_t encoded = profile_weight_encode(&profile, weights[i]);
        assert_int_equal(encoded, 0x80000000u | i);
        struct decimal decoded = profile_weight_decode(&profile, encoded);
        assert_memory_equal(&decoded, &weights[i], sizeof decoded);
    }
    assert_int_equal(profile_weight_encode(&profile, weights[3]), 0x80000003u);
    assert_int_equal(row_table_count(&profile.large_weights), sizeof weights / sizeof *weights);
}

static void a_weight_without_memory_is_0(void **state) {
    struct column rows = profile.large_weights.rows;
    column_make_full(&profile.large_weights.rows);
    assert_int_equal(profile_weight_encode(&profile, decimal_make(-1, 0)), 0);
    assert_int_equal(failure.code, FAILURE_MEMORY);
    profile.large_weights.rows = rows;
}

/* ---- Order and times. ---- */

static void samples_are_sorted_by_time(void **state) {
    struct thread *thread = add_single_thread();
    thread_add_sample(thread, 500, (stack_id){5}, 50);
    thread_add_sample(thread, 300, (stack_id){3}, 30);
    thread_add_sample(thread, 400, (stack_id){4}, 40);
    finish_profile();
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(time_ns(thread, i), i * 100);
        assert_int_equal(stack(thread, i), i + 3);
        assert_int_equal(weight(thread, i), (i + 3) * 10);
    }
    assert_int_equal(profile.origin_ns, 300);
    assert_int_equal(profile.end_ns, 200);
}

static void samples_of_one_time_keep_their_order(void **state) {
    enum { COUNT = 5000, TIME_COUNT = 40 };
    struct thread *thread = add_single_thread();
    struct random_numbers numbers = {8};
    uint32_t count_at[TIME_COUNT] = {0};
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t time = random_below(&numbers, TIME_COUNT);
        thread_add_sample(thread, time, (stack_id){time}, i);
        count_at[time]++;
    }
    finish_profile();
    uint32_t at = 0;
    for (uint32_t time = 0; time < TIME_COUNT; time++) {
        assert_true(count_at[time] > 1);
        for (uint32_t i = 0; i < count_at[time]; i++, at++) {
            assert_int_equal(time_ns(thread, at), time);
            assert_int_equal(stack(thread, at), time);
            if (i) assert_true(weight(thread, at - 1) < weight(thread, at));
        }
    }
    assert_int_equal(at, COUNT);
}

static void markers_are_sorted_by_their_start(void **state) {
    enum { COUNT = 3000, TIME_COUNT = 50 };
    struct thread *thread = add_single_thread();
    struct random_numbers numbers = {9};
    for (uint32_t i = 0; i < COUNT; i++) {
        int64_t start_ns = random_below(&numbers, TIME_COUNT);
        add_instant(thread, start_ns, start_ns + random_below(&numbers, 9), i);
    }
    add_instant(thread, 0, 0, COUNT);
    finish_profile();
    for (uint32_t i = 1; i <= COUNT; i++) {
        const struct marker *a = marker(thread, i - 1), *b = marker(thread, i);
        assert_true(a->start_ns < b->start_ns || (a->start_ns == b->start_ns && a->name.index < b->name.index));
    }
}

static void threads_are_sorted_each_for_itself(void **state) {
    struct thread *a = add_single_thread(), *b = add_thread((process_id){0}, 8, 0);
    thread_add_sample(a, 20, (stack_id){1}, 1);
    thread_add_sample(b, 30, (stack_id){2}, 1);
    thread_add_sample(a, 10, (stack_id){3}, 1);
    thread_add_sample(b, 15, (stack_id){4}, 1);
    finish_profile();
    assert_int_equal(stack(a, 0), 3);
    assert_int_equal(stack(a, 1), 1);
    assert_int_equal(stack(b, 0), 4);
    assert_int_equal(time_ns(b, 0), 5);
    assert_int_equal(time_ns(b, 1), 20);
}

static void time_zero_is_the_first_event_of_any_thread(void **state) {
    struct thread *a = add_single_thread(), *b = add_thread((process_id){0}, 8, 0);
    thread_add_sample(a, 5000, stack_none(), 1);
    add_instant(b, 4000, 9000, 0);
    add_instant(b, 4500, 4500, 1);
    finish_profile();
    assert_int_equal(profile.origin_ns, 4000);
    assert_int_equal(profile.end_ns, 5000); /* when the last marker ends, not when the last one starts */
    assert_int_equal(time_ns(a, 0), 1000);
    assert_int_equal(marker(b, 0)->start_ns, 0);
    assert_int_equal(marker(b, 0)->end_ns, 5000);
    assert_int_equal(marker(b, 1)->start_ns, 500);
}

static void times_far_apart_are_kept(void **state) {
    struct thread *thread = add_single_thread();
    thread_add_sample(thread, INT64_MAX, stack_none(), 1);
    thread_add_sample(thread, 0, stack_none(), 1);
    finish_profile();
    assert_true(time_ns(thread, 1) == INT64_MAX);
    assert_true(profile.end_ns == INT64_MAX);
    assert_true(profile.meta.interval_ns == INT64_MAX);
}

static void times_may_be_negative(void **state) {
    struct thread *thread = add_single_thread();
    thread_add_sample(thread, -10, stack_none(), 1);
    thread_add_sample(thread, -30, stack_none(), 2);
    thread_add_sample(thread, 5, stack_none(), 3);
    finish_profile();
    assert_int_equal(profile.origin_ns, -30);
    assert_int_equal(time_ns(thread, 0), 0);
    assert_int_equal(time_ns(thread, 1), 20);
    assert_int_equal(time_ns(thread, 2), 35);
}

static void lives_are_relative_to_time_zero(void **state) {
    static const struct {
        int64_t start_ns, end_ns, relative_start_ns, relative_end_ns;
    } cases[] = {
        {TIME_NONE, TIME_NONE, TIME_NONE, TIME_NONE},
        {900, 999, TIME_NONE, 0}, /* before the first event: only its existence is known */
        {1000, 1000, 0, 0},
        {1001, 2500, 1, 1500},
        {TIME_NONE, 1200, TIME_NONE, 200},
        {1200, TIME_NONE, 200, TIME_NONE},
    };
    enum { CASE_COUNT = sizeof cases / sizeof *cases };
    for (uint32_t i = 0; i < CASE_COUNT; i++) {
        process_id id = add_process(i, 0);
        struct process *process = profile_process_at(&profile, id);
        struct thread *thread = add_thread(id, i, 0);
        process->start_ns = thread->start_ns = cases[i].start_ns;
        process->end_ns = thread->end_ns = cases[i].end_ns;
        if (i == 0) thread_add_sample(thread, 1000, stack_none(), 1);
    }
    finish_profile();
    for (uint32_t i = 0; i < CASE_COUNT; i++) {
        const struct process *process = profile_process_at(&profile, (process_id){i});
        const struct thread *thread = profile_thread_at(&profile, (thread_id){i});
        assert_true(process->start_ns == cases[i].relative_start_ns && process->end_ns == cases[i].relative_end_ns);
        assert_true(thread->start_ns == cases[i].relative_start_ns && thread->end_ns == cases[i].relative_end_ns);
    }
}

static void the_start_is_derived_from_when_the_trace_was_written(void **state) {
    struct thread *thread = add_single_thread();
    thread_add_sample(thread, 10 * MS, stack_none(), 1);
    thread_add_sample(thread, 10 * MS + 2500 * MS + 999999, stack_none(), 1);
    profile.meta.captured_at_ms = 1700000010000;
    finish_profile();
    assert_true(profile.meta.start_time_ms == 1700000007500);
}

static void the_start_is_derived_from_how_far_the_clocks_are_apart(void **state) {
    thread_add_sample(add_single_thread(), 10 * MS + 999999, stack_none(), 1);
    profile.meta.epoch_offset_ns = 1700000000000 * MS;
    finish_profile();
    assert_true(profile.meta.start_time_ms == 1700000000010);
}

static void a_start_that_is_known_stays(void **state) {
    thread_add_sample(add_single_thread(), 10 * MS, stack_none(), 1);
    profile.meta.captured_at_ms = 1700000010000;
    profile.meta.start_time_ms = 1600000000000;
    finish_profile();
    assert_true(profile.meta.start_time_ms == 1600000000000);
}

/* ---- The interval. ---- */

static void the_interval_is_the_median_of_the_deltas(void **state) {
    struct thread *thread = add_single_thread();
    static const int64_t times_ns[] = {0, 100, 250, 250, 10000, 9990}; /* deltas 100, 150, 0, 9740, 10 */
    for (size_t i = 0; i < sizeof times_ns / sizeof *times_ns; i++)
        thread_add_sample(thread, times_ns[i], stack_none(), 1);
    finish_profile();
    assert_int_equal(profile.meta.interval_ns, 150); /* the upper middle of 10, 100, 150, 9740 */
}

static void deltas_are_of_one_thread(void **state) {
    process_id process = add_process(1, 0);
    struct thread *a = add_thread(process, 1, 0), *b = add_thread(process, 2, 0);
    for (uint32_t i = 0; i < 5; i++) {
        thread_add_sample(a, i * 4 * MS, stack_none(), 1);
        thread_add_sample(b, i * 4 * MS + 1, stack_none(), 1);
    }
    finish_profile();
    assert_int_equal(profile.meta.interval_ns, 4 * MS);
}

static void only_the_first_deltas_count(void **state) {
    enum { COUNTED = 65536 };
    struct thread *thread = add_single_thread();
    int64_t time = 0;
    for (uint32_t i = 0; i < COUNTED / 2; i++) thread_add_sample(thread, time += 10, stack_none(), 1);
    for (uint32_t i = 0; i < COUNTED / 2 + 1; i++) thread_add_sample(thread, time += 20, stack_none(), 1);
    for (uint32_t i = 0; i < 3 * COUNTED; i++) thread_add_sample(thread, time += 30, stack_none(), 1);
    finish_profile();
    assert_int_equal(profile.meta.interval_ns, 20);
}

static void without_deltas_the_interval_is_a_millisecond(void **state) {
    struct thread *thread = add_single_thread();
    thread_add_sample(thread, 5, stack_none(), 1);
    thread_add_sample(thread, 5, stack_none(), 1);
    finish_profile();
    assert_int_equal(profile.meta.interval_ns, DEFAULT_INTERVAL_NS);
}

static void an_interval_that_is_known_stays(void **state) {
    profile.meta.interval_ns = 1234;
    add_thread_with_samples(add_process(1, 0), 1, 10);
    finish_profile();
    assert_int_equal(profile.meta.interval_ns, 1234);
}

/* Adds samples that are `delta_ns` apart, in which the thread ran, and as many after a sleep. */
static void add_samples_of_a_recorder(uint32_t count, int64_t delta_ns) {
    struct thread *thread = add_single_thread();
    for (uint32_t i = 0; i < 2 * count; i++) {
        bool has_slept = i >= count;
        thread_add_sample(thread, i * delta_ns + (has_slept ? i * 100 * MS : 0), stack_none(), 1);
        samples_set_details(&thread->samples, has_slept ? 0 : delta_ns, TIME_NONE);
    }
    finish_profile();
}

static void a_configured_interval_stays_if_it_was_kept(void **state) {
    profile.meta.configuration.interval_ns = MS;
    add_samples_of_a_recorder(100, MS + MS / 5);
    assert_int_equal(profile.meta.interval_ns, MS);
}

static void a_configured_interval_gives_way_to_the_measured_one(void **state) {
    profile.meta.configuration.interval_ns = MS / 10;
    add_samples_of_a_recorder(100, MS);
    assert_int_equal(profile.meta.interval_ns, MS);
    assert_int_equal(profile.meta.configuration.interval_ns, MS / 10);
}

/* A program that works in bursts: of ten distances, nine are long. */
static void long_distances_do_not_contradict_the_configured_interval(void **state) {
    profile.meta.configuration.interval_ns = MS;
    struct thread *thread = add_single_thread();
    int64_t time_ns = 0;
    for (int i = 0; i < 100; i++) thread_add_sample(thread, time_ns += i % 10 ? 5 * MS : MS, stack_none(), 1);
    finish_profile();
    assert_int_equal(profile.meta.interval_ns, MS);
}

static void few_samples_do_not_contradict_the_configured_interval(void **state) {
    profile.meta.configuration.interval_ns = MS / 10;
    add_samples_of_a_recorder(10, MS);
    assert_int_equal(profile.meta.interval_ns, MS / 10);
}

/* ---- Names. ---- */

static void a_process_is_named_after_its_main_thread(void **state) {
    process_id id = add_process(7, 0);
    add_thread_with_samples(id, 8, 1)->name = TEXT("worker");
    struct thread *main_thread = add_thread_with_samples(id, 7, 1);
    main_thread->name = TEXT("app");
    finish_profile();
    const struct process *process = profile_process_at(&profile, id);
    assert_text(process->name, "app");
    assert_text(process->pid_text, "7");
    assert_int_equal(process->main_thread.index, 1);
    assert_true(main_thread->is_main);
    assert_false(profile_thread_at(&profile, (thread_id){0})->is_main);
    assert_text(main_thread->tid_text, "");
}

static void without_a_main_thread_the_pid_names_the_process(void **state) {
    process_id id = add_process(7, 0);
    add_thread_with_samples(id, 8, 1)->name = TEXT("worker");
    add_thread_with_samples(id, 9, 1)->name = TEXT("other");
    finish_profile();
    assert_text(profile_process_at(&profile, id)->name, "process 7");
    assert_true(thread_is_none(profile_process_at(&profile, id)->main_thread));
}

static void threads_without_a_name_are_called_by_their_tid(void **state) {
    process_id id = add_process(7, 0);
    struct thread *main_thread = add_thread_with_samples(id, 7, 1), *other = add_thread_with_samples(id, -1, 1);
    finish_profile();
    assert_text(main_thread->name, "thread 7");
    assert_text(other->name, "thread -1");
    assert_text(profile_process_at(&profile, id)->name, "thread 7");
}

static void what_a_reader_named_stays(void **state) {
    process_id id = add_process(PID_UNKNOWN, 0);
    struct process *process = profile_process_at(&profile, id);
    process->name = TEXT("collapsed stacks");
    process->pid_text = TEXT("unknown pid");
    add_thread_with_samples(id, 1, 1)->name = TEXT("main");
    finish_profile();
    assert_text(process->name, "collapsed stacks");
    assert_text(process->pid_text, "unknown pid");
    assert_true(thread_is_none(process->main_thread));
}

static void later_lives_are_numbered(void **state) {
    process_id first = add_process(12, 0), second = add_process(12, 1), third = add_process(12, 2);
    struct thread *a = add_thread_with_samples(first, 12, 1);
    struct thread *b = add_thread_with_samples(second, 12, 1);
    struct thread *c = add_thread_with_samples(second, 13, 1);
    struct thread *d = add_thread(second, 13, 1);
    finish_profile();
    assert_text(profile_process_at(&profile, first)->pid_text, "12");
    assert_text(profile_process_at(&profile, second)->pid_text, "12.2");
    assert_text(profile_process_at(&profile, third)->pid_text, "12.3");
    assert_text(a->tid_text, "");
    assert_text(b->tid_text, "");
    assert_text(c->tid_text, "");
    assert_text(d->tid_text, "13.2");
    assert_true(a->is_main);
    assert_true(b->is_main);
    assert_int_equal(profile_process_at(&profile, second)->main_thread.index, 1);
    assert_text(profile_process_at(&profile, third)->name, "process 12.3");
}

static void the_first_generation_of_a_main_thread_is_the_main_thread(void **state) {
    process_id id = add_process(7, 0);
    struct thread *first = add_thread_with_samples(id, 7, 1);
    struct thread *second = add_thread(id, 7, 1);
    thread_add_sample(second, 5, stack_none(), 1);
    first->name = TEXT("first");
    second->name = TEXT("second");
    finish_profile();
    assert_true(first->is_main);
    assert_false(second->is_main);
    assert_text(second->tid_text, "7.2");
    assert_text(profile_process_at(&profile, id)->name, "first");
}

/* ---- Order of threads. ---- */

static void assert_order(size_t count, const uint32_t *threads) {
    assert_int_equal(profile.thread_order.count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(((const thread_id *)column_at(&profile.thread_order, i))->index, threads[i]);
}

static void threads_stand_by_process_main_thread_first(void **state) {
    process_id a = add_process(10, 0), b = add_process(20, 0);
    add_thread_with_samples(b, 21, 1); /* 0 */
    add_thread_with_samples(a, 11, 1); /* 1 */
    add_thread_with_samples(b, 20, 1); /* 2: main */
    add_thread_with_samples(a, 12, 1); /* 3 */
    add_thread_with_samples(a, 10, 1); /* 4: main */
    add_thread_with_samples(b, 22, 1); /* 5 */
    finish_profile();
    assert_order(6, (uint32_t[]){4, 1, 3, 2, 0, 5});
}

static void empty_threads_are_left_out(void **state) {
    process_id a = add_process(10, 0), b = add_process(20, 0), c = add_process(30, 0), d = add_process(40, 0);
    add_thread_with_samples(a, 10, 0);                       /* 0: main, kept because there are others */
    add_thread_with_samples(a, 11, 0);                       /* 1 */
    add_thread_with_samples(a, 12, 2);                       /* 2 */
    add_thread_with_samples(b, 20, 0);                       /* 3: the main thread of a process without content */
    add_thread_with_samples(b, 21, 0);                       /* 4 */
    add_instant(add_thread_with_samples(c, 31, 0), 5, 5, 0); /* 5: markers are content */
    add_thread_with_samples(d, 40, 1);                       /* 6 */
    finish_profile();
    assert_order(4, (uint32_t[]){0, 2, 5, 6});
}

static void threads_of_a_process_follow_in_order_of_appearance(void **state) {
    enum { PROCESS_COUNT = 7, THREAD_COUNT = 2000 };
    for (uint32_t i = 0; i < PROCESS_COUNT; i++) add_process(1000000 + i, 0);
    struct random_numbers numbers = {10};
    static uint32_t expected[THREAD_COUNT];
    static struct {
        uint32_t process;
        bool has_sample;
    } model[THREAD_COUNT];
    for (uint32_t i = 0; i < THREAD_COUNT; i++) {
        model[i].process = random_below(&numbers, PROCESS_COUNT);
        model[i].has_sample = random_below(&numbers, 2);
        add_thread_with_samples((process_id){model[i].process}, i, model[i].has_sample);
    }
    size_t count = 0;
    for (uint32_t process = 0; process < PROCESS_COUNT; process++)
        for (uint32_t i = 0; i < THREAD_COUNT; i++)
            if (model[i].process == process && model[i].has_sample) expected[count++] = i;
    finish_profile();
    assert_order(count, expected);
}

/* ---- The information panel. ---- */

static void assert_extra(size_t i, const char *label, const char *value) {
    const struct extra_entry *entry = column_at(&profile.meta.extra, i);
    assert_text(entry->section, "Conversion");
    if (!text_equal(entry->label, text_of(label))) fail_msg("%.*s", (int)entry->label.bytes_count, entry->label.bytes);
    if (!text_equal(entry->value, text_of(value))) fail_msg("%.*s", (int)entry->value.bytes_count, entry->value.bytes);
}

static void the_ledger_is_put_into_the_panel(void **state) {
    struct ledger *ledger = &profile.ledger;
    ledger_read(ledger, LEDGER_LINES, 20);
    ledger_enter(ledger, LEDGER_LINES, LEDGER_KEPT, TEXT("line"), 18, NULL);
    ledger_enter(ledger, LEDGER_LINES, LEDGER_LOST, TEXT("no number"), 2, &(struct position){.line = 7, .offset = 99});
    ledger_enter(ledger, LEDGER_SAMPLES, LEDGER_NOTED, TEXT("time went back"), 3, NULL);
    ledger_read(ledger, LEDGER_PERIODS, UINT64_MAX);
    ledger_enter(ledger, LEDGER_PERIODS, LEDGER_KEPT, TEXT("event"), UINT64_MAX, NULL);
    ledger_enter(ledger, LEDGER_VALUES, LEDGER_LOST, TEXT("at an offset"), 1,
                 &(struct position){.line = 0, .offset = 99});
    finish_profile();
    assert_int_equal(profile.meta.extra.count, 5);
    assert_extra(0, "lines", "20 read, 18 kept, 2 lost");
    assert_extra(1, "periods", "18446744073709551615 read, 18446744073709551615 kept, 0 lost");
    assert_extra(2, "Lost: no number", "2 lines, first at line 7");
    assert_extra(3, "Note: time went back", "3 samples");
    assert_extra(4, "Lost: at an offset", "1 values, first at byte 99");
}

static void the_ledger_follows_what_a_reader_added(void **state) {
    char label[] = "CPUs";
    profile_add_extra(&profile, TEXT("Machine"), text_of(label), TEXT("8\xff"));
    memset(label, 'x', sizeof label - 1);
    ledger_read(&profile.ledger, LEDGER_LINES, 1);
    finish_profile();
    assert_int_equal(profile.meta.extra.count, 2);
    const struct extra_entry *entry = column_at(&profile.meta.extra, 0);
    assert_text(entry->section, "Machine");
    assert_text(entry->label, "CPUs");
    assert_text(entry->value, "8\xef\xbf\xbd");
    assert_extra(1, "lines", "1 read, 0 kept, 0 lost");
}

/* ---- Failures. ---- */

static void a_failed_profile_is_left_alone(void **state) {
    struct thread *thread = add_single_thread();
    thread_add_sample(thread, 20, stack_none(), 1);
    thread_add_sample(thread, 10, stack_none(), 1);
    failure_set(&failure, FAILURE_INPUT, "before");
    profile_finish(&profile);
    assert_string_equal(failure.message, "before");
    assert_int_equal(time_ns(thread, 0), 20);
    assert_int_equal(profile.thread_order.count, 0);
    assert_int_equal(profile.meta.interval_ns, 0);
}

static void tables_without_memory_give_none(void **state) {
    struct column *const tables[] = {&profile.strings.rows,        &profile.resources.rows, &profile.sources.rows,
                                     &profile.native_symbols.rows, &profile.funcs.rows,     &profile.frames.rows,
                                     &profile.stacks.rows,         &profile.processes,      &profile.threads};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) column_make_full(tables[i]);
    struct func func = {.name = {0}};
    struct frame frame = {.func = {0}};
    assert_true(string_is_none(profile_string(&profile, TEXT("x"))));
    assert_true(resource_is_none(profile_resource(&profile, (string_id){0}, RESOURCE_LIBRARY)));
    assert_true(source_is_none(profile_source(&profile, TEXT("a.c"))));
    assert_true(native_symbol_is_none(profile_native_symbol(&profile, (lib_id){0}, 0, (string_id){0})));
    assert_true(func_is_none(profile_func(&profile, &func)));
    assert_true(frame_is_none(profile_frame(&profile, &frame)));
    assert_true(stack_is_none(profile_stack(&profile, stack_none(), (frame_id){0})));
    assert_true(process_is_none(add_process(1, 0)));
    assert_true(thread_is_none(profile_add_thread(&profile, (process_id){0}, 1, 0)));
    assert_int_equal(failure.code, FAILURE_MEMORY);
}

static void texts_without_memory_are_empty(void **state) {
    column_make_full(&profile.texts.rows);
    assert_null(profile_text(&profile, TEXT("x")).bytes);
    assert_null(profile_text_format(&profile, "%d", 1).bytes);
    assert_int_equal(failure.code, FAILURE_MEMORY);
}

static void a_source_without_a_string_is_none(void **state) {
    column_make_full(&profile.strings.rows);
    assert_true(source_is_none(profile_source(&profile, TEXT("a.c"))));
    assert_int_equal(row_table_count(&profile.sources), 0);
}

static void samples_without_memory_are_a_failure(void **state) {
    struct thread *thread = add_single_thread();
    struct column before = thread->samples.rows;
    column_make_full(&thread->samples.rows);
    thread_add_sample(thread, 1, stack_none(), 1);
    assert_int_equal(failure.code, FAILURE_MEMORY);
    profile_finish(&profile);
    assert_int_equal(profile.thread_order.count, 0);
    thread->samples.rows = before;
}

/* ---- Counters, paused ranges, logs. ---- */

static struct counter *add_counter(process_id process, const char *name) {
    return profile_add_counter(&profile, &(struct counter){.process = process, .name = text_of(name)});
}

static const struct counter *counter(size_t i) { return column_at(&profile.counters, i); }

static const struct counter_sample *counter_sample(size_t i, size_t sample) {
    return column_at(&counter(i)->samples, sample);
}

static uint32_t ordered(size_t place) { return ((const thread_id *)column_at(&profile.thread_order, place))->index; }

static void counters_extend_the_profile(void **state) {
    struct thread *thread = add_single_thread();
    thread_add_sample(thread, 20 * MS, stack_none(), 1);
    struct counter *queue = add_counter((process_id){0}, "queue");
    counter_add_sample(queue, 30 * MS, 3, 1);
    counter_add_sample(queue, 10 * MS, 0, 0);
    finish_profile();
    assert_int_equal(profile.origin_ns, 10 * MS);
    assert_int_equal(profile.end_ns, 20 * MS);
    assert_int_equal(time_ns(thread, 0), 10 * MS);
    assert_int_equal(counter(0)->samples.count, 2);
    assert_int_equal(counter_sample(0, 0)->time_ns, 0);
    assert_int_equal(counter_sample(0, 1)->time_ns, 20 * MS);
    assert_int_equal(counter_sample(0, 1)->change, 3);
}

static void a_zero_in_front_moves_nothing(void **state) {
    thread_add_sample(add_single_thread(), 20 * MS, stack_none(), 1);
    profile.meta.interval_ns = 5;
    counter_add_sample(add_counter((process_id){0}, "queue"), 20 * MS, 3, 1);
    finish_profile();
    assert_int_equal(profile.origin_ns, 20 * MS);
    assert_int_equal(counter_sample(0, 0)->time_ns, -5);
    assert_int_equal(counter_sample(0, 1)->time_ns, 0);
}

static void counters_stand_by_process(void **state) {
    for (int64_t pid = 1; pid <= 3; pid++) add_thread_with_samples(add_process(pid, 0), pid, 1);
    static const struct {
        uint32_t process;
        const char *name;
    } added[] = {{2, "a"}, {0, "b"}, {2, "c"}, {0, "d"}};
    for (size_t i = 0; i < 4; i++)
        counter_add_sample(add_counter((process_id){added[i].process}, added[i].name), 0, 0, 0);
    finish_profile();
    static const char *const names[] = {"b", "d", "a", "c"};
    for (size_t i = 0; i < 4; i++) assert_true(text_equal(counter(i)->name, text_of(names[i])));
    size_t count;
    assert_int_equal(profile_rows_of_process(&profile.counters, (process_id){0}, &count), 0);
    assert_int_equal(count, 2);
    assert_int_equal(profile_rows_of_process(&profile.counters, (process_id){1}, &count), 2);
    assert_int_equal(count, 0);
    assert_int_equal(profile_rows_of_process(&profile.counters, (process_id){2}, &count), 2);
    assert_int_equal(count, 2);
    assert_int_equal(profile_rows_of_process(&profile.counters, process_none(), &count), 4);
    assert_int_equal(count, 0);
}

static void counters_without_samples_are_left_out(void **state) {
    add_thread_with_samples(add_process(1, 0), 1, 1);
    add_counter((process_id){0}, "none");
    counter_add_sample(add_counter((process_id){0}, "some"), 0, 0, 0);
    add_counter((process_id){0}, "none either");
    finish_profile();
    assert_int_equal(profile.counters.count, 1);
    assert_text(counter(0)->name, "some");
    assert_int_equal(profile.ledger.entries.count, 1);
    assert_text(ledger_at(&profile.ledger, 0)->cause, "counter without values");
    assert_int_equal(ledger_at(&profile.ledger, 0)->fate, LEDGER_NOTED);
    assert_int_equal(ledger_at(&profile.ledger, 0)->count, 2);
}

static void processes_with_counters_keep_a_thread(void **state) {
    add_thread_with_samples(add_process(1, 0), 1, 1);
    process_id with_main = add_process(2, 0), without_main = add_process(3, 0), without_any = add_process(4, 0);
    add_thread(with_main, 21, 0);
    add_thread(with_main, 2, 0);
    add_thread(without_main, 31, 0);
    add_thread(without_main, 32, 0);
    add_thread(add_process(5, 0), 5, 0);
    const process_id processes[] = {without_any, without_main, with_main};
    for (size_t i = 0; i < 3; i++) counter_add_sample(add_counter(processes[i], "queue"), 0, 0, 0);
    finish_profile();
    assert_int_equal(profile.thread_order.count, 3);
    assert_int_equal(ordered(0), 0);
    assert_int_equal(ordered(1), 2);
    assert_int_equal(ordered(2), 3);
    assert_int_equal(profile.counters.count, 2);
    assert_int_equal(counter(0)->process.index, with_main.index);
    assert_int_equal(counter(1)->process.index, without_main.index);
    assert_int_equal(profile_place_of_process(&profile, (process_id){0}), 0);
    assert_int_equal(profile_place_of_process(&profile, with_main), 1);
    assert_int_equal(profile_place_of_process(&profile, without_main), 2);
    assert_int_equal(profile_place_of_process(&profile, without_any), 3);
    assert_int_equal(profile_ordered_thread(&profile, 1)->tid, 2);
    assert_int_equal(ledger_sum(&profile.ledger, LEDGER_VALUES, LEDGER_LOST), 1);
    assert_text(ledger_at(&profile.ledger, 0)->cause, "counter of a process without threads");
    assert_true(ledger_is_balanced(&profile.ledger));
}

static void paused_ranges_are_of_the_profile(void **state) {
    thread_add_sample(add_single_thread(), 10 * MS, stack_none(), 1);
    process_id other = add_process(8, 0);
    profile_add_paused_range(&profile, other, 1 * MS, 2 * MS);
    profile_add_paused_range(&profile, (process_id){0}, 15 * MS, TIME_NONE);
    profile_add_paused_range(&profile, (process_id){0}, TIME_NONE, 12 * MS);
    profile_add_paused_range(&profile, (process_id){0}, 10 * MS, 11 * MS);
    finish_profile();
    static const struct paused_range expected[] = {
        {{0}, TIME_NONE, 2000000}, {{0}, 0, 1000000}, {{0}, 5000000, TIME_NONE}, {{1}, TIME_NONE, 0}};
    assert_int_equal(profile.paused_ranges.count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct paused_range *range = column_at(&profile.paused_ranges, i);
        assert_int_equal(range->process.index, expected[i].process.index);
        assert_int_equal(range->start_ns, expected[i].start_ns);
        assert_int_equal(range->end_ns, expected[i].end_ns);
    }
    assert_int_equal(profile.end_ns, 0); /* they are not events */
}

static void lines_of_logs_stand_by_process_and_time(void **state) {
    thread_add_sample(add_single_thread(), 10 * MS, stack_none(), 1);
    char key[] = "key";
    struct column *log = &profile.profiling_log;
    profile_log_text(&profile, log, process_none(), TEXT("trace"), TEXT(""));
    profile_log_line(&profile, log, (process_id){0}, 12 * MS, TEXT("later"));
    profile_log_line(&profile, log, (process_id){0}, 9 * MS, TEXT("earlier"));
    profile_log_number(&profile, log, (process_id){0}, text_of(key), -3);
    key[0] = 'x';
    finish_profile();
    assert_int_equal(log->count, 4);
    assert_int_equal(profile.gathering_log.count, 0);
    const struct log_line *number = column_at(log, 0), *earlier = column_at(log, 1), *later = column_at(log, 2),
                          *trace = column_at(log, 3);
    assert_text(number->key, "key");
    assert_null(number->text.bytes);
    assert_int_equal(number->number, -3);
    assert_int_equal(number->time_ns, TIME_NONE);
    assert_text(earlier->text, "earlier");
    assert_int_equal(earlier->key.bytes_count, 0);
    assert_int_equal(earlier->time_ns, -1 * MS);
    assert_text(later->text, "later");
    assert_int_equal(later->time_ns, 2 * MS);
    assert_text(trace->key, "trace");
    assert_non_null(trace->text.bytes);
    assert_true(process_is_none(trace->process));
}

static void times_in_payloads_are_of_the_profile(void **state) {
    static const struct marker_table_column columns[] = {{TEXT("At"), MARKER_TIME}, {TEXT("For"), MARKER_DURATION}};
    static const struct marker_field fields[] = {
        {.key = TEXT("at"), .format = MARKER_TIME},
        {.key = TEXT("never"), .format = MARKER_TIME},
        {.key = TEXT("for"), .format = MARKER_DURATION},
        {.key = TEXT("table"), .format = MARKER_TABLE, .columns = columns, .column_count = 2},
    };
    static const struct marker_schema schema = {.name = TEXT("Times"), .fields = fields, .field_count = 4};
    struct thread *thread = add_single_thread();
    const union marker_value cells[] = {{.time_ns = 25 * MS}, {.duration_ns = 30 * MS}};
    const union marker_value values[] = {{.time_ns = 15 * MS},
                                         marker_value_absent(VALUE_TIME),
                                         {.duration_ns = 20 * MS},
                                         {.cells = profile_marker_cells(&profile, cells, 2)}};
    struct marker marker = {.start_ns = 20 * MS,
                            .end_ns = 21 * MS,
                            .stack = stack_none(),
                            .schema = profile_marker_schema(&profile, &schema),
                            .phase = MARKER_INTERVAL};
    profile_add_marker(&profile, thread, marker, values);
    finish_profile();
    const union marker_value *value = profile_value_at(&profile, 0);
    assert_int_equal(value[0].time_ns, -5 * MS);
    assert_int_equal(value[1].time_ns, TIME_NONE);
    assert_int_equal(value[2].duration_ns, 20 * MS);
    const union marker_value *cell = profile_cell_at(&profile, 0);
    assert_int_equal(cell[0].time_ns, 5 * MS);
    assert_int_equal(cell[1].duration_ns, 30 * MS);
}

static void what_has_no_room_is_a_failure(void **state) {
    struct column *const tables[] = {&profile.counters, &profile.paused_ranges, &profile.profiling_log};
    for (size_t i = 0; i < 3; i++) {
        struct column before = *tables[i];
        column_make_full(tables[i]);
        if (i == 0) assert_null(add_counter((process_id){0}, "queue"));
        if (i == 1) profile_add_paused_range(&profile, (process_id){0}, 1, 2);
        if (i == 2) profile_log_line(&profile, &profile.profiling_log, process_none(), 1, TEXT("line"));
        assert_int_equal(failure.code, FAILURE_MEMORY);
        assert_int_equal(tables[i]->count, 0);
        *tables[i] = before;
        failure_clear(&failure);
    }
    assert_null(profile_allocate(&profile, SIZE_MAX));
    assert_int_equal(failure.code, FAILURE_MEMORY);
}

static void finishing_without_memory_is_a_failure(void **state) {
    struct column *const tables[] = {&profile.texts.rows, &profile.thread_order, &profile.meta.extra};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        profile_fini(&profile);
        begin_profile(NULL);
        add_thread_with_samples(add_process(1, 0), 1, 1);
        ledger_read(&profile.ledger, LEDGER_LINES, 1);
        column_make_full(tables[i]);
        profile_finish(&profile);
        assert_int_equal(failure.code, FAILURE_MEMORY);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_profile, end_profile)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_new_profile_is_empty),
        TEST(rows_of_tables_are_unique),
        TEST(texts_are_no_strings_of_the_table),
        TEST(processes_and_threads_start_out_bare),
        TEST(samples_are_kept_in_their_order),
        TEST(small_weights_are_themselves),
        TEST(other_weights_are_rows),
        TEST(a_weight_without_memory_is_0),
        TEST(samples_are_sorted_by_time),
        TEST(samples_of_one_time_keep_their_order),
        TEST(markers_are_sorted_by_their_start),
        TEST(threads_are_sorted_each_for_itself),
        TEST(time_zero_is_the_first_event_of_any_thread),
        TEST(times_far_apart_are_kept),
        TEST(times_may_be_negative),
        TEST(lives_are_relative_to_time_zero),
        TEST(the_start_is_derived_from_when_the_trace_was_written),
        TEST(the_start_is_derived_from_how_far_the_clocks_are_apart),
        TEST(a_start_that_is_known_stays),
        TEST(the_interval_is_the_median_of_the_deltas),
        TEST(deltas_are_of_one_thread),
        TEST(only_the_first_deltas_count),
        TEST(without_deltas_the_interval_is_a_millisecond),
        TEST(an_interval_that_is_known_stays),
        TEST(a_configured_interval_stays_if_it_was_kept),
        TEST(long_distances_do_not_contradict_the_configured_interval),
        TEST(a_configured_interval_gives_way_to_the_measured_one),
        TEST(few_samples_do_not_contradict_the_configured_interval),
        TEST(a_process_is_named_after_its_main_thread),
        TEST(without_a_main_thread_the_pid_names_the_process),
        TEST(threads_without_a_name_are_called_by_their_tid),
        TEST(what_a_reader_named_stays),
        TEST(later_lives_are_numbered),
        TEST(the_first_generation_of_a_main_thread_is_the_main_thread),
        TEST(threads_stand_by_process_main_thread_first),
        TEST(empty_threads_are_left_out),
        TEST(threads_of_a_process_follow_in_order_of_appearance),
        TEST(the_ledger_is_put_into_the_panel),
        TEST(the_ledger_follows_what_a_reader_added),
        TEST(a_failed_profile_is_left_alone),
        TEST(tables_without_memory_give_none),
        TEST(texts_without_memory_are_empty),
        TEST(a_source_without_a_string_is_none),
        TEST(samples_without_memory_are_a_failure),
        TEST(counters_extend_the_profile),
        TEST(a_zero_in_front_moves_nothing),
        TEST(counters_stand_by_process),
        TEST(counters_without_samples_are_left_out),
        TEST(processes_with_counters_keep_a_thread),
        TEST(paused_ranges_are_of_the_profile),
        TEST(lines_of_logs_stand_by_process_and_time),
        TEST(times_in_payloads_are_of_the_profile),
        TEST(what_has_no_room_is_a_failure),
        TEST(finishing_without_memory_is_a_failure),
    };
    return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
