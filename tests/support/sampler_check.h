/* Runs threads for a sampler to sample, and examines the recorded samples. */
#pragma once

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "recorder/sampler/sampler.h"
#include "tests/support/recorder_trace.h"
#include "tests/support/sanitizers.h"

/* Skips a test under the thread sanitizer. The thread sanitizer delays a signal's handler until the thread makes its
 * next system call. So the handler walks another stack than the interrupted one, a thread that only computes has no
 * stacks, and system calls are cut short. Also, if a mutex was locked by pthread_mutex_clocklock before a fork, the
 * thread sanitizer takes it for unlocked. Finally, it does not allow forked children to start threads. */
static inline void skip_under_thread_sanitizer(void) {
    if (HAS_THREAD_SANITIZER) skip();
}

/* Skips tests whose children start threads. Under the address sanitizer such a child may deadlock, because another
 * thread may have held the allocator's lock at the fork. */
static inline void skip_forks_under_sanitizers(void) {
    if (IS_SANITIZED) skip();
}

/* ---- Code with known bounds: functions in a section of their own. ---- */

struct code {
    const char *start;
    const char *end;
};

#define CODE_SECTION(name)                               \
    extern const char __start_##name[], __stop_##name[]; \
    static inline struct code name##_code(void) { return (struct code){__start_##name, __stop_##name}; }
#define IN_SECTION(name) __attribute__((noinline, section(#name)))

/* Put this after a function's last call, so that the compiler does not turn the call into a jump. */
#define NOT_THE_LAST_THING() __asm__ volatile("" ::: "memory")

/* Returns whether the frame lies in that code of this program. */
static inline bool frame_is_in(const struct profile *profile, frame_id id, struct code code) {
    Dl_info info;
    const struct frame *frame = profile_frame_at(profile, id);
    if (frame->address == ADDRESS_NONE || !dladdr(code.start, &info)) return false;
    const struct text path = libs_at(&profile->libs, frame->lib)->path;
    char own_path[PATH_MAX];
    ssize_t count = readlink("/proc/self/exe", own_path, sizeof own_path);
    if (count < 0 || !text_equal(path, (struct text){own_path, (size_t)count})) return false;
    const char *at = (const char *)info.dli_fbase + frame->address;
    return at >= code.start && at < code.end;
}

static inline bool frame_has_name(const struct profile *profile, frame_id frame, const char *name) {
    return text_equal(frame_func_name(profile, frame), text_of(name));
}

/* The frames of a stack, outermost first. */
struct frame_list {
    size_t count;
    frame_id frames[512];
};

static inline void frame_list_take(struct frame_list *list, const struct profile *profile, stack_id stack) {
    size_t depth = stack_depth(profile, stack);
    assert_true(depth <= sizeof list->frames / sizeof *list->frames);
    list->count = depth;
    for (; depth; stack = profile_stack_at(profile, stack)->prefix)
        list->frames[--depth] = profile_stack_at(profile, stack)->frame;
}

static inline bool stack_has_code(const struct profile *profile, stack_id stack, struct code code) {
    for (; !stack_is_none(stack); stack = profile_stack_at(profile, stack)->prefix)
        if (frame_is_in(profile, profile_stack_at(profile, stack)->frame, code)) return true;
    return false;
}

static inline bool stack_has_name(const struct profile *profile, stack_id stack, const char *name) {
    for (; !stack_is_none(stack); stack = profile_stack_at(profile, stack)->prefix)
        if (frame_has_name(profile, profile_stack_at(profile, stack)->frame, name)) return true;
    return false;
}

static inline bool stack_has_library(const struct profile *profile, stack_id stack, const char *name) {
    for (; !stack_is_none(stack); stack = profile_stack_at(profile, stack)->prefix) {
        const struct frame *frame = profile_frame_at(profile, profile_stack_at(profile, stack)->frame);
        if (!lib_is_none(frame->lib) && text_equal(libs_at(&profile->libs, frame->lib)->name, text_of(name)))
            return true;
    }
    return false;
}

/* Whether the thread was not asked for its stack. A thread that was blocked, for instance in mmap, has a stack anyway,
 * which was read from outside and ends with its wait. */
static inline bool stack_is_unasked(const struct profile *profile, stack_id stack) {
    if (stack_is_none(stack)) return true;
    frame_id leaf = profile_stack_at(profile, stack)->frame;
    return text_starts_with(frame_func_name(profile, leaf), TEXT("(waits "));
}

/* Whether the sample has the processor time that no other sample stands for. There is one at the end of a thread. */
static inline bool stack_is_rest(const struct profile *profile, stack_id stack) {
    return stack_has_name(profile, stack, "(between samples)");
}

/* ---- Samples. ---- */

static inline stack_id sample_stack(const struct thread *thread, size_t row) {
    return samples_at(&thread->samples, row)->stack;
}

static inline int64_t sample_time_ns(const struct thread *thread, size_t row) {
    return samples_at(&thread->samples, row)->time_ns;
}

static inline size_t count_samples_in(const struct profile *profile, const struct thread *thread, struct code code) {
    size_t count = 0;
    for (size_t i = 0; i < samples_count(&thread->samples); i++)
        count += stack_has_code(profile, sample_stack(thread, i), code);
    return count;
}

static inline int64_t sum_cpu_ns(const struct thread *thread) {
    int64_t sum_ns = 0;
    for (uint32_t i = 0; i < samples_count(&thread->samples); i++) {
        int64_t cpu_ns = samples_cpu_ns(&thread->samples, i);
        if (cpu_ns != TIME_NONE) sum_ns += cpu_ns;
    }
    return sum_ns;
}

static inline const struct thread *need_thread(const struct recorded *recorded, const char *name) {
    const struct thread *thread = find_thread(&recorded->profile, name);
    if (thread) return thread;
    for (size_t i = 0; i < recorded->profile.threads.count; i++) {
        const struct thread *other = column_at(&recorded->profile.threads, i);
        print_error("%.*s: %" PRIu32 " samples\n", (int)other->name.bytes_count, other->name.bytes,
                    samples_count(&other->samples));
    }
    fail_msg("there is no thread \"%s\"", name);
    return NULL;
}

/* ---- The recorder's messages. ---- */

static inline size_t count_said(const struct recorded *recorded, const char *part) {
    const struct column *log = &recorded->profile.profiling_log;
    size_t count = 0;
    for (size_t i = 0; i < log->count; i++) {
        const struct log_line *line = column_at(log, i);
        if (line->text.bytes) count += memmem(line->text.bytes, line->text.bytes_count, part, strlen(part)) != NULL;
    }
    return count;
}

/* ---- Time. ---- */

static inline uint64_t clock_now_ns(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static inline void sleep_ms(unsigned ms) {
    struct timespec left = {ms / 1000, (long)(ms % 1000) * 1000000};
    while (nanosleep(&left, &left) != 0) {
    }
}

/* ---- The kernel's information about threads. ---- */

/* Returns the number of the system call that the thread is blocked in. Returns -1 if it is blocked outside a call, and
 * 0 if it runs or if the kernel does not show it. */
static inline int call_of_thread(uint32_t tid) {
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%u/syscall", tid);
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    bool is_read = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    return is_read ? atoi(text) : 0;
}

/* ---- The sampler. ---- */

static atomic_uint_fast64_t round_count;

static inline void count_round(void *unused) {
    (void)unused;
    atomic_fetch_add(&round_count, 1);
}

/* Waits until the sampler has looked at all threads `count` more times. */
static inline void wait_rounds(uint64_t count) {
    uint64_t end = atomic_load(&round_count) + count;
    while (atomic_load(&round_count) < end) usleep(200);
}

/* Sleeps, and returns the number of sampling rounds that began and ended while the calling thread slept. Each of
 * these rounds found the thread asleep. */
static inline uint64_t sleep_and_count_rounds(unsigned ms) {
    uint64_t before = atomic_load(&round_count);
    sleep_ms(ms);
    uint64_t ended_count = atomic_load(&round_count) - before;
    return ended_count > 1 ? ended_count - 1 : 0;
}

static inline void start_sampling(const struct temp_folder *folder, const char *name, struct grec_options options) {
    sampler_call_after_rounds(count_round, NULL);
    options.flags |= GREC_SAMPLER;
    if (!options.limit_bytes) options.limit_bytes = GREC_UNLIMITED;
    start_recording(folder, name, options);
}

/* ---- A thread that runs a function until it is told to end. ---- */

struct busy_thread {
    const char *name; /* NULL if the thread does not register */
    void (*run)(struct busy_thread *self);
    pthread_t thread;
    atomic_uint tid;
    atomic_bool is_ready; /* set just before `run` is called */
    atomic_bool is_told_to_end;
    atomic_bool may_leave;
    atomic_uint_fast64_t cpu_ns; /* processor time that `run` has used; 0 until it has returned */
};

static inline bool goes_on(struct busy_thread *self) {
    return !atomic_load_explicit(&self->is_told_to_end, memory_order_relaxed);
}

/* The thread sanitizer of gcc 12 loses a signal that arrives in the first library call of a thread, when it makes the
 * thread's list of signals. A thread of a test makes that call before the sampler knows of the thread. */
static inline void make_first_call(void) { usleep(0); }

static inline void *busy_thread_main(void *argument) {
    struct busy_thread *self = argument;
    make_first_call();
    if (self->name) grec_thread_register(self->name);
    atomic_store(&self->tid, (unsigned)gettid());
    atomic_store(&self->is_ready, true);
    uint64_t from_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
    self->run(self);
    atomic_store(&self->cpu_ns, clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - from_ns);
    while (!atomic_load(&self->may_leave)) sleep_ms(1);
    return NULL;
}

static inline void busy_thread_start(struct busy_thread *thread) {
    assert_int_equal(pthread_create(&thread->thread, NULL, busy_thread_main, thread), 0);
    while (!atomic_load(&thread->is_ready)) usleep(100);
}

/* Waits until `run` has returned. The thread still exists, so that its last processor time can be seen. */
static inline void busy_thread_wait(struct busy_thread *thread) {
    atomic_store(&thread->is_told_to_end, true);
    while (!atomic_load(&thread->cpu_ns)) usleep(200);
}

static inline void busy_thread_join(struct busy_thread *thread) {
    atomic_store(&thread->is_told_to_end, true);
    atomic_store(&thread->may_leave, true);
    assert_int_equal(pthread_join(thread->thread, NULL), 0);
}

/* Returns the processor time that the thread has used. */
static inline uint64_t cpu_of_thread_ns(const struct busy_thread *thread) {
    clockid_t clock;
    assert_int_equal(pthread_getcpuclockid(thread->thread, &clock), 0);
    return clock_now_ns(clock);
}

/* Waits until the thread has used `ns` more of processor time, however long that takes. */
static inline void wait_cpu(const struct busy_thread *thread, uint64_t ns) {
    uint64_t end_ns = cpu_of_thread_ns(thread) + ns;
    while (cpu_of_thread_ns(thread) < end_ns) usleep(200);
}

/* Waits until the sampler has requested `count` stacks from a working thread and has received them. Rounds of the
 * sampler alternate with time in which the thread runs. A stack is dropped if it ends in an object whose table is
 * not built yet, so a test should expect somewhat fewer. */
static inline void wait_stacks(const struct busy_thread *thread, unsigned count) {
    enum { ANSWER_NS = 1000000 };
    for (unsigned i = 0; i < count; i++) {
        wait_rounds(2);
        wait_cpu(thread, ANSWER_NS);
    }
    wait_rounds(2);
}

/* Records the thread from its start until the sampler has received that many stacks, and reads the trace. */
static inline const struct recorded *record_busy_thread(const struct temp_folder *folder, struct busy_thread *thread,
                                                        uint32_t interval_us, unsigned stack_count) {
    start_sampling(folder, "busy.trace", (struct grec_options){.interval_us = interval_us});
    busy_thread_start(thread);
    wait_stacks(thread, stack_count);
    const struct recorded *recorded = stop_and_read(folder, "busy.trace");
    busy_thread_join(thread);
    return recorded;
}

/* Waits for stacks of a thread that has begun to work. All of its samples after the marker "at work" show its work.
 * Earlier samples may show it waiting for a processor. */
static inline void wait_stacks_at_work(const struct busy_thread *thread, unsigned count) {
    enum { BEGINNING_COUNT = 10 };
    wait_stacks(thread, BEGINNING_COUNT);
    GREC_INSTANT("at work", NULL);
    wait_stacks(thread, count);
}

static inline int64_t at_work_ns(const struct profile *profile) {
    return find_marker(profile, "at work", NULL)->start_ns;
}

/* Waits until the thread is blocked in a system call and the sampler has noticed this. The thread has then answered
 * all signals, and the sampler sends it no more. The thread must be waiting for this program. */
static inline void wait_asleep(const struct busy_thread *thread) {
    for (;;) {
        uint32_t tid = atomic_load(&thread->tid);
        uint64_t cpu_ns = cpu_of_thread_ns(thread);
        bool was_blocked = call_of_thread(tid) > 0;
        wait_rounds(5);
        if (was_blocked && cpu_of_thread_ns(thread) == cpu_ns && call_of_thread(tid) > 0) return;
    }
}

/* Computes until the thread is told to end. */
static inline void work(struct busy_thread *self) {
    volatile uint64_t sum __attribute__((unused)) = 0;
    while (goes_on(self))
        for (uint64_t i = 0; i < 1000; i++) sum += i;
}
