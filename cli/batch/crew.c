#include "crew.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

enum { TICK_MS = 100, GRACE_MS = 300, THREADS_MAX = 1024 };

/* What a running member has. */
struct member {
    crew_work *work;
    void *context;
    unsigned number;
    int endings;
};

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The ending signals but for those that the caller ignores: blocked, even they would arrive. */
static sigset_t signals_to_take(void) {
    static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t signals;
    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof ending_signals / sizeof *ending_signals; i++) {
        struct sigaction action;
        bool is_ignored = sigaction(ending_signals[i], NULL, &action) == 0 && action.sa_handler == SIG_IGN;
        if (!is_ignored) sigaddset(&signals, ending_signals[i]);
    }
    return signals;
}

void crew_init(struct crew *crew, struct failure *failure) {
    *crew = (struct crew){.signals = -1, .endings = -1, .blocked = signals_to_take()};
    pthread_sigmask(SIG_BLOCK, &crew->blocked, NULL);
    crew->signals = signalfd(-1, &crew->blocked, SFD_CLOEXEC | SFD_NONBLOCK);
    crew->endings = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (crew->signals < 0 || crew->endings < 0)
        failure_set(failure, FAILURE_IO, "cannot wait for threads: %s", strerror(errno));
}

unsigned crew_size_of_machine(void) {
    cpu_set_t processors;
    int count = sched_getaffinity(0, sizeof processors, &processors) == 0 ? CPU_COUNT(&processors) : 0;
    return count > 0 ? (unsigned)count : 1;
}

/* ---- Running. ---- */

static void *run_member(void *argument) {
    struct member *member = argument;
    member->work(member->context, member->number);
    int endings = member->endings;
    uint64_t one = 1;
    free(member);
    ssize_t written = write(endings, &one, sizeof one);
    (void)written; /* the count has room for 2^64 - 2 */
    return NULL;
}

static bool start_member(const struct crew *crew, crew_work *work, void *context, unsigned number, pthread_t *thread) {
    struct member *member = malloc(sizeof *member);
    if (!member) return false;
    *member = (struct member){work, context, number, crew->endings};
    if (pthread_create(thread, NULL, run_member, member) == 0) return true;
    free(member);
    return false;
}

/* 0 when none has come. */
static int read_signal(int signals) {
    struct signalfd_siginfo info;
    return read(signals, &info, sizeof info) == sizeof info ? (int)info.ssi_signo : 0;
}

/* What has come since all was done changes nothing. */
void crew_fini(struct crew *crew) {
    while (crew->signals >= 0 && read_signal(crew->signals)) {
    }
    if (crew->signals >= 0) close(crew->signals);
    if (crew->endings >= 0) close(crew->endings);
    pthread_sigmask(SIG_UNBLOCK, &crew->blocked, NULL);
}

static void take_signal(struct crew *crew) {
    int number = read_signal(crew->signals);
    if (!number) return;
    if (!crew->ended_by) crew->ended_by = number;
    atomic_store(&crew->is_stopping, true);
}

static unsigned take_endings(struct crew *crew) {
    uint64_t count = 0;
    return read(crew->endings, &count, sizeof count) == sizeof count ? (unsigned)count : 0;
}

static bool wait_for_all(struct crew *crew, unsigned running, crew_tick *tick, void *tick_context) {
    int64_t patience_ends_ms = 0;
    while (running) {
        struct pollfd waited[] = {{.fd = crew->endings, .events = POLLIN}, {.fd = crew->signals, .events = POLLIN}};
        poll(waited, 2, TICK_MS);
        running -= take_endings(crew);
        take_signal(crew);
        if (tick && !crew->ended_by) tick(tick_context);
        if (!crew->ended_by) continue;
        if (!patience_ends_ms) patience_ends_ms = now_ms() + GRACE_MS;
        if (running && now_ms() >= patience_ends_ms) return false;
    }
    return true;
}

bool crew_run(struct crew *crew, unsigned count, crew_work *work, void *context, crew_tick *tick, void *tick_context,
              struct failure *failure) {
    take_signal(crew);
    if (failure_is_set(failure) || crew->ended_by) return true;
    if (count > THREADS_MAX) count = THREADS_MAX;
    pthread_t *threads = malloc(count * sizeof *threads);
    unsigned started = 0;
    while (threads && started < count && start_member(crew, work, context, started, &threads[started])) started++;
    if (!started) failure_set(failure, FAILURE_MEMORY, "memory ran out: not one thread can be started");
    bool have_ended = wait_for_all(crew, started, tick, tick_context);
    for (unsigned i = 0; i < started; i++) {
        if (have_ended)
            pthread_join(threads[i], NULL);
        else
            pthread_detach(threads[i]);
    }
    free(threads);
    return have_ended;
}

/* ---- Sharing. ---- */

struct share {
    void (*work)(void *context);
    void *context;
};

static void *do_share(void *argument) {
    const struct share *share = argument;
    share->work(share->context);
    return NULL;
}

void crew_share(unsigned count, void (*work)(void *context), void *context) {
    struct share share = {work, context};
    pthread_t threads[THREADS_MAX];
    unsigned started = 0;
    while (started < THREADS_MAX && started + 1 < count && !pthread_create(&threads[started], NULL, do_share, &share))
        started++;
    work(context);
    for (unsigned i = 0; i < started; i++) pthread_join(threads[i], NULL);
}
