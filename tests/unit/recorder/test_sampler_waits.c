/* Tests threads that wait, mostly in system calls. Their stacks must name the wait, and one that a signal would cut
 * short must not be interrupted. */
#include <stdio.h>
#include <stdlib.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/support/sampler_check.h"
#include "tests/support/unit_test.h"

/* ---- Waiting until a signal from this test arrives. ---- */

static void wait_in_nanosleep(void) {
    struct timespec long_time = {1000, 0};
    assert_int_equal(nanosleep(&long_time, NULL), -1);
}

static void wait_in_poll(void) { assert_int_equal(poll(NULL, 0, 1000000), -1); }

static void wait_in_epoll(void) {
    struct epoll_event event;
    int file = epoll_create1(EPOLL_CLOEXEC);
    assert_int_equal(epoll_wait(file, &event, 1, 1000000), -1);
    close(file);
}

static void wait_in_select(void) {
    struct timeval long_time = {1000, 0};
    assert_int_equal(select(0, NULL, NULL, NULL, &long_time), -1);
}

static void wait_in_recv(void) {
    char byte;
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(recv(ends[0], &byte, 1, 0), -1);
    close(ends[0]);
    close(ends[1]);
}

/* The kernel restarts this wait after the sampler's signal, so the sampler interrupts it. */
static void wait_in_futex(void) {
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    assert_int_equal(sem_wait(&semaphore), -1);
    sem_destroy(&semaphore);
}

struct waiter {
    struct busy_thread thread;
    void (*wait)(void);
    atomic_uint tid;
    struct grec_thread handle; /* valid from when has_handle is set */
    atomic_bool has_handle;
    atomic_uint wait_count; /* waits that have returned */
};

static struct waiter *waiter_of(struct busy_thread *thread) { return (struct waiter *)thread; }

/* ---- The calls around the wait: a, b with a label. ---- */

CODE_SECTION(interrupted)
CODE_SECTION(plain_a)
CODE_SECTION(plain_b)
CODE_SECTION(framed_a)
CODE_SECTION(framed_b)
CODE_SECTION(sized_a)
CODE_SECTION(sized_b)

static void wait_once(struct waiter *waiter) {
    waiter->handle = grec_thread_self();
    atomic_store(&waiter->has_handle, true);
    waiter->wait();
    atomic_fetch_add(&waiter->wait_count, 1);
}

IN_SECTION(plain_b) static void run_plain_b(struct waiter *waiter) {
    wait_once(waiter);
    NOT_THE_LAST_THING();
}

IN_SECTION(plain_a) static void run_plain_a(struct busy_thread *thread) {
    run_plain_b(waiter_of(thread));
    NOT_THE_LAST_THING();
}

/* A function that uses its frame address keeps a frame pointer, whatever the compiler. So does a function with a
 * label. */
static void *volatile frame_address __attribute__((unused));

IN_SECTION(framed_b) static void run_framed_b(struct waiter *waiter) {
    char text[8] = "dynamic";
    GREC_LABEL_TEXT("in b", NULL, text);
    wait_once(waiter);
    NOT_THE_LAST_THING();
}

IN_SECTION(framed_a) static void run_framed_a(struct busy_thread *thread) {
    frame_address = __builtin_frame_address(0);
    run_framed_b(waiter_of(thread));
    NOT_THE_LAST_THING();
}

/* The size of a variable-length array. The machine code of a function with such an array does not show the size of
 * its frame. */
static volatile size_t room_bytes = 100;

IN_SECTION(sized_b) static void run_sized_b(struct waiter *waiter) {
    volatile char room[room_bytes];
    room[0] = 0;
    GREC_LABEL("in b", NULL);
    wait_once(waiter);
    room[1] = room[0];
}

IN_SECTION(sized_a) static void run_sized_a(struct busy_thread *thread) {
    volatile char room[room_bytes];
    room[0] = 0;
    run_sized_b(waiter_of(thread));
    room[1] = room[0];
}

/* ---- Running the waiting thread. ---- */

static void interrupt(int number) { (void)number; }

static void *waiter_main(void *argument) {
    struct waiter *waiter = argument;
    atomic_store(&waiter->tid, (unsigned)syscall(SYS_gettid));
    return busy_thread_main(&waiter->thread);
}

static void waiter_start(struct waiter *waiter, pthread_attr_t *attributes) {
    struct sigaction action = {.sa_handler = interrupt};
    sigaction(SIGUSR1, &action, NULL);
    assert_int_equal(pthread_create(&waiter->thread.thread, attributes, waiter_main, waiter), 0);
    while (!atomic_load(&waiter->thread.is_ready)) usleep(100);
    while (call_of_thread(atomic_load(&waiter->tid)) <= 0) usleep(100);
}

/* Waits until the thread has samples, however late the machine's load lets the sampler take them. */
static void await_samples(struct waiter *waiter) {
    while (!atomic_load(&waiter->has_handle)) usleep(100);
    while (grec_sample_thread(waiter->handle) != GREC_OK) usleep(100);
    wait_rounds(5);
}

/* Ends the wait with one signal, and checks that it had not ended before. */
static void waiter_join(struct waiter *waiter) {
    assert_int_equal(atomic_load(&waiter->wait_count), 0);
    pthread_kill(waiter->thread.thread, SIGUSR1);
    busy_thread_join(&waiter->thread);
    assert_int_equal(atomic_load(&waiter->wait_count), 1);
}

/* Starts a waiting thread and then the sampler. The thread waits before the sampler starts, so no signal can be on
 * its way to it. */
static void record_waiter(const struct temp_folder *folder, struct waiter *waiter, pthread_attr_t *attributes,
                          struct grec_options options) {
    options.interval_us = 1000;
    options.limit_bytes = GREC_UNLIMITED;
    start_recording(folder, "waits.trace", options);
    waiter_start(waiter, attributes);
    start_sampling(folder, "waits.trace", options);
    await_samples(waiter);
    grec_stop();
    waiter_join(waiter);
}

static const struct recorded *read_waiter(const struct temp_folder *folder) {
    return recorded_read(temp_folder_file(folder, "waits.trace"));
}

/* ---- Expected stacks. ---- */

struct chain {
    struct code a, b;
    const char *label; /* label inside b, or NULL */
};

static size_t find_code(const struct profile *profile, const struct frame_list *list, struct code code) {
    size_t at = 0;
    while (at < list->count && !frame_is_in(profile, list->frames[at], code)) at++;
    return at;
}

static void assert_idle(const struct profile *profile, const struct frame_list *list, const char *name) {
    frame_id innermost = list->frames[list->count - 1];
    assert_true(frame_has_name(profile, innermost, name));
    const struct frame *frame = profile_frame_at(profile, innermost);
    assert_true(text_equal(categories_at(&profile->categories, frame->category)->name, TEXT("Idle")));
}

/* Takes the stack of the last sample, which was taken after the thread had waited for a long time. */
static void take_last(struct frame_list *list, const struct recorded *recorded) {
    const struct thread *thread = need_thread(recorded, "waiter");
    size_t count = samples_count(&thread->samples);
    assert_true(count > 0);
    frame_list_take(list, &recorded->profile, sample_stack(thread, count - 1));
    assert_true(list->count > 0);
}

/* Checks that the stack has the chain. The sanitizers add frames of variable size, so with them the stack may end at
 * b. */
static void assert_chain(const struct profile *profile, const struct frame_list *list, const struct chain *chain,
                         const char *name) {
    size_t b = find_code(profile, list, chain->b);
    assert_true(b < list->count - 1);
    assert_idle(profile, list, name);
    if (IS_SANITIZED && b < 2) return;
    assert_true(b > 1 && frame_is_in(profile, list->frames[b - 1], chain->a));
    if (chain->label) assert_true(frame_has_name(profile, list->frames[b + 1], chain->label));
}

/* Records a thread that waits in a function, and takes its last stack. */
static const struct recorded *record_wait(struct frame_list *list, const struct temp_folder *folder, void (*wait)(void),
                                          void (*run)(struct busy_thread *)) {
    struct waiter waiter = {.thread = {.name = "waiter", .run = run}, .wait = wait};
    record_waiter(folder, &waiter, NULL, (struct grec_options){0});
    const struct recorded *recorded = read_waiter(folder);
    take_last(list, recorded);
    return recorded;
}

static void check_wait(const struct temp_folder *folder, void (*wait)(void), const char *name,
                       void (*run)(struct busy_thread *), struct chain chain) {
    struct frame_list list;
    const struct recorded *recorded = record_wait(&list, folder, wait, run);
    assert_chain(&recorded->profile, &list, &chain, name);
    assert_nothing_lost(recorded);
}

static void check_waits(const struct temp_folder *folder, void (*run)(struct busy_thread *), struct chain chain) {
    check_wait(folder, wait_in_nanosleep, "(waits in clock_nanosleep)", run, chain);
    check_wait(folder, wait_in_poll, "(waits in poll)", run, chain);
    /* The sampler shares the same with a thread in any wait. */
    if (HAS_THREAD_SANITIZER) return;
    check_wait(folder, wait_in_epoll, "(waits in epoll_wait)", run, chain);
    check_wait(folder, wait_in_select, "(waits in pselect6)", run, chain);
    check_wait(folder, wait_in_recv, "(waits in recvfrom)", run, chain);
    check_wait(folder, wait_in_futex, "(waits in futex)", run, chain);
}

TEST(test_without_frame_pointers, set_up_folder, tear_down_folder) {
    check_waits(*state, run_plain_a, (struct chain){plain_a_code(), plain_b_code(), NULL});
}

TEST(test_with_frame_pointers, set_up_folder, tear_down_folder) {
    check_waits(*state, run_framed_a, (struct chain){framed_a_code(), framed_b_code(), "in b dynamic"});
}

/* If the size of a frame is unknown and no inner function has saved its frame pointer, the stack ends there. So b
 * has no caller, or the right one. */
TEST(test_frames_of_unknown_size, set_up_folder, tear_down_folder) {
    struct frame_list list;
    const struct recorded *recorded = record_wait(&list, *state, wait_in_poll, run_sized_a);
    size_t b = find_code(&recorded->profile, &list, sized_b_code());
    assert_true(b < list.count - 1);
    assert_idle(&recorded->profile, &list, "(waits in poll)");
    assert_true(frame_has_name(&recorded->profile, list.frames[b ? 0 : 1], "in b") ||
                frame_is_in(&recorded->profile, list.frames[b - 1], sized_a_code()));
}

/* ---- Stacks near the end of mapped memory. ---- */

/* No memory is mapped after the stack. */
TEST(test_end_of_mapping, set_up_folder, tear_down_folder) {
    enum { STACK_BYTES = 1 << 20, PAGE_BYTES = 4096 };
    struct frame_list list;
    struct waiter waiter = {.thread = {.name = "waiter", .run = run_plain_a}, .wait = wait_in_poll};
    const struct chain chain = {plain_a_code(), plain_b_code(), NULL};
    pthread_attr_t attributes;
    char *stack = mmap(NULL, STACK_BYTES + PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(stack, MAP_FAILED);
    assert_int_equal(munmap(stack + STACK_BYTES, PAGE_BYTES), 0);
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstack(&attributes, stack, STACK_BYTES), 0);
    record_waiter(*state, &waiter, &attributes, (struct grec_options){0});
    pthread_attr_destroy(&attributes);
    munmap(stack, STACK_BYTES);
    const struct recorded *recorded = read_waiter(*state);
    take_last(&list, recorded);
    assert_chain(&recorded->profile, &list, &chain, "(waits in poll)");
}

enum { DEEP_COUNT = 60 };

CODE_SECTION(deep)

IN_SECTION(deep) static int go_deep(struct waiter *waiter, int depth) {
    volatile char room[2000];
    room[0] = (char)depth;
    if (depth == 1)
        wait_once(waiter);
    else
        go_deep(waiter, depth - 1);
    return room[0];
}

static void run_deep(struct busy_thread *thread) { go_deep(waiter_of(thread), DEEP_COUNT); }

/* The stack is larger than the part that the sampler reads first. */
TEST(test_deep_stack, set_up_folder, tear_down_folder) {
    struct frame_list list;
    const struct recorded *recorded = record_wait(&list, *state, wait_in_poll, run_deep);
    assert_idle(&recorded->profile, &list, "(waits in poll)");
    size_t at = find_code(&recorded->profile, &list, deep_code()), count = 0;
    while (at + count < list.count && frame_is_in(&recorded->profile, list.frames[at + count], deep_code())) count++;
    if (!IS_SANITIZED) assert_int_equal(count, DEEP_COUNT);
}

/* ---- Labels. ---- */

/* A text at an address where nothing is ever mapped. */
static const char *volatile vanished_text = (const char *)4096;

static void run_with_labels(struct busy_thread *thread) {
    static struct grec_category work = GREC_CATEGORY("Work", GREC_COLOR_GREEN);
    static struct grec_category part = GREC_SUBCATEGORY("Part", &work);
    static struct grec_label interpreter = GREC_LABEL_AT("interpreter", &work, NULL, 0);
    struct grec_label on_stack = GREC_LABEL_AT("of a part", &part, "source.c", 7);
    grec_label_place pushed = grec_label_push(&on_stack, NULL);
    grec_label_place script = grec_script_push(&interpreter, "function", "file.js", 3, 4);
    GREC_LABEL_TEXT("vanished", NULL, vanished_text);
    wait_once(waiter_of(thread));
    grec_label_pop(script);
    grec_label_pop(pushed);
}

/* Labels that the trace does not define before, labels of scripts, and a label whose text no longer exists. */
TEST(test_labels, set_up_folder, tear_down_folder) {
    struct frame_list list;
    const struct recorded *recorded = record_wait(&list, *state, wait_in_poll, run_with_labels);
    const struct profile *profile = &recorded->profile;
    size_t at = 0;
    while (at < list.count && !frame_has_name(profile, list.frames[at], "of a part")) at++;
    assert_true(at + 1 < list.count);
    const struct frame *frame = profile_frame_at(profile, list.frames[at]);
    assert_int_equal(profile_func_at(profile, frame->func)->line, 7);
    const struct category *category = categories_at(&profile->categories, frame->category);
    assert_true(text_equal(category->name, TEXT("Work")));
    assert_true(text_equal(*category_subcategory_at(category, frame->subcategory), TEXT("Part")));
    assert_true(frame_has_name(profile, list.frames[at + 1], "function"));
    assert_int_equal(profile_frame_at(profile, list.frames[at + 1])->line, 3);
    assert_false(frame_has_name(profile, list.frames[at + 2], "vanished"));
    assert_idle(profile, &list, "(waits in poll)");
    assert_int_equal(recorded->header.cut_text_count, 1);
}

/* ---- A thread that wakes up all the time. ---- */

CODE_SECTION(left_a)
CODE_SECTION(left_b)
CODE_SECTION(right_a)
CODE_SECTION(right_b)

static void label_and_wait(const char *text, bool is_left) {
    GREC_LABEL_TEXT("turned", NULL, text);
    if (is_left)
        poll(NULL, 0, 1);
    else
        nanosleep(&(struct timespec){0, 100000}, NULL);
    NOT_THE_LAST_THING();
}

/* Waits under a label whose text is freed right after the wait. */
static void wait_under(const char *name, bool is_left) {
    char *text = malloc(64);
    if (!text) return;
    snprintf(text, 64, "%s-%s-%s-%s", name, name, name, name);
    label_and_wait(text, is_left);
    memset(text, '?', 64);
    NOT_THE_LAST_THING();
    free(text);
}

IN_SECTION(left_b) static void run_left_b(void) {
    wait_under("left", true);
    NOT_THE_LAST_THING();
}

IN_SECTION(left_a) static void run_left_a(void) {
    run_left_b();
    NOT_THE_LAST_THING();
}

IN_SECTION(right_b) static void run_right_b(void) {
    wait_under("right", false);
    NOT_THE_LAST_THING();
}

IN_SECTION(right_a) static void run_right_a(void) {
    frame_address = __builtin_frame_address(0);
    run_right_b();
    NOT_THE_LAST_THING();
}

static void turn(struct busy_thread *thread) {
    while (goes_on(thread)) {
        run_left_a();
        run_right_a();
    }
}

/* Returns whether everything in the stack belongs to one side, left or right. */
static bool is_possible(const struct profile *profile, const struct frame_list *list) {
    static const char *const names[2] = {"turned left-left-left-left", "turned right-right-right-right"};
    static const char *const calls[2] = {"(waits in poll)", "(waits in clock_nanosleep)"};
    const struct code codes[2][2] = {{left_a_code(), left_b_code()}, {right_a_code(), right_b_code()}};
    frame_id innermost = list->frames[list->count - 1];
    for (int side = 0; side < 2; side++) {
        if (!frame_has_name(profile, innermost, calls[side])) continue;
        size_t b = find_code(profile, list, codes[side][1]);
        bool is_other = find_code(profile, list, codes[!side][0]) < list->count ||
                        find_code(profile, list, codes[!side][1]) < list->count;
        bool is_chain = b < list->count && (b < 2 || frame_is_in(profile, list->frames[b - 1], codes[side][0]));
        size_t label = 0;
        while (label < list->count && !frame_has_name(profile, list->frames[label], names[side])) label++;
        return !is_other && (is_chain || IS_SANITIZED) && label < list->count;
    }
    return true; /* the thread did not wait */
}

TEST(test_turns, set_up_folder, tear_down_folder) {
    struct busy_thread thread = {.name = "turner", .run = turn};
    start_sampling(*state, "turns.trace", (struct grec_options){.interval_us = 100});
    busy_thread_start(&thread);
    wait_rounds(HAS_THREAD_SANITIZER ? 1000 : 3000);
    const struct recorded *recorded = stop_and_read(*state, "turns.trace");
    busy_thread_join(&thread);
    const struct thread *samples = need_thread(recorded, "turner");
    size_t waits = 0;
    for (size_t i = 0; i < samples_count(&samples->samples); i++) {
        struct frame_list list;
        frame_list_take(&list, &recorded->profile, sample_stack(samples, i));
        if (!list.count) continue;
        if (is_possible(&recorded->profile, &list)) {
            waits += frame_has_name(&recorded->profile, list.frames[list.count - 1], "(waits in poll)");
            continue;
        }
        for (size_t at = 0; at < list.count; at++) {
            struct text name = frame_func_name(&recorded->profile, list.frames[at]);
            print_error("%.*s\n", (int)name.bytes_count, name.bytes);
        }
        fail_msg("sample %zu has a stack that the thread never had", i);
    }
    assert_true(waits > 0);
    assert_nothing_lost(recorded);
}

/* ---- Waiting for memory. ---- */

/* A page that is there only when fill_page provides it. */
static struct {
    volatile char *bytes;
    size_t bytes_count;
    int file;
} page;

/* Returns false if the system does not allow it. */
static bool make_page(void) {
    page.bytes_count = (size_t)sysconf(_SC_PAGESIZE);
    page.file = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
    if (page.file < 0) return false;
    struct uffdio_api api = {.api = UFFD_API};
    assert_int_equal(ioctl(page.file, UFFDIO_API, &api), 0);
    void *bytes = mmap(NULL, page.bytes_count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(bytes, MAP_FAILED);
    page.bytes = bytes;
    struct uffdio_register wanted = {.range = {(uintptr_t)bytes, page.bytes_count},
                                     .mode = UFFDIO_REGISTER_MODE_MISSING};
    assert_int_equal(ioctl(page.file, UFFDIO_REGISTER, &wanted), 0);
    return true;
}

static void fill_page(void) {
    struct uffdio_zeropage wanted = {.range = {(uintptr_t)page.bytes, page.bytes_count}};
    assert_int_equal(ioctl(page.file, UFFDIO_ZEROPAGE, &wanted), 0);
}

static void wait_for_page(void) { page.bytes[0] = 1; }

/* A thread that waits in the kernel until a page is there counts as idle, and its stack has a frame for the wait. */
TEST(test_page, set_up_folder, tear_down_folder) {
    struct frame_list list;
    struct waiter waiter = {.thread = {.name = "waiter", .run = run_framed_a}, .wait = wait_for_page};
    const struct chain chain = {framed_a_code(), framed_b_code(), "in b dynamic"};
    struct grec_options options = {.interval_us = 1000, .limit_bytes = GREC_UNLIMITED};
    if (!make_page()) skip();
    start_recording(*state, "waits.trace", options);
    assert_int_equal(pthread_create(&waiter.thread.thread, NULL, waiter_main, &waiter), 0);
    while (!atomic_load(&waiter.thread.is_ready) || call_of_thread(atomic_load(&waiter.tid)) != -1) usleep(100);
    start_sampling(*state, "waits.trace", options);
    await_samples(&waiter);
    grec_stop();
    assert_int_equal(atomic_load(&waiter.wait_count), 0);
    fill_page();
    busy_thread_join(&waiter.thread);
    close(page.file);
    munmap((void *)(uintptr_t)page.bytes, page.bytes_count);
    const struct recorded *recorded = read_waiter(*state);
    take_last(&list, recorded);
    assert_chain(&recorded->profile, &list, &chain, "(waits for a page)");
}

/* The label's text is in the page, so the thread waits for the page when its clocks have interrupted it. */
IN_SECTION(interrupted) static void work_under_label(struct busy_thread *self) {
    volatile uint64_t sum __attribute__((unused)) = 0;
    GREC_LABEL_TEXT("slow", NULL, (const char *)(uintptr_t)page.bytes);
    while (goes_on(self)) sum++;
}

/* A thread whose handler takes long blocks the signal meanwhile, but still has stacks. The sampler looks whether a
 * thread blocks the signal if it has left no stack for half a second. */
TEST(test_page_of_handler, set_up_folder, tear_down_folder) {
    enum { INTERVAL_US = 550000 };
    skip_under_thread_sanitizer();
    struct uffd_msg fault;
    struct busy_thread thread = {.name = "slow", .run = work_under_label};
    if (!make_page()) skip();
    start_sampling(*state, "waits.trace", (struct grec_options){.interval_us = INTERVAL_US});
    busy_thread_start(&thread);
    assert_int_equal(read(page.file, &fault, sizeof fault), sizeof fault);
    wait_rounds(2);
    fill_page();
    wait_rounds(2);
    const struct recorded *recorded = stop_and_read(*state, "waits.trace");
    busy_thread_join(&thread);
    close(page.file);
    munmap((void *)(uintptr_t)page.bytes, page.bytes_count);
    const struct thread *samples = need_thread(recorded, "slow");
    size_t wait_count = 0;
    for (size_t i = 0; i < samples_count(&samples->samples); i++) {
        struct frame_list list;
        frame_list_take(&list, &recorded->profile, sample_stack(samples, i));
        assert_true(list.count > 0);
        if (!frame_has_name(&recorded->profile, list.frames[list.count - 1], "(waits for a page)")) continue;
        wait_count++;
        if (IS_SANITIZED) continue; /* the walk from outside ends in the sanitizer's code */
        assert_true(list.count > 1 && frame_is_in(&recorded->profile, list.frames[list.count - 2], interrupted_code()));
    }
    assert_true(wait_count > 0);
    assert_int_equal(count_said(recorded, " blocks SIGURG"), 0);
}

/* ---- Systems on which stacks of waiting threads cannot be read. ---- */

/* Forbids reading files at offsets so large that only /proc/self/mem has them: stacks are beyond 4 GiB. */
static bool forbid_memory(void) {
    enum { OFFSET_HIGH = offsetof(struct seccomp_data, args[3]) + (__BYTE_ORDER == __LITTLE_ENDIAN ? 4 : 0) };
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pread64, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, OFFSET_HIGH),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* A program that is not allowed to read its memory by the kernel's file. The samples must show that the thread
 * waits, and the log must report why they have no more frames. */
TEST(test_forbidden, set_up_folder, tear_down_folder) {
    skip_forks_under_sanitizers();
    struct frame_list list;
    int status = -1;
    pid_t pid = fork();
    if (!pid) {
        struct waiter waiter = {.thread = {.name = "waiter", .run = run_plain_a}, .wait = wait_in_poll};
        if (!forbid_memory()) _exit(77);
        record_waiter(*state, &waiter, NULL, (struct grec_options){0});
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    const struct recorded *recorded = read_waiter(*state);
    take_last(&list, recorded);
    assert_int_equal(list.count, 1);
    assert_idle(&recorded->profile, &list, "(waits in poll)");
    assert_int_equal(count_said(recorded, "cannot be read: /proc/self/task/TID/mem: Operation not permitted"), 1);
}

/* Works and waits in turns. The sampler's interval is shorter than a wait, and no signal ends one. */
static bool can_work_and_wait(void) {
    enum { WORK_NS = 1000000, WAIT_MS = 30, WAIT_COUNT = 10 };
    for (int i = 0; i < WAIT_COUNT; i++) {
        uint64_t end_ns = clock_now_ns(CLOCK_MONOTONIC) + WORK_NS;
        while (clock_now_ns(CLOCK_MONOTONIC) < end_ns) {
        }
        if (poll(NULL, 0, WAIT_MS) != 0) return false;
    }
    return true;
}

/* No file can be opened, so the sampler cannot find out in which system call a thread waits. */
TEST(test_without_files, set_up_folder, tear_down_folder) {
    skip_forks_under_sanitizers();
    int status = -1;
    pid_t pid = fork();
    if (!pid) {
        start_recording(*state, "waits.trace", (struct grec_options){.limit_bytes = GREC_UNLIMITED});
        if (setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 0}) != 0) _exit(77);
        start_sampling(*state, "waits.trace", (struct grec_options){.interval_us = 1000});
        wait_rounds(2);
        alarm(HANG_SECONDS);
        grec_thread_register("poller");
        bool is_good = can_work_and_wait();
        grec_stop();
        _exit(is_good ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    const struct recorded *recorded = read_waiter(*state);
    assert_int_equal(
        count_said(recorded, "does not show what threads wait in: /proc/self/task/TID/syscall: Too many open files"),
        1);
}

/* ---- Main. ---- */

int main(void) { return unit_tests_run(NULL, NULL); }
