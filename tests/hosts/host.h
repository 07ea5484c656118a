/* Declarations that all programs of this folder share. Each program has several cases. Its first argument names the
 * case to run; without an argument it lists the names. With a second one, the case runs in a child. A case must print
 * the same text whether or not a recorder runs in its process. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct host_case {
    const char *name;
    void (*run)(void);
};

static volatile unsigned long host_sum;
/* HOST_WORK_PERCENT: the share of its work that a case does. The output of a case does not depend on it. */
static long host_work_percent = 100;

/* Does a small amount of work. */
static inline void work_once(void) {
    for (unsigned long i = 0; i < 2000; i++) host_sum += i * i;
}

static inline long thread_cpu_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

/* Returns what thread_cpu_us returns after `ms` milliseconds of work, or the share of them that is wanted. */
static inline long end_of_work_us(long ms) { return thread_cpu_us() + ms * 10 * host_work_percent; }

/* Uses `ms` milliseconds of processor time, or that share of them. */
__attribute__((noinline, unused)) static void work(long ms) {
    for (long end_us = end_of_work_us(ms); thread_cpu_us() < end_us;) work_once();
}

/* Waits for a child. Returns its exit status, or 256 plus the number of the signal that killed it; -1: there is no such
 * child, because it could not be made. */
static inline int wait_for(pid_t pid) {
    int status = 0;
    if (pid <= 0) return -1;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return -1;
    return WIFSIGNALED(status) ? 256 + WTERMSIG(status) : WEXITSTATUS(status);
}

static inline int host_main(int count, char **arguments, const struct host_case *cases, size_t case_count) {
    const char *percent = getenv("HOST_WORK_PERCENT");
    if (percent) host_work_percent = atol(percent);
    for (size_t i = 0; i < case_count; i++) {
        if (count < 2) {
            puts(cases[i].name);
        } else if (!strcmp(arguments[1], cases[i].name)) {
            pid_t pid = count > 2 ? fork() : 0;
            if (pid) printf("case %d\n", wait_for(pid));
            if (!pid) cases[i].run();
            return 0;
        }
    }
    return count < 2 ? 0 : 2;
}

#define HOST_MAIN(cases)                                                            \
    int main(int count, char **arguments) {                                         \
        return host_main(count, arguments, cases, sizeof(cases) / sizeof *(cases)); \
    }
