#include "own_thread.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "session.h"
#include "thread_registry.h"

enum { GONE_LOOK_COUNT = 10000 };

enum keeper_word { KEEPER_ABSENT = 0, KEEPER_WAITS, KEEPER_EXITS, KEEPER_LEAVES };

static struct {
    /* There are never fewer own threads than have counted themselves, and never more than are not joined. */
    uint32_t own_count;
    uint32_t unjoined_count;
    pid_t pid;              /* of the process that has them */
    uint32_t looking_count; /* that look whether they are alone: begun, and not ended */
    uint32_t file_count;    /* threads with descriptor tables of their own */
    uint32_t keeper_word;   /* a futex; enum keeper_word */
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

static bool read_facts(struct own_file *file, struct process_facts *facts) {
    char text[1024];
    return own_file_read(file, "../stat", text, sizeof text) && parse_facts(text, facts);
}

/* ---- The keeper. ---- */

static long futex(uint32_t *word, int operation, uint32_t value) {
    return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

static void tell_keeper(enum keeper_word word) {
    uint32_t waits = KEEPER_WAITS;
    if (__atomic_compare_exchange_n(&ending.keeper_word, &waits, (uint32_t)word, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED))
        futex(&ending.keeper_word, FUTEX_WAKE, 1);
}

/* Signals that came when nobody was left to take them would have found no process. */
static void take_signals(const sigset_t *signals_before) {
    sigset_t blocked = *signals_before, pending;
    sigpending(&pending);
    for (int number = 1; number < NSIG; number++)
        if (sigismember(&pending, number) == 1) sigaddset(&blocked, number);
    thread_signals_restore(&blocked);
}

/* What exit calls is the program's, in a thread like any other. */
static void *keep(void *argument) {
    static sigset_t signals_before;
    uint32_t word;
    memcpy(&signals_before, argument, sizeof signals_before);
    __atomic_store_n(&ending.keeper_word, KEEPER_WAITS, __ATOMIC_RELEASE);
    futex(&ending.keeper_word, FUTEX_WAKE, 1);
    while ((word = __atomic_load_n(&ending.keeper_word, __ATOMIC_ACQUIRE)) == KEEPER_WAITS)
        futex(&ending.keeper_word, FUTEX_WAIT, KEEPER_WAITS);
    __atomic_fetch_sub(&ending.own_count, 1, __ATOMIC_RELEASE);
    __atomic_fetch_sub(&ending.unjoined_count, 1, __ATOMIC_RELEASE);
    if (word == KEEPER_LEAVES) return NULL;
    prctl(PR_SET_NAME, program_invocation_short_name, 0, 0, 0);
    take_signals(&signals_before);
    exit(0);
}

/* Returns once the keeper has started. */
static bool start_keeper(sigset_t *signals_before) {
    pthread_t keeper;
    if (pthread_create(&keeper, NULL, keep, signals_before) != 0) return false;
    pthread_setname_np(keeper, HELPER_THREAD_NAME);
    pthread_detach(keeper);
    while (__atomic_load_n(&ending.keeper_word, __ATOMIC_ACQUIRE) == KEEPER_ABSENT)
        futex(&ending.keeper_word, FUTEX_WAIT, KEEPER_ABSENT);
    return true;
}

void own_thread_end_first(void) {
    sigset_t signals_before;
    if (!__atomic_load_n(&ending.looking_count, __ATOMIC_SEQ_CST)) return;
    thread_signals_block(&signals_before);
    __atomic_fetch_add(&ending.own_count, 1, __ATOMIC_RELEASE);
    __atomic_fetch_add(&ending.unjoined_count, 1, __ATOMIC_RELEASE);
    if (!start_keeper(&signals_before)) {
        __atomic_fetch_sub(&ending.own_count, 1, __ATOMIC_RELEASE);
        __atomic_fetch_sub(&ending.unjoined_count, 1, __ATOMIC_RELEASE);
    }
    thread_signals_restore(&signals_before);
    if (!__atomic_load_n(&ending.looking_count, __ATOMIC_SEQ_CST)) tell_keeper(KEEPER_LEAVES);
}

/* Without anybody who looks, the keeper would keep the process alive. */
static void end_looking(void) {
    if (__atomic_sub_fetch(&ending.looking_count, 1, __ATOMIC_SEQ_CST) == 0) tell_keeper(KEEPER_LEAVES);
}

/* ---- Being alone. ---- */

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
    tell_keeper(KEEPER_EXITS);
    return true;
}

/* ---- Start and end. ---- */

static void end_by_signal(int number) {
    sigset_t none;
    sigemptyset(&none);
    signal(number, SIG_DFL);
    thread_signals_restore(&none);
    raise(number);
}

/* The first thread ended by the system call or by seccomp: the C library counts it for ever, and does not call exit.
 * The status of the last thread to end is that of the process (before Linux 6.0 the first thread's is). */
static void end_alone(void) {
    int code = ending.is_first_outlived ? 0 : ending.first_code;
    if (WIFSIGNALED(code)) end_by_signal(WTERMSIG(code));
    if (WEXITSTATUS(code)) syscall(SYS_exit, WEXITSTATUS(code));
}

static void *run(void *argument) {
    struct own_thread *thread = argument;
    thread->tid = (pid_t)syscall(SYS_gettid);
    __atomic_fetch_add(&ending.own_count, 1, __ATOMIC_RELEASE);
    bool has_files = own_files_begin(thread->trace_file);
    if (has_files) __atomic_fetch_add(&ending.file_count, 1, __ATOMIC_RELEASE);
    thread->run();
    if (has_files) __atomic_fetch_sub(&ending.file_count, 1, __ATOMIC_RELEASE);
    __atomic_fetch_sub(&ending.own_count, 1, __ATOMIC_RELEASE);
    end_looking();
    if (is_alone() && !__atomic_load_n(&ending.keeper_word, __ATOMIC_ACQUIRE)) end_alone();
    return NULL;
}

bool own_thread_start(struct own_thread *thread, void (*start)(void), int trace_file) {
    sigset_t signals_before;
    *thread = (struct own_thread){.run = start,
                                  .trace_file = trace_file,
                                  .next_look_ns = clock_ns_of(CLOCK_MONOTONIC) + OWN_THREAD_LOOK_NS};
    thread_signals_block(&signals_before);
    ending.pid = getpid();
    __atomic_fetch_add(&ending.unjoined_count, 1, __ATOMIC_RELEASE);
    __atomic_fetch_add(&ending.looking_count, 1, __ATOMIC_SEQ_CST);
    thread->is_running = pthread_create(&thread->handle, NULL, run, thread) == 0;
    if (!thread->is_running) {
        __atomic_fetch_sub(&ending.unjoined_count, 1, __ATOMIC_RELEASE);
        end_looking();
    }
    thread_signals_restore(&signals_before);
    return thread->is_running;
}

void own_thread_join(struct own_thread *thread) {
    if (!thread->is_running) return;
    if (!pthread_equal(thread->handle, pthread_self())) {
        pthread_join(thread->handle, NULL);
        /* pthread_join returns a moment before the kernel stops counting the thread. The loop is bounded because
         * another thread may get the number. */
        for (int i = 0; i < GONE_LOOK_COUNT && syscall(SYS_tgkill, getpid(), thread->tid, 0) == 0; i++) sched_yield();
    }
    __atomic_fetch_sub(&ending.unjoined_count, 1, __ATOMIC_RELEASE);
    thread->is_running = false;
}

/* A child that was made without fork() finds what its parent had. */
uint32_t own_thread_count(void) {
    return ending.pid == getpid() ? __atomic_load_n(&ending.unjoined_count, __ATOMIC_ACQUIRE) : 0;
}

void own_thread_forget(struct own_thread *thread) {
    own_file_forget(&thread->process_file);
    thread->is_running = false;
    memset(&ending, 0, sizeof ending);
}

uint32_t own_thread_file_count(void) { return __atomic_load_n(&ending.file_count, __ATOMIC_ACQUIRE); }
