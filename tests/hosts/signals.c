/* Test programs that use the signals which the sampler uses, block all signals, or wait for signals. They must see
 * the handlers and masks that they have set, and receive exactly the signals that were sent. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>

#include "host.h"

enum { WORK_MS = 20 };

/* Defined by libraries/late_rounds.c. */
extern atomic_int late_call_count;

static const int candidates[] = {SIGURG, SIGWINCH};

/* ---- Handlers. ---- */

static atomic_int come_count;

static void count_signal(int number) {
    (void)number;
    atomic_fetch_add(&come_count, 1);
}

static void count_with_facts(int number, siginfo_t *info, void *context) {
    bool is_right = info->si_signo == number && info->si_pid == getpid() && context;
    atomic_fetch_add(&come_count, is_right ? 1 : 1000);
}

static const char *name_handler(const struct sigaction *action) {
    if (action->sa_handler == SIG_DFL) return "default";
    if (action->sa_handler == SIG_IGN) return "ignored";
    return action->sa_handler == count_signal ? "counted" : "another";
}

static void print_handler(int number) {
    struct sigaction action;
    sigaction(number, NULL, &action);
    printf("%s, flags %x, mask %d%d\n", name_handler(&action),
           (unsigned)(action.sa_flags & (SA_RESTART | SA_NODEFER | SA_SIGINFO | SA_ONSTACK | (int)SA_RESETHAND)),
           sigismember(&action.sa_mask, SIGUSR1), sigismember(&action.sa_mask, number));
}

static void ignore(void) {
    for (int i = 0; i < 2; i++) {
        print_handler(candidates[i]);
        signal(candidates[i], SIG_IGN);
        work(WORK_MS);
        print_handler(candidates[i]);
        raise(candidates[i]);
        signal(candidates[i], SIG_DFL);
        work(WORK_MS);
        print_handler(candidates[i]);
        raise(candidates[i]);
    }
}

/* Sends a signal in every possible way. */
static void send_all_ways(int number) {
    atomic_store(&come_count, 0);
    work(WORK_MS);
    raise(number);
    kill(getpid(), number);
    pthread_kill(pthread_self(), number);
    sigqueue(getpid(), number, (union sigval){.sival_int = 1});
    work(WORK_MS);
    printf("%d came\n", atomic_load(&come_count));
}

static void handle(void) {
    for (int i = 0; i < 2; i++) {
        int number = candidates[i];
        printf("before %d\n", signal(number, count_signal) == SIG_DFL);
        send_all_ways(number);
        print_handler(number);
        printf("before %d\n", signal(number, SIG_DFL) == count_signal);
        work(WORK_MS);
    }
}

static void handle_with_flags(void) {
    for (int i = 0; i < 2; i++) {
        int number = candidates[i];
        struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_RESTART | SA_NODEFER}, before;
        sigemptyset(&action.sa_mask);
        sigaddset(&action.sa_mask, SIGUSR1);
        sigaction(number, &action, NULL);
        print_handler(number);
        send_all_ways(number);
        struct sigaction with_facts = {.sa_sigaction = count_with_facts, .sa_flags = SA_SIGINFO};
        sigaction(number, &with_facts, &before);
        printf("before: %s\n", name_handler(&before));
        send_all_ways(number);
        struct sigaction once = {.sa_handler = count_signal, .sa_flags = (int)SA_RESETHAND};
        sigaction(number, &once, NULL);
        send_all_ways(number);
        print_handler(number);
    }
}

static void count_of_standard_input(int number, siginfo_t *info, void *context) {
    bool is_right = info->si_code == POLL_IN && info->si_fd == STDIN_FILENO && context;
    atomic_fetch_add(&come_count, is_right ? 1 : number * 1000);
}

/* A file signals that it can be read, as the sampler's events do. */
static void read_when_told(void) {
    enum { TIMES = 5 };
    int ends[2];
    char byte = 0;
    if (pipe(ends) != 0 || dup2(ends[0], STDIN_FILENO) < 0) return;
    for (int i = 0; i < 2; i++) {
        struct sigaction action = {.sa_sigaction = count_of_standard_input, .sa_flags = SA_SIGINFO};
        work(WORK_MS);
        sigaction(candidates[i], &action, NULL);
        fcntl(STDIN_FILENO, F_SETOWN, getpid());
        fcntl(STDIN_FILENO, F_SETSIG, candidates[i]);
        fcntl(STDIN_FILENO, F_SETFL, O_ASYNC | O_NONBLOCK);
        atomic_store(&come_count, 0);
        for (int j = 0; j < TIMES; j++)
            if (write(ends[1], &byte, 1) == 1 && read(STDIN_FILENO, &byte, 1) == 1) work(1);
        printf("%d came\n", atomic_load(&come_count));
        fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
        signal(candidates[i], SIG_DFL);
    }
}

static void send_to_process(int number) {
    enum { TIMES = 5 };
    atomic_store(&come_count, 0);
    for (int i = 0; i < TIMES; i++) {
        work(WORK_MS);
        kill(getpid(), number);
    }
    printf("%d came\n", atomic_load(&come_count));
}

/* Handles all signals, as language runtimes do. */
static void handle_all(void) {
    struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_RESTART | SA_ONSTACK};
    sigfillset(&action.sa_mask);
    for (int number = 1; number < NSIG; number++) sigaction(number, &action, NULL);
    work(100);
    send_to_process(SIGWINCH);
    send_all_ways(SIGURG);
    print_handler(SIGWINCH);
    print_handler(SIGURG);
    work(100);
}

/* The older functions are deprecated, so the compiler warns about them. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void handle_the_old_way(void) {
    for (int i = 0; i < 2; i++) {
        int number = candidates[i];
        printf("%d", sigset(number, count_signal) == SIG_DFL);
        siginterrupt(number, 1);
        print_handler(number);
        send_all_ways(number);
        printf("%d", sighold(number));
        atomic_store(&come_count, 0);
        raise(number);
        work(WORK_MS);
        printf("%d", atomic_load(&come_count));
        printf("%d", sigrelse(number));
        printf("%d", atomic_load(&come_count));
        printf("%d", sigset(number, SIG_HOLD) == count_signal);
        printf("%d", sigset(number, SIG_IGN) == SIG_HOLD);
        printf("%d\n", sigignore(number));
        print_handler(number);
        signal(number, SIG_DFL);
    }
}
#pragma GCC diagnostic pop

/* ---- Masks. ---- */

/* Holds the lock of the output for the whole line, because two threads may print theirs at the same time. */
static void print_mask(const char *when) {
    sigset_t set;
    sigemptyset(&set);
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    flockfile(stdout);
    printf("%s:", when);
    for (int number = 1; number < NSIG; number++)
        if (sigismember(&set, number) == 1) printf(" %d", number);
    puts("");
    funlockfile(stdout);
}

static void block_all(void) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
}

static void *work_with_mask(void *unused) {
    print_mask("in a thread");
    work(100);
    return unused;
}

static void run_thread(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work_with_mask, NULL);
    pthread_join(thread, NULL);
}

static void set_masks(void) {
    sigset_t some, none, before;
    sigemptyset(&none);
    sigemptyset(&some);
    sigaddset(&some, SIGURG);
    sigaddset(&some, SIGUSR2);
    print_mask("first");
    sigprocmask(SIG_BLOCK, &some, NULL);
    print_mask("some");
    work(WORK_MS);
    run_thread();
    block_all();
    print_mask("all");
    run_thread();
    pthread_sigmask(SIG_UNBLOCK, &some, &before);
    printf("before %d\n", sigismember(&before, SIGURG));
    print_mask("without some");
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    print_mask("none");
    printf("error %d\n", pthread_sigmask(99, &some, NULL));
}

/* Runs worker threads that block all signals, like the worker threads of xz. */
static void work_with_all_blocked(void) {
    enum { THREAD_COUNT = 2 };
    pthread_t threads[THREAD_COUNT];
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 0; i < THREAD_COUNT; i++) pthread_create(&threads[i], NULL, work_with_mask, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    for (int i = 0; i < THREAD_COUNT; i++) pthread_join(threads[i], NULL);
}

static bool is_pending(int number) {
    sigset_t set;
    sigpending(&set);
    return sigismember(&set, number) == 1;
}

/* Checks that a blocked signal is delivered once it is unblocked. */
static void block_and_send_one(int number) {
    sigset_t none;
    sigemptyset(&none);
    signal(number, count_signal);
    block_all();
    work(WORK_MS);
    atomic_store(&come_count, 0);
    raise(number);
    kill(getpid(), number);
    work(WORK_MS);
    printf("%d came, %d waits\n", atomic_load(&come_count), is_pending(number));
    sigprocmask(SIG_SETMASK, &none, NULL);
    printf("%d came, %d waits\n", atomic_load(&come_count), is_pending(number));
    signal(number, SIG_DFL);
    work(WORK_MS);
}

static void block_and_send(void) {
    for (int i = 0; i < 2; i++) block_and_send_one(candidates[i]);
}

/* Runs block_and_send while the sampler is late: its clocks must not send the signal once the program handles it. */
static void block_beside_late_sampler(void) {
    work(WORK_MS);
    for (int i = 0; i < 2; i++) {
        atomic_store(&late_call_count, 2);
        block_and_send_one(candidates[i]);
    }
}

/* Sets handlers in a child that shares its parent's memory until it executes another program. */
static void set_in_child(void) {
    struct sigaction by_default = {.sa_handler = SIG_DFL};
    sigset_t none;
    sigemptyset(&none);
    for (int i = 0; i < 2; i++) signal(candidates[i], count_signal);
    work(WORK_MS);
    fflush(stdout);
    pid_t pid = vfork();
    if (!pid) {
        for (int number = 1; number < NSIG; number++) sigaction(number, &by_default, NULL);
        sigprocmask(SIG_SETMASK, &none, NULL);
        execlp("echo", "echo", "executed", (char *)NULL);
        _exit(1);
    }
    printf("child %d\n", wait_for(pid));
    for (int i = 0; i < 2; i++) {
        print_handler(candidates[i]);
        send_all_ways(candidates[i]);
    }
    fflush(stdout);
    pid = fork();
    if (!pid) {
        for (int i = 0; i < 2; i++) print_handler(candidates[i]);
        print_mask("in a child");
        work(WORK_MS);
        send_all_ways(SIGURG);
        fflush(stdout);
        _exit(0);
    }
    wait_for(pid);
}

static void *work_a_little(void *unused) {
    work(2);
    return unused;
}

/* Starts many threads, one after another, which block all signals until they end. */
static void end_with_all_blocked(void) {
    enum { THREAD_COUNT = 300 };
    sigset_t pending;
    block_all();
    for (int i = 0; i < THREAD_COUNT; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work_a_little, NULL) == 0) pthread_join(thread, NULL);
    }
    work(300);
    sigpending(&pending);
    printf("%d pending\n", sigismember(&pending, SIGURG) + sigismember(&pending, SIGWINCH));
    print_mask("at the end");
}

/* ---- Waits for signals. ---- */

/* Waits for all signals with sigwait. Only signals that were really sent may arrive. */
static void wait_for_signal(void) {
    sigset_t all;
    int number = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    alarm(1);
    while (number != SIGALRM)
        if (sigwait(&all, &number) == 0) printf("%d\n", number);
}

static void wait_for_a_while(void) {
    enum { TIMES = 50 };
    const struct timespec moment = {0, 2000000};
    siginfo_t info;
    sigset_t all;
    int other_count = 0;
    block_all();
    sigfillset(&all);
    for (int i = 0; i < TIMES; i++) {
        work(2);
        int number = sigtimedwait(&all, &info, &moment);
        other_count += number != -1;
    }
    printf("%d signals\n", other_count);
    kill(getpid(), SIGURG);
    kill(getpid(), SIGWINCH);
    int first = sigwaitinfo(&all, &info), second = sigtimedwait(&all, NULL, &moment);
    printf("%d and %d\n", first + second, first == SIGURG || second == SIGURG);
}

/* Receives SIGURG while the program blocks it. No other signal may be pending then. */
static void be_sent_while_blocked(void) {
    const struct timespec no_time = {0, 0};
    sigset_t all;
    int count = 0, sum = 0;
    block_all();
    sigfillset(&all);
    work(50);
    kill(getpid(), SIGURG);
    work(50);
    for (int number; (number = sigtimedwait(&all, NULL, &no_time)) > 0; count++) sum += number;
    printf("%d signal, %d\n", count, sum == SIGURG);
}

/* Calls poll until it is not interrupted by a signal. */
static int poll_again(int file, int timeout_ms) {
    struct pollfd descriptor = {.fd = file, .events = POLLIN};
    int result;
    do result = poll(&descriptor, 1, timeout_ms);
    while (result < 0 && errno == EINTR);
    return result;
}

/* Blocks SIGURG and reads it from a file descriptor, as PostgreSQL does. */
static void read_signals(void) {
    enum { SIGNAL_COUNT = 20 };
    struct signalfd_siginfo facts;
    sigset_t set;
    int wrong_count = 0;
    block_all();
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    int file = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    sigprocmask(SIG_SETMASK, &set, NULL);
    print_mask("set");
    for (int i = 0; i < SIGNAL_COUNT; i++) {
        work(5);
        wrong_count += poll_again(file, 0) != 0;
        if (i % 2)
            raise(SIGURG);
        else
            kill(getpid(), SIGURG);
        wrong_count += poll_again(file, -1) != 1;
        bool is_read = read(file, &facts, sizeof facts) == (ssize_t)sizeof facts;
        wrong_count += !is_read || facts.ssi_signo != SIGURG;
    }
    printf("%d wrong\n", wrong_count);
    work(100);
}

/* Blocks all signals before one of them is used, so the sampler changes to one that the thread has blocked. Each
 * signal must still be blocked for the program. */
static void work_while_all_blocked(void (*use_first)(void)) {
    sigset_t none;
    block_all();
    use_first();
    print_mask("used");
    work(100);
    atomic_store(&come_count, 0);
    signal(SIGWINCH, count_signal);
    raise(SIGWINCH);
    printf("%d came, %d waits\n", atomic_load(&come_count), is_pending(SIGWINCH));
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    printf("%d came\n", atomic_load(&come_count));
    print_mask("none");
}

static void handle_first(void) { signal(SIGURG, count_signal); }

static void read_first(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    signalfd(-1, &set, SFD_CLOEXEC);
}

static void block_then_handle(void) { work_while_all_blocked(handle_first); }

static void block_then_read(void) { work_while_all_blocked(read_first); }

/* ---- System calls that a signal can interrupt. ---- */

static void *read_byte(void *end) {
    char byte;
    printf("read %zd\n", read(*(int *)end, &byte, 1));
    return NULL;
}

/* Signals that are ignored by default interrupt no call. */
static void be_sent_while_reading(void) {
    enum { ROUND_COUNT = 50 };
    pthread_t thread;
    int ends[2];
    if (pipe(ends) != 0 || pthread_create(&thread, NULL, read_byte, &ends[0]) != 0) return;
    for (int i = 0; i < ROUND_COUNT; i++) {
        work(1);
        for (size_t j = 0; j < sizeof candidates / sizeof *candidates; j++) pthread_kill(thread, candidates[j]);
    }
    if (write(ends[1], "", 1) != 1) return;
    pthread_join(thread, NULL);
}

/* Waits and writes of programs that handle EINTR. */
static void wait_with_retries(void) {
    enum { ROUND_COUNT = 60 };
    int wrong_count = 0;
    for (int i = 0; i < ROUND_COUNT; i++) {
        struct timespec left = {0, 1000000};
        struct itimerspec in_a_moment = {{0, 0}, {0, 1000000}};
        uint64_t expirations = 0;
        int result;
        while (nanosleep(&left, &left) != 0) wrong_count += errno != EINTR;
        work(1);
        while (poll(NULL, 0, 1) != 0) wrong_count += errno != EINTR;
        do {
            struct timeval moment = {0, 500};
            result = select(0, NULL, NULL, NULL, &moment);
            wrong_count += result != 0 && errno != EINTR;
        } while (result != 0);
        int timer = timerfd_create(CLOCK_MONOTONIC, 0);
        timerfd_settime(timer, 0, &in_a_moment, NULL);
        while (read(timer, &expirations, sizeof expirations) < 0) wrong_count += errno != EINTR;
        wrong_count += expirations != 1;
        close(timer);
    }
    printf("%d wrong\n", wrong_count);
}

static void write_with_retries(void) {
    enum { PIECE_BYTES = 1 << 20, PIECE_COUNT = 20 };
    static char piece[PIECE_BYTES];
    int ends[2];
    if (pipe(ends) != 0) return;
    pid_t pid = fork();
    if (!pid) {
        long sum = 0;
        ssize_t count;
        close(ends[1]);
        while ((count = read(ends[0], piece, sizeof piece)) > 0 || (count < 0 && errno == EINTR))
            sum += count > 0 ? count : 0;
        printf("%ld bytes\n", sum);
        fflush(stdout);
        _exit(0);
    }
    close(ends[0]);
    for (long left = (long)PIECE_BYTES * PIECE_COUNT; left > 0;) {
        ssize_t count = write(ends[1], piece, left < PIECE_BYTES ? (size_t)left : PIECE_BYTES);
        if (count > 0) left -= count;
    }
    close(ends[1]);
    printf("child %d\n", wait_for(pid));
}

static void end_at_once(int number) {
    (void)number;
    _exit(7);
}

/* Allocates until a signal ends the process. The C library keeps the stacks of only a few threads that have ended, and
 * frees memory of the others. */
static void allocate_until_end(void) {
    enum { THREAD_COUNT = 8, BLOCK_COUNT = 4000, WAIT_US = 20000 };
    static void *blocks[BLOCK_COUNT];
    const struct itimerval once = {.it_value.tv_usec = WAIT_US};
    pthread_t threads[THREAD_COUNT];
    for (int i = 0; i < THREAD_COUNT; i++)
        if (pthread_create(&threads[i], NULL, work_a_little, NULL) != 0) _exit(1);
    for (int i = 0; i < THREAD_COUNT; i++) pthread_join(threads[i], NULL);
    signal(SIGALRM, end_at_once);
    setitimer(ITIMER_REAL, &once, NULL);
    for (;;) {
        for (int i = 0; i < BLOCK_COUNT; i++) blocks[i] = malloc((size_t)200 + (size_t)(i % 20) * 16);
        for (int i = 0; i < BLOCK_COUNT; i++) free(blocks[i]);
    }
}

/* Ends in handlers that interrupt the allocator, whose lock they may hold. */
static void end_within_allocation(void) {
    enum { CHILD_COUNT = 40 };
    int ended_count = 0;
    for (int i = 0; i < CHILD_COUNT; i++) {
        pid_t pid = fork();
        if (!pid) allocate_until_end();
        ended_count += wait_for(pid) == 7;
    }
    printf("%d ended\n", ended_count);
}

static const struct host_case cases[] = {
    {"ignore", ignore},
    {"handle", handle},
    {"handle-with-flags", handle_with_flags},
    {"handle-all", handle_all},
    {"read-when-told", read_when_told},
    {"handle-the-old-way", handle_the_old_way},
    {"set-masks", set_masks},
    {"work-with-all-blocked", work_with_all_blocked},
    {"block-and-send", block_and_send},
    {"block-beside-late-sampler", block_beside_late_sampler},
    {"set-in-child", set_in_child},
    {"end-with-all-blocked", end_with_all_blocked},
    {"wait-for-signal", wait_for_signal},
    {"wait-for-a-while", wait_for_a_while},
    {"be-sent-while-blocked", be_sent_while_blocked},
    {"read-signals", read_signals},
    {"block-then-handle", block_then_handle},
    {"block-then-read", block_then_read},
    {"be-sent-while-reading", be_sent_while_reading},
    {"wait-with-retries", wait_with_retries},
    {"write-with-retries", write_with_retries},
    {"end-within-allocation", end_within_allocation},
};

HOST_MAIN(cases)
