/* Interposes the waits of the C library that return EINTR after any signal handler, even one with SA_RESTART. The
 * sampler does not signal a thread in such a wait, so only a handler of the program can end it. Only the shared library
 * has these functions. */

/* With these, headers define some of the functions themselves, or give them other names. */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#include <aio.h>
#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <termios.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "recorder/preload/next_function.h"
#include "recorder/preload/spared_call.h"
#include "recorder/sample/own_signal.h"

#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))

#define WAIT(name, ...) SPARING(SPARED_WAIT_NS, true, NEXT(name), __VA_ARGS__)

/* Programs that are built with _FORTIFY_SOURCE call the first two. Older C libraries do not have the others. */
int __poll_chk(struct pollfd *files, nfds_t count, int limit_ms, size_t files_bytes);
int __ppoll_chk(struct pollfd *files, nfds_t count, const struct timespec *limit, const sigset_t *mask,
                size_t files_bytes);
int epoll_pwait2(int epoll, struct epoll_event *events, int count_max, const struct timespec *limit,
                 const sigset_t *mask);
int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *end);

/* ---- Files. ---- */

INTERPOSING int poll(struct pollfd *files, nfds_t count, int limit_ms) { return WAIT(poll, files, count, limit_ms); }

INTERPOSING int ppoll(struct pollfd *files, nfds_t count, const struct timespec *limit, const sigset_t *mask) {
    return WAIT(ppoll, files, count, limit, mask);
}

INTERPOSING int __poll_chk(struct pollfd *files, nfds_t count, int limit_ms, size_t files_bytes) {
    return WAIT(__poll_chk, files, count, limit_ms, files_bytes);
}

INTERPOSING int __ppoll_chk(struct pollfd *files, nfds_t count, const struct timespec *limit, const sigset_t *mask,
                            size_t files_bytes) {
    return WAIT(__ppoll_chk, files, count, limit, mask, files_bytes);
}

INTERPOSING int select(int count, fd_set *readable, fd_set *writable, fd_set *exceptional, struct timeval *limit) {
    return WAIT(select, count, readable, writable, exceptional, limit);
}

INTERPOSING int pselect(int count, fd_set *readable, fd_set *writable, fd_set *exceptional,
                        const struct timespec *limit, const sigset_t *mask) {
    return WAIT(pselect, count, readable, writable, exceptional, limit, mask);
}

INTERPOSING int epoll_wait(int epoll, struct epoll_event *events, int count_max, int limit_ms) {
    return WAIT(epoll_wait, epoll, events, count_max, limit_ms);
}

INTERPOSING int epoll_pwait(int epoll, struct epoll_event *events, int count_max, int limit_ms, const sigset_t *mask) {
    return WAIT(epoll_pwait, epoll, events, count_max, limit_ms, mask);
}

INTERPOSING int epoll_pwait2(int epoll, struct epoll_event *events, int count_max, const struct timespec *limit,
                             const sigset_t *mask) {
    return WAIT(epoll_pwait2, epoll, events, count_max, limit, mask);
}

INTERPOSING int aio_suspend(const struct aiocb *const requests[], int count, const struct timespec *limit) {
    return WAIT(aio_suspend, requests, count, limit);
}

/* On 64-bit machines, struct aiocb64 is struct aiocb. */
GREC_API int aio_suspend64(const struct aiocb64 *const requests[], int count, const struct timespec *limit)
    __attribute__((alias("aio_suspend")));

INTERPOSING int tcdrain(int file) { return WAIT(tcdrain, file); }

INTERPOSING int tcsetattr(int file, int when, const struct termios *attributes) {
    return WAIT(tcsetattr, file, when, attributes);
}

/* ---- Time. ---- */

INTERPOSING int clock_nanosleep(clockid_t clock, int flags, const struct timespec *asked, struct timespec *left) {
    return WAIT(clock_nanosleep, clock, flags, asked, left);
}

INTERPOSING int nanosleep(const struct timespec *asked, struct timespec *left) { return WAIT(nanosleep, asked, left); }

INTERPOSING int usleep(useconds_t us) { return WAIT(usleep, us); }

INTERPOSING int thrd_sleep(const struct timespec *asked, struct timespec *left) {
    return WAIT(thrd_sleep, asked, left);
}

INTERPOSING unsigned sleep(unsigned seconds) { return WAIT(sleep, seconds); }

/* ---- Signals, semaphores and messages. ---- */

INTERPOSING int pause(void) { return WAIT(pause); }

INTERPOSING int sigsuspend(const sigset_t *mask) { return WAIT(sigsuspend, mask); }

/* The thread may block a signal that the sampler has sent before. It is pending then, so this returns it at once. */
INTERPOSING int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *limit) {
    siginfo_t found;
    int number;
    do number = WAIT(sigtimedwait, set, &found, limit);
    while (number > 0 && own_signal_is_ours(number, &found));
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
    return WAIT(sem_timedwait, semaphore, end);
}

INTERPOSING int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *end) {
    return WAIT(sem_clockwait, semaphore, clock, end);
}

INTERPOSING int semop(int set, struct sembuf *operations, size_t count) { return WAIT(semop, set, operations, count); }

INTERPOSING int semtimedop(int set, struct sembuf *operations, size_t count, const struct timespec *limit) {
    return WAIT(semtimedop, set, operations, count, limit);
}

INTERPOSING int msgsnd(int queue, const void *message, size_t bytes_count, int flags) {
    return WAIT(msgsnd, queue, message, bytes_count, flags);
}

INTERPOSING ssize_t msgrcv(int queue, void *message, size_t bytes_max, long type, int flags) {
    return WAIT(msgrcv, queue, message, bytes_max, type, flags);
}

#endif
