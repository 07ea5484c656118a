#include "own_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "thread_registry.h"

static struct {
    /* There are never fewer own threads than have counted themselves, and never more than are not joined. */
    uint32_t own_count;
    uint32_t unjoined_count;
    pid_t pid; /* of the process that has them */
    bool is_alone;
    bool is_first_outlived; /* by another one of the program's */
    int first_code;
} ending;

/* ---- The process, as the kernel tells it. ---- */

/* Its first thread stays among its threads when it has ended. */
struct process_facts {
    bool has_first_ended;
    uint32_t thread_count;
    int first_code; /* as wait has it: a status or a signal */
};

/* Fields as proc(5) numbers them; the name, which is the second one, may have spaces and parentheses in it. */
static bool parse_facts(const char *text, struct process_facts *facts) {
    enum { FIELD_AFTER_STATE = 4, FIELD_THREAD_COUNT = 20, FIELD_EXIT_CODE = 52 };
    const char *name_end = strrchr(text, ')');
    if (!name_end || name_end[1] != ' ') return false;
    facts->has_first_ended = name_end[2] == 'Z';
    char *at = (char *)(uintptr_t)(name_end + 3);
    for (int field = FIELD_AFTER_STATE; field <= FIELD_EXIT_CODE; field++) {
        uint64_t number = strtoull(at, &at, 10);
        if (field == FIELD_THREAD_COUNT) facts->thread_count = (uint32_t)number;
        if (field == FIELD_EXIT_CODE) facts->first_code = (int)number;
    }
    return true;
}

static bool read_facts(struct kept_file *kept, struct process_facts *facts) {
    char text[1024];
    if (kept_file_is_ours(kept)) return file_read_text(kept->file, text, sizeof text) && parse_facts(text, facts);
    int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    kept_file_set(kept, file);
    bool is_read = file_read_text(file, text, sizeof text) && parse_facts(text, facts);
    close(file);
    return is_read;
}

static bool is_alone(void) { return __atomic_load_n(&ending.is_alone, __ATOMIC_ACQUIRE); }

bool own_thread_is_alone(struct own_thread *thread, uint64_t now_ns) {
    struct process_facts facts;
    if (is_alone()) return true;
    if (now_ns < thread->next_look_ns) return false;
    thread->next_look_ns = now_ns + OWN_THREAD_LOOK_NS;
    if (!read_facts(&thread->process_file, &facts) || !facts.has_first_ended) return false;
    if (facts.thread_count > __atomic_load_n(&ending.unjoined_count, __ATOMIC_ACQUIRE) + 1)
        __atomic_store_n(&ending.is_first_outlived, true, __ATOMIC_RELAXED);
    if (facts.thread_count > __atomic_load_n(&ending.own_count, __ATOMIC_ACQUIRE) + 1) return false;
    __atomic_store_n(&ending.first_code, facts.first_code, __ATOMIC_RELAXED);
    __atomic_store_n(&ending.is_alone, true, __ATOMIC_RELEASE);
    return true;
}

/* ---- Its life. ---- */

/* Signals that came when nobody was left to take them would have found no process. */
static void take_signals(const sigset_t *signals_before) {
    sigset_t blocked = *signals_before, pending;
    sigpending(&pending);
    for (int number = 1; number < NSIG; number++)
        if (sigismember(&pending, number) == 1) sigaddset(&blocked, number);
    thread_signals_restore(&blocked);
}

static void end_by_signal(int number) {
    sigset_t none;
    sigemptyset(&none);
    signal(number, SIG_DFL);
    thread_signals_restore(&none);
    raise(number);
}

/* The C library calls exit behind this: what that calls is the program's, in a thread like any other. Unless a thread
 * has ended behind its back, by the system call or by seccomp, and is there for ever as it counts them: then the status
 * of the last thread to end is that of the process (before Linux 6.0 the first thread's is). */
static void end_alone(const struct own_thread *thread) {
    int code = ending.is_first_outlived ? 0 : ending.first_code;
    if (WIFSIGNALED(code)) end_by_signal(WTERMSIG(code));
    if (WEXITSTATUS(code)) syscall(SYS_exit, WEXITSTATUS(code));
    prctl(PR_SET_NAME, program_invocation_short_name, 0, 0, 0);
    take_signals(&thread->signals_before);
}

static void *run(void *argument) {
    struct own_thread *thread = argument;
    thread->tid = (pid_t)syscall(SYS_gettid);
    __atomic_fetch_add(&ending.own_count, 1, __ATOMIC_RELEASE);
    thread->run();
    kept_file_close(&thread->process_file);
    __atomic_fetch_sub(&ending.own_count, 1, __ATOMIC_RELEASE);
    if (is_alone()) end_alone(thread);
    return NULL;
}

bool own_thread_start(struct own_thread *thread, void (*start)(void)) {
    /* Not at once: a program that is about to begin may be at its descriptors. */
    *thread = (struct own_thread){.run = start, .next_look_ns = clock_ns_of(CLOCK_MONOTONIC) + OWN_THREAD_LOOK_NS};
    thread_signals_block(&thread->signals_before);
    ending.pid = getpid();
    __atomic_fetch_add(&ending.unjoined_count, 1, __ATOMIC_RELEASE);
    thread->is_running = pthread_create(&thread->handle, NULL, run, thread) == 0;
    if (!thread->is_running) __atomic_fetch_sub(&ending.unjoined_count, 1, __ATOMIC_RELEASE);
    thread_signals_restore(&thread->signals_before);
    return thread->is_running;
}

void own_thread_join(struct own_thread *thread) {
    if (!thread->is_running) return;
    if (!pthread_equal(thread->handle, pthread_self())) pthread_join(thread->handle, NULL);
    __atomic_fetch_sub(&ending.unjoined_count, 1, __ATOMIC_RELEASE);
    thread->is_running = false;
}

void own_thread_await_gone(const struct own_thread *thread) {
    while (thread->tid && syscall(SYS_tgkill, getpid(), thread->tid, 0) == 0) sched_yield();
}

/* A child that was made without fork() finds what its parent had. */
uint32_t own_thread_count(void) {
    return ending.pid == getpid() ? __atomic_load_n(&ending.unjoined_count, __ATOMIC_ACQUIRE) : 0;
}

void own_thread_forget(struct own_thread *thread) {
    kept_file_close(&thread->process_file);
    thread->is_running = false;
    memset(&ending, 0, sizeof ending);
}
