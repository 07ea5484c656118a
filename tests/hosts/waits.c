/* Test programs that wait. Only handlers of their own may cut their waits short, and the programs must find out that
 * these did. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <termios.h>
#include <threads.h>

#include "host.h"

enum {
    WAIT_COUNT = 300,
    ONCE_COUNT = 3000,
    WORK_ROUNDS = 10,
    NS_PER_S = 1000000000,
    NAP_NS = 50000,
    LIMIT_MS = 3,
    LONG_MS = 60000
};

static const struct timespec nap = {0, NAP_NS}, long_time = {LONG_MS / 1000, 0};

/* Another thread answers each byte that is written to asked[1] by a byte that comes out of answered[0]. */
static int asked[2], answered[2], epoll_file;

static void work_briefly(void) {
    for (int i = 0; i < WORK_ROUNDS; i++) work_once();
}

static void *answer(void *context) {
    char byte;
    (void)context;
    while (read(asked[0], &byte, 1) == 1) {
        work_briefly();
        if (write(answered[1], &byte, 1) != 1) break;
    }
    return NULL;
}

static void start_answering(void) {
    pthread_t thread;
    struct epoll_event event = {.events = EPOLLIN};
    epoll_file = epoll_create1(0);
    if (pipe(asked) != 0 || pipe(answered) != 0 || epoll_ctl(epoll_file, EPOLL_CTL_ADD, answered[0], &event) != 0 ||
        pthread_create(&thread, NULL, answer, NULL) != 0)
        exit(1);
}

/* ---- For a file. ---- */

static int wait_by_poll(void) {
    struct pollfd file = {.fd = answered[0], .events = POLLIN};
    return poll(&file, 1, -1);
}

static int wait_by_poll_with_limit(void) {
    struct pollfd file = {.fd = answered[0], .events = POLLIN};
    return poll(&file, 1, LONG_MS);
}

static int wait_by_ppoll(void) {
    struct pollfd file = {.fd = answered[0], .events = POLLIN};
    return ppoll(&file, 1, &long_time, NULL);
}

static int wait_by_select(void) {
    struct timeval limit = {LONG_MS / 1000, 0};
    fd_set files;
    FD_ZERO(&files);
    FD_SET(answered[0], &files);
    return select(answered[0] + 1, &files, NULL, NULL, &limit);
}

static int wait_by_pselect(void) {
    fd_set files;
    FD_ZERO(&files);
    FD_SET(answered[0], &files);
    return pselect(answered[0] + 1, &files, NULL, NULL, &long_time, NULL);
}

static int wait_by_epoll(void) {
    struct epoll_event event;
    return epoll_wait(epoll_file, &event, 1, -1);
}

static int wait_by_epoll_with_mask(void) {
    struct epoll_event event;
    sigset_t none;
    sigemptyset(&none);
    return epoll_pwait(epoll_file, &event, 1, LONG_MS, &none);
}

static int wait_by_epoll_with_time(void) {
    struct epoll_event event;
    return epoll_pwait2(epoll_file, &event, 1, &long_time, NULL);
}

static int receive_with_limit(void) {
    static int ends[2];
    const struct timeval limit = {.tv_usec = 1};
    char byte;
    if (!ends[0] && (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 ||
                     setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0))
        return -1;
    return recv(ends[0], &byte, 1, 0) < 0 && errno == EAGAIN ? 0 : -1;
}

static int drain_terminal(void) {
    static int ends[2];
    char byte = 'x';
    if (!ends[0]) {
        ends[0] = posix_openpt(O_RDWR | O_NOCTTY);
        if (ends[0] < 0 || grantpt(ends[0]) != 0 || unlockpt(ends[0]) != 0) return -1;
        ends[1] = open(ptsname(ends[0]), O_RDWR | O_NOCTTY);
    }
    return write(ends[1], &byte, 1) == 1 ? tcdrain(ends[1]) : -1;
}

/* ---- For a time. ---- */

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

static int sleep_by_nanosleep(void) { return nanosleep(&nap, NULL); }
static int sleep_by_thrd_sleep(void) { return thrd_sleep(&nap, NULL); }
static int sleep_by_usleep(void) { return usleep(NAP_NS / 1000); }

static struct timespec soon(clockid_t clock) {
    struct timespec end;
    clock_gettime(clock, &end);
    end.tv_nsec += NAP_NS;
    return end.tv_nsec >= NS_PER_S ? (struct timespec){end.tv_sec + 1, end.tv_nsec - NS_PER_S} : end;
}

static int sleep_until(void) {
    struct timespec end = soon(CLOCK_MONOTONIC);
    errno = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
    return errno ? -1 : 0;
}

static int wait_for_semaphore(void) {
    static sem_t semaphore;
    struct timespec end = soon(CLOCK_REALTIME);
    return sem_timedwait(&semaphore, &end) != 0 && errno == ETIMEDOUT ? 0 : -1;
}

static int wait_for_semaphore_by_clock(void) {
    static sem_t semaphore;
    struct timespec end = soon(CLOCK_MONOTONIC);
    return sem_clockwait(&semaphore, CLOCK_MONOTONIC, &end) != 0 && errno == ETIMEDOUT ? 0 : -1;
}

static int wait_for_old_semaphore(void) {
    int set = semget(IPC_PRIVATE, 1, 0600);
    struct sembuf down = {0, -1, 0};
    int result = semtimedop(set, &down, 1, &nap) != 0 && errno == EAGAIN ? 0 : -1, error = errno;
    semctl(set, 0, IPC_RMID);
    errno = error;
    return result;
}

/* Returns 0 if a poll that nothing ends takes at least as long as it should. */
static int wait_for_nothing(void) {
    int64_t start_ns = now_ns();
    int result = poll(NULL, 0, LIMIT_MS);
    return result == 0 && now_ns() - start_ns >= (int64_t)LIMIT_MS * 1000000 ? 0 : -1;
}

/* ---- All. ---- */

static const struct {
    const char *name;
    int (*wait)(void);
    bool is_answered;
} waits[] = {
    {"poll", wait_by_poll, true},
    {"poll with a limit", wait_by_poll_with_limit, true},
    {"ppoll", wait_by_ppoll, true},
    {"select", wait_by_select, true},
    {"pselect", wait_by_pselect, true},
    {"epoll_wait", wait_by_epoll, true},
    {"epoll_pwait", wait_by_epoll_with_mask, true},
    {"epoll_pwait2", wait_by_epoll_with_time, true},
    {"recv with a limit", receive_with_limit, false},
    {"tcdrain", drain_terminal, false},
    {"nanosleep", sleep_by_nanosleep, false},
    {"usleep", sleep_by_usleep, false},
    {"thrd_sleep", sleep_by_thrd_sleep, false},
    {"clock_nanosleep", sleep_until, false},
    {"sem_timedwait", wait_for_semaphore, false},
    {"sem_clockwait", wait_for_semaphore_by_clock, false},
    {"semtimedop", wait_for_old_semaphore, false},
    {"a poll that times out", wait_for_nothing, false},
};

static void wait_in_all_ways(void) {
    start_answering();
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        int short_count = 0;
        for (int j = 0; j < WAIT_COUNT; j++) {
            char byte = 0;
            if (waits[i].is_answered && write(asked[1], &byte, 1) != 1) exit(1);
            work_briefly();
            short_count += waits[i].wait() < 0;
            if (waits[i].is_answered && read(answered[0], &byte, 1) != 1) exit(1);
        }
        printf("%s: %d cut short\n", waits[i].name, short_count);
    }
}

static volatile sig_atomic_t has_come;

static void note_signal(int number) {
    (void)number;
    has_come = 1;
}

/* The program never gets this signal. */
static void wait_with_idle_handler(void) {
    signal(SIGUSR1, note_signal);
    wait_in_all_ways();
    printf("%d came\n", (int)has_come);
}

/* Messages and pause, which a child ends. */
static void wait_for_child(void) {
    int queue = msgget(IPC_PRIVATE, 0600), short_count = 0;
    struct {
        long type;
        char text[8];
    } message = {1, ""};
    pid_t pid = fork();
    if (!pid) {
        for (int i = 0; i < WAIT_COUNT; i++) {
            work_briefly();
            msgsnd(queue, &message, sizeof message.text, 0);
        }
        _exit(0);
    }
    for (int i = 0; i < WAIT_COUNT;) {
        work_briefly();
        if (msgrcv(queue, &message, sizeof message.text, 0, 0) < 0)
            short_count++;
        else
            i++;
    }
    printf("msgrcv: %d cut short, child %d\n", short_count, wait_for(pid));
    msgctl(queue, IPC_RMID, NULL);
    pid = fork();
    if (!pid) {
        for (int i = 0; i < WAIT_COUNT; i++) work_briefly();
        pause();
        _exit(1);
    }
    usleep(200000);
    if (pid > 0) kill(pid, SIGTERM); /* -1 would stand for all processes of the system */
    printf("pause: child %d\n", wait_for(pid));
}

/* ---- With a handler. ---- */

/* The handler is gone when it has run, so nothing shows afterwards that it did. */
static void wait_with_handler_for_once(void) {
    const struct sigaction once = {.sa_handler = note_signal, .sa_flags = (int)SA_RESETHAND};
    const struct itimerval soon = {{0, 0}, {0, NAP_NS / 1000}};
    sigset_t alarm, none;
    sigemptyset(&none);
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    sigprocmask(SIG_BLOCK, &alarm, NULL);
    for (int i = 0; i < ONCE_COUNT; i++) {
        has_come = 0;
        sigaction(SIGALRM, &once, NULL);
        setitimer(ITIMER_REAL, &soon, NULL);
        work_briefly();
        while (!has_come) sigsuspend(&none);
    }
    puts("each was noticed");
}

static sigjmp_buf before_wait;

static void jump(int number) {
    (void)number;
    siglongjmp(before_wait, 1);
}

/* Works, and waits now and then, below the frame that the program has left a wait for. */
__attribute__((noinline)) static void work_and_wait(long ms) {
    enum { PART_MS = 2 };
    for (long i = 0; i < ms / PART_MS; i++) {
        work(PART_MS);
        host_sum += (unsigned long)poll(NULL, 0, 0);
    }
}

static void jump_out_of_wait_and_wait(void) {
    static volatile bool has_jumped;
    signal(SIGALRM, jump);
    if (sigsetjmp(before_wait, 1)) has_jumped = true;
    if (!has_jumped) {
        alarm(1);
        pause();
    }
    work_and_wait(400);
    puts("jumped");
}

/* Leaves waits by a jump, and works then without another wait. */
static void jump_out_of_wait(void) {
    enum { JUMP_COUNT = 5, ALARM_US = 30000 };
    static volatile int jump_count;
    signal(SIGALRM, jump);
    if (sigsetjmp(before_wait, 1)) jump_count++;
    if (jump_count < JUMP_COUNT) {
        ualarm(ALARM_US, 0);
        pause();
    }
    work(400);
    printf("%d jumps\n", jump_count);
}

static void work_for_long(int number) {
    (void)number;
    work(400);
}

/* Works in a handler that has interrupted a wait. The signal is blocked outside of the wait. */
static void work_in_handler(void) {
    enum { ALARM_US = 30000 };
    sigset_t alarm, none;
    sigemptyset(&none);
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    sigprocmask(SIG_BLOCK, &alarm, NULL);
    signal(SIGALRM, work_for_long);
    ualarm(ALARM_US, 0);
    int result = sigsuspend(&none);
    printf("%d %d\n", result, errno == EINTR);
}

static const struct host_case cases[] = {
    {"wait-without-handlers", wait_in_all_ways}, {"wait-with-idle-handler", wait_with_idle_handler},
    {"wait-for-child", wait_for_child},          {"wait-with-handler-for-once", wait_with_handler_for_once},
    {"jump-out-of-wait", jump_out_of_wait},      {"jump-out-of-wait-and-wait", jump_out_of_wait_and_wait},
    {"work-in-handler", work_in_handler},
};

HOST_MAIN(cases)
