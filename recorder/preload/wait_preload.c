/* Interposes the waits of the C library that return EINTR after any signal handler, even one with SA_RESTART.
 *
 * A program that never had a handler need not expect EINTR, and many do not: `tail -F` ends. Only the sampler's handler
 * can have run then, so the wait goes on for the rest of its time. Otherwise a handler of the program may have run too.
 * The program may wait to learn of that, so it gets EINTR. Only the shared library has these functions. */

/* With it, headers define some of these functions themselves. */
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "recorder/preload/next_function.h"
#include "recorder/sample/late_start.h"
#include "recorder/sample/own_signal.h"

#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))

enum {
    NS_PER_MS = 1000000,
    NS_PER_S = 1000000000,
    CLOCK_STEP_NS = 10 * NS_PER_MS, /* the coarse clock's longest step */
};

struct wait {
    uint32_t answer_count; /* of the calling thread */
    uint64_t start_ns;     /* of the coarse clock, which needs no system call and no cycle counter */
};

static uint64_t coarse_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* The signal that starts a sampler late is sent without a look at what the thread does. */
static struct wait begin(void) {
    if (late_start_is_armed() && own_signal_may_program_handle()) late_start_now();
    return (struct wait){own_signal_answer_count(), coarse_ns()};
}

/* Returns whether a wait that has failed with this error goes on. */
static bool goes_on(struct wait *wait, int error) {
    uint32_t answer_count = own_signal_answer_count();
    if (error != EINTR || answer_count == wait->answer_count || own_signal_may_program_handle()) return false;
    wait->answer_count = answer_count;
    return true;
}

/* A wait may take longer than its limit, but not less. */
static uint64_t left_ns(const struct wait *wait, uint64_t limit_ns) {
    uint64_t passed_ns = coarse_ns() - wait->start_ns;
    if (passed_ns <= CLOCK_STEP_NS) return limit_ns;
    passed_ns -= CLOCK_STEP_NS;
    return limit_ns > passed_ns ? limit_ns - passed_ns : 0;
}

/* A negative limit is none. */
static int left_ms(const struct wait *wait, int limit_ms) {
    if (limit_ms <= 0) return limit_ms;
    return (int)((left_ns(wait, (uint64_t)limit_ms * NS_PER_MS) + NS_PER_MS - 1) / NS_PER_MS);
}

/* Stores the rest of the limit, which is no absolute time, in *left, and returns it. NULL is no limit. */
static const struct timespec *left_time(const struct wait *wait, const struct timespec *limit, struct timespec *left) {
    if (!limit || limit->tv_sec > INT32_MAX) return limit;
    uint64_t ns = left_ns(wait, (uint64_t)limit->tv_sec * NS_PER_S + (uint64_t)limit->tv_nsec);
    *left = (struct timespec){(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};
    return left;
}

/* Older C libraries do not have these. */
int epoll_pwait2(int epoll, struct epoll_event *events, int count_max, const struct timespec *limit,
                 const sigset_t *mask);
int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *end);

/* ---- Files. ---- */

INTERPOSING int poll(struct pollfd *files, nfds_t count, int limit_ms) {
    struct wait wait = begin();
    int result, now_ms = limit_ms;
    while ((result = NEXT(poll)(files, count, now_ms)) < 0 && goes_on(&wait, errno)) now_ms = left_ms(&wait, limit_ms);
    return result;
}

INTERPOSING int ppoll(struct pollfd *files, nfds_t count, const struct timespec *limit, const sigset_t *mask) {
    struct wait wait = begin();
    struct timespec left;
    const struct timespec *now = limit;
    int result;
    while ((result = NEXT(ppoll)(files, count, now, mask)) < 0 && goes_on(&wait, errno))
        now = left_time(&wait, limit, &left);
    return result;
}

/* Programs that are built with _FORTIFY_SOURCE call these two. */
int __poll_chk(struct pollfd *files, nfds_t count, int limit_ms, size_t files_bytes);
int __ppoll_chk(struct pollfd *files, nfds_t count, const struct timespec *limit, const sigset_t *mask,
                size_t files_bytes);

INTERPOSING int __poll_chk(struct pollfd *files, nfds_t count, int limit_ms, size_t files_bytes) {
    struct wait wait = begin();
    int result, now_ms = limit_ms;
    while ((result = NEXT(__poll_chk)(files, count, now_ms, files_bytes)) < 0 && goes_on(&wait, errno))
        now_ms = left_ms(&wait, limit_ms);
    return result;
}

INTERPOSING int __ppoll_chk(struct pollfd *files, nfds_t count, const struct timespec *limit, const sigset_t *mask,
                            size_t files_bytes) {
    struct wait wait = begin();
    struct timespec left;
    const struct timespec *now = limit;
    int result;
    while ((result = NEXT(__ppoll_chk)(files, count, now, mask, files_bytes)) < 0 && goes_on(&wait, errno))
        now = left_time(&wait, limit, &left);
    return result;
}

/* Linux leaves the rest of the time in *limit. */
INTERPOSING int select(int count, fd_set *readable, fd_set *writable, fd_set *exceptional, struct timeval *limit) {
    struct wait wait = begin();
    int result;
    do result = NEXT(select)(count, readable, writable, exceptional, limit);
    while (result < 0 && goes_on(&wait, errno));
    return result;
}

INTERPOSING int pselect(int count, fd_set *readable, fd_set *writable, fd_set *exceptional,
                        const struct timespec *limit, const sigset_t *mask) {
    struct wait wait = begin();
    struct timespec left;
    const struct timespec *now = limit;
    int result;
    while ((result = NEXT(pselect)(count, readable, writable, exceptional, now, mask)) < 0 && goes_on(&wait, errno))
        now = left_time(&wait, limit, &left);
    return result;
}

INTERPOSING int epoll_wait(int epoll, struct epoll_event *events, int count_max, int limit_ms) {
    struct wait wait = begin();
    int result, now_ms = limit_ms;
    while ((result = NEXT(epoll_wait)(epoll, events, count_max, now_ms)) < 0 && goes_on(&wait, errno))
        now_ms = left_ms(&wait, limit_ms);
    return result;
}

INTERPOSING int epoll_pwait(int epoll, struct epoll_event *events, int count_max, int limit_ms, const sigset_t *mask) {
    struct wait wait = begin();
    int result, now_ms = limit_ms;
    while ((result = NEXT(epoll_pwait)(epoll, events, count_max, now_ms, mask)) < 0 && goes_on(&wait, errno))
        now_ms = left_ms(&wait, limit_ms);
    return result;
}

INTERPOSING int epoll_pwait2(int epoll, struct epoll_event *events, int count_max, const struct timespec *limit,
                             const sigset_t *mask) {
    struct wait wait = begin();
    struct timespec left;
    const struct timespec *now = limit;
    int result;
    while ((result = NEXT(epoll_pwait2)(epoll, events, count_max, now, mask)) < 0 && goes_on(&wait, errno))
        now = left_time(&wait, limit, &left);
    return result;
}

/* ---- Time. ---- */

INTERPOSING int clock_nanosleep(clockid_t clock, int flags, const struct timespec *asked, struct timespec *left) {
    struct wait wait = begin();
    struct timespec rest, now;
    int error;
    while ((error = NEXT(clock_nanosleep)(clock, flags, asked, &rest)) == EINTR && goes_on(&wait, error)) {
        if (flags & TIMER_ABSTIME) continue;
        now = rest;
        asked = &now;
    }
    if (error == EINTR && left && !(flags & TIMER_ABSTIME)) *left = rest;
    return error;
}

INTERPOSING int nanosleep(const struct timespec *asked, struct timespec *left) {
    struct wait wait = begin();
    struct timespec rest, now;
    int result;
    while ((result = NEXT(nanosleep)(asked, &rest)) < 0 && goes_on(&wait, errno)) {
        now = rest;
        asked = &now;
    }
    if (result < 0 && errno == EINTR && left) *left = rest;
    return result;
}

INTERPOSING int usleep(useconds_t us) {
    const struct timespec asked = {us / 1000000, (long)(us % 1000000) * 1000};
    return nanosleep(&asked, NULL);
}

/* Returns -1 if a signal interrupted the sleep, and another negative value after an error. */
INTERPOSING int thrd_sleep(const struct timespec *asked, struct timespec *left) {
    enum { INTERRUPTED = -1, FAILED = -2 };
    int saved_errno = errno, result = 0;
    if (nanosleep(asked, left) != 0) result = errno == EINTR ? INTERRUPTED : FAILED;
    errno = saved_errno;
    return result;
}

INTERPOSING unsigned sleep(unsigned seconds) {
    struct timespec left = {.tv_sec = seconds};
    int saved_errno = errno;
    if (nanosleep(&left, &left) != 0) return (unsigned)left.tv_sec;
    errno = saved_errno;
    return 0;
}

/* ---- Signals, semaphores and messages. ---- */

INTERPOSING int pause(void) {
    struct wait wait = begin();
    int result;
    do result = NEXT(pause)();
    while (goes_on(&wait, errno));
    return result;
}

INTERPOSING int sigsuspend(const sigset_t *mask) {
    struct wait wait = begin();
    int result;
    do result = NEXT(sigsuspend)(mask);
    while (goes_on(&wait, errno));
    return result;
}

/* A signal of the sampler may also arrive in the microseconds before the wait begins. */
INTERPOSING int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *limit) {
    struct wait wait = begin();
    struct timespec left;
    const struct timespec *now = limit;
    siginfo_t found;
    int number;
    while ((number = NEXT(sigtimedwait)(set, &found, now)) > 0 ? own_signal_is_ours(number, &found)
                                                               : goes_on(&wait, errno))
        now = left_time(&wait, limit, &left);
    if (number > 0 && info) *info = found;
    return number;
}

INTERPOSING int sigwaitinfo(const sigset_t *set, siginfo_t *info) { return sigtimedwait(set, info, NULL); }

INTERPOSING int sigwait(const sigset_t *set, int *number) {
    int saved_errno = errno;
    do *number = sigtimedwait(set, NULL, NULL);
    while (*number < 0 && errno == EINTR);
    int error = *number < 0 ? errno : 0;
    errno = saved_errno;
    return error;
}

INTERPOSING int sem_timedwait(sem_t *semaphore, const struct timespec *end) {
    struct wait wait = begin();
    int result;
    do result = NEXT(sem_timedwait)(semaphore, end);
    while (result < 0 && goes_on(&wait, errno));
    return result;
}

INTERPOSING int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *end) {
    struct wait wait = begin();
    int result;
    do result = NEXT(sem_clockwait)(semaphore, clock, end);
    while (result < 0 && goes_on(&wait, errno));
    return result;
}

INTERPOSING int semop(int set, struct sembuf *operations, size_t count) {
    struct wait wait = begin();
    int result;
    do result = NEXT(semop)(set, operations, count);
    while (result < 0 && goes_on(&wait, errno));
    return result;
}

INTERPOSING int semtimedop(int set, struct sembuf *operations, size_t count, const struct timespec *limit) {
    struct wait wait = begin();
    struct timespec left;
    const struct timespec *now = limit;
    int result;
    while ((result = NEXT(semtimedop)(set, operations, count, now)) < 0 && goes_on(&wait, errno))
        now = left_time(&wait, limit, &left);
    return result;
}

INTERPOSING int msgsnd(int queue, const void *message, size_t bytes_count, int flags) {
    struct wait wait = begin();
    int result;
    do result = NEXT(msgsnd)(queue, message, bytes_count, flags);
    while (result < 0 && goes_on(&wait, errno));
    return result;
}

INTERPOSING ssize_t msgrcv(int queue, void *message, size_t bytes_max, long type, int flags) {
    struct wait wait = begin();
    ssize_t result;
    do result = NEXT(msgrcv)(queue, message, bytes_max, type, flags);
    while (result < 0 && goes_on(&wait, errno));
    return result;
}

#endif
