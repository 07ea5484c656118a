/* Runs scenarios that may crash or deadlock. Each scenario runs in a child with a deadline, so that neither ends the
 * test program. */
#pragma once

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define CRASH_IS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CRASH_IS_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define CRASH_IS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CRASH_IS_TSAN 1
#endif
#endif
#ifndef CRASH_IS_ASAN
#define CRASH_IS_ASAN 0
#endif
#ifndef CRASH_IS_TSAN
#define CRASH_IS_TSAN 0
#endif
enum { CRASH_IS_SANITIZED = CRASH_IS_ASAN || CRASH_IS_TSAN };

#if CRASH_IS_TSAN
/* Options for the thread sanitizer. These tests deliberately fork processes that have threads. */
const char *__tsan_default_options(void);
__attribute__((visibility("default"), used)) const char *__tsan_default_options(void) {
    return "die_after_fork=0:report_signal_unsafe=0:report_thread_leaks=0";
}
#endif

/* Checks a condition in a child. If it is false, the child reports it and exits with status 1. */
#define CRASH_CHECK(rule)                                                                                   \
    do {                                                                                                    \
        if (!(rule)) {                                                                                      \
            fprintf(stderr, "%s:%d: broken in process %d: %s\n", __FILE__, __LINE__, (int)getpid(), #rule); \
            _exit(1);                                                                                       \
        }                                                                                                   \
    } while (0)

/* Allocates memory that is shared with children. The caller unmaps it. */
static inline void *crash_share(size_t bytes_count) {
    void *bytes = mmap(NULL, bytes_count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED) abort();
    return bytes;
}

typedef void crash_scenario(void *context);

/* A scenario that takes longer than this is considered deadlocked. */
enum { CRASH_DEADLINE_SECONDS = 600 };

/* Forks a child that runs the scenario and exits. SIGALRM kills the child at the deadline. */
static inline pid_t crash_fork(crash_scenario *run, void *context) {
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0) abort();
    if (pid > 0) return pid;
    /* Otherwise cmocka's handlers of these signals would go on with its tests in the child. */
    const int signals[] = {SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) signal(signals[i], SIG_DFL);
    alarm(CRASH_DEADLINE_SECONDS);
    run(context);
    _exit(0);
}

/* Waits for a child. Returns its exit status, or the negated number of the signal that killed it. */
static inline int crash_wait(pid_t pid) {
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) abort();
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static inline int crash_run(crash_scenario *run, void *context) { return crash_wait(crash_fork(run, context)); }

static inline void crash_sleep_us(uint64_t us) {
    struct timespec time = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
    while (nanosleep(&time, &time) != 0 && errno == EINTR) {
    }
}

static inline uint64_t crash_now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000;
}

/* Returns the number in an environment variable, or `otherwise` if it is not set. Used to repeat a run or to test
 * longer. */
static inline uint64_t crash_setting(const char *variable, uint64_t otherwise) {
    const char *text = getenv(variable);
    return text && *text ? strtoull(text, NULL, 0) : otherwise;
}
