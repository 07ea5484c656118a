/* Tests collapsed stacks: lines and their order, what --frames adds, what is changed in names, and what is counted as
 * lost. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/chunk_text.h"
#include "tests/support/full_profile.h"
#include "tests/support/profile_fixture.h"
#include "tests/support/unit_test.h"
#include "writer/emitter.h"
#include "writer/frame_parts.h"

static struct thread *add_thread(int64_t pid, int64_t tid, const char *name) {
    struct thread *thread =
        profile_thread_at(&profile, profile_add_thread(&profile, profile_add_process(&profile, pid, 0), tid, 0));
    thread->name = text_of(name);
    return thread;
}

static stack_id call(stack_id caller, const char *name, enum code_kind kind) {
    struct category_pair category = categories_intern_code(&profile.categories, kind, (struct text){0});
    return profile_stack(&profile, caller, profile_named_frame(&profile, text_of(name), category));
}

/* Returns a stack of the functions, whose names are separated by blanks. */
static stack_id stack_of(const char *names) {
    stack_id stack = stack_none();
    for (struct text rest = text_of(names); rest.bytes_count;) {
        char name[64];
        size_t end = text_find(rest, ' ');
        snprintf(name, sizeof name, "%.*s", (int)end, rest.bytes);
        stack = call(stack, name, CODE_USER);
        rest = text_from(rest, end + 1);
    }
    return stack;
}

static void add_samples(struct thread *thread, stack_id stack, struct decimal weight) {
    thread_add_sample(thread, 0, stack, profile_weight_encode(&profile, weight));
}

static void add(struct thread *thread, const char *names, int64_t weight) {
    add_samples(thread, stack_of(names), decimal_make(weight, 0));
}

static void assert_lines(const char *frames, const char *expected) {
    struct emit_options options = {0};
    assert_true(frame_parts_parse(frames, &options.frame_parts));
    if (!profile.thread_order.count) finish_profile();
    struct chunk_list out;
    chunk_list_init(&out, &failure);
    emitter_collapsed.emit(&profile, &profile.ledger, &out, &options, (struct progress){0});
    char *lines = chunk_text(&out);
    assert_string_equal(failure.message, "");
    assert_string_equal(lines, expected);
    assert_true(ledger_is_balanced(&profile.ledger));
    free(lines);
    chunk_list_fini(&out);
}

static uint64_t entered(enum gecko_convert_fate fate, const char *cause) {
    for (size_t i = 0; i < profile.ledger.entries.count; i++) {
        const struct ledger_entry *entry = ledger_at(&profile.ledger, i);
        if (entry->fate == fate && text_equal(entry->cause, text_of(cause))) return entry->count;
    }
    return 0;
}

/* ---- Lines. ---- */

TEST(lines_are_in_the_order_of_their_stacks, begin_profile, end_profile) {
    struct thread *thread = add_thread(1, 1, "t");
    profile.meta.weight_type = WEIGHT_SAMPLES;
    const char *const stacks[] = {"a b c", "b", "a::b x", "a b", "a", "a-b", "a::b", "a~ b"};
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) add(thread, stacks[i], (int64_t)i + 1);
    add_thread(2, 2, "t-2");
    add(add_thread(3, 3, "t.x"), "z", 9);
    assert_lines("comm", "t.x;z 9\nt;a 5\nt;a-b 6\nt;a::b 7\nt;a::b;x 3\nt;a;b 4\nt;a;b;c 1\nt;a~;b 8\nt;b 2\n");
}

TEST(equal_lines_are_added_up, begin_profile, end_profile) {
    profile.meta.weight_type = WEIGHT_SAMPLES;
    add(add_thread(1, 1, "worker"), "run", 3);
    add(add_thread(2, 2, "other"), "run", 10);
    struct thread *thread = add_thread(3, 4, "worker");
    add(thread, "run", 4);
    struct frame frame = *profile_frame_at(&profile, profile_stack_at(&profile, stack_of("run"))->frame);
    frame.line = 7;
    add_samples(thread, profile_stack(&profile, stack_none(), profile_frame(&profile, &frame)), decimal_make(25, 1));
    assert_lines("comm", "other;run 10\nworker;run 9.5\n");
    assert_int_equal(entered(LEDGER_LOST, "line of a frame"), 1);
}

TEST(samples_without_any_frame_are_lines_too, begin_profile, end_profile) {
    add_samples(add_thread(1, 1, "t"), stack_none(), decimal_make(1, 0));
    assert_lines("none", "[no stack] 1\n");
    assert_int_equal(entered(LEDGER_LOST, "name of a thread"), 1);
}

TEST(negative_weights_make_differences, begin_profile, end_profile) {
    struct thread *thread = add_thread(1, 1, "t");
    profile.meta.weight_type = WEIGHT_BYTES;
    add(thread, "grows", 12);
    add(thread, "same", 0);
    add(thread, "shrinks", -4096);
    add_samples(thread, stack_of("shrinks little"), decimal_make(-5, 1));
    assert_lines("none", "grows 0 12\nsame 0 0\nshrinks 4096 0\nshrinks;little 0.5 0\n");
    assert_int_equal(entered(LEDGER_NOTED, "unit of the weights"), 1);
}

TEST(sums_that_are_too_large_are_lost, begin_profile, end_profile) {
    struct thread *thread = add_thread(1, 1, "t");
    struct decimal largest = {.mantissa = 999999999999999999, .exponent = DECIMAL_EXPONENT_MAX};
    profile.meta.weight_type = WEIGHT_SAMPLES;
    for (size_t i = 0; i < 3; i++) add_samples(thread, stack_of("a"), largest);
    assert_lines("none", "a 999999999999999999000000000000000000\n");
    assert_int_equal(entered(LEDGER_LOST, "weight of a sample (the sum of its stack is too large)"), 2);
}

TEST(sums_are_rounded_to_18_digits, begin_profile, end_profile) {
    struct thread *thread = add_thread(1, 1, "t");
    profile.meta.weight_type = WEIGHT_SAMPLES;
    add(thread, "fraction", 99999999999);
    add_samples(thread, stack_of("fraction"), decimal_make(123456789012, 12));
    assert_lines("none", "fraction 99999999999.1234568\n");
    assert_int_equal(entered(LEDGER_NOTED, "weight of a sample (the sum is rounded to 18 digits)"), 1);
}

/* ---- Frames. ---- */

TEST(the_first_frame_is_the_thread, begin_profile, end_profile) {
    add(add_thread(12, 34, "my worker"), "a", 1);
    add(add_thread(PID_UNKNOWN, 5, ""), "a", 1);
    assert_lines("comm", "my_worker;a 1\nthread_5;a 1\n");
    assert_lines("pid", "my_worker-12;a 1\nthread_5-?;a 1\n");
    assert_lines("tid,comm", "my_worker-12/34;a 1\nthread_5-?/5;a 1\n");
    assert_int_equal(entered(LEDGER_LOST, "blank in the name of a thread (an underscore is written)"), 6);
}

TEST(code_is_annotated, begin_profile, end_profile) {
    profile.meta.has_times = false;
    struct thread *thread = add_thread(1, 1, "t");
    thread->is_made_up = true;
    stack_id user = stack_of("main");
    struct frame inlined = *profile_frame_at(&profile, profile_stack_at(&profile, stack_of("get"))->frame);
    inlined.inline_depth = 1;
    stack_id deep = call(call(call(profile_stack(&profile, user, profile_frame(&profile, &inlined)), "loop", CODE_JIT),
                              "js", CODE_SCRIPT),
                         "write", CODE_KERNEL);
    add_samples(thread, deep, decimal_make(1, 0));
    assert_lines("none", "main;get;loop;js;write 1\n");
    assert_int_equal(entered(LEDGER_LOST, "mark of a frame in the kernel"), 1);
    assert_int_equal(entered(LEDGER_LOST, "mark of a frame in generated code or a script"), 2);
    assert_int_equal(entered(LEDGER_LOST, "inline depth of a frame (the frame itself is kept)"), 1);
    ledger_fini(&profile.ledger);
    ledger_init(&profile.ledger, &failure);
    assert_lines("inline,kernel,jit", "main;get_[i];loop_[j];js_[j];write_[k] 1\n");
    assert_false(ledger_has_losses(&profile.ledger));
}

/* Returns the stack with an idle function of the library, or with a wait, which is in none. */
static stack_id call_idle(stack_id caller, const char *name, const char *library) {
    struct func func = {
        .name = profile_string(&profile, text_of(name)), .resource = resource_none(), .source = source_none()};
    struct category_pair idle = categories_intern_code(&profile.categories, CODE_IDLE, TEXT(""));
    struct frame frame = frame_of_func(profile_func(&profile, &func), idle);
    if (library) frame.lib = libs_intern(&profile.libs, text_of(library), TEXT(""));
    return profile_stack(&profile, caller, profile_frame(&profile, &frame));
}

TEST(loops_of_idle_processors_are_in_the_kernel, begin_profile, end_profile) {
    struct thread *thread = add_thread(0, 0, "swapper");
    const struct decimal one = {.mantissa = 1};
    add_samples(thread, call_idle(call(stack_none(), "start", CODE_KERNEL), "do_idle", "[kernel.kallsyms]"), one);
    add_samples(thread, call_idle(stack_none(), "cpu_do_idle", "/usr/lib/debug/boot/vmlinux-6.1"), one);
    add_samples(thread, call_idle(stack_none(), "poll", "/usr/lib/libc.so.6"), one);
    add_samples(thread, call_idle(call(stack_none(), "futex_wait", CODE_KERNEL), "(waits in futex)", NULL), one);
    assert_lines("kernel", "cpu_do_idle_[k] 1\nfutex_wait_[k];(waits in futex) 1\npoll 1\nstart_[k];do_idle_[k] 1\n");
    assert_int_equal(entered(LEDGER_LOST, "category of a frame"), 4);
    assert_lines("none", "cpu_do_idle 1\nfutex_wait;(waits in futex) 1\npoll 1\nstart;do_idle 1\n");
    assert_int_equal(entered(LEDGER_LOST, "mark of a frame in the kernel"), 4);
}

TEST(functions_without_a_name_are_called_after_their_place, begin_profile, end_profile) {
    struct thread *thread = add_thread(1, 1, "t");
    lib_id lib = libs_intern(&profile.libs, TEXT("/lib/libz.so"), TEXT(""));
    struct func func = {
        .name = profile_string(&profile, TEXT("libz.so+0x1a2b")), .resource = resource_none(), .source = source_none()};
    struct frame frame = frame_of_func(profile_func(&profile, &func), (struct category_pair){0});
    frame.lib = lib;
    frame.address = 0x1a2b;
    stack_id stack = profile_stack(&profile, stack_of("0x10"), profile_frame(&profile, &frame));
    func.name = profile_string(&profile, TEXT("0x2a2b")); /* its library has no build id */
    frame.func = profile_func(&profile, &func);
    frame.address = 0x2a2b;
    stack = profile_stack(&profile, stack, profile_frame(&profile, &frame));
    add_samples(thread, stack, decimal_make(1, 0));
    assert_lines("none", "[unknown];[libz.so];[libz.so] 1\n");
    assert_int_equal(entered(LEDGER_LOST, "address of a function without a name"), 3);
    assert_lines("addresses", "[unknown <10>];[libz.so <1a2b>];[libz.so <2a2b>] 1\n");
    assert_int_equal(entered(LEDGER_LOST, "address of a function with a name"), 0);
}

TEST(names_cannot_end_frames_or_lines, begin_profile, end_profile) {
    struct thread *thread = add_thread(1, 1, "a;b\nc");
    stack_id stack = call(stack_none(), "Lorg/Loop;::turn", CODE_USER);
    stack = call(stack, "two\nlines\r", CODE_USER);
    stack = call(stack, "", CODE_USER);
    stack = call(stack, "slice -3.5", CODE_USER);
    add_samples(thread, stack, decimal_make(1, 0));
    assert_lines("comm", "a:b_c;Lorg/Loop:::turn;two lines ;[unknown];slice_-3.5 1\n");
    assert_int_equal(entered(LEDGER_LOST, "semicolon in a name (a colon is written)"), 2);
    assert_int_equal(entered(LEDGER_LOST, "control character in a name (a blank is written)"), 2);
    assert_int_equal(entered(LEDGER_LOST, "blank before a number at the end of a name (an underscore is written)"), 1);
}

TEST(the_path_chooses_the_format, begin_profile, end_profile) {
    assert_ptr_equal(emitter_by_path(TEXT("out.folded")), &emitter_collapsed);
    assert_ptr_equal(emitter_by_path(TEXT("a/out.folded.gz")), &emitter_collapsed);
    assert_ptr_equal(emitter_by_path(TEXT("out.jslb")), &emitter_jslb);
    assert_ptr_equal(emitter_by_path(TEXT("out.jslb.gz")), &emitter_jslb);
    assert_ptr_equal(emitter_by_path(TEXT("out.profile.json")), &emitter_processed);
    assert_ptr_equal(emitter_by_path(TEXT("out.folded.json")), &emitter_processed);
    assert_ptr_equal(emitter_by_path(TEXT("-")), &emitter_processed);
}

/* ---- Losses. ---- */

TEST(what_the_format_has_no_place_for_is_lost, begin_profile, end_profile) {
    build_full_profile(&profile);
    struct thread *thread = add_thread(900, 900, "t");
    thread->start_ns = FULL_PROFILE_ZERO_NS;
    profile.meta.has_times = true;
    profile.meta.arguments = TEXT("app --fast");
    thread_add_sample(thread, FULL_PROFILE_ZERO_NS + 1, stack_of("a"), 1);
    samples_set_details(&thread->samples, 5, 7);
    profile_add_allocation(&profile, (thread_id){profile.threads.count - 1}, FULL_PROFILE_ZERO_NS + 1, 64, 1,
                           stack_none());
    finish_profile();
    struct chunk_list out;
    chunk_list_init(&out, &failure);
    struct emit_options options = {0};
    emitter_collapsed.emit(&profile, &profile.ledger, &out, &options, (struct progress){0});
    chunk_list_fini(&out);
    static const char *const causes[] = {"time of a sample",
                                         "CPU time of a sample",
                                         "delay of events at a sample",
                                         "marker",
                                         "allocation of memory",
                                         "process of a thread",
                                         "tid of a thread",
                                         "start or end of a thread",
                                         "counter",
                                         "pause of the recording",
                                         "line of the recorder's log",
                                         "description of the machine and the recording"};
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        if (!entered(LEDGER_LOST, causes[i])) fail_msg("not entered: %s", causes[i]);
}

int main(void) { return unit_tests_run(NULL, NULL); }
