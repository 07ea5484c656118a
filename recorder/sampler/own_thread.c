#include "own_thread.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/state/clock.h"
#include "recorder/state/process.h"
#include "recorder/state/signal_mask.h"

enum { GONE_TRY_COUNT = 10000 };

enum keeper_word { KEEPER_ABSENT = 0, KEEPER_WAITS, KEEPER_EXITS, KEEPER_LEAVES };

static struct {
    /* The recorder has at least own_count threads in the kernel's view, and at most unjoined_count. */
    uint32_t own_count;      /* threads that run */
    uint32_t unjoined_count; /* threads that were started, and not joined */
    pid_t pid;               /* the process that has them */
    uint32_t checking_count; /* threads that check whether they are alone, from their start to their end */
    uint32_t keeper_word;    /* a futex; enum keeper_word */
    bool is_alone;
    bool is_first_outlived; /* another of the program's threads ran longer than the first one */
    int first_code;
    const uint32_t *first_tid; /* the kernel clears this word when the first thread ends; NULL: unknown */
} ending;

/* Call this in the first thread. */
static void find_first_tid(void) {
    uint32_t *tid = NULL;
    bool is_known = prctl(PR_GET_TID_ADDRESS, &tid, 0, 0, 0) == 0 && tid && *tid == (uint32_t)getpid();
    ending.first_tid = is_known ? tid : NULL;
}

void own_thread_init(void) {
    if (process_own_tid() == (uint32_t)getpid()) find_first_tid();
}

/* ---- The process, as the kernel describes it. ---- */

/* When the first thread of a process ends, it stays as a zombie until the process ends. */
struct process_facts {
    bool has_first_ended;
    uint32_t thread_count;
    int first_code; /* the first thread's exit status or signal, in the format of wait(2) */
};

/* Fields have the numbers of proc(5). The second one, the name, may contain spaces and parentheses. */
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

static long futex(uint32_t *word, int operation, uint32_t value, const struct timespec *limit) {
    return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, limit, NULL, 0);
}

static void tell_keeper(enum keeper_word word) {
    uint32_t waits = KEEPER_WAITS;
    if (__atomic_compare_exchange_n(&ending.keeper_word, &waits, (uint32_t)word, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED))
        futex(&ending.keeper_word, FUTEX_WAKE, 1, NULL);
}

/* Keeps pending signals blocked: without the recorder, no thread would have been there to take them. */
static void take_signals(const sigset_t *signals_before) {
    sigset_t blocked = *signals_before, pending;
    sigpending(&pending);
    for (int number = 1; number < NSIG; number++)
        if (sigismember(&pending, number) == 1) sigaddset(&blocked, number);
    signal_mask_restore(&blocked);
}

/* exit runs code of the program, so the keeper becomes a thread like those of the program. */
static void *keep(void *argument) {
    static sigset_t signals_before;
    uint32_t word;
    memcpy(&signals_before, argument, sizeof signals_before);
    __atomic_store_n(&ending.keeper_word, KEEPER_WAITS, __ATOMIC_RELEASE);
    futex(&ending.keeper_word, FUTEX_WAKE, 1, NULL);
    while ((word = __atomic_load_n(&ending.keeper_word, __ATOMIC_ACQUIRE)) == KEEPER_WAITS)
        futex(&ending.keeper_word, FUTEX_WAIT, KEEPER_WAITS, NULL);
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
    pthread_setname_np(keeper, KEEPER_THREAD_NAME);
    pthread_detach(keeper);
    while (__atomic_load_n(&ending.keeper_word, __ATOMIC_ACQUIRE) == KEEPER_ABSENT)
        futex(&ending.keeper_word, FUTEX_WAIT, KEEPER_ABSENT, NULL);
    return true;
}

static void end_first(void) {
    sigset_t signals_before;
    if (!__atomic_load_n(&ending.checking_count, __ATOMIC_SEQ_CST)) return;
    signal_mask_block_all(&signals_before);
    __atomic_fetch_add(&ending.own_count, 1, __ATOMIC_RELEASE);
    __atomic_fetch_add(&ending.unjoined_count, 1, __ATOMIC_RELEASE);
    if (!start_keeper(&signals_before)) {
        __atomic_fetch_sub(&ending.own_count, 1, __ATOMIC_RELEASE);
        __atomic_fetch_sub(&ending.unjoined_count, 1, __ATOMIC_RELEASE);
    }
    signal_mask_restore(&signals_before);
    if (!__atomic_load_n(&ending.checking_count, __ATOMIC_SEQ_CST)) tell_keeper(KEEPER_LEAVES);
}

void own_thread_end_of_another(bool is_first) {
    if (is_first)
        end_first();
    else if (ending.first_tid && !__atomic_load_n(ending.first_tid, __ATOMIC_RELAXED))
        __atomic_store_n(&ending.is_first_outlived, true, __ATOMIC_RELAXED);
}

/* The keeper must end when no thread checks any more. Otherwise it would keep the process alive. */
static void end_checking(void) {
    if (__atomic_sub_fetch(&ending.checking_count, 1, __ATOMIC_SEQ_CST) == 0) tell_keeper(KEEPER_LEAVES);
}

/* ---- Being alone. ---- */

static bool is_alone(void) { return __atomic_load_n(&ending.is_alone, __ATOMIC_ACQUIRE); }

bool own_thread_is_alone(struct own_thread *thread, uint64_t now_ns) {
    struct process_facts facts;
    if (is_alone()) return true;
    if (now_ns < thread->next_check_ns) return false;
    thread->next_check_ns = now_ns + OWN_THREAD_CHECK_NS;
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
    signal_mask_restore(&none);
    raise(number);
}

/* The first thread was ended by the system call or by seccomp, so the C library believes that it still runs, and does
 * not call exit. The status of the process is that of the last thread to end (before Linux 6.0, that of the first
 * thread). */
static void end_alone(void) {
    int code = __atomic_load_n(&ending.is_first_outlived, __ATOMIC_RELAXED) ? 0 : ending.first_code;
    if (WIFSIGNALED(code)) end_by_signal(WTERMSIG(code));
    if (WEXITSTATUS(code)) syscall(SYS_exit, WEXITSTATUS(code));
}

static void run(struct own_thread *thread) {
    thread->tid = (pid_t)process_own_tid();
    __atomic_fetch_add(&ending.own_count, 1, __ATOMIC_RELEASE);
    own_files_begin(thread->begins_late ? -1 : thread->trace_file);
    /* The thread names itself: naming it from another thread goes through /proc, and would delay an exit right after
     * that by milliseconds. */
    prctl(PR_SET_NAME, thread->name, 0, 0, 0);
    __atomic_store_n(&thread->has_begun, true, __ATOMIC_RELEASE);
    futex(&thread->has_begun, FUTEX_WAKE, 1, NULL);
    thread->run();
    __atomic_fetch_sub(&ending.own_count, 1, __ATOMIC_RELEASE);
    end_checking();
    if (is_alone() && !__atomic_load_n(&ending.keeper_word, __ATOMIC_ACQUIRE)) end_alone();
}

static void *run_created(void *thread) {
    run(thread);
    return NULL;
}

/* Waits until the thread has a table of descriptors of its own, and its name, by which it is left out of the samples.
 * Without the wait, a program that closes all of its descriptors right after it has started the recorder would close
 * the trace's, too. The wait is bounded: a thread may not begin while the caller holds a lock of the dynamic linker. */
void own_thread_await_begin(struct own_thread *thread) {
    const struct timespec limit = {.tv_sec = 1};
    if (!thread->is_running) return;
    while (!__atomic_load_n(&thread->has_begun, __ATOMIC_ACQUIRE))
        if (futex(&thread->has_begun, FUTEX_WAIT, false, &limit) != 0 && errno == ETIMEDOUT) return;
}

bool own_thread_start(struct own_thread *thread, const char *name, void (*start)(void), int trace_file,
                      bool begins_late) {
    sigset_t signals_before;
    *thread = (struct own_thread){.name = name,
                                  .run = start,
                                  .trace_file = trace_file,
                                  .begins_late = begins_late && own_files_begin_at_once(),
                                  .next_check_ns = clock_ns_of(CLOCK_MONOTONIC) + OWN_THREAD_CHECK_NS};
    signal_mask_block_all(&signals_before);
    ending.pid = getpid();
    __atomic_fetch_add(&ending.unjoined_count, 1, __ATOMIC_RELEASE);
    __atomic_fetch_add(&ending.checking_count, 1, __ATOMIC_SEQ_CST);
    thread->is_running = pthread_create(&thread->handle, NULL, run_created, thread) == 0;
    if (!thread->is_running) {
        __atomic_fetch_sub(&ending.unjoined_count, 1, __ATOMIC_RELEASE);
        end_checking();
    }
    signal_mask_restore(&signals_before);
    if (thread->is_running && !thread->begins_late) own_thread_await_begin(thread);
    return thread->is_running;
}

static bool is_gone(const struct own_thread *thread) { return syscall(SYS_tgkill, getpid(), thread->tid, 0) != 0; }

static void note_end(struct own_thread *thread) {
    __atomic_fetch_sub(&ending.unjoined_count, 1, __ATOMIC_RELEASE);
    thread->is_running = false;
}

/* pthread_join would free memory, and take a lock that the caller may have interrupted. */
bool own_thread_await_end(struct own_thread *thread, uint64_t limit_ns) {
    enum { NAP_US = 100 };
    uint64_t end_ns = clock_ns_of(CLOCK_MONOTONIC) + limit_ns;
    while (!is_gone(thread) && clock_ns_of(CLOCK_MONOTONIC) < end_ns) usleep(NAP_US);
    if (!is_gone(thread)) return false;
    note_end(thread);
    return true;
}

void own_thread_join(struct own_thread *thread) {
    if (!thread->is_running) return;
    if (!pthread_equal(thread->handle, pthread_self())) {
        pthread_join(thread->handle, NULL);
        /* pthread_join returns a moment before the kernel stops counting the thread. The loop is bounded because
         * another thread may get the number. */
        for (int i = 0; i < GONE_TRY_COUNT && !is_gone(thread); i++) sched_yield();
    }
    note_end(thread);
}

/* A child that was made without fork() has its parent's counts. */
uint32_t own_thread_count(void) {
    return ending.pid == getpid() ? __atomic_load_n(&ending.unjoined_count, __ATOMIC_ACQUIRE) : 0;
}

void own_thread_forget(struct own_thread *thread) {
    thread->is_running = false;
    memset(&ending, 0, sizeof ending);
    find_first_tid();
}
