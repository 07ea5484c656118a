#include "thread_pool.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

enum { TICK_MS = 100, GRACE_MS = 300, THREADS_MAX = 1024 };

/* Argument of a thread. */
struct worker {
    thread_pool_work *work;
    void *context;
    unsigned number;
    int finished;
};

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Returns the signals that would end the process. Signals that the caller ignores are left out: if they were blocked,
 * they would be delivered through the descriptor. */
static sigset_t signals_to_block(void) {
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

void thread_pool_init(struct thread_pool *pool, struct failure *failure) {
    *pool = (struct thread_pool){.signals = -1, .finished = -1, .blocked = signals_to_block()};
    pthread_sigmask(SIG_BLOCK, &pool->blocked, NULL);
    pool->signals = signalfd(-1, &pool->blocked, SFD_CLOEXEC | SFD_NONBLOCK);
    pool->finished = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (pool->signals < 0 || pool->finished < 0)
        failure_set(failure, FAILURE_IO, "cannot wait for threads: %s", strerror(errno));
}

/* ---- Running. ---- */

static void *run_worker(void *argument) {
    struct worker *worker = argument;
    worker->work(worker->context, worker->number);
    int finished = worker->finished;
    uint64_t one = 1;
    free(worker);
    ssize_t written = write(finished, &one, sizeof one);
    (void)written; /* an eventfd counts up to 2^64 - 2 */
    return NULL;
}

static bool start_worker(const struct thread_pool *pool, thread_pool_work *work, void *context, unsigned number,
                         pthread_t *thread) {
    struct worker *worker = malloc(sizeof *worker);
    if (!worker) return false;
    *worker = (struct worker){work, context, number, pool->finished};
    if (pthread_create(thread, NULL, run_worker, worker) == 0) return true;
    free(worker);
    return false;
}

/* Returns 0 if there is none. */
static int read_signal(int signals) {
    struct signalfd_siginfo info;
    return read(signals, &info, sizeof info) == sizeof info ? (int)info.ssi_signo : 0;
}

/* Signals that arrived after all threads finished are dropped. */
void thread_pool_fini(struct thread_pool *pool) {
    while (pool->signals >= 0 && read_signal(pool->signals)) {
    }
    if (pool->signals >= 0) close(pool->signals);
    if (pool->finished >= 0) close(pool->finished);
    pthread_sigmask(SIG_UNBLOCK, &pool->blocked, NULL);
}

static void take_signal(struct thread_pool *pool) {
    int number = read_signal(pool->signals);
    if (!number) return;
    if (!pool->ended_by) pool->ended_by = number;
    atomic_store(&pool->is_stopping, true);
}

static unsigned take_finished(struct thread_pool *pool) {
    uint64_t count = 0;
    return read(pool->finished, &count, sizeof count) == sizeof count ? (unsigned)count : 0;
}

static bool wait_for_all(struct thread_pool *pool, unsigned running, thread_pool_tick *tick, void *tick_context) {
    int64_t patience_ends_ms = 0;
    while (running) {
        struct pollfd waited[] = {{.fd = pool->finished, .events = POLLIN}, {.fd = pool->signals, .events = POLLIN}};
        poll(waited, 2, TICK_MS);
        running -= take_finished(pool);
        take_signal(pool);
        if (tick && !pool->ended_by) tick(tick_context);
        if (!pool->ended_by) continue;
        if (!patience_ends_ms) patience_ends_ms = now_ms() + GRACE_MS;
        if (running && now_ms() >= patience_ends_ms) return false;
    }
    return true;
}

bool thread_pool_run(struct thread_pool *pool, unsigned count, thread_pool_work *work, void *context,
                     thread_pool_tick *tick, void *tick_context, struct failure *failure) {
    take_signal(pool);
    if (failure_is_set(failure) || pool->ended_by) return true;
    if (count > THREADS_MAX) count = THREADS_MAX;
    pthread_t *threads = malloc(count * sizeof *threads);
    unsigned started = 0;
    while (threads && started < count && start_worker(pool, work, context, started, &threads[started])) started++;
    if (!started) failure_set(failure, FAILURE_MEMORY, "memory ran out: no thread can be started");
    bool have_ended = wait_for_all(pool, started, tick, tick_context);
    for (unsigned i = 0; i < started; i++) {
        if (have_ended)
            pthread_join(threads[i], NULL);
        else
            pthread_detach(threads[i]);
    }
    free(threads);
    return have_ended;
}
