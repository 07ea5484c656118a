/* Declarations that all programs of this folder share. Each program has several cases. Its first argument names the
 * case to run; without an argument it lists the names. With a second one, the case runs in a child. A case must print
 * the same text whether or not a recorder runs in its process. */
#ifndef GECKO_TEST_HOST_H
#define GECKO_TEST_HOST_H

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

/* Does a small amount of work. */
static inline void work_once(void) {
    for (unsigned long i = 0; i < 2000; i++) host_sum += i * i;
}

static inline long thread_cpu_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* Uses `ms` milliseconds of processor time. */
__attribute__((noinline, unused)) static void work(long ms) {
    for (long end = thread_cpu_ms() + ms; thread_cpu_ms() < end;) work_once();
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

#endif
