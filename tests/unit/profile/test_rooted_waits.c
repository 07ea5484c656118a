/* Tests below which functions waits hang of which no stack is known. */
#include "libconvert/profile/rooted_waits.h"

#include <stdio.h>
#include <string.h>

#include "libconvert/profile/cut_stacks.h"
#include "tests/support/profile_fixture.h"
#include "tests/support/unit_test.h"

/* Returns the stack with these functions, callers first; an empty text has none. */
static stack_id stack_of(struct text path) {
    struct category_pair user = categories_intern_code(&profile.categories, CODE_USER, (struct text){0});
    struct category_pair idle = categories_intern_code(&profile.categories, CODE_IDLE, (struct text){0});
    stack_id stack = stack_none();
    for (struct text left = path, name; left.bytes_count;) {
        name = text_slice(left, 0, text_find(left, ';'));
        left = text_from(left, name.bytes_count + 1);
        struct category_pair category = text_starts_with(name, text_of("(")) ? idle : user;
        stack = profile_stack(&profile, stack, profile_named_frame(&profile, name, category));
    }
    return stack;
}

static void write_path(stack_id stack, char *out, size_t out_bytes) {
    char path[256] = "", longer[256];
    for (; !stack_is_none(stack); stack = profile_stack_at(&profile, stack)->prefix) {
        const struct frame *frame = profile_frame_at(&profile, profile_stack_at(&profile, stack)->frame);
        struct text name = strings_text(&profile.strings, profile_func_at(&profile, frame->func)->name);
        snprintf(longer, sizeof longer, "%.*s%s%.128s", (int)name.bytes_count, name.bytes, *path ? ";" : "", path);
        snprintf(path, sizeof path, "%s", longer);
    }
    snprintf(out, out_bytes, "%s", path);
}

/* A thread with a sample of each stack, a nanosecond apart. Stacks end with a bar. */
static struct thread *add_thread(const char *paths) {
    struct thread *thread = add_only_thread();
    int64_t time_ns = 0;
    profile.meta.has_waits = true;
    for (struct text left = text_of(paths), path; left.bytes_count; left = text_from(left, path.bytes_count + 1)) {
        path = text_slice(left, 0, text_find(left, '|'));
        thread_add_sample(thread, time_ns++, stack_of(path), 1);
    }
    return thread;
}

static void assert_paths(const struct thread *thread, const char *expected) {
    char paths[1024] = "";
    profile_root_waits(&profile);
    assert_string_equal(failure.message, "");
    for (uint32_t i = 0; i < samples_count(&thread->samples); i++) {
        char path[256];
        write_path(samples_at(&thread->samples, i)->stack, path, sizeof path);
        size_t used_bytes = strlen(paths);
        snprintf(paths + used_bytes, sizeof paths - used_bytes, "%s|", path);
    }
    assert_string_equal(paths, expected);
}

TEST(waits_hang_below_what_the_thread_has_begun_with, begin_profile, end_profile) {
    assert_paths(
        add_thread("(preempted)|_start;main;f|(waits)|(waits)|_start;main;g|(not sampled)|_start;exit|(waits)|"),
        "_start;main;(preempted)|_start;main;f|_start;main;(waits)|_start;main;(waits)|"
        "_start;main;g|_start;(not sampled)|_start;exit|_start;(waits)|");
}

TEST(versions_of_functions_do_not_matter, begin_profile, end_profile) {
    assert_paths(add_thread("_start;__libc_start_main@@GLIBC_2.34;f|(waits)|"),
                 "_start;__libc_start_main@@GLIBC_2.34;f|_start;__libc_start_main@@GLIBC_2.34;(waits)|");
}

/* A thread loses its processor wherever it is, but waits somewhere else. */
TEST(a_preempted_thread_is_in_what_surrounds_it, begin_profile, end_profile) {
    assert_paths(add_thread("coroutine;f;g|(preempted)|(preempted)|coroutine;f;h|(preempted)|(waits)|coroutine;f|"
                            "(preempted)|"),
                 "coroutine;f;g|coroutine;f;(preempted)|coroutine;f;(preempted)|coroutine;f;h|(preempted)|"
                 "(waits)|coroutine;f|(preempted)|");
}

/* A wait is on none of the lines from which the function has called others. */
TEST(lines_of_functions_do_not_matter, begin_profile, end_profile) {
    struct category_pair user = categories_intern_code(&profile.categories, CODE_USER, (struct text){0});
    struct thread *thread = add_only_thread();
    profile.meta.has_waits = true;
    for (uint32_t line = 1; line < 3; line++) {
        struct frame frame = frame_of_func(profile_named_func(&profile, profile_string(&profile, TEXT("main"))), user);
        frame.line = line;
        thread_add_sample(thread, line, profile_stack(&profile, stack_none(), profile_frame(&profile, &frame)), 1);
        if (line == 1) thread_add_sample(thread, 1, stack_of(TEXT("(waits)")), 1);
    }
    assert_paths(thread, "main|main;(waits)|main|");
    stack_id caller = profile_stack_at(&profile, samples_at(&thread->samples, 1)->stack)->prefix;
    assert_int_equal(profile_frame_at(&profile, profile_stack_at(&profile, caller)->frame)->line, 0);
}

/* Returns the stack of a function that has been called by another one on this line. */
static stack_id called_from_line(const char *callers, const char *caller, uint32_t line, const char *called) {
    struct category_pair user = categories_intern_code(&profile.categories, CODE_USER, (struct text){0});
    struct frame frame = frame_of_func(profile_named_func(&profile, profile_string(&profile, text_of(caller))), user);
    frame.line = line;
    stack_id stack = profile_stack(&profile, stack_of(text_of(callers)), profile_frame(&profile, &frame));
    return profile_stack(&profile, stack, profile_named_frame(&profile, text_of(called), user));
}

/* Between two calls from different lines, a thread was in their caller, but a call of a function is not another call of
 * it. */
TEST(a_preempted_thread_is_in_a_function_on_two_lines, begin_profile, end_profile) {
    struct thread *thread = add_only_thread();
    profile.meta.has_waits = true;
    thread_add_sample(thread, 0, called_from_line("coroutine", "work", 1, "f"), 1);
    thread_add_sample(thread, 1, stack_of(TEXT("(preempted)")), 1);
    thread_add_sample(thread, 2, called_from_line("coroutine", "work", 2, "f"), 1);
    assert_paths(thread, "coroutine;work;f|coroutine;work;(preempted)|coroutine;work;f|");
    stack_id caller = profile_stack_at(&profile, samples_at(&thread->samples, 1)->stack)->prefix;
    assert_int_equal(profile_frame_at(&profile, profile_stack_at(&profile, caller)->frame)->line, 0);
}

/* Only a goroutine calls the scheduler, in which its thread waits; threads that have no goroutine begin elsewhere. */
TEST(threads_of_go_wait_below_goroutines, begin_profile, end_profile) {
    assert_paths(add_thread("runtime.goexit;f;g|(waits)|(preempted)|runtime.goexit;f;h|(waits)|runtime.mcall;f|"
                            "(waits)|(preempted)|runtime.mstart;runtime.mcall|"),
                 "runtime.goexit;f;g|runtime.goexit;(waits)|runtime.goexit;(preempted)|runtime.goexit;f;h|"
                 "(waits)|runtime.mcall;f|(waits)|(preempted)|runtime.mstart;runtime.mcall|");
}

/* A thread of Go looks for a goroutine before it has run one. */
TEST(threads_of_go_wait_before_goroutines, begin_profile, end_profile) {
    assert_paths(add_thread("(waits)|(not sampled)|runtime.goexit;f|(waits)|"),
                 "(waits)|(not sampled)|runtime.goexit;f|runtime.goexit;(waits)|");
    assert_paths(add_thread("(waits)|[truncated stack];runtime.goexit;f|"),
                 "[truncated stack];(waits)|[truncated stack];runtime.goexit;f|");
}

/* The recorder cannot step out of some functions of threads that wait. */
TEST(waits_with_a_cut_stack_keep_their_caller, begin_profile, end_profile) {
    struct thread *thread = add_thread(
        "clone3;f|futex;(waits in futex)|(waits)|a;b;(waits)|futex;(waits in futex)|clone3;f|"
        "futex;(preempted)|clone3|clone3;(waits in poll)|futex;(waits in futex)|");
    profile.meta.has_every_state = true;
    assert_paths(thread,
                 "clone3;f|futex;(waits in futex)|(waits)|a;b;(waits)|futex;(waits in futex)|clone3;f|"
                 "futex;(preempted)|clone3|clone3;(waits in poll)|clone3;futex;(waits in futex)|");
}

/* perf's stacks are whole, but for those that say that they are cut. */
TEST(waits_of_perf_have_no_cut_stack, begin_profile, end_profile) {
    assert_paths(add_thread("clone3;f|[truncated stack];(waits)|clone3;f|"),
                 "clone3;f|[truncated stack];(waits)|clone3;f|");
}

/* What a stack lacks is what its thread has begun with. */
TEST(waits_hang_below_what_stacks_lack, begin_profile, end_profile) {
    assert_paths(add_thread("[truncated stack];f|(waits)|[truncated stack];g|(preempted)|clone3;f|(waits)|"
                            "[truncated stack];f|"),
                 "[truncated stack];f|[truncated stack];(waits)|[truncated stack];g|(preempted)|clone3;f|"
                 "(waits)|[truncated stack];f|");
}

/* Of a wait only the function is known, so it does not count as a stack that was cut. */
TEST(waits_are_no_stacks_that_end_early, begin_profile, end_profile) {
    assert_paths(add_thread("clone3;f|(waits)|clone3;g|work|"), "clone3;f|clone3;(waits)|clone3;g|work|");
    struct cut_stacks sum = cut_stacks_count(&profile, false);
    assert_int_equal(sum.sample_count, 3);
    assert_int_equal(sum.cut_count, 1);
}

/* Threads that only wait would hide that nearly all stacks of the others end early. */
TEST(waits_are_no_whole_stacks_either, begin_profile, end_profile) {
    assert_paths(add_thread("(waits)|_start;main;f|(waits)|(preempted)|work|"),
                 "_start;main;(waits)|_start;main;f|(waits)|(preempted)|work|");
    struct cut_stacks sum = cut_stacks_count(&profile, false);
    assert_int_equal(sum.sample_count, 2);
    assert_int_equal(sum.cut_count, 1);
    assert_true(sum.stack_weight == 2);
}

/* Coroutines tell nothing of where their thread waits, nor does a sample without a stack. A wait whose
 * stack is known keeps it. */
TEST(other_stacks_tell_nothing, begin_profile, end_profile) {
    assert_paths(add_thread("coroutine;main|(waits)|coroutine;main|_start;main|(waits)|work;main;f|(waits)||(waits)|"
                            "_start;(waits)|clone3;start_thread|(preempted)|_start;main|"),
                 "coroutine;main|(waits)|coroutine;main|_start;main|(waits)|work;main;f|(waits)||(waits)|"
                 "_start;(waits)|clone3;start_thread|(preempted)|_start;main|");
}

/* Before it executed the program, the thread had other callers. */
TEST(programs_that_are_executed_divide_a_thread, begin_profile, end_profile) {
    struct thread *thread = add_thread("(waits)|(preempted)|_start;f|(waits)|");
    thread->executed_ns = 1;
    assert_paths(thread, "(waits)|_start;(preempted)|_start;f|_start;(waits)|");
}

/* Functions of both programs may have the same names, and the text of perf script no files. */
TEST(programs_with_the_same_functions_are_others, begin_profile, end_profile) {
    struct thread *thread = add_thread("_start;main;f|(preempted)|(waits)|_start;main;f|(preempted)|_start;main;g|");
    thread->executed_ns = 2;
    assert_paths(thread, "_start;main;f|(preempted)|(waits)|_start;main;f|_start;main;(preempted)|_start;main;g|");
}

TEST(a_program_may_wait_without_a_sample, begin_profile, end_profile) {
    struct thread *thread = add_thread("_start;f|(waits)|");
    thread->executed_ns = 1;
    assert_paths(thread, "_start;f|(waits)|");
}

int main(void) { return unit_tests_run(NULL, NULL); }
