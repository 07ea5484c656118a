/* Tests the stacks that the sampler takes, and the stacks of markers and samples on demand while a sampler runs. */
#include <stdio.h>
#include <stdlib.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "recorder/state/own_code.h"
#include "tests/support/sampler_check.h"
#include "tests/support/unit_test.h"

/* ---- A chain of calls: a, b with a label, c. ---- */

CODE_SECTION(chain_a)
CODE_SECTION(chain_b)
CODE_SECTION(chain_c)
CODE_SECTION(framed_a)
CODE_SECTION(framed_b)
CODE_SECTION(framed_c)

IN_SECTION(chain_c) static void run_c(struct busy_thread *self) {
    static volatile uint64_t sum __attribute__((unused));
    while (goes_on(self))
        for (uint64_t i = 0; i < 1000; i++) sum += i;
}

IN_SECTION(chain_b) static void run_b(struct busy_thread *self) {
    GREC_LABEL("in b", NULL);
    run_c(self);
    NOT_THE_LAST_THING();
}

IN_SECTION(chain_a) static void run_a(struct busy_thread *self) {
    run_b(self);
    NOT_THE_LAST_THING();
}

/* The size of a variable-length array. A function with such an array keeps a frame pointer, whatever the compiler. */
static volatile size_t room_bytes = 100;

IN_SECTION(framed_c) static void run_framed_c(struct busy_thread *self) {
    volatile char room[room_bytes];
    room[0] = 0;
    while (goes_on(self))
        for (int i = 0; i < 1000; i++) room[1] = (char)(room[0] + i);
}

IN_SECTION(framed_b) static void run_framed_b(struct busy_thread *self) {
    volatile char room[room_bytes];
    room[0] = 0;
    GREC_LABEL("in b", NULL);
    run_framed_c(self);
    room[1] = room[0];
}

IN_SECTION(framed_a) static void run_framed_a(struct busy_thread *self) {
    volatile char room[room_bytes];
    room[0] = 0;
    run_framed_b(self);
    room[1] = room[0];
}

struct chain {
    struct code a, b, c;
};

static bool has_chain(const struct profile *profile, stack_id stack, const struct chain *chain) {
    struct frame_list list;
    frame_list_take(&list, profile, stack);
    for (size_t i = 0; i + 3 < list.count; i++)
        if (frame_is_in(profile, list.frames[i], chain->a))
            return i > 0 && frame_is_in(profile, list.frames[i + 1], chain->b) &&
                   frame_has_name(profile, list.frames[i + 2], "in b") &&
                   frame_is_in(profile, list.frames[i + 3], chain->c);
    return false;
}

/* Checks the chain in samples with native frames that were taken after the thread began to work. */
static void assert_chain(const struct recorded *recorded, const char *name, const struct chain *chain,
                         size_t count_min) {
    const struct profile *profile = &recorded->profile;
    const struct thread *thread = need_thread(recorded, name);
    size_t all = 0, good = 0;
    for (size_t i = 0; i < samples_count(&thread->samples); i++) {
        stack_id stack = sample_stack(thread, i);
        if (stack_depth(profile, stack) < 2 || sample_time_ns(thread, i) <= at_work_ns(profile)) continue;
        all++;
        good += has_chain(profile, stack, chain);
    }
    if (all < count_min || good * 100 < all * 95)
        fail_msg("%s: %zu samples with stacks, %zu of them with the chain", name, all, good);
    assert_nothing_lost(recorded);
}

static void check_chain(const struct temp_folder *folder, void (*run)(struct busy_thread *), struct chain chain) {
    enum { STACK_COUNT = 60 };
    struct busy_thread thread = {.name = "chained", .run = run};
    start_sampling(folder, "chain.trace", (struct grec_options){.interval_us = 1000});
    busy_thread_start(&thread);
    wait_stacks_at_work(&thread, STACK_COUNT);
    const struct recorded *recorded = stop_and_read(folder, "chain.trace");
    busy_thread_join(&thread);
    assert_chain(recorded, "chained", &chain, STACK_COUNT / 2);
}

TEST(test_without_frame_pointers, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    check_chain(*state, run_a, (struct chain){chain_a_code(), chain_b_code(), chain_c_code()});
}

TEST(test_with_frame_pointers, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    check_chain(*state, run_framed_a, (struct chain){framed_a_code(), framed_b_code(), framed_c_code()});
}

/* Each label must be placed right after the function that pushed it. */
CODE_SECTION(labelled)

IN_SECTION(labelled) static void run_labelled(struct busy_thread *self, int depth) {
    static struct grec_label labels[] = {
        GREC_LABEL_AT("depth 0", NULL, NULL, 0), GREC_LABEL_AT("depth 1", NULL, NULL, 0),
        GREC_LABEL_AT("depth 2", NULL, NULL, 0), GREC_LABEL_AT("depth 3", NULL, NULL, 0)};
    grec_label_place pushed = grec_label_push(&labels[depth], NULL);
    if (depth)
        run_labelled(self, depth - 1);
    else
        work(self);
    grec_label_pop(pushed);
}

static void run_labels(struct busy_thread *self) { run_labelled(self, 3); }

TEST(test_labels_between_frames, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    struct busy_thread thread = {.name = "labelled", .run = run_labels};
    start_sampling(*state, "labels.trace", (struct grec_options){.interval_us = 1000});
    busy_thread_start(&thread);
    wait_stacks_at_work(&thread, 50);
    const struct recorded *recorded = stop_and_read(*state, "labels.trace");
    busy_thread_join(&thread);
    const struct thread *samples = need_thread(recorded, "labelled");
    size_t all = 0, good = 0;
    for (size_t i = 0; i < samples_count(&samples->samples); i++) {
        struct frame_list list;
        size_t at = 0;
        frame_list_take(&list, &recorded->profile, sample_stack(samples, i));
        if (list.count < 2 || sample_time_ns(samples, i) <= at_work_ns(&recorded->profile)) continue;
        all++;
        while (at < list.count && !frame_is_in(&recorded->profile, list.frames[at], labelled_code())) at++;
        bool is_good = at + 8 <= list.count;
        for (size_t depth = 0; is_good && depth < 4; depth++) {
            char name[16];
            snprintf(name, sizeof name, "depth %zu", 3 - depth);
            is_good = frame_is_in(&recorded->profile, list.frames[at + 2 * depth], labelled_code()) &&
                      frame_has_name(&recorded->profile, list.frames[at + 2 * depth + 1], name);
        }
        good += is_good;
    }
    if (all < 20 || good * 100 < all * 95) fail_msg("%zu samples with stacks, %zu in order", all, good);
}

/* Pushes as many labels as a thread can have, some of them of a script. */
static void recurse(struct busy_thread *self, int depth) {
    static struct grec_label labels[] = {GREC_LABEL_AT("eval", NULL, NULL, 0), GREC_LABEL_AT("apply", NULL, NULL, 0)};
    static struct grec_label interpreter = GREC_LABEL_AT("interpreter", NULL, NULL, 0);
    static const char *const functions[] = {"fold", "map", "reduce"};
    bool is_script = depth % 4 == 0;
    grec_label_place pushed = is_script ? grec_script_push(&interpreter, functions[depth % 3], "lists.lisp", 1, 1)
                                        : grec_label_push(&labels[depth % 2], "list");
    if (depth)
        recurse(self, depth - 1);
    else
        work(self);
    grec_label_pop(pushed);
}

enum { RECURSION_DEPTH = GREC_LABEL_DEPTH_MAX * 4 / 5 };

static void run_recursion(struct busy_thread *self) { recurse(self, RECURSION_DEPTH - 1); }

/* No label of a deep recursion may be missing. */
TEST(test_many_labels, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    struct busy_thread thread = {.name = "recursive", .run = run_recursion};
    start_sampling(*state, "many.trace", (struct grec_options){.interval_us = 1000});
    busy_thread_start(&thread);
    wait_stacks_at_work(&thread, 30);
    const struct recorded *recorded = stop_and_read(*state, "many.trace");
    busy_thread_join(&thread);
    const struct thread *samples = need_thread(recorded, "recursive");
    size_t deep_count = 0;
    for (size_t i = 0; i < samples_count(&samples->samples); i++) {
        static const char *const names[] = {"eval list", "apply list", "fold", "map", "reduce"};
        struct frame_list list;
        size_t label_count = 0;
        frame_list_take(&list, &recorded->profile, sample_stack(samples, i));
        for (size_t at = 0; at < list.count; at++)
            for (size_t name = 0; name < sizeof names / sizeof *names; name++)
                label_count += frame_has_name(&recorded->profile, list.frames[at], names[name]);
        if (list.count < 2 || sample_time_ns(samples, i) <= at_work_ns(&recorded->profile)) continue;
        assert_int_equal(label_count, RECURSION_DEPTH);
        deep_count++;
    }
    assert_true(deep_count > 10);
    assert_nothing_lost(recorded);
}

/* ---- Invalid stacks must not cause a crash. ---- */

#if defined(__x86_64__)
CODE_SECTION(broken)

/* Runs with a frame pointer that is invalid, points into a cycle, or points just above the stack. */
IN_SECTION(broken) static void run_with_frame_pointer(uint64_t pointer) {
    uint64_t count = 3000000;
    __asm__ volatile(
        "lea -256(%%rsp), %%rsp\n\t"
        "push %%rbp\n\t"
        "mov %1, %%rbp\n"
        "1:\n\t"
        "dec %0\n\t"
        "jnz 1b\n\t"
        "pop %%rbp\n\t"
        "lea 256(%%rsp), %%rsp"
        : "+r"(count)
        : "r"(pointer)
        : "memory", "cc");
}

static void run_broken(struct busy_thread *self) {
    uint64_t circle[2];
    circle[0] = (uint64_t)(uintptr_t)circle;
    circle[1] = 1;
    while (goes_on(self)) {
        run_with_frame_pointer(1);
        run_with_frame_pointer(0);
        run_with_frame_pointer(UINT64_MAX - 7);
        run_with_frame_pointer((uint64_t)(uintptr_t)circle);
        run_with_frame_pointer((uint64_t)(uintptr_t)circle + (8u << 20));
    }
}

TEST(test_broken_frame_pointers, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    struct busy_thread thread = {.name = "broken", .run = run_broken};
    const struct recorded *recorded = record_busy_thread(*state, &thread, 100, 200);
    assert_true(count_samples_in(&recorded->profile, need_thread(recorded, "broken"), broken_code()) > 20);
    assert_nothing_lost(recorded);
}
#endif

CODE_SECTION(elsewhere)

static struct busy_thread *interrupted_thread;

IN_SECTION(elsewhere) static void work_elsewhere(int number) {
    uint64_t end_ns = clock_now_ns(CLOCK_MONOTONIC) + 20000000;
    while (clock_now_ns(CLOCK_MONOTONIC) < end_ns) {
    }
}

static void run_on_alternate_stack(struct busy_thread *self) {
    static char memory[65536];
    const stack_t alternate = {.ss_sp = memory, .ss_size = sizeof memory}, none = {.ss_flags = SS_DISABLE};
    struct sigaction action = {.sa_handler = work_elsewhere, .sa_flags = SA_ONSTACK}, before;
    interrupted_thread = self;
    sigaltstack(&alternate, NULL);
    sigaction(SIGUSR1, &action, &before);
    while (goes_on(self)) {
        raise(SIGUSR1);
        for (int i = 0; i < 1000; i++) NOT_THE_LAST_THING();
    }
    sigaction(SIGUSR1, &before, NULL);
    sigaltstack(&none, NULL);
}

/* Samples a thread inside a handler of another signal that runs on an alternate stack. */
TEST(test_alternate_stack, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    struct busy_thread thread = {.name = "elsewhere", .run = run_on_alternate_stack};
    const struct recorded *recorded = record_busy_thread(*state, &thread, 500, 60);
    assert_true(count_samples_in(&recorded->profile, need_thread(recorded, "elsewhere"), elsewhere_code()) > 20);
}

/* ---- A stack with too little space for the handler. ---- */

enum { BELOW_BYTES = 16384, UNTOUCHED = 0x5a, ENTERING_BYTES = 768 };

/* As long as a name can be: the message about the thread must not be cut. */
#define TEN_LETTERS   "abcdefghij"
#define FORTY_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS
#define CRAMPED_NAME  "cramped-" FORTY_LETTERS FORTY_LETTERS FORTY_LETTERS

static char *cramped_memory;
static size_t cramped_bytes;

static size_t small_stack_bytes(void) {
    unsigned long frame_bytes = getauxval(AT_MINSIGSTKSZ);
    return (frame_bytes ? frame_bytes : 2048) + ENTERING_BYTES;
}

/* Runs on an alternate stack that has the space that the kernel needs for its frame, but too little for the handler. */
static void run_with_small_alternate_stack(struct busy_thread *self) {
    const stack_t alternate = {.ss_sp = cramped_memory + BELOW_BYTES, .ss_size = cramped_bytes};
    const stack_t none = {.ss_flags = SS_DISABLE};
    sigaltstack(&alternate, NULL);
    while (goes_on(self)) NOT_THE_LAST_THING();
    sigaltstack(&none, NULL);
}

TEST(test_small_alternate_stack, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    struct busy_thread thread = {.name = CRAMPED_NAME, .run = run_with_small_alternate_stack};
    cramped_bytes = small_stack_bytes();
    cramped_memory = malloc(BELOW_BYTES + cramped_bytes);
    assert_non_null(cramped_memory);
    memset(cramped_memory, UNTOUCHED, BELOW_BYTES);
    const struct recorded *recorded = record_busy_thread(*state, &thread, 500, 60);
    for (size_t i = 0; i < BELOW_BYTES; i++) assert_int_equal(cramped_memory[i], UNTOUCHED);
    assert_int_equal(
        count_said(recorded, "\"" CRAMPED_NAME
                             "\" had too little room on its stack for a handler of SIGURG: a sample has no stack"),
        1);
    const struct thread *samples = need_thread(recorded, CRAMPED_NAME);
    assert_true(samples_count(&samples->samples) > 20);
    stack_id last = sample_stack(samples, samples_count(&samples->samples) - 1);
    assert_true(stack_is_unasked(&recorded->profile, last));
    free(cramped_memory);
}

/* Alternates between a stack with enough space and one without. */
static void run_with_and_without_room(struct busy_thread *self) {
    const stack_t alternate = {.ss_sp = cramped_memory + BELOW_BYTES, .ss_size = cramped_bytes};
    const stack_t none = {.ss_flags = SS_DISABLE};
    while (goes_on(self)) {
        sigaltstack(&alternate, NULL);
        for (int i = 0; i < 1000000; i++) NOT_THE_LAST_THING();
        sigaltstack(&none, NULL);
        for (int i = 0; i < 1000000; i++) NOT_THE_LAST_THING();
    }
}

/* Only samples taken on the small stack may lack a stack. */
TEST(test_room_comes_back, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    struct busy_thread thread = {.name = "cramped", .run = run_with_and_without_room};
    size_t change_count = 0, count;
    cramped_bytes = small_stack_bytes();
    cramped_memory = malloc(BELOW_BYTES + cramped_bytes);
    assert_non_null(cramped_memory);
    const struct recorded *recorded = record_busy_thread(*state, &thread, 500, 150);
    const struct thread *samples = need_thread(recorded, "cramped");
    count = samples_count(&samples->samples);
    for (size_t i = 1; i < count; i++)
        change_count += stack_is_none(sample_stack(samples, i - 1)) && !stack_is_none(sample_stack(samples, i));
    assert_true(change_count > 1);
    free(cramped_memory);
}

/* ---- Coroutines. ---- */

CODE_SECTION(coroutine)

static ucontext_t outside, inside;
static struct busy_thread *coroutine_thread;

IN_SECTION(coroutine) static void work_in_coroutine(void) {
    while (goes_on(coroutine_thread)) NOT_THE_LAST_THING();
    NOT_THE_LAST_THING();
}

IN_SECTION(coroutine) static void begin_coroutine(void) {
    work_in_coroutine();
    NOT_THE_LAST_THING();
}

static void run_coroutine(struct busy_thread *self) {
    enum { STACK_BYTES = 262144 };
    void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    coroutine_thread = self;
    getcontext(&inside);
    inside.uc_stack = (stack_t){.ss_sp = stack, .ss_size = STACK_BYTES};
    inside.uc_link = &outside;
    makecontext(&inside, begin_coroutine, 0);
    swapcontext(&outside, &inside);
    munmap(stack, STACK_BYTES);
}

TEST(test_coroutine, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    struct busy_thread thread = {.name = "coroutine", .run = run_coroutine};
    const struct recorded *recorded = record_busy_thread(*state, &thread, 500, 60);
    const struct thread *samples = need_thread(recorded, "coroutine");
    size_t count = count_samples_in(&recorded->profile, samples, coroutine_code()), whole_count = 0;
    for (size_t i = 0; i < samples_count(&samples->samples); i++) {
        struct frame_list list;
        frame_list_take(&list, &recorded->profile, sample_stack(samples, i));
        bool is_whole = list.count == 3 && frame_is_in(&recorded->profile, list.frames[1], coroutine_code()) &&
                        frame_is_in(&recorded->profile, list.frames[2], coroutine_code());
        whole_count += is_whole;
    }
    assert_true(count > 20);
    /* A sample of the first or the last instructions of a function may lack a frame. */
    assert_true(count - whole_count <= 2 + count / 100);
    assert_int_equal(count_of_cause(&recorded->profile.ledger, LEDGER_NOTED, "sample whose outermost frames"), 0);
}

/* ---- Functions of the kernel in the program's address space. ---- */

static void read_clock(struct busy_thread *self) {
    while (goes_on(self)) clock_now_ns(CLOCK_MONOTONIC);
}

static bool is_of_kernel(struct text name) {
    return text_starts_with(name, TEXT("__vdso_")) || text_starts_with(name, TEXT("__kernel_"));
}

/* The vDSO's functions are in no file, so the trace must contain their names. */
TEST(test_kernel_functions, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    struct busy_thread thread = {.name = "clock", .run = read_clock};
    if (!getauxval(AT_SYSINFO_EHDR)) skip();
    start_sampling(*state, "clock.trace", (struct grec_options){.interval_us = 500});
    busy_thread_start(&thread);
    wait_stacks(&thread, 40);
    const struct recorded *recorded = stop_and_read(*state, "clock.trace");
    busy_thread_join(&thread);
    const struct thread *samples = need_thread(recorded, "clock");
    size_t found = 0;
    for (size_t i = 0; i < samples_count(&samples->samples); i++) {
        struct frame_list list;
        frame_list_take(&list, &recorded->profile, sample_stack(samples, i));
        found += list.count && is_of_kernel(frame_func_name(&recorded->profile, list.frames[list.count - 1]));
    }
    assert_true(found > 10);
}

/* ---- The recorder's own code. ---- */

static struct code recorder_code(void) {
    return (struct code){(const char *)__start_grec_text, (const char *)__stop_grec_text};
}

static struct grec_marker record_marker = GREC_MARKER("records", NULL, NULL);

IN_SECTION(recording) static void record(void) {
    for (int i = 0; i < 100; i++)
        grec_add_marker(&record_marker, &(struct grec_marker_options){.with_stack = 1}, NULL, 0);
    NOT_THE_LAST_THING();
}
CODE_SECTION(recording)

static void run_recording(struct busy_thread *self) {
    while (goes_on(self)) record();
}

/* The thread is in the recorder nearly all the time, which belongs to the function that records. */
TEST(test_no_frames_of_the_recorder, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    struct busy_thread thread = {.name = "recording", .run = run_recording};
    const struct recorded *recorded = record_busy_thread(*state, &thread, 500, 60);
    const struct thread *samples = need_thread(recorded, "recording");
    assert_true(count_samples_in(&recorded->profile, samples, recording_code()) > 20);
    assert_int_equal(count_samples_in(&recorded->profile, samples, recorder_code()), 0);
    assert_false(
        stack_has_code(&recorded->profile, find_marker(&recorded->profile, "records", NULL)->stack, recorder_code()));
}

/* ---- Stacks that a thread takes of itself. ---- */

CODE_SECTION(taker)
CODE_SECTION(copied)

static struct grec_marker stack_marker = GREC_MARKER("with a stack", NULL, NULL);

IN_SECTION(taker) static void take_stacks(void) {
    GREC_LABEL("taker", NULL);
    grec_add_marker(&stack_marker, &(struct grec_marker_options){.with_stack = 1}, NULL, 0);
    grec_add_named_marker("named", NULL, NULL, &(struct grec_marker_options){.with_stack = 1}, NULL, 0);
    grec_sample();
    NOT_THE_LAST_THING();
}

/* Checks that the label of the taker is innermost, right after the frame of the taker. The stack must have no frames
 * of the recorder. */
static void assert_taker_is_innermost(const struct profile *profile, stack_id stack) {
    struct frame_list list;
    frame_list_take(&list, profile, stack);
    assert_true(list.count > 3);
    assert_true(frame_has_name(profile, list.frames[list.count - 1], "taker"));
    assert_true(frame_is_in(profile, list.frames[list.count - 2], taker_code()));
    assert_false(frame_is_in(profile, list.frames[list.count - 3], taker_code()));
}

TEST(test_stacks_on_demand, set_up_folder, tear_down_folder) {
    start_sampling(*state, "demand.trace", (struct grec_options){.interval_us = 20000});
    grec_thread_register("taker");
    wait_rounds(1);
    take_stacks();
    const struct recorded *recorded = stop_and_read(*state, "demand.trace");
    const struct profile *profile = &recorded->profile;
    assert_taker_is_innermost(profile, find_marker(profile, "with a stack", NULL)->stack);
    assert_taker_is_innermost(profile, find_marker(profile, "named", NULL)->stack);
    const struct thread *thread = need_thread(recorded, "taker");
    size_t found = 0;
    for (size_t i = 0; i < samples_count(&thread->samples); i++) {
        if (!stack_has_code(profile, sample_stack(thread, i), taker_code())) continue;
        assert_taker_is_innermost(profile, sample_stack(thread, i));
        found++;
    }
    assert_int_equal(found, 1);
}

/* ---- Stacks that are kept. ---- */

static void mark(const char *name, const struct grec_backtrace *backtrace) {
    grec_add_named_marker(name, NULL, NULL, &(struct grec_marker_options){.backtrace = backtrace}, NULL, 0);
}

IN_SECTION(taker) static void take_backtrace(struct grec_backtrace *backtrace) {
    GREC_LABEL("taker", NULL);
    grec_take_backtrace(backtrace);
    NOT_THE_LAST_THING();
}

CODE_SECTION(shower)

enum { SHOWN_COUNT = 5 };

/* Shows the kept stacks in another thread, among stacks of its own. */
IN_SECTION(shower) static void show_stacks(struct busy_thread *self) {
    static struct grec_backtrace taken;
    GREC_LABEL("shower", NULL);
    take_backtrace(&taken);
    for (int i = 0; i < SHOWN_COUNT; i++) {
        mark("kept", &taken);
        if (i % 2) grec_add_marker(&stack_marker, &(struct grec_marker_options){.with_stack = 1}, NULL, 0);
        mark("kept twice", &taken);
        sleep_ms(1);
    }
}

TEST(test_kept_stacks, set_up_folder, tear_down_folder) {
    static struct grec_backtrace taken;
    struct busy_thread thread = {.name = "shows", .run = show_stacks};
    start_sampling(*state, "kept.trace", (struct grec_options){.interval_us = 20000});
    wait_rounds(1);
    take_backtrace(&taken);
    busy_thread_start(&thread);
    busy_thread_wait(&thread);
    busy_thread_join(&thread);
    mark("of the main thread", &taken);
    const struct recorded *recorded = stop_and_read_whole(*state, "kept.trace");
    const struct profile *profile = &recorded->profile;
    assert_taker_is_innermost(profile, find_marker(profile, "of the main thread", NULL)->stack);
    static const char *const names[] = {"kept", "kept twice"};
    for (size_t i = 0; i < 2; i++) {
        stack_id first = find_marker(profile, names[i], NULL)->stack;
        const struct marker *marker = NULL;
        size_t count = 0;
        for (; (marker = next_marker(profile, names[i], marker, NULL)); count++)
            assert_int_equal(marker->stack.index, first.index);
        assert_int_equal(count, SHOWN_COUNT);
        assert_taker_is_innermost(profile, first);
        assert_true(stack_has_code(profile, first, shower_code()));
        assert_true(stack_has_name(profile, first, "shower"));
    }
}

IN_SECTION(taker) static void take_deep_down(struct grec_backtrace *backtrace, int depth) {
    if (depth)
        take_deep_down(backtrace, depth - 1);
    else
        take_backtrace(backtrace);
    NOT_THE_LAST_THING();
}

/* If a kept stack is too deep, its outermost frames are dropped. */
TEST(test_deep_kept_stack, set_up_folder, tear_down_folder) {
    static const uint32_t chunk_bytes[] = {4096, 65536};
    for (size_t i = 0; i < 2; i++) {
        static struct grec_backtrace taken;
        start_sampling(*state, "deep.trace",
                       (struct grec_options){.interval_us = 20000, .chunk_bytes = chunk_bytes[i]});
        wait_rounds(1);
        take_deep_down(&taken, 500);
        mark("deep", &taken);
        const struct recorded *recorded = stop_and_read_whole(*state, "deep.trace");
        struct frame_list list;
        frame_list_take(&list, &recorded->profile, find_marker(&recorded->profile, "deep", NULL)->stack);
        assert_true(list.count > (i ? 200 : 40) && list.count < 400);
        assert_true(frame_has_name(&recorded->profile, list.frames[list.count - 1], "taker"));
        for (size_t j = 0; j + 1 < list.count; j++)
            assert_true(frame_is_in(&recorded->profile, list.frames[j], taker_code()));
    }
}

static struct grec_backtrace taken_in_object;

/* The same declaration as in tests/recorder/walked_object.c. */
struct walked_call {
    int (*compare)(const void *, const void *);
    int values[16];
    int depth;
};

static int take_and_compare(const void *left, const void *right) {
    const int *a = left, *b = right;
    grec_take_backtrace(&taken_in_object);
    return (*a > *b) - (*a < *b);
}

static void find_object(char path[PATH_MAX]) {
    ssize_t count = readlink("/proc/self/exe", path, PATH_MAX - 1);
    assert_true(count > 0);
    path[count] = '\0';
    strcpy(strrchr(path, '/') + 1, "walked_object.so");
}

static void *load_object(void) {
    char path[PATH_MAX];
    find_object(path);
    void *object = dlopen(path, RTLD_NOW);
    assert_non_null(object);
    return object;
}

/* The addresses of a kept stack are looked up in the mappings of the time when the stack was taken. */
TEST(test_kept_stack_of_what_was_unloaded, set_up_folder, tear_down_folder) {
    start_sampling(*state, "unloaded.trace", (struct grec_options){.interval_us = 1000});
    void *object = load_object(), *symbol = dlsym(object, "walked_call");
    int (*call)(struct walked_call *, int);
    assert_non_null(symbol);
    memcpy(&call, &symbol, sizeof call);
    wait_rounds(3);
    struct walked_call argument = {.compare = take_and_compare, .values = {3, 2, 1}};
    call(&argument, 3);
    dlclose(object);
    wait_rounds(3);
    mark("unloaded", &taken_in_object);
    grec_add_marker(&stack_marker, &(struct grec_marker_options){.with_stack = 1}, NULL, 0);
    const struct recorded *recorded = stop_and_read(*state, "unloaded.trace");
    const struct profile *profile = &recorded->profile;
    assert_true(stack_has_library(profile, find_marker(profile, "unloaded", NULL)->stack, "walked_object.so"));
    assert_false(stack_has_library(profile, find_marker(profile, "with a stack", NULL)->stack, "walked_object.so"));
}

/* This function also works elsewhere in memory. */
IN_SECTION(copied) static void call_from_copy(void (*function)(struct grec_backtrace *), struct grec_backtrace *taken) {
    function(taken);
    NOT_THE_LAST_THING();
}

/* Returns the offset in the program's file of what is mapped at the address. */
static uint64_t find_file_offset(uint64_t address) {
    char line[PATH_MAX + 128];
    FILE *list = fopen("/proc/self/maps", "r");
    unsigned long long start, end, offset = 0;
    bool is_found = false;
    assert_non_null(list);
    while (!is_found && fgets(line, sizeof line, list))
        is_found = sscanf(line, "%llx-%llx %*s %llx", &start, &end, &offset) == 3 && address >= start && address < end;
    fclose(list);
    assert_true(is_found);
    return offset + (address - start);
}

/* Waits until the sampler has read the kernel's list of mappings, which it does each second at least. */
static void wait_list(void) {
    sleep_ms(1000);
    wait_rounds(3);
}

/* The page of call_from_copy in a file, and the one after it. */
struct copy {
    int file;
    uint64_t page_offset;
    uint64_t distance; /* from the page to the function */
    uint64_t page_bytes;
};

static struct copy open_copy(void) {
    struct copy copy = {.file = open("/proc/self/exe", O_RDONLY), .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE)};
    uint64_t offset = find_file_offset((uint64_t)(uintptr_t)&call_from_copy);
    assert_true(copy.file >= 0);
    copy.distance = offset % copy.page_bytes;
    copy.page_offset = offset - copy.distance;
    return copy;
}

static char *map_copy(const struct copy *copy, char *at) {
    char *mapped = mmap(at, 2 * copy->page_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | (at ? MAP_FIXED : 0), copy->file,
                        (off_t)copy->page_offset);
    assert_true(mapped != MAP_FAILED);
    return mapped;
}

/* Records a marker with a stack that the copy has taken. */
static void mark_in_copy(const struct copy *copy, char *mapped, const char *name) {
    static struct grec_backtrace taken;
    void (*call)(void (*)(struct grec_backtrace *), struct grec_backtrace *);
    char *function = mapped + copy->distance;
    memcpy(&call, &function, sizeof call);
    call(take_backtrace, &taken);
    mark(name, &taken);
}

static bool marker_has_copied_code(const struct recorded *recorded, const char *name) {
    return stack_has_code(&recorded->profile, find_marker(&recorded->profile, name, NULL)->stack, copied_code());
}

/* Node.js maps functions of its program a second time, near the code that it generates. A copy may be mapped where a
 * part of another one was. */
TEST(test_code_that_is_mapped_twice, set_up_folder, tear_down_folder) {
    if (IS_SANITIZED) skip();
    struct copy copy = open_copy();
    char *first = mmap(NULL, 3 * copy.page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(first != MAP_FAILED);
    char *second = first + copy.page_bytes;
    map_copy(&copy, first);
    start_sampling(*state, "twice.trace", (struct grec_options){.interval_us = 1000});
    wait_rounds(3);
    mark_in_copy(&copy, first, "in a copy");
    munmap(first, copy.page_bytes);
    map_copy(&copy, second);
    wait_list();
    mark_in_copy(&copy, second, "in another copy");
    munmap(second, 2 * copy.page_bytes);
    close(copy.file);
    const struct recorded *recorded = stop_and_read(*state, "twice.trace");
    assert_true(marker_has_copied_code(recorded, "in a copy"));
    assert_true(marker_has_copied_code(recorded, "in another copy"));
}

/* Copies beyond a number have no names, and leave room for libraries. */
TEST(test_many_copies, set_up_folder, tear_down_folder) {
    enum { COPY_COUNT = 5000 };
    if (IS_SANITIZED) skip();
    struct copy copy = open_copy();
    static char *copies[COPY_COUNT];
    for (size_t i = 0; i < COPY_COUNT; i++) copies[i] = map_copy(&copy, NULL);
    start_sampling(*state, "many.trace", (struct grec_options){.interval_us = 1000});
    wait_rounds(3);
    void *object = load_object(), *symbol = dlsym(object, "walked_call");
    int (*call)(struct walked_call *, int);
    memcpy(&call, &symbol, sizeof call);
    wait_rounds(3);
    struct walked_call argument = {.compare = take_and_compare, .values = {3, 2, 1}};
    call(&argument, 3);
    mark("loaded", &taken_in_object);
    dlclose(object);
    for (size_t i = 0; i < COPY_COUNT; i++) munmap(copies[i], 2 * copy.page_bytes);
    close(copy.file);
    const struct recorded *recorded = stop_and_read(*state, "many.trace");
    assert_true(stack_has_library(&recorded->profile, find_marker(&recorded->profile, "loaded", NULL)->stack,
                                  "walked_object.so"));
}

static void copy_object(const char *path) {
    char object[PATH_MAX];
    size_t bytes_count;
    find_object(object);
    char *bytes = file_read(object, &bytes_count);
    assert_non_null(bytes);
    assert_true(file_write(path, (struct text){bytes, bytes_count}));
    free(bytes);
}

/* A file that has the path of a loaded library is not that library. Both are deleted, so that the paths in the list are
 * equal too. */
TEST(test_copy_of_another_file, set_up_folder, tear_down_folder) {
    if (IS_SANITIZED) skip();
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", temp_folder_file(*state, "replaced.so"));
    copy_object(path);
    void *object = dlopen(path, RTLD_NOW);
    assert_non_null(object);
    uint64_t offset = find_file_offset((uint64_t)(uintptr_t)dlsym(object, "walked_call"));
    unlink(path);
    struct code code = copied_code();
    struct copy copy = {.file = open(path, O_CREAT | O_EXCL | O_RDWR, 0700),
                        .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE)};
    copy.distance = offset % copy.page_bytes;
    copy.page_offset = offset - copy.distance;
    assert_true(pwrite(copy.file, code.start, (size_t)(code.end - code.start), (off_t)offset) > 0);
    unlink(path);
    char *mapped = map_copy(&copy, NULL);
    start_sampling(*state, "other.trace", (struct grec_options){.interval_us = 1000});
    wait_list();
    mark_in_copy(&copy, mapped, "in another file");
    munmap(mapped, 2 * copy.page_bytes);
    close(copy.file);
    dlclose(object);
    const struct recorded *recorded = stop_and_read(*state, "other.trace");
    assert_false(stack_has_library(&recorded->profile, find_marker(&recorded->profile, "in another file", NULL)->stack,
                                   "replaced.so"));
}

static bool has_library(const struct profile *profile, const char *path) {
    for (uint32_t i = 0; i < libs_count(&profile->libs); i++)
        if (text_equal(libs_at(&profile->libs, (lib_id){i})->path, text_of(path))) return true;
    return false;
}

/* The file must be found later, from other folders. */
TEST(test_object_with_a_relative_path, set_up_folder, tear_down_folder) {
    char path[PATH_MAX], before[PATH_MAX];
    find_object(path);
    char *name = strrchr(path, '/');
    assert_non_null(getcwd(before, sizeof before));
    *name = '\0';
    assert_int_equal(chdir(path), 0);
    *name = '/';
    void *object = dlopen("./walked_object.so", RTLD_NOW), *symbol = object ? dlsym(object, "walked_call") : NULL;
    assert_int_equal(chdir(before), 0);
    int (*call)(struct walked_call *, int);
    assert_non_null(symbol);
    memcpy(&call, &symbol, sizeof call);
    start_sampling(*state, "relative.trace", (struct grec_options){.interval_us = 1000});
    wait_rounds(3);
    struct walked_call argument = {.compare = take_and_compare, .values = {3, 2, 1}};
    call(&argument, 3);
    mark("of the object", &taken_in_object);
    const struct recorded *recorded = stop_and_read(*state, "relative.trace");
    dlclose(object);
    assert_true(has_library(&recorded->profile, path));
}

/* The stack is taken before a fork and shown in the child. */
TEST(test_kept_stack_in_a_child, set_up_folder, tear_down_folder) {
    skip_forks_under_sanitizers();
    static struct grec_backtrace taken;
    start_sampling(*state, "child.trace", (struct grec_options){.interval_us = 20000});
    wait_rounds(1);
    take_backtrace(&taken);
    pid_t pid = fork();
    if (!pid) {
        mark("of the parent", &taken);
        take_backtrace(&taken);
        mark("of the child", &taken);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    const struct recorded *recorded = stop_and_read(*state, "child.trace");
    assert_taker_is_innermost(&recorded->profile, find_marker(&recorded->profile, "of the parent", NULL)->stack);
    assert_taker_is_innermost(&recorded->profile, find_marker(&recorded->profile, "of the child", NULL)->stack);
}

int main(void) { return unit_tests_run(NULL, NULL); }
